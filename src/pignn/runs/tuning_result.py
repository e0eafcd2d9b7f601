"""What a search for settings found: the best ones, all trials, a fitted model, a picture."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from markupsafe import Markup

from .._version import __version__
from ..io import files
from ..methods import Method
from ..report.page import Section, build_page, render_code, render_facts
from ..report.plots import plot_trials
from ..report.svg import Line, draw_lines
from ..report.table import Table, format_value
from .comparison_result import Comparison
from .held_out_runs import PageResult
from .search_space import SearchSpace
from .training_run import TrainingRun

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEFAULTS, TUNED = "as given", "tuned"


@dataclass(frozen=True)
class Trial:
    """Settings that were tried. Trial 0 has the settings as given."""

    number: int
    settings: dict[str, Any]
    state: str  # complete, pruned or failed
    agreement: float  # with held-out labels; of a pruned trial, those of the folds that it finished
    seconds: float
    reports: dict[int, float] = field(default_factory=dict)  # by step, what others were compared with
    error: str | None = None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Trial:
        """What :meth:`to_dict` gave, also after JSON, whose keys are texts."""
        reports = {int(step): value for step, value in record["reports"].items()}
        return cls(**record | {"reports": reports})


@dataclass(frozen=True, eq=False, repr=False)
class Tuning(PageResult):
    """The result of a search. ``check`` compares on folds that the search has not used; None if nothing was better."""

    start: Method
    space: SearchSpace
    trials: list[Trial]
    best: Trial
    check: Comparison | None
    run: TrainingRun  # of the method with the best settings, on all labels

    @property
    def model(self) -> Method:
        """The method with the best settings, fitted to all labels."""
        return self.run.model

    @property
    def best_settings(self) -> dict[str, Any]:
        """What to set otherwise than it was given; nothing if no trial was better."""
        return self.best.settings

    @cached_property
    def settings_text(self) -> str:
        """The same as options of ``pignn train``."""
        parts = []
        for name, value in self.best_settings.items():
            parts += ["--set", f"{name}={value if isinstance(value, str) else json.dumps(value)}"]
        return shlex.join(parts)

    @cached_property
    def recommendation(self) -> str:
        """One line: what to take, and how much it gains."""
        if not self.best_settings or self.check is None:
            return f"keep the settings: none of {len(self.trials) - 1} trials agreed better with held-out labels"
        scores = {score.method: score for score in self.check.scores}
        if len(scores) < 2:
            return f"take {self.settings_text}; it could not be compared: {next(iter(self.check.failures.values()))}"
        gain = 100 * (scores[TUNED].difference - scores[DEFAULTS].difference)
        error = 100 * max(scores[TUNED].error, scores[DEFAULTS].error)
        fresh = f"on folds that the search had not used, accuracy differs by {gain:+.1f} ± {error:.1f} points"
        if self.check.best_method_score.method == DEFAULTS:
            return f"keep the settings; {fresh}"
        return f"take {self.settings_text}; {fresh}" + (
            ", which may be chance" if all(score.as_good for score in self.check.scores) else ""
        )

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per trial, in the order in which they were tried."""
        rows = [
            {"trial": trial.number, "state": trial.state, "agreement": trial.agreement, "seconds": trial.seconds}
            | {name: trial.settings.get(name) for name in self.space}
            for trial in self.trials
        ]
        return pd.DataFrame(rows)

    def plot(self) -> Figure:
        """The agreement of every trial, and the best so far."""
        return plot_trials(*self._list_trial_and_best_points())

    def build_page_html(self) -> str:
        complete, best = self._list_trial_and_best_points()
        picture = draw_lines(
            "Trials",
            f"best agreement {self.best.agreement:.3f} at trial {self.best.number}",
            [
                Line(name, [x for x, _ in points], [y for _, y in points])
                for name, points in (("best so far", best), ("trial", complete))
            ],
            x_label="trial",
            y_label="agreement",
        )
        rows = [[format_value(value) for value in row] for row in self.table.to_numpy(dtype=object).tolist()]
        sections = [
            Section("Best settings", [render_code(self.settings_text or "as given")]),
            *([] if self.check is None else [Section("On fresh folds", [self.check.build_display_table()])]),
            Section("Trials", [picture, Table(list(self.table.columns), rows)]),
            Section("What was tried", [render_facts({name: str(values) for name, values in self.space.items()})]),
        ]
        return build_page(f"Tuning of {self.start.name}", sections, [self.recommendation])

    def write_files(self, folder: Path) -> None:
        self.run.save_model(folder / "model")
        files.write_csv_records(folder / "trials.csv", self.table.to_dict("records"))  # type: ignore[arg-type]
        self.report(folder / "tuning.html")
        files.write_json(folder / "tuning.json", self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "method": self.start.name,
            "best_settings": self.best_settings,
            "text": self.settings_text,
            "recommendation": self.recommendation,
            "best_trial": self.best.number,
            "trials": [trial.to_dict() for trial in self.trials],
            "check": None if self.check is None else self.check.to_dict(),
            "settings": self.model.get_json_compatible_settings(),
            "pignn": __version__,
        }

    def __repr__(self) -> str:
        return f"Tuning({self.recommendation})"

    def __str__(self) -> str:
        states = {state: sum(trial.state == state for trial in self.trials) for state in ("pruned", "failed")}
        rest = "".join(f", {count} {state}" for state, count in states.items() if count)
        start = self.trials[0].agreement
        lines = [
            f"{len(self.trials) - 1} trials{rest}; the best agrees with {self.best.agreement:.1%} of held-out labels, "
            f"the settings as given with {start:.1%}",
            self.recommendation,
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<p>{Markup.escape(self.recommendation)}</p>{self.table.to_html(index=False)}"

    def _list_trial_and_best_points(self) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
        """Trials that were finished, and the best so far, as points."""
        complete = [(float(trial.number), trial.agreement) for trial in self.trials if trial.state == "complete"]
        best = [(x, max(value for _, value in complete[: i + 1])) for i, (x, _) in enumerate(complete)]
        return complete, best
