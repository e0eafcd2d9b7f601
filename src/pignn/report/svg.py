"""Drawings that stand in a page: lines, bars, clouds of points. Colours come from the page's style, light or dark.

What tells series apart is shape and dashes as well as colour. Names from outside go in as text: `Markup` escapes them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from .page import clip
from .plots import Panel, Series

WIDTH, HEIGHT = 400, 270
LEFT, RIGHT, TOP, BOTTOM = 44, 12, 22, 40
COLOURS, DASHES, SHAPES = 10, 5, 7  # how many the style has; a shape repeats with another colour
NARROW = 48  # characters of all places together, beyond which they are written askew


@dataclass(frozen=True)
class Line:
    label: str
    x: Sequence[float]
    y: Sequence[float]
    dots: bool = False  # each point is marked


@dataclass(frozen=True)
class Scale:
    """From values to places in a drawing."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / ((self.high - self.low) or 1.0)
        return round(self.start + share * (self.end - self.start), 1)

    @classmethod
    def across(cls, low: float, high: float) -> Scale:
        return cls(low, high, LEFT, WIDTH - RIGHT)

    @classmethod
    def up(cls, low: float, high: float) -> Scale:
        return cls(low, high, HEIGHT - BOTTOM, TOP)


def curves(
    title: str,
    description: str,
    lines: Sequence[Line],
    *,
    x: str,
    y: str,
    within: tuple[float, float] | None = None,
    at: tuple[float, str] | None = None,
    diagonal: bool = False,
) -> Markup:
    """Lines over numbers.

    Args:
        title: what is drawn, for those who do not see it as well.
        description: what it shows.
        lines: drawn in this order.
        x: what the numbers are.
        y: what the heights are.
        within: the ends of both axes where the diagonal is drawn, else of the upright one; by the values if absent.
        at: a number to mark with an upright line, and what stands beside it.
        diagonal: draw where x and y are equal.
    """
    xs = [value for line in lines for value in line.x]
    ys = [value for line in lines for value in line.y]
    across = Scale.across(*(within if within and diagonal else _ends(xs)))
    up = Scale.up(*(within or _rounded(_ends(ys))))
    parts = [_axes(across, up, x, y, places=None)]
    if diagonal:
        parts.append(_line(across(across.low), up(across.low), across(across.high), up(across.high), "guide"))
    if at is not None:
        place = across(at[0])
        left = place > WIDTH / 2
        parts.append(_line(place, TOP, place, HEIGHT - BOTTOM, "guide"))
        parts.append(_text(place + (-4 if left else 4), HEIGHT - BOTTOM - 6, at[1], "end" if left else "start", "halo"))
    for i, line in enumerate(lines):
        points = [(across(a), up(b)) for a, b in zip(line.x, line.y, strict=True)]
        parts.append(_polyline(points, i))
        if line.dots:
            told = [f"{line.label}: {_short(a)}, {_short(b)}" for a, b in zip(line.x, line.y, strict=True)]
            parts += [_mark(a, b, i, text) for (a, b), text in zip(points, told, strict=True)]
    return _figure(title, description, parts) + _legend([line.label for line in lines], dots=any(n.dots for n in lines))


def panels(shown: Sequence[Panel], note: str = "") -> Markup:
    """Panels side by side or below each other, as there is room, with one legend."""
    labels = list(dict.fromkeys(series.label for panel in shown for series in panel.series))
    drawn = Markup("").join(_panel(panel, labels) for panel in shown)
    marks = any(value is not None for panel in shown for series in panel.series for value in series.marks)
    told = Markup('<p class="note">{}</p>').format(note) if note else Markup("")
    return (
        Markup('<div class="panels">{}</div>').format(drawn)
        + _legend(labels, dots=True, hollow="the paper" if marks else "")
        + told
    )


def cloud(title: str, description: str, groups: Sequence[tuple[str, Any]], short: Sequence[str]) -> Markup:
    """BulletList [n, 2] of named groups; ``short`` names stand at the middle of the points, and in the legend."""
    every = [point for _, points in groups for point in points]
    if not every:
        return Markup("")
    across = Scale(*_padded([p[0] for p in every]), 6, WIDTH - 6)
    up = Scale(*_padded([p[1] for p in every]), HEIGHT - 6, 6)
    parts, middles = [], []
    for i, (name, points) in enumerate(groups):
        if not len(points):
            continue
        path = "".join(_shape(i, across(a), up(b), 2.6) for a, b in points)
        parts.append(Markup('<path class="dot s{}" d="{}"><title>{}</title></path>').format(_hue(i), path, clip(name)))
        a, b = (sorted(float(p[k]) for p in points)[len(points) // 2] for k in (0, 1))
        middles.append(_text(across(a), up(b) + 4, short[i], "middle", "over"))
    return _figure(title, description, [*parts, *middles], kind="cloud") + _legend(
        [
            "" if not len(points) else name if brief == name else f"{brief} {name}"
            for brief, (name, points) in zip(short, groups, strict=True)
        ],
        dots=True,
        lines=False,
    )


# ---- parts of a drawing ----


def _panel(panel: Panel, labels: Sequence[str]) -> Markup:
    places = list(panel.order) or list(dict.fromkeys(place for series in panel.series for place in series.at))
    found = [_known(series) for series in panel.series]
    values = [v for rows in found for _, mean, std in rows for v in (mean - std, mean + std)]
    values += [value for series in panel.series for value in series.marks if value is not None]
    up = Scale.up(*_rounded(_ends([*values, 0.0] if panel.bars else values)))
    step = (WIDTH - LEFT - RIGHT) / max(len(places), 1)
    middle = {place: LEFT + step * (i + 0.5) for i, place in enumerate(places)}
    parts = [_axes(None, up, panel.x, panel.y, places=list(middle.items()))]
    # Beside each other, lines only a little: where values are equal, all marks are seen.
    width = step * 0.8 / max(len(panel.series), 1)
    width = width if panel.bars else min(width / 2, 6)
    for n, (series, rows) in enumerate(zip(panel.series, found, strict=True)):
        i = labels.index(series.label)
        shift = (n - (len(panel.series) - 1) / 2) * width
        points = [(round(middle[place] + shift, 1), up(mean)) for place, mean, _ in rows]
        if not panel.bars:
            parts.append(_polyline(points, i))
        for (px, py), (place, mean, std) in zip(points, rows, strict=True):
            if panel.bars:
                parts.append(
                    Markup('<rect class="column s{}" x="{:.1f}" y="{}" width="{:.1f}" height="{:.1f}"/>').format(
                        _hue(i), px - width / 2, min(py, up(0)), width * 0.92, abs(up(0) - py)
                    )
                )
            if std:
                parts.append(_line(px, up(mean - std), px, up(mean + std), f"spread s{_hue(i)}"))
            told = f"{clip(series.label)}, {place}: {_short(mean)} ± {_short(std)}"
            parts.append(_mark(px, py, i, told, size=2.6 if panel.bars else 3.2))
        for place, value in zip(series.at, series.marks, strict=False):
            if value is not None:
                told = f"{clip(series.label)}, {place}: {_short(value)} in the paper"
                at = round(middle[place] + shift, 1)
                parts.append(_mark(at, up(value), 3, told, size=4.2, extra=f"hollow s{_hue(i)}"))
    what = f"{panel.title}: {panel.y}" + (f" by {panel.x}" if panel.x else "")
    said = "; ".join(
        f"{clip(series.label)} " + ", ".join(f"{_short(mean)} at {place}" for place, mean, _ in rows)
        for series, rows in zip(panel.series, found, strict=True)
    )
    return _figure(what, said, parts, caption=panel.title)


def _known(series: Series) -> list[tuple[str, float, float]]:
    """(place, mean, spread) where there is a mean."""
    spread = list(series.spread) or [0.0] * len(series.at)
    several = zip(series.at, series.mean, spread, strict=True)
    return [(place, mean, std) for place, mean, std in several if mean is not None]


def _figure(title: str, description: str, parts: Sequence[Markup], caption: str = "", kind: str = "") -> Markup:
    inside = Markup("").join(parts)
    above = Markup("<figcaption>{}</figcaption>").format(clip(caption, 200)) if caption else Markup("")
    return Markup(
        '<figure>{}<svg class="chart {}" viewBox="0 0 {} {}" role="img">'
        "<title>{}</title><desc>{}</desc>{}</svg></figure>"
    ).format(above, kind, WIDTH, HEIGHT, clip(title, 300), clip(description, 2_000), inside)


def _axes(across: Scale | None, up: Scale, x: str, y: str, places: Sequence[tuple[str, float]] | None) -> Markup:
    parts = []
    for value in ticks(up.low, up.high):
        parts.append(_line(LEFT, up(value), WIDTH - RIGHT, up(value), "grid"))
        parts.append(_text(LEFT - 5, up(value) + 4, _short(value), "end"))
    bottom = HEIGHT - BOTTOM
    parts.append(_line(LEFT, bottom, WIDTH - RIGHT, bottom, "axis"))
    if across is not None:
        parts += [
            _text(across(value), bottom + 15, _short(value), "middle") for value in ticks(across.low, across.high)
        ]
    elif places is not None:
        askew = sum(max(len(name), 3) for name, _ in places) > NARROW
        for name, place in places:
            turn = Markup(' transform="rotate(-25 {:.1f} {})"').format(place, bottom + 12) if askew else ""
            text = clip(name, 18 if askew else 40)
            end = "end" if askew else "middle"
            parts.append(
                Markup('<text class="at-{}" x="{:.1f}" y="{}"{}>{}</text>').format(end, place, bottom + 14, turn, text)
            )
    parts.append(_text(WIDTH - RIGHT, HEIGHT - 6, x, "end", "name"))
    parts.append(_text(2, 12, y, "start", "name"))
    return Markup("").join(parts)


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    return Markup('<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>').format(kind, x1, y1, x2, y2)


def _text(x: float, y: float, text: str, end: str, kind: str = "") -> Markup:
    return Markup('<text class="at-{} {}" x="{:.1f}" y="{:.1f}">{}</text>').format(end, kind, x, y, clip(text))


def _polyline(points: Sequence[tuple[float, float]], i: int) -> Markup:
    path = " ".join(f"{a},{b}" for a, b in points)
    return Markup('<polyline class="line s{} d{}" points="{}"/>').format(_hue(i), i % DASHES, path)


def _mark(x: float, y: float, i: int, told: str, size: float = 3.2, extra: str = "") -> Markup:
    kind = extra or f"dot s{_hue(i)}"
    return Markup('<path class="{}" d="{}"><title>{}</title></path>').format(kind, _shape(i, x, y, size), told)


def _shape(i: int, x: float, y: float, r: float) -> str:
    """The outline of the i-th shape around a point."""
    kind = i % SHAPES
    if kind == 0:
        return f"M{x - r:.1f} {y}a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 {-2 * r} 0"
    if kind == 1:
        return f"M{x - r:.1f} {y - r:.1f}h{2 * r}v{2 * r}h{-2 * r}z"
    if kind == 2:
        return f"M{x:.1f} {y - 1.2 * r:.1f}l{1.2 * r:.1f} {2.2 * r:.1f}h{-2.4 * r:.1f}z"
    if kind == 3:
        w = 1.3 * r
        return f"M{x:.1f} {y - w:.1f}l{w:.1f} {w:.1f}l{-w:.1f} {w:.1f}l{-w:.1f} {-w:.1f}z"
    if kind == 4:
        return f"M{x:.1f} {y + 1.2 * r:.1f}l{1.2 * r:.1f} {-2.2 * r:.1f}h{-2.4 * r:.1f}z"
    if kind == 5:
        return f"M{x - r:.1f} {y - r:.1f}l{2 * r} {2 * r}M{x - r:.1f} {y + r:.1f}l{2 * r} {-2 * r}"
    return f"M{x - 1.2 * r:.1f} {y}h{2.4 * r:.1f}M{x:.1f} {y - 1.2 * r:.1f}v{2.4 * r:.1f}"


def _legend(labels: Sequence[str], *, dots: bool, lines: bool = True, hollow: str = "") -> Markup:
    """What shape, dashes and colour belong to; groups without a name are left out."""
    items = []
    for i, label in enumerate(labels):
        if label:
            stroke = _polyline([(0, 6), (26, 6)], i) if lines else Markup("")
            items.append((stroke + (_mark(13, 6, i, "") if dots else ""), label))
    if hollow:
        items.append((_mark(13, 6, 3, "", size=4.2, extra="hollow"), hollow))
    if len(items) == 1 and lines:
        return Markup("")
    rows = Markup("").join(
        Markup(
            '<li><svg class="key" viewBox="0 0 26 12" aria-hidden="true">{}</svg><span class="clip long">{}</span></li>'
        ).format(sign, label)
        for sign, label in items
    )
    return Markup('<ul class="legend keys-of">{}</ul>').format(rows)


# ---- numbers ----


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers from low to high, at most `most` of them."""
    if not high > low:
        return [low]
    rough = (high - low) / (most - 1)
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * k for k in (1, 2, 2.5, 5, 10) if power * k >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(n * step, 10) for n in range(first, math.floor(high / step + 1e-9) + 1)]


def _ends(values: Sequence[float]) -> tuple[float, float]:
    finite = [value for value in values if math.isfinite(value)]
    return (min(finite), max(finite)) if finite else (0.0, 1.0)


def _padded(values: Sequence[float]) -> tuple[float, float]:
    low, high = _ends(values)
    more = (high - low) * 0.03 or 1.0
    return low - more, high + more


def _rounded(ends: tuple[float, float]) -> tuple[float, float]:
    """Ends at which a tick can stand."""
    low, high = ends
    if low == high:
        low, high = low - (abs(low) * 0.1 or 1.0), high + (abs(high) * 0.1 or 1.0)
    found = ticks(low, high)
    step = found[1] - found[0] if len(found) > 1 else high - low
    return math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step


def _hue(i: int) -> int:
    return i % COLOURS


def _short(value: float) -> str:
    return f"{value:.4g}"
