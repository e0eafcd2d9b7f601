"""Drawings inside a page: lines, bars, scatter plots. Colors come from the page's style, light or dark."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from .colors import SERIES_COLORS
from .panels import Panel, list_series_labels
from .rendering import clip_text, format_number, render

WIDTH, HEIGHT = 400, 270
LEFT, RIGHT, TOP, BOTTOM = 44, WIDTH - 12, 22, HEIGHT - 40  # ends of the axes
NUM_SHAPES = 7


@dataclass(frozen=True)
class Line:
    label: str
    x: Sequence[float]
    y: Sequence[float]
    dots: bool = False  # each point is marked

    @property
    def xy_pairs(self) -> list[tuple[float, float]]:
        return list(zip(self.x, self.y, strict=True))


@dataclass(frozen=True)
class Scale:
    """From values to coordinates in a drawing."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / ((self.high - self.low) or 1.0)
        return round(self.start + share * (self.end - self.start), 1)

    def list_round_ticks(self) -> list[float]:
        return list_round_ticks(self.low, self.high)


def draw_lines(
    title: str,
    description: str,
    lines: Sequence[Line],
    *,
    x_label: str,
    y_label: str,
    y_range: tuple[float, float] | None = None,
    vertical_mark: tuple[float, str] | None = None,
    diagonal: bool = False,
) -> Markup:
    """Lines over numbers.

    Args:
        title: what is drawn, also for screen readers.
        description: what it shows, in words.
        lines: in the order of drawing.
        x_label: name of the horizontal axis.
        y_label: name of the vertical axis.
        y_range: ends of the vertical axis, and of both axes with a diagonal; by default those of the values.
        vertical_mark: a number to mark with a vertical line, and the text beside it.
        diagonal: draw where x and y are equal.
    """
    x_range = y_range if y_range and diagonal else _find_finite_range([x for line in lines for x in line.x])
    y_range = y_range or find_round_range([y for line in lines for y in line.y])
    return render_chart_template(
        "lines.svg",
        title=title,
        description=description,
        lines=lines,
        across=Scale(*x_range, LEFT, RIGHT),
        up=Scale(*y_range, BOTTOM, TOP),
        x_label=x_label,
        y_label=y_label,
        vertical_mark=vertical_mark,
        diagonal=diagonal,
    )


def draw_scatter(title: str, description: str, groups: Sequence[tuple[str, Any]], short_names: Sequence[str]) -> Markup:
    """Points [n, 2] of named groups. Short names stand at the median of the points, and in the legend."""
    points = [point for _, members in groups for point in members]
    if not points:
        return Markup("")
    across = Scale(*_find_padded_range([x for x, _ in points]), 6, WIDTH - 6)
    up = Scale(*_find_padded_range([y for _, y in points]), HEIGHT - 6, 6)
    drawn, labels = [], []
    for i, ((name, members), short) in enumerate(zip(groups, short_names, strict=True)):
        labels.append("" if not len(members) else name if short == name else f"{short} {name}")
        if len(members):
            path = "".join(build_shape_path(i, across(x), up(y), 2.6) for x, y in members)
            x, y = (sorted(values)[len(members) // 2] for values in zip(*members, strict=True))
            drawn.append((i, name, short, path, across(x), up(y)))
    return render_chart_template("scatter.svg", title=title, description=description, groups=drawn, labels=labels)


def draw_panels(panels: Sequence[Panel], note: str = "") -> Markup:
    """Panels side by side or below each other, depending on the room, with one legend."""
    has_marks = any(series.list_reference_points() for panel in panels for series in panel.series)
    placed = [_place_panel(panel) for panel in panels]
    return render_chart_template(
        "panels.svg", panels=placed, labels=list_series_labels(panels), has_marks=has_marks, note=note
    )


@dataclass(frozen=True)
class PlacedPanel:
    """A panel and where its values lie. ``centers`` has the x coordinates of each series by level."""

    panel: Panel
    title: str
    description: str
    up: Scale
    levels: Sequence[tuple[str, float]]
    centers: Sequence[Mapping[str, float]]
    bar_width: float | None


def _place_panel(panel: Panel) -> PlacedPanel:
    points = [series.list_means_with_spread() for series in panel.series]
    values = [v for rows in points for _, mean, std in rows for v in (mean - std, mean + std)]
    values += [value for series in panel.series for _, value in series.list_reference_points()]
    levels = panel.list_x_in_order_of_appearance()
    step = (RIGHT - LEFT) / max(len(levels), 1)
    # Series are drawn beside each other, lines only slightly: marks of equal values stay visible.
    width = step * 0.8 / max(len(panel.series), 1)
    distance = width if panel.bars else min(width / 2, 6)
    shifts = [(n - (len(panel.series) - 1) / 2) * distance for n in range(len(panel.series))]
    centers = {x: LEFT + step * (i + 0.5) for i, x in enumerate(levels)}
    described = [
        f"{clip_text(series.label)} " + ", ".join(f"{format_number(mean)} at {x}" for x, mean, _ in rows)
        for series, rows in zip(panel.series, points, strict=True)
    ]
    return PlacedPanel(
        panel,
        title=f"{panel.title}: {panel.y_label}" + (f" by {panel.x_label}" if panel.x_label else ""),
        description="; ".join(described),
        up=Scale(*find_round_range([*values, 0.0] if panel.bars else values), BOTTOM, TOP),
        levels=list(centers.items()),
        centers=[{x: round(center + shift, 1) for x, center in centers.items()} for shift in shifts],
        bar_width=width if panel.bars else None,
    )


def render_chart_template(template: str, **values: Any) -> Markup:
    """A template of a drawing with the usual axes."""
    return render(
        template,
        **values,
        width=WIDTH,
        height=HEIGHT,
        left=LEFT,
        right=RIGHT,
        top=TOP,
        bottom=BOTTOM,
        num_colors=len(SERIES_COLORS),
        build_shape_path=build_shape_path,
    )


def build_shape_path(number: int, x: float, y: float, radius: float) -> str:
    """The path of a shape around a point: circle, square, triangle, diamond, triangle downwards, cross, plus."""
    r, wide = radius, 1.3 * radius
    match number % NUM_SHAPES:
        case 0:
            return f"M{x - r:.1f} {y}a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 {-2 * r} 0"
        case 1:
            return f"M{x - r:.1f} {y - r:.1f}h{2 * r}v{2 * r}h{-2 * r}z"
        case 2:
            return f"M{x:.1f} {y - 1.2 * r:.1f}l{1.2 * r:.1f} {2.2 * r:.1f}h{-2.4 * r:.1f}z"
        case 3:
            return f"M{x:.1f} {y - wide:.1f}l{wide:.1f} {wide:.1f}l{-wide:.1f} {wide:.1f}l{-wide:.1f} {-wide:.1f}z"
        case 4:
            return f"M{x:.1f} {y + 1.2 * r:.1f}l{1.2 * r:.1f} {-2.2 * r:.1f}h{-2.4 * r:.1f}z"
        case 5:
            return f"M{x - r:.1f} {y - r:.1f}l{2 * r} {2 * r}M{x - r:.1f} {y + r:.1f}l{2 * r} {-2 * r}"
        case _:
            return f"M{x - 1.2 * r:.1f} {y}h{2.4 * r:.1f}M{x:.1f} {y - 1.2 * r:.1f}v{2.4 * r:.1f}"


def list_round_ticks(low: float, high: float, max_ticks: int = 6) -> list[float]:
    """Round numbers from low to high."""
    if not high > low:
        return [low]
    rough = (high - low) / (max_ticks - 1)
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * k for k in (1, 2, 2.5, 5, 10) if power * k >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(n * step, 10) for n in range(first, math.floor(high / step + 1e-9) + 1)]


def _find_finite_range(values: Sequence[float]) -> tuple[float, float]:
    finite = [value for value in values if math.isfinite(value)]
    return (min(finite), max(finite)) if finite else (0.0, 1.0)


def _find_padded_range(values: Sequence[float]) -> tuple[float, float]:
    low, high = _find_finite_range(values)
    margin = (high - low) * 0.03 or 1.0
    return low - margin, high + margin


def find_round_range(values: Sequence[float]) -> tuple[float, float]:
    """Ends around the values at which a tick can stand."""
    low, high = _find_finite_range(values)
    if low == high:
        low, high = low - (abs(low) * 0.1 or 1.0), high + (abs(high) * 0.1 or 1.0)
    ticks = list_round_ticks(low, high)
    step = ticks[1] - ticks[0] if len(ticks) > 1 else high - low
    return math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
