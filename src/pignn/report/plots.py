"""Pictures of lines and bars with their spread: PNG, SVG, or inside a page; the same numbers give the same bytes."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..core.errors import unknown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "svg")
# Told apart by lightness as well as by hue.
COLOURS = (
    "#1f5fa8",
    "#b5541c",
    "#3d8b37",
    "#7b3fa0",
    "#555555",
    "#c2a000",
    "#0f8f8f",
    "#c04a7d",
    "#8a5a2b",
    "#222222",
)


@dataclass(frozen=True)
class Series:
    """A line, or the bars of one colour: a mean and a spread at each place; ``marks`` are somebody else's values."""

    label: str
    at: Sequence[str]
    mean: Sequence[float | None]
    spread: Sequence[float] = ()
    marks: Sequence[float | None] = ()


@dataclass(frozen=True)
class Panel:
    title: str
    series: Sequence[Series]
    x: str = ""
    y: str = ""
    bars: bool = False
    order: Sequence[str] = field(default_factory=list)  # of the places; that of appearance if empty


def draw_panels(panels: Sequence[Panel], *, form: str = "png", columns: int = 2, note: str = "") -> bytes:
    """All panels in one picture, with one legend.

    As ``"page"`` it is markup for a page of ours, in the page's own colours: each panel by itself, to find its place.
    """
    if form == "page":
        from .svg import panels as drawn

        return drawn(panels, note).encode()
    if form not in FORMATS:
        raise unknown("picture format", form, FORMATS)
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    across = min(columns, len(panels)) or 1
    down = -(-len(panels) // across)
    labels = list(dict.fromkeys(series.label for panel in panels for series in panel.series))
    # Text stays text in an SVG, and its names do not depend on chance.
    with matplotlib.rc_context({"svg.hashsalt": "pignn", "svg.fonttype": "none", "font.size": 9}):
        figure: Figure = Figure(figsize=(4.6 * across, 3.1 * down + 0.3 + 0.16 * len(labels)), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(down, across, squeeze=False).ravel()
        for axis, panel in zip(axes, panels, strict=False):
            _draw(axis, panel, labels)
        for axis in axes[len(panels) :]:
            axis.set_visible(False)
        handles: dict[str, Any] = {}
        for axis in axes[: len(panels)]:
            handles |= dict(zip(*reversed(axis.get_legend_handles_labels()), strict=True))
        if handles:
            figure.legend(
                handles.values(), handles.keys(), loc="outside lower center", ncols=3, frameon=False, fontsize=8
            )
        if note:
            figure.text(0.995, 0.002, note, ha="right", fontsize=6, color="#666666")
        content = io.BytesIO()
        # Without a date, so that a figure changes only if its numbers do.
        figure.savefig(content, format=form, dpi=130, metadata={"Date": None} if form == "svg" else {"Software": None})
    return content.getvalue()


def _draw(axis: Axes, panel: Panel, labels: Sequence[str]) -> None:
    places = list(panel.order) or list(dict.fromkeys(place for series in panel.series for place in series.at))
    position = {place: i for i, place in enumerate(places)}
    count = len(panel.series)
    for i, series in enumerate(panel.series):
        colour = COLOURS[labels.index(series.label) % len(COLOURS)]
        spread = list(series.spread) or [0.0] * len(series.at)
        shift = (i - (count - 1) / 2) * 0.8 / count if panel.bars else 0.0
        known = [
            (position[place] + shift, mean, std)
            for place, mean, std in zip(series.at, series.mean, spread, strict=True)
            if mean is not None
        ]
        if known:
            x, mean, std = zip(*known, strict=True)
            if panel.bars:
                axis.bar(x, mean, 0.8 / count, yerr=std, color=colour, label=series.label, error_kw={"linewidth": 0.8})
            else:
                axis.plot(x, mean, "o-", color=colour, label=series.label, markersize=3.5, linewidth=1.4)
                low = [m - s for m, s in zip(mean, std, strict=True)]
                high = [m + s for m, s in zip(mean, std, strict=True)]
                axis.fill_between(x, low, high, color=colour, alpha=0.12, linewidth=0)
        marks = [
            (position[place] + shift, value)
            for place, value in zip(series.at, series.marks, strict=False)
            if value is not None
        ]
        if marks:
            axis.plot(*zip(*marks, strict=True), "D", markerfacecolor="none", markeredgecolor="#222222", markersize=4)
    axis.set_xticks(range(len(places)), places)
    if max((len(place) for place in places), default=0) * len(places) > 48:
        axis.tick_params(axis="x", labelrotation=30)
    axis.set_title(panel.title, fontsize=10)
    axis.set_xlabel(panel.x)
    axis.set_ylabel(panel.y)
    axis.grid(alpha=0.25)
    axis.spines[["top", "right"]].set_visible(False)
