"""What a study found so far, cell by cell."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .results_store import ResultsStore
from .run_spec import PlannedRun, plan_runs
from .study import DatasetSpec, NoiseSpec, Study, StudyRow

EXTERNAL = "external"  # the "method" of predictions that were made elsewhere


@dataclass
class StudyResults:
    """The rows of a study's runs. Cells are named by dataset, noise and label of the row."""

    study: Study
    runs: list[PlannedRun]
    rows: Mapping[str, Mapping[str, Any]]
    external: Sequence[Mapping[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._cells: dict[tuple[DatasetSpec, NoiseSpec, str], dict[int, Mapping[str, Any]]] = {}
        for run in self.runs:
            row = self.rows.get(run.key)
            if row is not None and row["status"] == "done":
                self._cells.setdefault((run.dataset, run.noise, run.row.label), {})[run.seed] = row
        self.labels = [row.label for row in self.study.rows]
        names = {name: f"{name} (scored)" if name in self.labels else name for name in self._scored()}
        if self.external:
            places = {(run.job["data"], run.job["labels"]): run for run in self.runs}
            for row in self.external:
                task = row["task"]
                place = places.get((task["data"], task["labels"]))
                if place is not None:
                    self._cells.setdefault((place.dataset, place.noise, names[task["label"]]), {})[place.seed] = row
        self.labels += sorted(name for name in names.values() if any(key[2] == name for key in self._cells))

    def _scored(self) -> set[str]:
        """What people called the predictions that they brought."""
        return {row["task"]["label"] for row in self.external}

    def warnings_by_row(self, dataset: DatasetSpec) -> dict[str, list[str]]:
        """What methods said while they were fitted to a dataset, and the rows of which they said it."""
        found: dict[str, list[str]] = {}
        for run in self.runs:
            row = self.rows.get(run.key) if run.dataset == dataset else None
            for note in json.loads(row["notes"] or "[]") if row is not None else ():
                if run.row.label not in found.setdefault(note, []):
                    found[note].append(run.row.label)
        return found

    def cell(self, dataset: DatasetSpec, noise: NoiseSpec, label: str, metric: str | None = None) -> dict[int, float]:
        """The numbers of a cell by seed."""
        name = metric or self.study.metric
        rows = self._cells.get((dataset, noise, label), {})
        return {seed: row[name] for seed, row in sorted(rows.items()) if row[name] is not None}

    @property
    def failed(self) -> list[tuple[PlannedRun, str]]:
        """Runs that failed, with the reason."""
        found = [(run, self.rows.get(run.key)) for run in self.runs]
        return [(run, str(row["error"])) for run, row in found if row is not None and row["status"] == "failed"]

    @property
    def done(self) -> int:
        return sum(run.key in self.rows and self.rows[run.key]["status"] == "done" for run in self.runs)

    def row(self, label: str) -> StudyRow | None:
        return next((row for row in self.study.rows if row.label == label), None)


def collect_results(study: Study, store: ResultsStore) -> StudyResults:
    """What the store has of a study; runs of other code, data or settings are not in it."""
    runs = plan_runs(study, store, present=True)
    rows = store.rows({run.key for run in runs})
    external = [row | {"task": json.loads(row["config"])} for row in store.all("method = ?", (EXTERNAL,))]
    return StudyResults(study, runs, rows, external)
