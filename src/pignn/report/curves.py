"""Learning curves as a picture."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Told apart by lightness as well as by hue.
COLOURS = ("#b5541c", "#1f5fa8", "#3d8b37", "#7b3fa0", "#555555")
PANELS = {
    "test_accuracy": "right on test nodes",
    "val_accuracy": "right on the labels that choose the epoch",
    "train_agreement": "agrees with given training labels",
}


def draw_learning_curves(
    histories: Mapping[str, Sequence[Mapping[str, Any]]], chosen: Mapping[str, int | None] | None = None
) -> Figure:
    """A figure with one panel for each kind of accuracy and one line for each method.

    A dot with its value marks the ``chosen`` epoch of a method; without one, the value of the last epoch is written.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patheffects import withStroke

    shown = [key for key in PANELS if any(row.get(key) is not None for rows in histories.values() for row in rows)]
    shown = shown or ["class_loss"]
    figure = Figure(figsize=(4.2 * len(shown), 3.4), layout="constrained")
    FigureCanvasAgg(figure)
    for axis, key in zip(figure.subplots(1, len(shown), squeeze=False)[0], shown, strict=True):
        values = []
        for colour, (name, rows) in zip(COLOURS, histories.items(), strict=False):
            points = {row["epoch"]: row[key] for row in rows if row.get(key) is not None}
            if points:
                axis.plot(list(points), list(points.values()), color=colour, linewidth=1.4, label=name)
                epoch = (chosen or {}).get(name)
                if epoch in points:
                    axis.plot(epoch, points[epoch], "o", color=colour, markersize=5)
                epoch = epoch if epoch in points else max(points)
                values.append((points[epoch], epoch, colour))
        for rank, (value, epoch, colour) in enumerate(sorted(values, reverse=True)):
            axis.annotate(
                f"{value:.2f}",
                (epoch, value),
                xytext=(0, -7 if rank else 7),  # the highest above its line, the others below
                textcoords="offset points",
                ha="center",
                va="top" if rank else "bottom",
                color=colour,
                fontsize=8,
                path_effects=[withStroke(linewidth=3, foreground="white")],
            )
        axis.margins(y=0.12)
        axis.set_title(PANELS.get(key, key), fontsize=10)
        axis.set_xlabel("epoch (dot: the one that is kept)" if chosen else "epoch")
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
    figure.axes[0].legend(frameon=False, fontsize=9)
    return figure


def draw_matrix(matrix: Any, names: Sequence[str], *, row_title: str, column_title: str) -> Figure:
    """A heat map of a square matrix of shares, with its values where there is room."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    size = 2.2 + 0.45 * len(names)
    figure = Figure(figsize=(size + 0.6, size), layout="constrained")
    FigureCanvasAgg(figure)
    axis = figure.subplots()
    figure.colorbar(axis.imshow(matrix, vmin=0, vmax=1, cmap="Blues"), shrink=0.8)
    axis.set_xticks(range(len(names)), names, rotation=45, ha="right")
    axis.set_yticks(range(len(names)), names)
    axis.set_xlabel(column_title)
    axis.set_ylabel(row_title)
    if len(names) <= 20:
        for row, values in enumerate(matrix):
            for column, value in enumerate(values):
                color = "white" if value > 0.6 else "black"
                axis.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=7, color=color)
    return figure


def encode_png(figure: Figure) -> bytes:
    """The bytes of a PNG file; equal figures give equal bytes."""
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=130)
    return content.getvalue()
