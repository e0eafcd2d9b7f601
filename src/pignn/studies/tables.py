"""A study as tables in the paper's form: mean(std), the best in bold."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from ..report.table import Cell, Table
from .results import StudyResults
from .study import DatasetSpec, NoiseSpec, Study, format_seeds

# metric → (how a mean is written, how a spread is, and which end is better)
FORMS = {
    "accuracy": ("{:.3f}", "{:.2f}", max),
    "balanced_accuracy": ("{:.3f}", "{:.2f}", max),
    "macro_f1": ("{:.3f}", "{:.2f}", max),
    "average_precision": ("{:.3f}", "{:.2f}", max),
    "best_epoch": ("{:.0f}", "{:.0f}", None),
    "realized_noise": ("{:.3f}", "{:.3f}", None),
    "pair_noise": ("{:.3f}", "{:.3f}", None),
    "seconds": ("{:.2f}", "{:.2f}", min),
    "peak_mb": ("{:.0f}", "{:.0f}", min),
}


def spread(values: Sequence[float]) -> float:
    """Standard deviation of a sample; 0 for one value."""
    return statistics.stdev(values) if len(values) > 1 else 0.0


def show(values: Sequence[float], metric: str, planned: int) -> str:
    """mean(std), with the number of seeds where some are missing; a dash for nothing."""
    if not values:
        return "–"
    mean, std, _ = FORMS[metric]
    text = mean.format(statistics.fmean(values))
    if len(values) > 1:  # of one value no spread is known
        text += f"({std.format(spread(values))})"
    return text if len(values) == planned else f"{text} n={len(values)}"


def build_tables(results: StudyResults) -> list[Table]:
    """One table a dataset."""
    study = results.study
    return [_table(results, dataset) for dataset in study.datasets]


def _table(results: StudyResults, dataset: DatasetSpec) -> Table:
    study = results.study
    columns: list[list[Cell]] = [[Cell(label) for label in results.labels]]
    for noise in study.noises:
        columns.append(_column(results, dataset, noise))
    rows = [list(row) for row in zip(*columns, strict=True)]
    return Table(
        columns=["", *(_rate(noise) for noise in study.noises)],
        rows=rows,
        title=f"{dataset}: {study.metric.replace('_', ' ')}",
        groups=[("", 1), *_kinds(study.noises)],
        notes=[*notes(study), *_given(results), *_said(results, dataset)],
    )


def _column(results: StudyResults, dataset: DatasetSpec, noise: NoiseSpec) -> list[Cell]:
    study = results.study
    better = FORMS[study.metric][2]
    values = [list(results.cell(dataset, noise, label).values()) for label in results.labels]
    means = [statistics.fmean(found) for found in values if found]
    best = better(means) if better is not None and len(means) > 1 else None
    planned = len(study.seeds)
    return [
        Cell(show(found, study.metric, planned), bool(found) and best is not None and statistics.fmean(found) == best)
        for found in values
    ]


def notes(study: Study) -> list[str]:
    """What every table of a study says below."""
    found = [f"seeds {format_seeds(study.seeds)}; {study.protocol}"]
    return [*found, study.note] if study.note else found


def _given(results: StudyResults) -> list[str]:
    """Rows that get more than the others: labels that somebody verified."""
    counts = {run.row.label: run.job["trusted"] for run in results.runs if run.job["trusted"]}
    return [f"{label} is given {count} trusted label{'s'[: count > 1]} a class" for label, count in counts.items()]


def _said(results: StudyResults, dataset: DatasetSpec, most: int = 5) -> list[str]:
    """What methods found worth saying, such as a warm-up as long as the training."""
    found = [f"{', '.join(labels)}: {note}" for note, labels in results.warnings_by_row(dataset).items()]
    rest = [f"and {len(found) - most} more notes: export to .csv shows them"] if len(found) > most else []
    return found[:most] + rest


def _rate(noise: NoiseSpec) -> str:
    return "" if noise.kind == "none" or noise.rate is None else f"{noise.rate:g}"


def _kinds(noises: Sequence[NoiseSpec]) -> list[tuple[str, int]]:
    """Kinds of noise over their rates."""
    found: list[tuple[str, int]] = []
    for noise in noises:
        name = "no noise" if noise.kind == "none" else noise.kind
        if found and found[-1][0] == name:
            found[-1] = (name, found[-1][1] + 1)
        else:
            found.append((name, 1))
    return found
