"""A study as tables in the paper's form: mean(std), the best in bold."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence

from ..report.table import Cell, Table
from .measures import Measure, get_measure
from .results import StudyResults
from .study import DatasetSpec, NoiseSpec, Study, format_seeds

MAX_NOTES = 5  # warnings of methods below a table


def compute_std_or_zero(values: Sequence[float]) -> float:
    """Standard deviation of a sample; 0 for one value."""
    return statistics.stdev(values) if len(values) > 1 else 0.0


def format_mean_and_std(measure: Measure, mean: float, std: float | None) -> str:
    """mean(std), or the mean alone."""
    return measure.mean_format.format(mean) + ("" if std is None else f"({measure.std_format.format(std)})")


def format_mean_of_seeds_or_dash(values: Sequence[float], measure: Measure, num_planned: int) -> str:
    """mean(std), with the number of seeds where some are missing; a dash for nothing."""
    if not values:
        return "–"
    # One value tells nothing about a spread.
    text = format_mean_and_std(
        measure, statistics.fmean(values), compute_std_or_zero(values) if len(values) > 1 else None
    )
    return text if len(values) == num_planned else f"{text} n={len(values)}"


def build_tables(results: StudyResults) -> list[Table]:
    """Build one table per dataset."""
    return [_build_dataset_table(results, dataset) for dataset in results.study.datasets]


def _build_dataset_table(results: StudyResults, dataset: DatasetSpec) -> Table:
    study = results.study
    columns = [[Cell(label) for label in results.row_labels]]
    columns += [_build_noise_column(results, dataset, noise) for noise in study.noises]
    kinds = itertools.groupby("no noise" if noise.kind == "none" else noise.kind for noise in study.noises)
    return Table(
        columns=["", *("" if noise.rate is None else f"{noise.rate:g}" for noise in study.noises)],
        rows=[list(row) for row in zip(*columns, strict=True)],
        title=f"{dataset}: {get_measure(study.metric).title}",
        groups=[("", 1), *((kind, len(list(same))) for kind, same in kinds)],
        notes=[
            *_list_seed_and_protocol_notes(study),
            *([f"nothing was computed: the files of {dataset} are not here"] * (dataset in results.missing_datasets)),
            *_list_trusted_label_notes(results),
            *_list_notes_of_method_warnings(results, dataset),
        ],
    )


def _build_noise_column(results: StudyResults, dataset: DatasetSpec, noise: NoiseSpec) -> list[Cell]:
    measure = get_measure(results.study.metric)
    values = [results.list_values_over_seeds(dataset, noise, label) for label in results.row_labels]
    means = [statistics.fmean(numbers) for numbers in values if numbers]
    best = None
    if measure.higher_is_better is not None and len(means) > 1:
        best = max(means) if measure.higher_is_better else min(means)
    planned = len(results.study.seeds)
    return [
        Cell(
            format_mean_of_seeds_or_dash(numbers, measure, planned), bool(numbers) and statistics.fmean(numbers) == best
        )
        for numbers in values
    ]


def _list_seed_and_protocol_notes(study: Study) -> list[str]:
    notes = [f"seeds {format_seeds(study.seeds)}; {study.protocol}"]
    return [*notes, study.note] if study.note else notes


def _list_trusted_label_notes(results: StudyResults) -> list[str]:
    """Rows that get more than the others: labels that somebody verified."""
    counts = {run.row.label: run.spec.graph.trusted for run in results.runs if run.spec.graph.trusted}
    return [f"{label} is given {count} trusted label{'s'[: count > 1]} per class" for label, count in counts.items()]


def _list_notes_of_method_warnings(results: StudyResults, dataset: DatasetSpec) -> list[str]:
    """What methods warned about, such as a warm-up as long as the training."""
    notes = [f"{', '.join(labels)}: {note}" for note, labels in results.group_row_labels_by_warning(dataset).items()]
    hidden = len(notes) - MAX_NOTES
    return notes[:MAX_NOTES] + ([f"and {hidden} more notes: export to .csv shows them"] if hidden > 0 else [])
