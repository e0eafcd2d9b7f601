"""A study as a picture: curves over rates or over a setting, bars otherwise; the paper's values as hollow diamonds."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from ..report.panels import Panel, Series
from ..report.plots import draw_panels
from .paper import published
from .results import StudyResults
from .study import DatasetSpec, NoiseSpec, format_seeds
from .tables import spread


def figure(results: StudyResults, form: str = "png") -> bytes:
    """The picture of a study, PNG or SVG."""
    study = results.study
    if study.x:
        panels = [_over_setting(results, dataset) for dataset in study.datasets]
    elif any(sum(other.kind == noise.kind for other in study.noises) > 1 for noise in study.noises):
        kinds = list(dict.fromkeys(noise.kind for noise in study.noises if noise.kind != "none"))
        panels = [_over_rates(results, dataset, kind) for dataset in study.datasets for kind in kinds]
    else:
        panels = [_bars(results, dataset) for dataset in study.datasets]
    shown = any(value is not None for panel in panels for series in panel.series for value in series.marks)
    note = f"mean and standard deviation, seeds {format_seeds(study.seeds)}, protocol {study.protocol.name}"
    return draw_panels(panels, form=form, note=note + ("; hollow: the paper" if shown else ""))


def _series(
    results: StudyResults, dataset: DatasetSpec, label: str, noises: Sequence[NoiseSpec], at: Sequence[str]
) -> Series:
    values = [list(results.cell(dataset, noise, label).values()) for noise in noises]
    marks = [published(results.study.name, dataset.name, noise, label) for noise in noises]
    return Series(
        label,
        at,
        [statistics.fmean(found) if found else None for found in values],
        [spread(found) if found else 0.0 for found in values],
        [None if mark is None or results.study.metric == "seconds" else mark.mean for mark in marks],
    )


def _measure(results: StudyResults) -> str:
    return results.study.metric.replace("_", " ")


def _over_rates(results: StudyResults, dataset: DatasetSpec, kind: str) -> Panel:
    """Rates of one kind of noise; no noise is the rate 0 of all kinds."""
    noises = [noise for noise in results.study.noises if noise.kind in ("none", kind)]
    at = [f"{noise.rate or 0:g}" for noise in noises]
    series = [_series(results, dataset, label, noises, at) for label in results.labels]
    return Panel(f"{dataset}, {kind}", series, x_label="noise rate", y_label=_measure(results))


def _bars(results: StudyResults, dataset: DatasetSpec) -> Panel:
    noises = results.study.noises
    at = [str(noise).replace(":", " ") for noise in noises]
    series = [_series(results, dataset, label, noises, at) for label in results.labels]
    return Panel(str(dataset), series, y_label=_measure(results), bars=True)


def _over_setting(results: StudyResults, dataset: DatasetSpec) -> Panel:
    study = results.study
    rows = [row for row in study.rows if row.x is not None]
    series = []
    for noise in study.noises:
        values = [list(results.cell(dataset, noise, row.label).values()) for row in rows]
        series.append(
            Series(
                str(noise).replace(":", " "),
                [str(row.x) for row in rows],
                [statistics.fmean(found) if found else None for found in values],
                [spread(found) if found else 0.0 for found in values],
            )
        )
    return Panel(str(dataset), series, x_label=study.x, y_label=_measure(results))
