"""Can this graph be learned from? Every error is one line: what, where, what to do."""

from __future__ import annotations

import copy
import math
from collections import Counter
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data, HeteroData

from ..core.errors import ConfigError, DataError, warn_user
from ..core.settings import Int
from ..core.text import format_count
from .stored_ids import StoredIds
from .tables.cells import MAX_MAGNITUDE

MASKS = ("train_mask", "val_mask", "test_mask")
HINTS_BY_LIBRARY = {
    "networkx": "pignn.graphs.from_networkx(graph, label=...) makes one",
    "pandas": "pignn.graphs.from_pandas(nodes, edges, label=...) makes one",
    "scipy": "pignn.graphs.from_scipy(adjacency, ...) makes one",
    "numpy": "put features, edges and labels into Data(x=..., edge_index=..., y=...)",
}


def num_classes(data: Data) -> int:
    """The declared number of classes: that of `class_names`, else one more than the largest given label."""
    names = data.get("class_names")
    if names is not None:
        if isinstance(names, str | dict) or not hasattr(names, "__len__"):
            raise DataError(f"class_names must be a list of names, not {names!r}")
        if len({str(name) for name in names}) < len(names):
            repeated = next(name for name, count in Counter(map(str, names)).items() if count > 1)
            raise DataError(f"class_names has '{repeated}' twice; every class needs a name of its own")
        return len(names)
    labels = data.get("y")
    return int(labels.max()) + 1 if labels is not None and len(labels) else 0


def has_csr_edges(data: Data) -> bool:
    """Whether the edges are given row by row (`crow`, `col`, see `open_graph_store`) in place of `edge_index`."""
    return data.get("edge_index") is None and data.get("crow") is not None and data.get("col") is not None


def parse_node_ids_or_none(data: Data) -> list[str] | StoredIds | None:
    """The distinct ids of the nodes as texts. None where nodes are known by their numbers."""
    ids = data.get("node_id")
    if ids is None or isinstance(ids, StoredIds):
        return ids
    names = [str(name) for name in (ids.tolist() if isinstance(ids, Tensor) else ids)]
    if len(names) != data.num_nodes:
        raise DataError(f"node_id has {len(names)} entries, but the graph has {data.num_nodes} nodes; give each one id")
    if len(set(names)) < len(names):
        first_node: dict[str, int] = {}
        node = next(node for node, name in enumerate(names) if first_node.setdefault(name, node) != node)
        raise DataError(
            f"node_id has '{names[node][:40]}' at node {first_node[names[node]]} and at node {node}; "
            "every node needs an id of its own"
        )
    return names


def check_is_homogeneous_pyg_graph(data: Any) -> None:
    """Raise a DataError for anything but a homogeneous graph of PyG."""
    if isinstance(data, HeteroData):
        raise DataError("heterogeneous graphs (HeteroData) are not supported; use data.to_homogeneous()")
    if not isinstance(data, Data):
        kind = type(data)
        library = kind.__module__.partition(".")[0]
        hint = "pignn.load(name) gives that of a dataset" if kind is str else "of a PyG dataset, pass dataset[0]"
        raise DataError(
            f"expected a torch_geometric.data.Data, not {kind.__name__}; {HINTS_BY_LIBRARY.get(library, hint)}"
        )
    names = data.get("class_names")
    if isinstance(names, list) and names and isinstance(names[0], list):  # PyG's Batch collects them
        raise DataError(
            "a Batch of several graphs has class_names once per graph; set batch.class_names = batch.class_names[0]"
        )


def copy_checked_graph(data: Any, *, split_index: int | None = None, needs_labels: bool = True) -> Data:
    """A shallow copy of `data` with canonical types, or a `DataError`.

    `x` is float32 and dense, `edge_index` and `y` are int64, masks are boolean and one-dimensional (column
    `split_index` of several), `edge_weight` and `label_weight` are float32. Training nodes without a label leave the
    training mask. With `needs_labels=False` only what a prediction needs is checked: `x`, `edge_index` and
    `edge_weight`. In place of `edge_index` there may be `crow` and `col`, the rows of a simple undirected graph.
    Features and edges of a graph store (`checked`) are not read again.
    """
    check_is_homogeneous_pyg_graph(data)
    data = copy.copy(data)
    is_checked = data.get("checked") is True
    data.x = _parse_features(data.get("x"), is_checked)
    num_nodes = data.x.size(0)
    if "num_nodes" in data and data.num_nodes != num_nodes:
        raise DataError(
            f"num_nodes is {data.num_nodes}, but x has {format_count(num_nodes, 'row')}; add the missing rows"
        )
    if has_csr_edges(data):
        data.crow, data.col = _parse_csr_edges(data.crow, data.col, num_nodes, is_checked)
        num_edges = data.col.numel()
    else:
        data.edge_index = _parse_edge_index(data.get("edge_index"), num_nodes)
        num_edges = data.edge_index.size(1)
    if data.get("edge_weight") is not None:
        data.edge_weight = _parse_weights(data.edge_weight, "edge_weight", num_edges, "edge", is_checked)
    if needs_labels:
        _drop_unused_edge_attr_in_place(data)
        _parse_labels_in_place(data, num_nodes)
        _parse_masks_in_place(data, num_nodes, split_index)
        _check_training_labels_and_drop_unlabeled_in_place(data)
    return data


def to_tensor(value: Any, name: str) -> Tensor:
    """The value as a tensor, or an error that names it."""
    if isinstance(value, Tensor):
        return value
    try:
        return torch.as_tensor(value)
    except (TypeError, ValueError, RuntimeError):
        if name == "y" and len(value) and isinstance(value[0], str):
            advice = "class_names, y = numpy.unique(labels, return_inverse=True) gives numbers"
            raise DataError(
                f"y holds names such as '{str(value[0])[:40]}', but must be class numbers; {advice}"
            ) from None
        raise DataError(f"{name} must be a tensor, not {type(value).__name__}") from None


def _parse_features(x: Any, is_already_checked: bool) -> Tensor:
    if x is None:
        raise DataError("x is missing; the graph needs node features of shape [nodes, features]")
    x = to_tensor(x, "x")
    if x.layout != torch.strided:
        x = x.to_dense()
    if x.dim() != 2 or x.is_complex():
        raise DataError(f"x must be real and of shape [nodes, features], not {list(x.shape)}")
    if x.size(0) == 0:
        raise DataError("the graph has no nodes (x has no rows)")
    if x.size(1) == 0:
        raise DataError("x has no columns; give every node at least one feature")
    x = x.to(torch.float32).contiguous()
    if is_already_checked or bool((x.amin() > -MAX_MAGNITUDE) & (x.amax() < MAX_MAGNITUDE)):  # with NaN both are NaN
        return x
    bad = (~torch.isfinite(x)).nonzero()
    noun, advice = "NaN or infinite value", "replace or drop them"
    if not len(bad):
        bad = (x.abs() >= MAX_MAGNITUDE).nonzero()
        noun, advice = "huge value", f"scale the features below {MAX_MAGNITUDE:g}"
    node, column = bad[0].tolist()
    raise DataError(f"x has {format_count(len(bad), noun)}, first at node {node}, column {column}; {advice}")


def _parse_edge_index(edge_index: Any, num_nodes: int) -> Tensor:
    if edge_index is None:
        raise DataError("edge_index is missing; give the edges as integers of shape [2, edges]")
    edge_index = to_tensor(edge_index, "edge_index")
    if edge_index.layout != torch.strided or edge_index.dim() != 2 or edge_index.size(0) != 2:
        hint = "; transpose it" if edge_index.dim() == 2 and edge_index.size(1) == 2 else ""
        raise DataError(f"edge_index must have shape [2, edges], not {list(edge_index.shape)}{hint}")
    if edge_index.numel() and not _has_integer_dtype(edge_index):
        raise DataError(f"edge_index must hold integers, not {_format_dtype(edge_index)}")
    edge_index = edge_index.to(torch.int64).contiguous()
    if edge_index.numel() and not (int(edge_index.min()) >= 0 and int(edge_index.max()) < num_nodes):
        bad = ((edge_index < 0) | (edge_index >= num_nodes)).any(dim=0).nonzero().view(-1)
        source, target = edge_index[:, bad[0]].tolist()
        raise DataError(
            f"edge_index is out of range at {format_count(len(bad), 'edge')}, first at position {int(bad[0])} "
            f"({source} -> {target}); nodes are numbered 0 to {num_nodes - 1}"
        )
    return edge_index


def _parse_csr_edges(crow: Any, col: Any, num_nodes: int, is_already_checked: bool) -> tuple[Tensor, Tensor]:
    crow, col = to_tensor(crow, "crow"), to_tensor(col, "col")
    if crow.dim() != 1 or col.dim() != 1 or not (_has_integer_dtype(crow) and _has_integer_dtype(col)):
        raise DataError("crow and col must hold integers of shape [nodes + 1] and [edges]")
    if crow.numel() != num_nodes + 1:
        nodes_text = format_count(num_nodes, "node")
        raise DataError(f"crow has {crow.numel():,} entries, but the graph has {nodes_text}: one more needed")
    crow = crow.to(torch.int64)
    if int(crow[0]) != 0 or int(crow[-1]) != col.numel():
        raise DataError(f"crow must go from 0 to the number of entries in col, {col.numel():,}")
    if is_already_checked:
        return crow, col
    if bool((crow.diff() < 0).any()):
        raise DataError("crow must not decrease")
    row = torch.repeat_interleave(torch.arange(num_nodes, device=col.device), crow.diff())
    if bool(((col < 0) | (col >= num_nodes) | (col == row)).any()):
        raise DataError(f"col must hold other nodes, 0 to {num_nodes - 1}: it is out of range or has self-loops")
    if bool(((col.diff() <= 0) & (row.diff() == 0)).any()):
        raise DataError("col must ascend within each row, without duplicates")
    return crow, col


def _parse_weights(weights: Any, name: str, length: int, row_noun: str, is_already_checked: bool = False) -> Tensor:
    weights = _flatten_column(to_tensor(weights, name), name, length, row_noun)
    if weights.is_complex():
        raise DataError(f"{name} must be real numbers, not {_format_dtype(weights)}")
    weights = weights.to(torch.float32)
    if is_already_checked:
        return weights
    bad = (~((weights >= 0) & (weights < MAX_MAGNITUDE))).nonzero().view(-1)
    if len(bad):
        first = float(weights[bad[0]])
        rule = f"below {MAX_MAGNITUDE:g}" if math.isfinite(first) and first > 0 else "finite and not negative"
        values_text = format_count(len(bad), "such value")
        raise DataError(f"{name} must be {rule}, but is {first:g} at position {int(bad[0])} ({values_text})")
    return weights


def _parse_labels_in_place(data: Data, num_nodes: int) -> None:
    if data.get("y") is None:
        raise DataError("y is missing; give every node a label, or -1 where there is none")
    names = [name for name in ("y", "y_true") if data.get(name) is not None]
    for name in names:
        data[name] = _parse_class_numbers(data[name], name, num_nodes)
    classes = num_classes(data)
    if data.get("class_names") is None and classes > max(num_nodes, 1000):
        raise DataError(
            f"the largest label is {classes - 1} on {format_count(num_nodes, 'node')}; "
            "number the classes 0, 1, 2, ... or declare class_names"
        )
    for name in names:
        bad = ((data[name] < -1) | (data[name] >= classes)).nonzero().view(-1)
        if len(bad):
            raise DataError(
                f"{name} has {format_count(len(bad), 'label')} out of range, first {int(data[name][bad[0]])} at node "
                f"{int(bad[0])}; labels are {f'0 to {classes - 1}' if classes > 0 else '0, 1, 2, ...'}, or -1 for none"
            )
    if data.get("label_weight") is not None:
        data.label_weight = _parse_weights(data.label_weight, "label_weight", num_nodes, "node")
    if data.get("trusted_mask") is not None:
        data.trusted_mask = _parse_mask(data.trusted_mask, "trusted_mask", num_nodes, None)


def _parse_class_numbers(value: Any, name: str, num_nodes: int) -> Tensor:
    labels = to_tensor(value, name)
    labels = labels.to(torch.int64) if labels.dtype == torch.bool else labels
    if labels.dim() == 2 and labels.size(1) > 1:
        raise DataError(
            f"multi-label data is not supported: {name} has shape {list(labels.shape)}; give one class number per node"
        )
    labels = _flatten_column(labels, name, num_nodes, "node")
    if labels.is_complex() or not bool((torch.isfinite(labels) & (labels == labels.round())).all()):
        raise DataError(f"{name}: labels not integers; number the classes 0, 1, 2, ... and use -1 for none")
    return labels.to(torch.int64)


def _parse_masks_in_place(data: Data, num_nodes: int, split_index: int | None) -> None:
    fill_missing_train_mask_in_place(data)
    if split_index is not None:
        try:
            Int().raise_unless_valid("split_index", split_index)
        except ConfigError as error:
            raise DataError(str(error)) from None
    masks = {name: to_tensor(data[name], name) for name in MASKS if data.get(name) is not None}
    if split_index not in (None, 0) and all(mask.dim() != 2 for mask in masks.values()):
        raise DataError(f"split_index {split_index} is out of range: the masks hold 1 split")
    for name in MASKS:
        if name in masks:
            data[name] = _parse_mask(masks[name], name, num_nodes, split_index)
        else:
            data[name] = torch.zeros(num_nodes, dtype=torch.bool, device=data.x.device)


def fill_missing_train_mask_in_place(data: Data) -> None:
    """Where no mask says what to learn from, learn from all labels that are not held out, and say so."""
    if data.get("train_mask") is not None or data.get("y") is None:
        return
    mask = to_tensor(data.y, "y").reshape(-1) >= 0
    for name in ("val_mask", "test_mask"):
        held_out = data.get(name)
        if held_out is not None and to_tensor(held_out, name).shape == mask.shape:
            mask = mask & ~to_tensor(held_out, name).bool()
    if not bool(mask.any()):
        raise DataError("no node has a label to learn from (y is -1, or a mask holds it out); give some labels")
    data.train_mask = mask
    warn_user(
        f"no train_mask: all {format_count(int(mask.sum()), 'label')} (y >= 0) that no val_mask or test_mask holds out "
        "are learned from; set data.train_mask to learn from fewer"
    )


def _drop_unused_edge_attr_in_place(data: Data) -> None:
    attr = data.get("edge_attr")
    data.edge_attr = None
    if attr is not None and data.get("edge_weight") is None:
        warn_user(
            "edge_attr is not used; if it holds the weights of the edges, set data.edge_weight = "
            "data.edge_attr.view(-1), else data.edge_attr = None"
        )


def _parse_mask(value: Any, name: str, num_nodes: int, split_index: int | None) -> Tensor:
    mask = to_tensor(value, name)
    if mask.dim() == 2 and mask.size(0) == num_nodes and (mask.size(1) > 1 or split_index is not None):
        num_splits = mask.size(1)
        if split_index is None:
            last = num_splits - 1
            raise DataError(f"{name} holds {num_splits} splits; choose one with split_index=0 to {last}, passed to fit")
        if split_index >= num_splits:
            raise DataError(f"split_index {split_index} is out of range: {name} holds {num_splits} splits")
        mask = mask[:, split_index]
    if mask.dtype != torch.bool and not (_has_integer_dtype(mask) and bool(((mask == 0) | (mask == 1)).all())):
        raise DataError(
            f"{name} must be boolean, not {_format_dtype(mask)}; "
            "from node numbers make one with torch_geometric.utils.index_to_mask"
        )
    return _flatten_column(mask, name, num_nodes, "node").to(torch.bool)


def _check_training_labels_and_drop_unlabeled_in_place(data: Data) -> None:
    train = data.train_mask
    if not bool(train.any()):
        raise DataError("train_mask is empty; mark the nodes to learn from")
    num_unlabeled = int((train & (data.y < 0)).sum())
    if num_unlabeled == int(train.sum()):
        raise DataError("no training node has a label (y is -1 on all of train_mask); give some labels")
    if num_unlabeled:
        warn_user(f"{format_count(num_unlabeled, 'training node')} without a label (y is -1) left out of training")
        data.train_mask = train = train & (data.y >= 0)
    counts = torch.bincount(data.y[train], minlength=num_classes(data))
    if int((counts > 0).sum()) == 1:
        only = _format_class_number_and_name(data, int(counts.argmax()))
        raise DataError(f"all training nodes carry one class ({only}); labels of at least two classes are needed")
    missing = [_format_class_number_and_name(data, c) for c in (counts == 0).nonzero().view(-1).tolist()]
    if missing:
        more = f" and {len(missing) - 10} more" if len(missing) > 10 else ""
        noun = "class" if len(missing) == 1 else "classes"
        warn_user(f"no training node carries {noun} {', '.join(missing[:10])}{more}")
    weight = data.get("label_weight")
    if weight is not None and not bool((weight[train] > 0).any()):
        raise DataError("label_weight is 0 on every training node; give some a positive weight")
    num_shared = int((train & data.test_mask).sum())
    if num_shared:
        warn_user(f"{format_count(num_shared, 'node')} in both train_mask and test_mask: test scores will be too high")


def _flatten_column(value: Tensor, name: str, length: int, row_noun: str) -> Tensor:
    """[length] as it is, [length, 1] flattened; anything else does not fit."""
    if value.layout != torch.strided:
        raise DataError(f"{name} must be a dense tensor, not {value.layout}; use .to_dense()")
    if value.dim() == 2 and value.size(1) == 1:
        value = value.view(-1)
    if value.dim() != 1 or value.numel() != length:
        raise DataError(f"{name} has shape {list(value.shape)}, but the graph has {format_count(length, row_noun)}")
    return value


def _format_class_number_and_name(data: Data, index: int) -> str:
    names = data.get("class_names")
    return str(index) if names is None or str(names[index]) == str(index) else f"{index} ({names[index]})"


def _has_integer_dtype(value: Tensor) -> bool:
    return not (value.is_floating_point() or value.is_complex() or value.dtype == torch.bool)


def _format_dtype(value: Tensor) -> str:
    return str(value.dtype).removeprefix("torch.")
