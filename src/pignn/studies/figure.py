"""A study as a picture: curves over rates or over a setting, bars otherwise; the paper's values as hollow diamonds."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ..report.panels import Panel, Series
from ..report.plots import draw_panels
from .measures import get_measure
from .paper import find_published_number_or_none
from .results import StudyResults
from .study import DatasetSpec, NoiseSpec, format_seeds
from .tables import compute_std_or_zero


def draw_study(results: StudyResults, image_format: str = "png") -> bytes:
    """Draw a study as PNG or SVG, or as SVG for a page."""
    study = results.study
    kinds = Counter(noise.kind for noise in study.noises)
    panels = []
    for dataset in study.datasets:
        if study.x:
            panels.append(_build_panel_with_row_x_axis(results, dataset))
        elif max(kinds.values()) > 1:  # rates of each kind of noise; no noise is the rate 0 of all kinds
            for kind in [kind for kind in kinds if kind != "none"]:
                noises = [noise for noise in study.noises if noise.kind in ("none", kind)]
                rates = {noise: f"{noise.rate or 0:g}" for noise in noises}
                panels.append(_build_noise_panel(results, dataset, rates, f"{dataset}, {kind}", x_label="noise rate"))
        else:
            titles = {noise: noise.title for noise in study.noises}
            panels.append(_build_noise_panel(results, dataset, titles, str(dataset), bars=True))
    shows_paper = any(series.list_reference_points() for panel in panels for series in panel.series)
    note = f"mean and standard deviation, seeds {format_seeds(study.seeds)}, protocol {study.protocol.name}"
    return draw_panels(panels, form=image_format, note=note + ("; hollow: the paper" if shows_paper else ""))


def _build_noise_panel(
    results: StudyResults, dataset: DatasetSpec, positions: Mapping[NoiseSpec, str], title: str, **options: Any
) -> Panel:
    """One series per row of the study over some noises, with the paper's values as marks."""
    study = results.study
    series = []
    for label in results.row_labels:
        values = [results.list_values_over_seeds(dataset, noise, label) for noise in positions]
        published = [find_published_number_or_none(study.name, dataset.name, noise, label) for noise in positions]
        is_seconds = study.metric == "seconds"  # of another machine
        marks = [None if number is None or is_seconds else number.mean for number in published]
        series.append(_build_series_of_means(label, list(positions.values()), values, marks))
    return Panel(title, series, y_label=get_measure(study.metric).title, **options)


def _build_panel_with_row_x_axis(results: StudyResults, dataset: DatasetSpec) -> Panel:
    study = results.study
    rows = [row for row in study.rows if row.x is not None]
    positions = [str(row.x) for row in rows]
    series = [
        _build_series_of_means(
            noise.title, positions, [results.list_values_over_seeds(dataset, noise, row.label) for row in rows]
        )
        for noise in study.noises
    ]
    return Panel(str(dataset), series, x_label=study.x, y_label=get_measure(study.metric).title)


def _build_series_of_means(
    label: str, positions: Sequence[str], values: Sequence[list[float]], marks: Sequence[float | None] = ()
) -> Series:
    means = [statistics.fmean(numbers) if numbers else None for numbers in values]
    return Series(label, positions, means, [compute_std_or_zero(numbers) for numbers in values], marks)
