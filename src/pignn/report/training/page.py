"""report.html: one training on one page, worded so that agreement is not mistaken for accuracy."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup
from torch_geometric.data import Data

from ... import graphs
from ...core.errors import DataError, PignnWarning
from ...core.versions import collect_versions
from ...methods.core.base import FitFacts, Method
from .. import svg
from ..page import Section, Tile, build_page, number_names_unless_short, render_class_matrix, render_facts
from ..rendering import clip_text, format_number, format_percent, load_macros
from ..table import Table
from .scores import (
    NUM_BINS,
    TEST,
    LabelComparison,
    TrainingScores,
    compare_with_labels,
    list_given_and_test_comparisons,
    project_nodes,
)
from .summary import TrainingSummary

MAX_CURVE_POINTS = 500


def build_training_page(
    model: Method,
    data: Data,
    *,
    title: str | None = None,
    summary: TrainingSummary | None = None,
    logits: np.ndarray | None = None,
    split_index: int | None = None,
) -> str:
    """The page of a fitted model, as text of one HTML file.

    If the graph has true labels, the page reports accuracy on test nodes. All else is agreement with given labels.

    Args:
        model: a fitted method.
        data: the graph that it was fitted to.
        title: title of the page.
        summary: what else is known about the run.
        logits: the result of `model.embed(data)`, if it was computed before.
        split_index: which of several splits it was fitted to.
    """
    facts = model.get_fit_facts()
    with warnings.catch_warnings(record=True) as caught:  # the page shows them
        warnings.simplefilter("always", PignnWarning)
        data = graphs.copy_checked_graph(data, split_index=split_index)
    if graphs.num_classes(data) != len(model.class_names_):
        raise DataError(
            f"the model knows {len(model.class_names_)} classes, this graph has {graphs.num_classes(data)}; "
            "give the graph that it was fitted to"
        )
    summary = summary or TrainingSummary(dataset=data.get("name"), method=model.name, seed=model.seed)
    logits = model.embed(data) if logits is None else logits
    scores = compare_with_labels(data, logits, facts.learns_from_val)
    names = model.class_names_
    trusted = data.get("trusted_mask")
    template_macros = load_macros(
        "training.html",
        facts=facts,
        data=data,
        scores=scores,
        summary=summary,
        num_trusted=0 if trusted is None else int(trusted.sum()),
        has_val_labels=bool((data.val_mask & (data.y >= 0)).any()),
        warnings=[str(one.message) for one in caught],
    )
    sections = [
        Section("How far to trust it", [template_macros.doubts()]),
        Section("Learning curves", [_render_learning_curves(facts, template_macros)]),
        Section("Predictions and labels", [_render_confusion_matrices(names, scores, template_macros)]),
        Section("By class", [_build_class_table(names, data, scores)]),
        *_build_calibration_sections(scores, template_macros),
        Section("Map of the nodes", [_render_node_map(names, logits, template_macros)]),
        Section("Settings", [render_facts({"method": facts.method} | _format_values_by_name(facts.settings))]),
        Section("How it was made", [render_facts(_collect_run_facts(facts, data, summary))]),
    ]
    return build_page(
        title or f"{model.name} on {_get_graph_name(data)}", sections, tiles=_build_tiles(names, data, scores, summary)
    )


def _get_graph_name(data: Data) -> str:
    origin = data.get("origin")
    return Path(origin.nodes).name if origin is not None else str(data.get("name") or "a graph")


# ---- what the page says first ----


def _build_tiles(
    class_names: Sequence[str], data: Data, scores: TrainingScores, summary: TrainingSummary
) -> list[Tile]:
    learned, held_out, test = scores.learned, scores.held_out, scores.test
    detail = f"given labels, of {data.num_nodes:,} nodes and {len(class_names):,} classes"
    if summary.suspects is not None:
        detail += f"; {summary.suspects:,} suspects were {summary.suspects_were}"
    tiles = [Tile("learned from", f"{len(learned) if learned else 0:,}", detail)]
    if test is None:
        tiles.append(Tile("accuracy", "unknown", "no test node has a true label to score against"))
    else:
        detail = f"of {len(test):,} nodes whose true class is known; {_format_share_interval(test)}"
        tiles.append(Tile("accuracy on test nodes", format_percent(test.share), detail))
    if held_out is not None:
        detail = f"of {len(held_out):,} given labels, some of which may be wrong; {_format_share_interval(held_out)}"
        tiles.append(Tile("agreement with held-out labels", format_percent(held_out.share), detail))
    if learned is not None:
        detail = f"it predicts another class for {len(learned) - learned.num_equal:,} of them"
        tiles.append(Tile("agreement with labels learned from", format_percent(learned.share), detail))
    if scores.wrong_share is not None:
        tiles.append(Tile("wrong given labels", format_percent(scores.wrong_share), "by the true labels"))
    elif summary.estimated_wrong is not None:
        tiles.append(Tile("wrong given labels", format_percent(summary.estimated_wrong), "estimated by an audit"))
    return tiles


# ---- the sections ----


def _render_learning_curves(facts: FitFacts, template_macros: Any) -> Markup:
    rows = [row for row in facts.history if row.get("train_agreement") is not None]
    if len(rows) < 2:
        return template_macros.no_curves(len(rows))
    shares = {
        "train_agreement": "agreement with given training labels",
        "val_accuracy": "accuracy on true validation labels"
        if facts.selection == "clean-val"
        else "agreement with given validation labels",
        "test_accuracy": "accuracy on test nodes",
    }
    losses = {key: key.removesuffix("_loss") for row in rows for key in row if key.endswith("_loss")}
    drawings = []
    for title, names, y_label in (("Agreement and accuracy", shares, "share of nodes"), ("Losses", losses, "loss")):
        lines = [line for key, name in names.items() if (line := _make_curve_line_or_none(rows, key, name)) is not None]
        ends = [f"{line.label}: {line.y[0]:.3g} at first, {line.y[-1]:.3g} at the end" for line in lines]
        if lines:
            drawing = svg.draw_lines(
                f"{title} by epoch",
                "; ".join(ends),
                lines,
                x_label="epoch",
                y_label=y_label,
                y_range=(0, 1) if names is shares else None,
                vertical_mark=None if facts.best_epoch is None else (facts.best_epoch, f"selected: {facts.best_epoch}"),
            )
            drawings.append(drawing)
    return template_macros.curves(drawings, any(row.get("test_accuracy") is not None for row in rows))


def _make_curve_line_or_none(rows: Sequence[Mapping[str, Any]], key: str, name: str) -> svg.Line | None:
    """The values of one key by epoch, thinned out if there are very many."""
    points = [(row["epoch"], row[key]) for row in rows if row.get(key) is not None]
    if not points:
        return None
    step = -(-len(points) // MAX_CURVE_POINTS)
    kept = [*points[::step], *([points[-1]] if (len(points) - 1) % step else [])]
    epochs, values = zip(*kept, strict=True)
    return svg.Line(name, epochs, values)


def _render_confusion_matrices(class_names: Sequence[str], scores: TrainingScores, template_macros: Any) -> Markup:
    matrices = []
    for name, comparison in list_given_and_test_comparisons(scores):
        axes = ("true" if name == TEST else "given", "predicted")
        matrix = render_class_matrix(axes, class_names, comparison.count_confusion())
        matrices.append((name, len(comparison), matrix))
    return template_macros.confusion(matrices)


def _build_class_table(class_names: Sequence[str], data: Data, scores: TrainingScores) -> Table:
    given = np.bincount(data.y[data.y >= 0].cpu().numpy(), minlength=len(class_names))
    predicted = np.bincount(scores.probs.argmax(1), minlength=len(class_names))
    columns = ["class", "given labels", "predicted, all nodes"]
    rows = [[clip_text(name, 80), f"{given[c]:,}", f"{predicted[c]:,}"] for c, name in enumerate(class_names)]
    for name, comparison in list_given_and_test_comparisons(scores):
        columns += [name, "accuracy" if name == TEST else "agreement"]
        for c, counts in enumerate(comparison.count_confusion()):
            total = sum(counts)
            rows[c] += [f"{total:,}", format_percent(counts[c] / total) if total else "–"]
    return Table(columns, rows)


def _build_calibration_sections(scores: TrainingScores, template_macros: Any) -> list[Section]:
    """The section, if there is any label to compare with."""
    comparisons = dict(list_given_and_test_comparisons(scores))
    if not comparisons:
        return []
    bins = {name: comparison.compute_calibration_bins() for name, comparison in comparisons.items()}
    errors = "; ".join(f"{name}: {comparison.calibration_error:.3f}" for name, comparison in comparisons.items())
    drawing = svg.draw_lines(
        "Calibration",
        f"expected calibration error, {errors}",
        [
            svg.Line(name, [x for x, _, _ in one.values()], [y for _, y, _ in one.values()], dots=True)
            for name, one in bins.items()
        ],
        x_label="mean confidence",
        y_label="share of equal labels",
        y_range=(0, 1),
        diagonal=True,
    )
    rows = []
    for b in sorted({b for one in bins.values() for b in one}):
        row = [f"{b / NUM_BINS:.1f} – {(b + 1) / NUM_BINS:.1f}"]
        for one in bins.values():
            row += [f"{one[b][2]:,}", f"{one[b][0]:.3f}", f"{one[b][1]:.3f}"] if b in one else ["0", "–", "–"]
        rows.append(row)
    columns = ["confidence", *["nodes", "mean confidence", "equal labels"] * len(bins)]
    groups = [("", 1), *((name, 3) for name in bins)]
    table = Table(columns, rows, f"Expected calibration error, {errors}", groups)
    return [Section("Calibration", [template_macros.calibration(drawing, table, any(name != TEST for name in bins))])]


def _render_node_map(class_names: Sequence[str], logits: np.ndarray, template_macros: Any) -> Markup:
    positions = project_nodes(logits)
    predicted = logits[positions.nodes].argmax(1)
    groups = [(name, positions.xy[predicted == c]) for c, name in enumerate(class_names)]
    counts = "; ".join(f"{clip_text(name)}: {len(points)}" for name, points in groups if len(points))
    title = f"{len(positions.nodes):,} nodes placed by their predicted probabilities"
    drawing = svg.draw_scatter(
        title, f"nodes by predicted class: {counts}", groups, number_names_unless_short(class_names)
    )
    return template_macros.map(drawing, positions, len(logits))


# ---- how it was made ----


def _collect_run_facts(facts: FitFacts, data: Data, summary: TrainingSummary) -> dict[str, str]:
    numbers = {
        "epochs": facts.epochs_done,
        "selected epoch": facts.best_epoch,
        "pairs": facts.pairs,
        "seconds": summary.seconds,
    }
    origins = {"graph": f"{_get_graph_name(data)}: {data.num_nodes:,} nodes, {data.x.shape[1]:,} features"}
    origins |= _format_values_by_name({name: value for name, value in numbers.items() if value is not None})
    if facts.weights:
        origins["average of"] = ", ".join(f"{name} {weight:.2f}" for name, weight in facts.weights.items())
    versions = collect_versions()
    origins["versions"] = ", ".join(f"{name} {version}" for name, version in versions.items() if name != "machine")
    return origins | {"machine": versions["machine"]}


def _format_values_by_name(values: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: format_number(value, 6) if isinstance(value, float) else "none" if value is None else str(value)
        for name, value in values.items()
    }


def _format_share_interval(comparison: LabelComparison) -> str:
    low, high = comparison.interval
    return f"95\u00a0% interval {format_percent(low)} to {format_percent(high)}"
