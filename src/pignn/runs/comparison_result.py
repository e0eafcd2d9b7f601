"""What repeated cross-validation says about several methods: a table, a picture and a recommendation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from markupsafe import Markup
from scipy import stats

from .._version import __version__
from ..core.errors import DataError
from ..io import files
from ..methods import Method
from ..noise.kinds import Floats, Ints
from ..report.page import Section, build_page, render_facts
from ..report.panels import Panel, Series
from ..report.plots import draw_panels, plot_panels
from ..report.table import Table
from .accuracy import LEVEL, AccuracyEstimate, HeldOutLabels, estimate_accuracy
from .assessment import LabelEvidence
from .held_out_runs import PageResult
from .repeated_folds import FoldResult, RepeatedFolds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Place = tuple[int, int]  # repeat and fold
METHOD_NOTE = (
    "Accuracy is what agreement with held-out labels implies under their estimated noise. The error is that of the "
    "difference to the best method on the same folds (corrected for training sets that overlap: Nadeau & Bengio, 2003)."
)


@dataclass(frozen=True)
class MethodScore:
    """What held-out labels say about one method. ``difference`` is to the best one, with its standard error."""

    method: str  # what it is called
    accuracy: float
    low: float
    high: float
    agreement: float
    difference: float
    error: float
    as_good: bool  # as the best one, within the error
    seconds: float  # of one fit


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(PageResult):
    """Methods, the best first, and which of them to take."""

    scores: list[MethodScore]
    failures: dict[str, str]  # why a method could not be compared
    methods: Mapping[str, Method]
    num_labels: int
    folds: int
    repeats: int
    noise_rate: float

    @property
    def best_method_score(self) -> MethodScore:
        return self.scores[0]

    @cached_property
    def recommended_method_score(self) -> MethodScore:
        """The method that was named first, unless another one is better by more than a standard error; then the best.

        Few labels, of which some are wrong, hardly tell methods apart. Within a standard error the best is a matter of
        luck, and what was expected of the methods beforehand is the better guess (Breiman et al., 1984).
        """
        first = next((each for each in self.scores if each.method == next(iter(self.methods))), None)
        is_within_error = first is not None and first.difference + first.error >= 0
        return first if first is not None and is_within_error else self.best_method_score

    @property
    def recommended_method(self) -> Method:
        """The method to take, not fitted."""
        return self.methods[self.recommended_method_score.method]

    @cached_property
    def recommendation(self) -> str:
        """One line: what to take, what is as good, and what is not."""
        taken, best = self.recommended_method_score, self.best_method_score
        text = f"take {taken.method}"
        if taken is not best:
            gap, error = -100 * taken.difference, 100 * taken.error
            text += (
                f", which was named first: {best.method} is better by {gap:.1f} points, within the error of {error:.1f}"
            )
        equal = [score.method for score in self.scores if score.as_good and score not in (taken, best)]
        worse = [score for score in self.scores if not score.as_good]
        if equal:
            text += f"; {join_names_with_and(equal)} {'is' if len(equal) == 1 else 'are'} as good within the error"
        if worse:
            names = join_names_with_and([score.method for score in worse])
            text += f"; {names} {'is' if len(worse) == 1 else 'are'} worse by "
            gaps = [-100 * score.difference for score in worse]
            low, high = f"{min(gaps):.1f}", f"{max(gaps):.1f}"
            text += f"{low if low == high else f'{low} to {high}'} points"
        return text

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per method, the best first; shares are from 0 to 1."""
        return pd.DataFrame([asdict(score) for score in self.scores])

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "recommended": self.recommended_method_score.method,
            "recommendation": self.recommendation,
            "labels": self.num_labels,
            "folds": self.folds,
            "repeats": self.repeats,
            "noise_rate": self.noise_rate,
            "methods": self.table.to_dict("records"),
            "settings": {label: method.get_json_compatible_settings() for label, method in self.methods.items()},
            "failures": self.failures,
            "pignn": __version__,
        }

    def plot(self) -> Figure:
        """Accuracy of each method, and its difference to the best, with their intervals."""
        return plot_panels(self._build_panels())

    def build_page_html(self) -> str:
        sections = [
            Section("Methods", [self.build_display_table()]),
            Section("Picture", [Markup(draw_panels(self._build_panels(), form="page").decode())]),
            Section("How it was measured", [render_facts(self._build_facts())]),
        ]
        if self.failures:
            rows = [[label, reason] for label, reason in self.failures.items()]
            sections.append(Section("Methods that failed", [Table(["method", "reason"], rows)]))
        return build_page("Comparison of methods", sections, [self.recommendation])

    def write_files(self, folder: Path) -> None:
        files.write_csv_records(folder / "comparison.csv", [asdict(score) for score in self.scores])
        self.report(folder / "comparison.html")
        files.write_json(folder / "comparison.json", self.to_dict())

    def build_display_table(self) -> Table:
        """The table as people read it."""
        names = ["method", "accuracy", "interval", "agreement", "difference", "error", "as good", "seconds per fit"]
        rows = [
            [
                score.method,
                f"{score.accuracy:.1%}",
                f"{score.low:.1%} to {score.high:.1%}",
                f"{score.agreement:.1%}",
                "" if score is self.best_method_score else f"{score.difference:+.1%}",
                "" if score is self.best_method_score else f"{score.error:.1%}",
                "best" if score is self.best_method_score else "yes" if score.as_good else "no",
                f"{score.seconds:.2f}",
            ]
            for score in self.scores
        ]
        return Table(names, rows)

    def __repr__(self) -> str:
        return f"Comparison({self.recommendation})"

    def __str__(self) -> str:
        failed = [f"note: {label} could not be compared: {reason}" for label, reason in self.failures.items()]
        return "\n".join([self.build_display_table().to_text(), "", self.recommendation, *failed])

    def _repr_html_(self) -> str:
        return f"<p>{Markup.escape(self.recommendation)}</p>{self.build_display_table().to_html()}"

    def _build_facts(self) -> dict[str, str]:
        return {
            "labels": f"{self.num_labels:,}, each held out {self.repeats} times",
            "folds": f"{self.folds}, dealt {self.repeats} times",
            "wrong labels": f"about {self.noise_rate:.1%}, estimated",
            "what the columns are": METHOD_NOTE,
            "interval": f"{LEVEL:.0%} for each method by itself; differences are much surer than that",
            "as good": f"the difference is not significant at {1 - LEVEL:.0%}",
        }

    def _build_panels(self) -> list[Panel]:
        labels = [score.method for score in self.scores]
        quantile = compute_t_quantile(self.folds * self.repeats)
        columns = [
            ("accuracy", [s.accuracy for s in self.scores], [(s.high - s.low) / 2 for s in self.scores]),
            ("difference to the best", [s.difference for s in self.scores], [quantile * s.error for s in self.scores]),
        ]
        return [
            Panel(name, [Series(f"with its {LEVEL:.0%} interval", labels, means, spreads)], bars=True)
            for name, means, spreads in columns
        ]


def build_comparison(
    design: RepeatedFolds,
    evidence: LabelEvidence,
    methods: Mapping[str, Method],
    results: Mapping[str, Mapping[Place, FoldResult]],
) -> Comparison:
    """Score all methods by the same noise model. One that failed in a fold is left out."""
    failures = {
        label: next(result.error for result in folds.values() if result.error is not None)
        for label, folds in results.items()
        if any(result.error is not None for result in folds.values())
    }
    if len(failures) == len(results):
        raise DataError(f"no method could be compared: {next(iter(failures.values()))}")
    predicted = {
        label: collect_predictions_by_repeat(design, folds) for label, folds in results.items() if label not in failures
    }
    estimates: dict[str, AccuracyEstimate] = {}
    values: dict[str, Floats] = {}
    for label, classes in predicted.items():
        labels = HeldOutLabels(design.given, classes, evidence.log_probs, evidence.trusted.astype(bool))
        estimates[label] = estimate_accuracy(labels, share_learned_from=1 - 1 / design.folds, seed=design.seed)
        values[label] = np.mean(labels.score_by_matrix_and_by_posterior(estimates[label].model), axis=0)
    best = max(values, key=lambda label: float(values[label].mean()))
    scores = []
    for label, estimate in estimates.items():
        difference, error = compute_difference_and_error(design, values[label] - values[best])
        quantile = compute_t_quantile(design.folds * design.repeats)
        scores.append(
            MethodScore(
                method=label,
                accuracy=estimate.accuracy,
                low=estimate.interval[0],
                high=estimate.interval[1],
                agreement=float((predicted[label] == design.given[:, None]).mean()),
                difference=difference,
                error=error,
                as_good=difference + quantile * error >= 0,
                seconds=float(np.median([result.seconds for result in results[label].values()])),
            )
        )
    return Comparison(
        scores=sorted(scores, key=lambda score: -score.difference),
        failures={label: str(reason) for label, reason in failures.items()},
        methods=methods,
        num_labels=len(design.given),
        folds=design.folds,
        repeats=design.repeats,
        noise_rate=estimates[best].noise_rate,
    )


def collect_predictions_by_repeat(design: RepeatedFolds, results: Mapping[Place, FoldResult]) -> Ints:
    """The held-out predictions of every label, [labels, repeats]."""
    predicted = np.full(design.fold.T.shape, -1)
    for (repeat, fold), result in results.items():
        predicted[design.find_held_out_positions(repeat, fold), repeat] = result.predicted
    return predicted


def compute_difference_and_error(design: RepeatedFolds, differences: Floats) -> tuple[float, float]:
    """The mean of paired differences [labels, repeats], and its standard error.

    The folds of a cross-validation learn from much the same labels, so their differences are not independent. With J
    folds in all, the variance of the mean is (1/J + n_test/n_train)·s², the corrected resampled t-test of Nadeau and
    Bengio (2003).
    """
    means = [
        differences[design.find_held_out_positions(repeat, fold), repeat].mean()
        for repeat, fold in design.iter_repeats_and_folds()
    ]
    factor = 1 / len(means) + 1 / (design.folds - 1)
    return float(np.mean(differences)), math.sqrt(factor * float(np.var(means, ddof=1)))


def compute_t_quantile(num_folds: int) -> float:
    """How many standard errors an interval reaches to either side."""
    return float(stats.t.ppf((1 + LEVEL) / 2, num_folds - 1))


def join_names_with_and(names: Sequence[str]) -> str:
    """``a, b and c``."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
