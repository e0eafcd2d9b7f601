"""Drawings inside a page: lines, bars, scatter plots. Colors come from the page's style, light or dark.

Series differ in shape and dashes as well as in color. Names from outside stay text: `Markup` escapes them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from .colors import SERIES_COLORS
from .page import clip_text
from .panels import Panel, Series, list_labels

WIDTH, HEIGHT = 400, 270
LEFT, RIGHT, TOP, BOTTOM = 44, 12, 22, 40
NUM_COLORS, NUM_DASHES, NUM_SHAPES = len(SERIES_COLORS), 5, 7  # a shape repeats with another color
MAX_STRAIGHT_CHARS = 48  # of all x values together; more are written at an angle


@dataclass(frozen=True)
class Line:
    label: str
    x: Sequence[float]
    y: Sequence[float]
    dots: bool = False  # each point is marked


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

    @classmethod
    def horizontal(cls, low: float, high: float) -> Scale:
        return cls(low, high, LEFT, WIDTH - RIGHT)

    @classmethod
    def vertical(cls, low: float, high: float) -> Scale:
        return cls(low, high, HEIGHT - BOTTOM, TOP)


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
    xs = [value for line in lines for value in line.x]
    ys = [value for line in lines for value in line.y]
    across = Scale.horizontal(*(y_range if y_range and diagonal else _find_ends(xs)))
    up = Scale.vertical(*(y_range or _round_ends(_find_ends(ys))))
    parts = [_draw_axes(across, up, x_label, y_label)]
    if diagonal:
        parts.append(_draw_line(across(across.low), up(across.low), across(across.high), up(across.high), "guide"))
    if vertical_mark is not None:
        x, text = across(vertical_mark[0]), vertical_mark[1]
        shift, anchor = (-4, "end") if x > WIDTH / 2 else (4, "start")
        parts.append(_draw_line(x, TOP, x, HEIGHT - BOTTOM, "guide"))
        parts.append(_draw_text(x + shift, HEIGHT - BOTTOM - 6, text, anchor, "halo"))
    for i, line in enumerate(lines):
        parts.append(_draw_polyline([(across(x), up(y)) for x, y in zip(line.x, line.y, strict=True)], i))
        for x, y in zip(line.x, line.y, strict=True) if line.dots else ():
            parts.append(_draw_mark(across(x), up(y), i, f"{line.label}: {_format_number(x)}, {_format_number(y)}"))
    legend = _draw_legend([line.label for line in lines], dots=any(line.dots for line in lines))
    return _draw_figure(title, description, parts) + legend


def draw_panels(panels: Sequence[Panel], note: str = "") -> Markup:
    """Panels side by side or below each other, depending on the room, with one legend."""
    labels = list_labels(panels)
    drawn = Markup("").join(_draw_panel(panel, labels) for panel in panels)
    has_marks = any(series.list_marks() for panel in panels for series in panel.series)
    legend = _draw_legend(labels, dots=True, hollow="the paper" if has_marks else "")
    remark = Markup('<p class="note">{}</p>').format(note) if note else Markup("")
    return Markup('<div class="panels">{}</div>').format(drawn) + legend + remark


def draw_scatter(title: str, description: str, groups: Sequence[tuple[str, Any]], short_names: Sequence[str]) -> Markup:
    """Points [n, 2] of named groups. Short names stand at the median of the points, and in the legend."""
    points = [point for _, members in groups for point in members]
    if not points:
        return Markup("")
    across = Scale(*_pad_ends([point[0] for point in points]), 6, WIDTH - 6)
    up = Scale(*_pad_ends([point[1] for point in points]), HEIGHT - 6, 6)
    shapes, texts, labels = [], [], []
    for i, ((name, members), short) in enumerate(zip(groups, short_names, strict=True)):
        labels.append("" if not len(members) else name if short == name else f"{short} {name}")
        if len(members):
            path = "".join(_outline_shape(i, across(x), up(y), 2.6) for x, y in members)
            color = _color_number(i)
            shapes.append(
                Markup('<path class="dot s{}" d="{}"><title>{}</title></path>').format(color, path, clip_text(name))
            )
            x, y = (sorted(float(point[k]) for point in members)[len(members) // 2] for k in (0, 1))
            texts.append(_draw_text(across(x), up(y) + 4, short, "middle", "over"))
    figure = _draw_figure(title, description, [*shapes, *texts], css_class="cloud")
    return figure + _draw_legend(labels, dots=True, lines=False)


# ---- parts of a drawing ----


def _draw_panel(panel: Panel, labels: Sequence[str]) -> Markup:
    levels = panel.list_x()
    points = [series.list_points() for series in panel.series]
    values = [v for rows in points for _, mean, std in rows for v in (mean - std, mean + std)]
    values += [value for series in panel.series for _, value in series.list_marks()]
    up = Scale.vertical(*_round_ends(_find_ends([*values, 0.0] if panel.bars else values)))
    step = (WIDTH - LEFT - RIGHT) / max(len(levels), 1)
    centers = {x: LEFT + step * (i + 0.5) for i, x in enumerate(levels)}
    parts = [_draw_axes(None, up, panel.x_label, panel.y_label, list(centers.items()))]
    # Series are drawn beside each other, lines only slightly: marks of equal values stay visible.
    width = step * 0.8 / max(len(panel.series), 1)
    width = width if panel.bars else min(width / 2, 6)
    for n, (series, rows) in enumerate(zip(panel.series, points, strict=True)):
        shift = (n - (len(panel.series) - 1) / 2) * width
        shifted = {x: round(center + shift, 1) for x, center in centers.items()}
        parts += _draw_series(series, rows, labels.index(series.label), shifted, up, width if panel.bars else None)
    title = f"{panel.title}: {panel.y_label}" + (f" by {panel.x_label}" if panel.x_label else "")
    description = "; ".join(
        f"{clip_text(series.label)} " + ", ".join(f"{_format_number(mean)} at {x}" for x, mean, _ in rows)
        for series, rows in zip(panel.series, points, strict=True)
    )
    return _draw_figure(title, description, parts, caption=panel.title)


def _draw_series(
    series: Series,
    points: Sequence[tuple[str, float, float]],
    number: int,
    centers: dict[str, float],
    up: Scale,
    bar_width: float | None,
) -> list[Markup]:
    """The line of a series, or its bars if they have a width, with spread and reference values."""
    color, name = _color_number(number), clip_text(series.label)
    parts = [] if bar_width else [_draw_polyline([(centers[x], up(mean)) for x, mean, _ in points], number)]
    for x, mean, std in points:
        center, top = centers[x], up(mean)
        if bar_width:
            parts.append(
                Markup('<rect class="column s{}" x="{:.1f}" y="{}" width="{:.1f}" height="{:.1f}"/>').format(
                    color, center - bar_width / 2, min(top, up(0)), bar_width * 0.92, abs(up(0) - top)
                )
            )
        if std:
            parts.append(_draw_line(center, up(mean - std), center, up(mean + std), f"spread s{color}"))
        label = f"{name}, {x}: {_format_number(mean)} ± {_format_number(std)}"
        parts.append(_draw_mark(center, top, number, label, size=2.6 if bar_width else 3.2))
    for x, value in series.list_marks():
        label = f"{name}, {x}: {_format_number(value)} in the paper"
        parts.append(_draw_mark(centers[x], up(value), 3, label, size=4.2, css_class=f"hollow s{color}"))
    return parts


def _draw_figure(
    title: str, description: str, parts: Sequence[Markup], caption: str = "", css_class: str = ""
) -> Markup:
    heading = Markup("<figcaption>{}</figcaption>").format(clip_text(caption, 200)) if caption else Markup("")
    return Markup(
        '<figure>{}<svg class="chart {}" viewBox="0 0 {} {}" role="img">'
        "<title>{}</title><desc>{}</desc>{}</svg></figure>"
    ).format(
        heading, css_class, WIDTH, HEIGHT, clip_text(title, 300), clip_text(description, 2_000), Markup("").join(parts)
    )


def _draw_axes(
    across: Scale | None, up: Scale, x_label: str, y_label: str, levels: Sequence[tuple[str, float]] = ()
) -> Markup:
    """Axes with numbers on both, or with named levels and their x coordinates on the horizontal one."""
    parts, bottom = [], HEIGHT - BOTTOM
    for value in list_ticks(up.low, up.high):
        parts.append(_draw_line(LEFT, up(value), WIDTH - RIGHT, up(value), "grid"))
        parts.append(_draw_text(LEFT - 5, up(value) + 4, _format_number(value), "end"))
    parts.append(_draw_line(LEFT, bottom, WIDTH - RIGHT, bottom, "axis"))
    for value in list_ticks(across.low, across.high) if across is not None else ():
        parts.append(_draw_text(across(value), bottom + 15, _format_number(value), "middle"))  # type: ignore[misc]
    is_tilted = sum(max(len(name), 3) for name, _ in levels) > MAX_STRAIGHT_CHARS
    for name, x in levels:
        tilt = Markup(' transform="rotate(-25 {:.1f} {})"').format(x, bottom + 12) if is_tilted else ""
        anchor, text = ("end", clip_text(name, 18)) if is_tilted else ("middle", clip_text(name, 40))
        parts.append(
            Markup('<text class="at-{}" x="{:.1f}" y="{}"{}>{}</text>').format(anchor, x, bottom + 14, tilt, text)
        )
    parts.append(_draw_text(WIDTH - RIGHT, HEIGHT - 6, x_label, "end", "name"))
    parts.append(_draw_text(2, 12, y_label, "start", "name"))
    return Markup("").join(parts)


def _draw_line(x1: float, y1: float, x2: float, y2: float, css_class: str) -> Markup:
    line = Markup('<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>')
    return line.format(css_class, x1, y1, x2, y2)


def _draw_text(x: float, y: float, text: str, anchor: str, css_class: str = "") -> Markup:
    return Markup('<text class="at-{} {}" x="{:.1f}" y="{:.1f}">{}</text>').format(
        anchor, css_class, x, y, clip_text(text)
    )


def _draw_polyline(points: Sequence[tuple[float, float]], number: int) -> Markup:
    path = " ".join(f"{x},{y}" for x, y in points)
    return Markup('<polyline class="line s{} d{}" points="{}"/>').format(
        _color_number(number), number % NUM_DASHES, path
    )


def _draw_mark(x: float, y: float, number: int, label: str, size: float = 3.2, css_class: str = "") -> Markup:
    path = _outline_shape(number, x, y, size)
    css_class = css_class or f"dot s{_color_number(number)}"
    return Markup('<path class="{}" d="{}"><title>{}</title></path>').format(css_class, path, label)


def _outline_shape(number: int, x: float, y: float, radius: float) -> str:
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


def _draw_legend(labels: Sequence[str], *, dots: bool, lines: bool = True, hollow: str = "") -> Markup:
    """The shape, dashes and color of each label; empty labels are left out, `hollow` names the reference values."""
    items = []
    for i, label in enumerate(labels):
        if label:
            stroke = _draw_polyline([(0, 6), (26, 6)], i) if lines else Markup("")
            items.append((stroke + (_draw_mark(13, 6, i, "") if dots else ""), label))
    if hollow:
        items.append((_draw_mark(13, 6, 3, "", size=4.2, css_class="hollow"), hollow))
    if len(items) == 1 and lines:
        return Markup("")
    item = Markup(
        '<li><svg class="key" viewBox="0 0 26 12" aria-hidden="true">{}</svg><span class="clip long">{}</span></li>'
    )
    rows = Markup("").join(item.format(sign, label) for sign, label in items)
    return Markup('<ul class="legend keys-of">{}</ul>').format(rows)


# ---- numbers ----


def list_ticks(low: float, high: float, max_ticks: int = 6) -> list[float]:
    """Round numbers from low to high."""
    if not high > low:
        return [low]
    rough = (high - low) / (max_ticks - 1)
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * k for k in (1, 2, 2.5, 5, 10) if power * k >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(n * step, 10) for n in range(first, math.floor(high / step + 1e-9) + 1)]


def _find_ends(values: Sequence[float]) -> tuple[float, float]:
    finite = [value for value in values if math.isfinite(value)]
    return (min(finite), max(finite)) if finite else (0.0, 1.0)


def _pad_ends(values: Sequence[float]) -> tuple[float, float]:
    low, high = _find_ends(values)
    margin = (high - low) * 0.03 or 1.0
    return low - margin, high + margin


def _round_ends(ends: tuple[float, float]) -> tuple[float, float]:
    """Ends at which a tick can stand."""
    low, high = ends
    if low == high:
        low, high = low - (abs(low) * 0.1 or 1.0), high + (abs(high) * 0.1 or 1.0)
    ticks = list_ticks(low, high)
    step = ticks[1] - ticks[0] if len(ticks) > 1 else high - low
    return math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step


def _color_number(number: int) -> int:
    return number % NUM_COLORS


def _format_number(value: float) -> str:
    return f"{value:.4g}"
