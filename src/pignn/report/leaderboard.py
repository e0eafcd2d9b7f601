"""Drawings of a leaderboard, inside a page: a diagram of mean ranks, and results against their cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from .rendering import clip_text, format_number, render
from .svg import BOTTOM, LEFT, RIGHT, TOP, Scale, find_round_range, list_round_ticks, render_chart_template

RANK_WIDTH, RANK_LEFT, RANK_RIGHT, RANK_TOP = 640, 190, 450, 46
LABEL_STEP, STRETCH_STEP = 15, 7
NAME_WIDTH, NAME_HEIGHT = 90, 12  # room that the name of a point takes


class TradeoffPoint(NamedTuple):
    """A result and its cost; ``is_best`` if nothing is better for as little."""

    label: str
    cost: float
    value: float
    is_best: bool


def draw_ranks(
    title: str,
    ranked: Sequence[tuple[str, float]],
    alike: Sequence[tuple[int, int]],
    critical_difference: float | None = None,
) -> Markup:
    """Names at their mean rank on a line, the best on the left; a bar joins those that cannot be told apart.

    Args:
        title: what is drawn.
        ranked: names with their mean ranks, from the lowest rank on.
        alike: the stretches (first, last index) to join.
        critical_difference: drawn to scale above the line.
    """
    low, high = math.floor(ranked[0][1]), max(math.ceil(ranked[-1][1]), math.floor(ranked[0][1]) + 1)
    across = Scale(low, high, RANK_LEFT, RANK_RIGHT)
    first_label = RANK_TOP + 16 + STRETCH_STEP * len(alike)
    half = (len(ranked) + 1) // 2
    names = []
    for i, (name, rank) in enumerate(ranked):
        on_left = i < half
        y = first_label + LABEL_STEP * (i if on_left else len(ranked) - 1 - i)
        names.append((name, rank, across(rank), y, on_left))
    bars = [
        (across(ranked[first][1]) - 3, across(ranked[last][1]) + 3, RANK_TOP + 9 + STRETCH_STEP * n)
        for n, (first, last) in enumerate(alike)
    ]
    described = ", ".join(f"{clip_text(name)} {rank:.2f}" for name, rank in ranked)
    return render(
        "ranks.svg",
        title=title,
        description=f"mean ranks: {described}",
        names=names,
        bars=bars,
        across=across,
        critical_difference=critical_difference,
        critical_end=None if critical_difference is None else across(low + min(critical_difference, high - low)),
        is_cut=critical_difference is not None and critical_difference > high - low,
        width=RANK_WIDTH,
        height=first_label + LABEL_STEP * half + 4,
        left=RANK_LEFT,
        right=RANK_RIGHT,
        top=RANK_TOP,
    )


def draw_tradeoff(points: Sequence[TradeoffPoint], *, x_label: str, y_label: str) -> Markup:
    """Results against their cost on a logarithmic axis. What is best for its cost is joined by a line and named."""
    costs = [math.log10(point.cost) for point in points]
    low, high = min(costs), max(costs)
    margin = (high - low) * 0.06 or 0.5
    across = Scale(low - margin, high + margin, LEFT, RIGHT)
    up = Scale(*find_round_range([point.value for point in points]), BOTTOM, TOP)
    placed = [(point, across(math.log10(point.cost)), up(point.value)) for point in points]
    best = sorted((one for one in placed if one[0].is_best), key=lambda one: one[1])
    levels = [
        (format_number(value), across(math.log10(value))) for value in _list_log_ticks(low - margin, high + margin)
    ]
    return render_chart_template(
        "tradeoff.svg",
        title=f"{y_label} against {x_label}",
        description="best for their cost: "
        + ", ".join(f"{clip_text(p.label)} {format_number(p.value)} at {format_number(p.cost)}" for p, _, _ in best),
        points=placed,
        front=best,
        named=_choose_names_without_overlap(best),
        up=up,
        levels=levels,
        x_label=x_label,
        y_label=y_label,
    )


def _choose_names_without_overlap(best: Sequence[tuple[TradeoffPoint, float, float]]) -> list[tuple[str, float, float]]:
    """Names that do not cover each other, those of the best results first. The others are in the drawing's text."""
    named: list[tuple[str, float, float]] = []
    for point, x, y in sorted(best, key=lambda one: -one[0].value):
        if all(abs(x - other_x) > NAME_WIDTH or abs(y - other_y) > NAME_HEIGHT for _, other_x, other_y in named):
            named.append((point.label, x, y))
    return named


def _list_log_ticks(low: float, high: float) -> list[float]:
    """Round numbers between two powers of ten: 1, 10, 100, ... or closer where there would be fewer than two."""
    for steps in ((1,), (1, 3), (1, 2, 5)):
        ticks = [step * 10.0**power for power in range(math.floor(low), math.ceil(high) + 1) for step in steps]
        inside = [tick for tick in ticks if low <= math.log10(tick) <= high]
        if len(inside) > 1:
            return inside
    return list_round_ticks(10**low, 10**high)
