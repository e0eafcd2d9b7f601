"""report.html: one training on one page, said so that agreement is not taken for accuracy."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch_geometric.data import Data

from ... import graphs
from ...core.errors import DataError, NotFittedError, PignnWarning
from ...core.versions import collect_versions
from ...methods.core.base import Method
from .. import svg
from ..page import (
    Block,
    BulletList,
    ClassMatrix,
    Drawing,
    Facts,
    Heading,
    Note,
    Section,
    SideBySide,
    Stack,
    Text,
    Tile,
    build_page,
    clip,
    shorten_names,
)
from ..table import Table
from .scores import BINS, Beside, Parts, learns_from_val, parts, places
from .summary import TrainingSummary

MOST_EPOCHS = 500  # points of a curve
LEARNT, HELD_OUT, TEST = "given labels it learnt from", "given labels held out", "true labels of test nodes"


def build_training_page(
    model: Method,
    data: Data,
    *,
    title: str | None = None,
    summary: TrainingSummary | None = None,
    logits: np.ndarray | None = None,
    split_index: int | None = None,
) -> str:
    """The page of a fitted model as text, to be written into a file: it holds all that it shows.

    True labels, where the graph has them, are told as accuracy on test nodes; all else is agreement with given labels.

    Args:
        model: a fitted method.
        data: the graph that it was fitted to.
        title: what the page is called.
        summary: what else is known of the run.
        logits: what `model.embed(data)` gives, where it was computed before.
        split_index: which of several splits it was fitted to.
    """
    if not hasattr(model, "class_names_"):
        raise NotFittedError(f"this {type(model).__name__} is not fitted yet; call fit(data) first")
    with warnings.catch_warnings(record=True) as said:  # they are told on the page
        warnings.simplefilter("always", PignnWarning)
        data = graphs.check_graph(data, split_index=split_index)
    if graphs.num_classes(data) != len(model.class_names_):
        raise DataError(
            f"the model knows {len(model.class_names_)} classes, this graph has {graphs.num_classes(data)}; "
            "give the graph that it was fitted to"
        )
    summary = summary or TrainingSummary(dataset=data.get("name"), method=model.name, seed=model.seed)
    scores = model.embed(data) if logits is None else logits
    found = parts(model, data, scores)
    sections = [
        Section(
            "How far to believe it",
            [BulletList([*_believe(model, data, found, summary), *(_sentence(str(one.message)) for one in said)])],
        ),
        Section("Learning curves", _curves(model)),
        Section("Predicted classes beside labels", _confusion(model, found)),
        Section("By class", _by_class(model, data, found)),
        Section("Calibration", _calibration(found)),
        Section("Where nodes lie", _picture(model, scores)),
        Section("Settings", [Facts({key: _plain(value) for key, value in _settings(model).items()})]),
        Section("How it was made", [Facts(_made(model, data, summary))]),
    ]
    title = title or f"{model.name} on {_name(data)}"
    return build_page(title, [one for one in sections if one.blocks], tiles=_tiles(model, data, found, summary))


def _name(data: Data) -> str:
    origin = data.get("origin")
    return Path(origin.nodes).name if origin is not None else str(data.get("name") or "a graph")


# ---- what is said first ----


def _tiles(model: Method, data: Data, found: Parts, summary: TrainingSummary) -> list[Tile]:
    tiles = [
        Tile(
            "learnt from",
            f"{len(found.learnt) if found.learnt else 0:,}",
            f"given labels, of {data.num_nodes:,} nodes and {len(model.class_names_):,} classes"
            + ("" if summary.suspects is None else f"; {summary.suspects:,} suspects were {summary.suspects_were}"),
        )
    ]
    if found.test is not None:
        told = f"of {len(found.test):,} nodes whose true class is known; {_interval(found.test)}"
        tiles.append(Tile("accuracy on test nodes", percent(found.test.share), told))
    else:
        tiles.append(Tile("accuracy", "not known", "no test node has a true label to score against"))
    if found.held_out is not None:
        told = f"of {len(found.held_out):,} given labels, some perhaps wrong; {_interval(found.held_out)}"
        tiles.append(Tile("agrees with labels held out", percent(found.held_out.share), told))
    if found.learnt is not None:
        differ = len(found.learnt) - found.learnt.equal
        told = f"it predicts another class for {differ:,} of them"
        tiles.append(Tile("agrees with labels learnt from", percent(found.learnt.share), told))
    if found.wrong is not None:
        tiles.append(Tile("given labels that are wrong", percent(found.wrong), "by the true labels"))
    elif summary.estimated_wrong is not None:
        tiles.append(Tile("given labels that are wrong", percent(summary.estimated_wrong), "estimated by an audit"))
    return tiles


def _believe(model: Method, data: Data, found: Parts, summary: TrainingSummary) -> list[str]:
    trusted, weight = data.get("trusted_mask"), data.get("label_weight")
    told = ["A score against given labels is agreement, not accuracy: some of them may be wrong."]
    if found.wrong is None and summary.estimated_wrong is None and not hasattr(model, "transition_"):
        told.append("How many given labels are wrong was not estimated here; pignn audit does.")
    if found.test is None:
        told.append(
            "No accuracy is told, because no true labels of test nodes are known. Labels drawn at random and looked at "
            "tell how many are wrong: pignn audit --review 100."
        )
    if found.learnt is not None:
        told.append(
            "Agreement with the labels it learnt from says how far it follows them, right or wrong"
            + ("." if found.held_out is not None else "; none were held out.")
        )
    if learns_from_val(model) and bool((data.val_mask & (data.y >= 0)).any()):
        told.append("It learnt from the given labels of validation nodes too: this method needs none to choose by.")
    if getattr(model, "clamped", False):
        told.append("It gives labelled nodes their given labels back: agreement with those says nothing about it.")
    rule = getattr(model, "selection_", None)
    if rule == "clean-val":
        told.append("The epoch was chosen by true labels of validation nodes: an oracle, which nobody has in earnest.")
    elif rule == "noisy-val":
        told.append("The epoch was chosen by the given labels held out, so agreement with these is a little too high.")
    elif rule == "last":
        told.append("The last epoch was kept.")
    if getattr(model, "pair_labels", None) == "true":
        told.append("Pair labels were made from true labels: an oracle.")
    if trusted is not None and bool(trusted.any()):
        told.append(f"{int(trusted.sum()):,} labels are trusted: somebody verified them.")
    if weight is not None:
        told.append("Given labels count by a weight that came with the graph.")
    if summary.suspects is not None:
        told.append(
            f"An audit came first: {summary.suspects:,} suspects were {summary.suspects_were}. What this page calls "
            "given labels are those that were left for it to learn from."
        )
    noise = data.get("noise")
    if noise is not None and noise["kind"] == "recorded":
        told.append("The given labels are recorded ones, read from a file.")
    elif noise is not None and noise["kind"] != "none":
        rate = "" if noise["rate"] is None else f", rate {noise['rate']}"
        told.append(f"Labels were made wrong on purpose: {noise['kind']}{rate}.")
    if getattr(model, "explanation_", None):
        told.append(_sentence(model.explanation_))
    if summary.kept_in_warmup:
        told.append("The epoch that was kept is one of the warm-up: pair labels had no part in it yet.")
    if summary.note:
        told.append(_sentence(summary.note))
    return told


# ---- the sections ----


def _curves(model: Method) -> list[Block | Table]:
    rows = [row for row in getattr(model, "history_", []) if row.get("train_agreement") is not None]
    if len(rows) < 2:
        why = "it was trained for one epoch" if rows else f"'{model.name}' does not learn in epochs"
        return [Text(f"There is no learning curve: {why}.")]
    kept = int(model.best_epoch_) if hasattr(model, "best_epoch_") else None
    at = None if kept is None else (kept, f"kept: {kept}")
    oracle = getattr(model, "selection_", None) == "clean-val"
    named = {
        "train_agreement": "agrees with given training labels",
        "val_accuracy": "right on true validation labels" if oracle else "agrees with given validation labels",
        "test_accuracy": "right on test nodes",
    }
    shares = [line for key, name in named.items() if (line := _line(rows, key, name)) is not None]
    losses = [key for key in dict.fromkeys(key for row in rows for key in row) if key.endswith("_loss")]
    falling = [line for key in losses if (line := _line(rows, key, key.removesuffix("_loss"))) is not None]
    drawn = svg.draw_lines(
        "Agreement and accuracy by epoch",
        _last(shares),
        shares,
        x_label="epoch",
        y_label="share of nodes",
        vertical_mark=at,
        y_range=(0, 1),
    )
    blocks: list[Block | Table] = [Drawing(drawn)]
    if falling:
        blocks.append(
            Drawing(
                svg.draw_lines(
                    "Losses by epoch", _last(falling), falling, x_label="epoch", y_label="loss", vertical_mark=at
                )
            )
        )
    told = "The upright line is the epoch that was kept."
    if any(row.get("test_accuracy") is not None for row in rows):
        told += " Accuracy on test nodes is drawn for the reader; nothing was chosen by it."
    return [SideBySide(blocks), Note(told)]


def _line(rows: Sequence[Mapping[str, Any]], key: str, name: str) -> svg.Line | None:
    points = [(row["epoch"], row[key]) for row in rows if row.get(key) is not None]
    if not points:
        return None
    step = -(-len(points) // MOST_EPOCHS)
    few = [*points[::step], *([points[-1]] if (len(points) - 1) % step else [])]
    return svg.Line(name, [epoch for epoch, _ in few], [value for _, value in few])


def _last(lines: Sequence[svg.Line]) -> str:
    return "; ".join(f"{line.label}: {line.y[0]:.3g} at first, {line.y[-1]:.3g} at the end" for line in lines)


def _shown(found: Parts) -> list[tuple[str, Beside]]:
    """Labels to compare with: those held out where there are any, and true ones where they are known."""
    given = [(HELD_OUT, found.held_out)] if found.held_out is not None else [(LEARNT, found.learnt)]
    return [(name, beside) for name, beside in [*given, (TEST, found.test)] if beside is not None]


def _confusion(model: Method, found: Parts) -> list[Block | Table]:
    blocks: list[Block | Table] = []
    for name, beside in _shown(found):
        row = "true" if name == TEST else "given"
        title = f"{name[0].upper()}{name[1:]} ({len(beside):,})"
        blocks.append(Stack([Heading(title), ClassMatrix((row, "predicted"), model.class_names_, beside.confusion())]))
    told = "Number of nodes by label (rows) and predicted class (columns); the shade is the share of the row."
    return [Note(told), SideBySide(blocks)]


def _by_class(model: Method, data: Data, found: Parts) -> list[Block | Table]:
    classes = len(model.class_names_)
    given = np.bincount(data.y[data.y >= 0].cpu().numpy(), minlength=classes)
    predicted = np.bincount(found.proba.argmax(1), minlength=classes)
    columns = ["class", "given labels", "predicted, all nodes"]
    rows = [[clip(name, 80), f"{given[c]:,}", f"{predicted[c]:,}"] for c, name in enumerate(model.class_names_)]
    for name, beside in _shown(found):
        matrix = np.array(beside.confusion())
        columns += [f"of {name.removeprefix('given ')}", "agreed with" if name != TEST else "right"]
        for c in range(classes):
            total = int(matrix[c].sum())
            rows[c] += [f"{total:,}", percent(matrix[c, c] / total) if total else "–"]
    return [Table(columns, rows)]


def _calibration(found: Parts) -> list[Block | Table]:
    shown = _shown(found)
    if not shown:
        return []
    bins = [beside.calibration() for _, beside in shown]
    lines = [
        svg.Line(name, [x for x, _, _ in one.values()], [y for _, y, _ in one.values()], dots=True)
        for (name, _), one in zip(shown, bins, strict=True)
    ]
    errors = "; ".join(f"{name}: {beside.error:.3f}" for name, beside in shown)
    drawn = svg.draw_lines(
        "Calibration",
        f"expected calibration error, {errors}",
        lines,
        x_label="mean confidence",
        y_label="share that is equal",
        y_range=(0, 1),
        diagonal=True,
    )
    told = (
        "Nodes in intervals of confidence, the probability of the predicted class. On the dotted line as many labels "
        "equal the prediction as the probability says."
    )
    if any(name != TEST for name, _ in shown):
        told += " Given labels that are wrong pull a line down: below it, the model need not be too sure."
    rows = []
    for b in sorted({b for one in bins for b in one}):
        row = [f"{b / BINS:.1f} – {(b + 1) / BINS:.1f}"]
        for one in bins:
            row += [f"{one[b][2]:,}", f"{one[b][0]:.3f}", f"{one[b][1]:.3f}"] if b in one else ["0", "–", "–"]
        rows.append(row)
    table = Table(
        ["confidence", *["nodes", "mean", "equal"] * len(shown)],
        rows,
        f"Expected calibration error, {errors}",
        [("", 1), *((name, 3) for name, _ in shown)],
    )
    return [Note(told), SideBySide([Drawing(drawn), table])]


def _picture(model: Method, scores: Any) -> list[Block | Table]:
    where = places(scores)
    predicted = scores[where.nodes].argmax(1)
    groups = [(name, where.xy[predicted == c]) for c, name in enumerate(model.class_names_)]
    of = (
        f"{len(where.nodes):,} of {len(scores):,} nodes, drawn at random,"
        if len(where.nodes) < len(scores)
        else "All nodes"
    )
    told = f"{of} by the probabilities that the model gives them: nodes that it takes for alike lie together. "
    told += (
        "From left to right: from one class to the other; height means nothing."
        if where.flat
        else "The axes are the first two principal components of the log-probabilities; they hold "
        f"{percent(where.held)} of the variance."
    )
    told += (
        " Shape, colour and what stands in bold are the predicted class. What lies apart is what the model is sure of."
    )
    title = f"{len(where.nodes):,} nodes by what the model says of them"
    said = "; ".join(f"{clip(name)}: {len(points)}" for name, points in groups if len(points))
    return [
        Note(told),
        Drawing(
            svg.draw_scatter(title, f"nodes by predicted class: {said}", groups, shorten_names(model.class_names_))
        ),
    ]


# ---- how it was made ----


def _settings(model: Method) -> dict[str, Any]:
    return {"method": model.name} | (getattr(model, "settings_", None) or model.settings_as_json())


def _made(model: Method, data: Data, summary: TrainingSummary) -> dict[str, str]:
    made = {"graph": f"{_name(data)}: {data.num_nodes:,} nodes, {data.x.shape[1]:,} features"}
    facts = summary.to_dict()
    names = {"epochs_done": "epochs", "best_epoch": "epoch kept", "pairs": "pairs", "seconds": "seconds"}
    made |= {name: _plain(facts[key]) for key, name in names.items() if key in facts}
    if getattr(model, "weights_", None):
        made["averaged"] = ", ".join(f"{name} {weight:.2f}" for name, weight in model.weights_.items())
    versions = collect_versions()
    made["versions"] = ", ".join(f"{name} {version}" for name, version in versions.items() if name != "machine")
    return made | {"machine": versions["machine"]}


def _plain(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "none" if value is None else str(value)


# ---- words ----


def percent(share: float) -> str:
    """With as many digits as mean something."""
    value = share * 100
    return f"{value:.0f}\u00a0%" if value in (0, 100) else f"{value:.1f}\u00a0%"


def _interval(beside: Beside) -> str:
    low, high = beside.interval
    return f"95\u00a0% interval {percent(low)} to {percent(high)}"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."
