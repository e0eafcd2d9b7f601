"""A study as a picture: curves over rates or over a setting, bars otherwise; the paper's values as hollow diamonds."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from ..report.panels import Panel, Series
from ..report.plots import draw_panels
from .measures import get_measure
from .paper import find_published
from .results import StudyResults
from .study import DatasetSpec, NoiseSpec, format_seeds
from .tables import compute_std


def draw_study(results: StudyResults, form: str = "png") -> bytes:
    """Draw a study as PNG or SVG, or as SVG for a page."""
    study = results.study
    if study.x:
        panels = [_build_setting_panel(results, dataset) for dataset in study.datasets]
    elif any(sum(other.kind == noise.kind for other in study.noises) > 1 for noise in study.noises):
        kinds = list(dict.fromkeys(noise.kind for noise in study.noises if noise.kind != "none"))
        panels = [_build_rate_panel(results, dataset, kind) for dataset in study.datasets for kind in kinds]
    else:
        panels = [_build_bar_panel(results, dataset) for dataset in study.datasets]
    shows_paper = any(value is not None for panel in panels for series in panel.series for value in series.marks)
    note = f"mean and standard deviation, seeds {format_seeds(study.seeds)}, protocol {study.protocol.name}"
    return draw_panels(panels, form=form, note=note + ("; hollow: the paper" if shows_paper else ""))


def _build_series(
    label: str, positions: Sequence[str], values: Sequence[list[float]], marks: Sequence[float | None] = ()
) -> Series:
    means = [statistics.fmean(numbers) if numbers else None for numbers in values]
    return Series(label, positions, means, [compute_std(numbers) for numbers in values], marks)


def _build_row_series(
    results: StudyResults, dataset: DatasetSpec, noises: Sequence[NoiseSpec], positions: Sequence[str]
) -> list[Series]:
    """One series per row of the study, with the paper's values as marks."""
    series = []
    for label in results.labels:
        values = [results.values(dataset, noise, label) for noise in noises]
        published = [find_published(results.study.name, dataset.name, noise, label) for noise in noises]
        is_seconds = results.study.metric == "seconds"  # of another machine
        marks = [None if number is None or is_seconds else number.mean for number in published]
        series.append(_build_series(label, positions, values, marks))
    return series


def _build_rate_panel(results: StudyResults, dataset: DatasetSpec, kind: str) -> Panel:
    """Rates of one kind of noise; no noise is the rate 0 of all kinds."""
    noises = [noise for noise in results.study.noises if noise.kind in ("none", kind)]
    series = _build_row_series(results, dataset, noises, [f"{noise.rate or 0:g}" for noise in noises])
    return Panel(f"{dataset}, {kind}", series, x_label="noise rate", y_label=get_measure(results.study.metric).title)


def _build_bar_panel(results: StudyResults, dataset: DatasetSpec) -> Panel:
    noises = results.study.noises
    series = _build_row_series(results, dataset, noises, [noise.title for noise in noises])
    return Panel(str(dataset), series, y_label=get_measure(results.study.metric).title, bars=True)


def _build_setting_panel(results: StudyResults, dataset: DatasetSpec) -> Panel:
    study = results.study
    rows = [row for row in study.rows if row.x is not None]
    series = [
        _build_series(
            noise.title, [str(row.x) for row in rows], [results.values(dataset, noise, row.label) for row in rows]
        )
        for noise in study.noises
    ]
    return Panel(str(dataset), series, x_label=study.x, y_label=get_measure(study.metric).title)
