"""Figures by matplotlib, for files and notebooks. The same numbers give the same bytes."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.errors import build_unknown_name_error
from . import svg
from .colors import SERIES_COLORS
from .panels import Panel, list_series_labels
from .rendering import clip_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "svg")
MAX_LEGEND_CLASSES, MAX_NAME_CHARS = 20, 24
MAX_LEVEL_CHARS = 48  # of all x values together; longer ones are rotated
CURVES = {
    "test_accuracy": "accuracy on test nodes",
    "val_accuracy": "accuracy on the labels that select the epoch",
    "train_agreement": "agreement with given training labels",
}


def draw_panels(panels: Sequence[Panel], *, form: str = "png", columns: int = 2, note: str = "") -> bytes:
    """All panels in one picture with one legend, as PNG or SVG.

    The form `page` is markup for a page of ours, in the page's own colors.
    """
    if form == "page":
        return svg.draw_panels(panels, note).encode()
    if form not in FORMATS:
        raise build_unknown_name_error("picture format", form, FORMATS)
    return render_figure(plot_panels(panels, columns=columns, note=note), form)


def render_figure(figure: Figure, form: str = "png") -> bytes:
    """The bytes of a figure, without a date, so that they change only if its numbers do."""
    import matplotlib

    content = io.BytesIO()
    # Text stays text in an SVG, and names in it do not depend on chance.
    with matplotlib.rc_context({"svg.hashsalt": "pignn", "svg.fonttype": "none"}):
        figure.savefig(content, format=form, dpi=130, metadata={"Date": None} if form == "svg" else {"Software": None})
    return content.getvalue()


def plot_panels(panels: Sequence[Panel], *, columns: int = 2, note: str = "") -> Figure:
    """All panels in one figure, with one legend."""
    across = min(columns, len(panels)) or 1
    down = -(-len(panels) // across)
    labels = list_series_labels(panels)
    figure, axes = _make_figure_and_axes(4.6 * across, 3.1 * down + 0.3 + 0.16 * len(labels), down, across)
    handles: dict[str, Any] = {}
    for axis, panel in zip(axes, panels, strict=False):
        _draw_panel_on_axis(axis, panel, labels)
        handles |= dict(zip(*reversed(axis.get_legend_handles_labels()), strict=True))
    for axis in axes[len(panels) :]:
        axis.set_visible(False)
    if handles:
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    if note:
        figure.text(0.995, 0.002, note, ha="right", fontsize=6, color="#666666")
    return figure


def plot_learning_curves(
    histories: Mapping[str, Sequence[Mapping[str, Any]]], chosen: Mapping[str, int | None] | None = None
) -> Figure:
    """One panel per kind of accuracy and one line per method.

    A dot with its value marks the `chosen` epoch of a method. Without one, the value of the last epoch is written.
    """
    keys = [key for key in CURVES if any(row.get(key) is not None for rows in histories.values() for row in rows)]
    keys = keys or ["class_loss"]
    figure, axes = _make_figure_and_axes(4.2 * len(keys), 3.4, 1, len(keys))
    for axis, key in zip(axes, keys, strict=True):
        _draw_curves_on_axis(axis, key, histories, chosen or {})
        _set_axis_titles_and_style(axis, CURVES.get(key, key), "epoch (dot: selected)" if chosen else "epoch")
        axis.margins(y=0.12)
    axes[0].legend(frameon=False, fontsize=9)
    return figure


def plot_trials(trials: Sequence[tuple[float, float]], best_so_far: Sequence[tuple[float, float]]) -> Figure:
    """The value of every trial of a search (number, value), and the best so far."""
    figure, (axis,) = _make_figure_and_axes(5.4, 3.4, 1, 1)
    axis.plot(*zip(*trials, strict=True), "o", color=SERIES_COLORS[1], markersize=4, label="trial")
    axis.step(*zip(*best_so_far, strict=True), where="post", color=SERIES_COLORS[0], label="best so far")
    _set_axis_titles_and_style(axis, "agreement with held-out labels", "trial")
    axis.legend(frameon=False)
    return figure


def plot_transition(transition: Any, class_names: Sequence[str]) -> Figure:
    """A transition matrix as a heat map: the share of each true class (rows) that was given each label (columns)."""
    size = max(3.2, 0.45 * len(class_names) + 2)
    figure, (axis,) = _make_figure_and_axes(size + 0.6, size, 1, 1)
    shares = np.asarray(transition)
    image = _draw_matrix(axis, shares, class_names, [[f"{share:.2f}" for share in row] for row in shares])
    _label_matrix(axis, ("true class", "given class"))
    figure.colorbar(image, label="estimated share")
    return figure


def _draw_matrix(axis: Axes, shares: Any, class_names: Sequence[str], texts: Sequence[Sequence[str]]) -> Any:
    """Shares as shades of blue, with texts in the cells unless there are very many."""
    image = axis.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    names = [clip_text(str(name), MAX_NAME_CHARS) for name in class_names]
    axis.set_xticks(range(len(names)), names, rotation=45, ha="right", rotation_mode="anchor")
    axis.set_yticks(range(len(names)), names)
    for i, row in enumerate(texts if len(names) <= MAX_LEGEND_CLASSES else []):
        for j, text in enumerate(row):
            axis.text(j, i, text, ha="center", va="center", color="white" if shares[i, j] > 0.6 else "black")
    return image


def _label_matrix(axis: Axes, axes: tuple[str, str]) -> None:
    axis.set_ylabel(axes[0])
    axis.set_xlabel(axes[1])


def plot_confusion(
    counts: Mapping[str, Sequence[Sequence[float]]], class_names: Sequence[str], axes: tuple[str, str]
) -> Figure:
    """One matrix per title: how many nodes of each class (rows) are taken for each class (columns), shaded by row."""
    size = max(3.2, 0.45 * len(class_names) + 2)
    figure, drawn = _make_figure_and_axes((size + 0.3) * len(counts), size, 1, len(counts))
    for axis, (title, matrix) in zip(drawn, counts.items(), strict=True):
        values = np.asarray(matrix, dtype=float)
        shares = values / np.maximum(values.sum(axis=1, keepdims=True), 1e-12)
        _draw_matrix(axis, shares, class_names, [[f"{value:,.0f}" for value in row] for row in values])
        _label_matrix(axis, axes)
        axis.set_title(title, fontsize=10)
    return figure


def plot_calibration(
    bins_by_name: Mapping[str, Sequence[tuple[float, float, int]]], x_label: str, y_label: str
) -> Figure:
    """One line per name through (mean probability, share, nodes); dots are as large as they have nodes."""
    figure, (axis,) = _make_figure_and_axes(4.6, 4.2, 1, 1)
    axis.plot([0, 1], [0, 1], color="#999999", linewidth=1, linestyle="--")
    for color, (name, points) in zip(SERIES_COLORS, bins_by_name.items(), strict=False):
        x, y, count = map(np.array, zip(*points, strict=True))
        axis.plot(x, y, color=color, linewidth=1.4, label=name)
        axis.scatter(x, y, s=12 + 90 * count / count.max(), color=color, alpha=0.75, linewidth=0)
    _set_axis_titles_and_style(axis, "", x_label, y_label)
    axis.set_xlim(0, 1.02)
    axis.set_ylim(0, 1.02)
    axis.set_aspect("equal")
    axis.legend(frameon=False, fontsize=8)
    return figure


def plot_map(
    xy: Any, classes: Any, class_names: Sequence[str], title: str, marked: Any = None, mark_label: str = ""
) -> Figure:
    """Nodes in two dimensions, colored by class; some of them marked by a ring."""
    import matplotlib

    figure, (axis,) = _make_figure_and_axes(6.4, 4.6, 1, 1)
    points, classes = np.asarray(xy), np.asarray(classes)
    present = [c for c in range(len(class_names)) if (classes == c).any()]
    palette = matplotlib.colormaps["turbo"](np.linspace(0.05, 0.95, max(len(present), 2)))
    for i, c in enumerate(present):
        color = SERIES_COLORS[i] if len(present) <= len(SERIES_COLORS) else palette[i]
        here, label = points[classes == c], clip_text(str(class_names[c]), MAX_NAME_CHARS)
        axis.scatter(here[:, 0], here[:, 1], s=9, color=color, alpha=0.6, linewidth=0, label=label)
    if marked is not None and np.any(marked):
        ringed = points[np.asarray(marked)]
        axis.plot(*ringed.T, "o", ms=4.5, fillstyle="none", color="#d00000", markeredgewidth=0.6, label=mark_label)
    _set_axis_titles_and_style(axis, title, "", "")
    axis.set_xticks([])
    axis.set_yticks([])
    if len(present) <= MAX_LEGEND_CLASSES:
        figure.legend(loc="outside right upper", frameon=False, fontsize=8, markerscale=1.8)
    return figure


def plot_class_quality(share_right_by_class: Mapping[str, float]) -> Figure:
    """The expected share of right labels per given class, as horizontal bars."""
    figure, (axis,) = _make_figure_and_axes(5, 0.3 * len(share_right_by_class) + 1.2, 1, 1)
    axis.barh(list(share_right_by_class), list(share_right_by_class.values()), color=SERIES_COLORS[0])
    axis.invert_yaxis()
    axis.set_xlim(0, 1)
    _set_axis_titles_and_style(axis, "", "expected share of right labels")
    return figure


def _make_figure_and_axes(width: float, height: float, num_rows: int, num_columns: int) -> tuple[Figure, list[Axes]]:
    """A figure that belongs to no window, and its axes."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context({"font.size": 9}):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        return figure, list(figure.subplots(num_rows, num_columns, squeeze=False).ravel())


def _set_axis_titles_and_style(axis: Axes, title: str, x_label: str, y_label: str = "") -> None:
    axis.set_title(title, fontsize=10)
    axis.set_xlabel(x_label)
    axis.set_ylabel(y_label)
    axis.grid(alpha=0.25)
    axis.spines[["top", "right"]].set_visible(False)


def _draw_panel_on_axis(axis: Axes, panel: Panel, labels: Sequence[str]) -> None:
    levels = panel.list_x_in_order_of_appearance()
    position = {x: i for i, x in enumerate(levels)}
    width = 0.8 / max(len(panel.series), 1)
    for i, series in enumerate(panel.series):
        color = SERIES_COLORS[labels.index(series.label) % len(SERIES_COLORS)]
        shift = (i - (len(panel.series) - 1) / 2) * width if panel.bars else 0.0
        points = [(position[x] + shift, mean, std) for x, mean, std in series.list_means_with_spread()]
        if points:
            x, mean, std = map(np.array, zip(*points, strict=True))
            if panel.bars:
                axis.bar(x, mean, width, yerr=std, color=color, label=series.label, error_kw={"linewidth": 0.8})
            else:
                axis.plot(x, mean, "o-", color=color, label=series.label, markersize=3.5, linewidth=1.4)
                axis.fill_between(x, mean - std, mean + std, color=color, alpha=0.12, linewidth=0)
        for mark, value in series.list_reference_points():
            axis.plot(position[mark] + shift, value, "D", markerfacecolor="none", color="#222222", markersize=4)
    axis.set_xticks(range(len(levels)), levels)
    if max(map(len, levels), default=0) * len(levels) > MAX_LEVEL_CHARS:
        axis.tick_params(axis="x", labelrotation=30)
    _set_axis_titles_and_style(axis, panel.title, panel.x_label, panel.y_label)


def _draw_curves_on_axis(
    axis: Axes, key: str, histories: Mapping[str, Sequence[Mapping[str, Any]]], chosen: Mapping[str, int | None]
) -> None:
    """One line per method, and its value at the chosen epoch or the last one."""
    from matplotlib.patheffects import withStroke

    values = []
    for color, (name, rows) in zip(SERIES_COLORS, histories.items(), strict=False):
        points = {row["epoch"]: row[key] for row in rows if row.get(key) is not None}
        if not points:
            continue
        axis.plot(list(points), list(points.values()), color=color, linewidth=1.4, label=name)
        epoch = chosen.get(name)
        if epoch is not None and epoch in points:
            axis.plot(epoch, points[epoch], "o", color=color, markersize=5)
        else:
            epoch = max(points)
        values.append((points[epoch], epoch, color))
    for rank, (value, epoch, color) in enumerate(sorted(values, reverse=True)):
        axis.annotate(
            f"{value:.2f}",
            (epoch, value),
            xytext=(0, -7 if rank else 7),  # the highest above its line, the others below
            textcoords="offset points",
            ha="center",
            va="top" if rank else "bottom",
            color=color,
            fontsize=8,
            path_effects=[withStroke(linewidth=3, foreground="white")],
        )
