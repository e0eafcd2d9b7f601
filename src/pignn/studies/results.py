"""The results of a study so far, cell by cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .planning import PlannedRun, plan_runs
from .results_store import ResultsStore
from .run_spec import RunRecord
from .study import DatasetSpec, NoiseSpec, Study

EXTERNAL = "external"  # the "method" of predictions that were made elsewhere


@dataclass
class StudyResults:
    """The records of a study's runs. A cell is named by dataset, noise and label of the row."""

    study: Study
    runs: list[PlannedRun]
    records: Mapping[str, RunRecord]
    external: Sequence[RunRecord] = ()

    def __post_init__(self) -> None:
        self._cells: dict[tuple[str, str, str], dict[int, RunRecord]] = {}
        for run in self.runs:
            record = self.records.get(run.key)
            if record is not None and record.is_done:
                self._add_record_to_cell(run, run.row.label, record)
        self.row_labels = self.study.row_labels
        graphs = {(run.spec.graph.graph_digest, run.spec.graph.labels_digest): run for run in self.runs}
        scored = set()
        for record in self.external:
            name = record.spec.settings["label"]
            label = f"{name} (scored)" if name in self.study.row_labels else name
            graph = record.spec.graph
            planned = graphs.get((graph.graph_digest, graph.labels_digest))
            if planned is not None:
                self._add_record_to_cell(planned, label, record)
                scored.add(label)
        self.row_labels += sorted(scored)

    def _add_record_to_cell(self, run: PlannedRun, label: str, record: RunRecord) -> None:
        self._cells.setdefault((str(run.dataset), str(run.noise), label), {})[run.seed] = record

    def group_row_labels_by_warning(self, dataset: DatasetSpec) -> dict[str, list[str]]:
        """The warnings of methods that were fitted to a dataset, and the rows that each concerns."""
        rows: dict[str, list[str]] = {}
        for run in self.runs:
            record = self.records.get(run.key) if run.dataset == dataset else None
            for note in record.notes if record is not None else ():
                if run.row.label not in rows.setdefault(note, []):
                    rows[note].append(run.row.label)
        return rows

    def get_values_by_seed(
        self, dataset: DatasetSpec, noise: NoiseSpec, row_label: str, metric: str | None = None
    ) -> dict[int, float]:
        """The numbers of a cell by seed."""
        records = self._cells.get((str(dataset), str(noise), row_label), {})
        values = {seed: record.metrics.get(metric or self.study.metric) for seed, record in sorted(records.items())}
        return {seed: value for seed, value in values.items() if value is not None}

    def list_values_over_seeds(self, dataset: DatasetSpec, noise: NoiseSpec, row_label: str) -> list[float]:
        return list(self.get_values_by_seed(dataset, noise, row_label).values())

    @property
    def missing_datasets(self) -> list[DatasetSpec]:
        """Datasets of the study whose files are not here, or not whole."""
        planned = [run.dataset for run in self.runs]
        return [dataset for dataset in self.study.datasets if dataset not in planned]

    @property
    def failed_runs(self) -> list[tuple[PlannedRun, str]]:
        """Runs that failed, with the reason."""
        pairs = [(run, self.records[run.key].error) for run in self.runs if run.key in self.records]
        return [(run, error) for run, error in pairs if error is not None]

    @property
    def num_done(self) -> int:
        return sum(run.key in self.records and self.records[run.key].is_done for run in self.runs)


def collect_results(study: Study, store: ResultsStore) -> StudyResults:
    """What the store has of a study. Runs of other code, data or settings do not belong to it."""
    runs = plan_runs(study, store, only_available=True)
    records = store.get_records({run.key for run in runs})
    return StudyResults(study, runs, records, store.list_records_of_method(EXTERNAL))
