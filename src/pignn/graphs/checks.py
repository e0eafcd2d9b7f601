"""Is this graph one that can be learned from? Every complaint is one line: what, where, what to do."""

from __future__ import annotations

import copy
import math
import warnings
from collections import Counter
from numbers import Integral
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data, HeteroData

from ..core.errors import DataError, PignnWarning
from ..core.text import pluralize

MASKS = ("train_mask", "val_mask", "test_mask")
LARGEST = 1e18  # of a feature or weight: squares and sums of larger ones are infinite in float32


def num_classes(data: Data) -> int:
    """The declared number of classes: that of `class_names`, else one more than the largest given label."""
    names = data.get("class_names")
    if names is not None:
        if isinstance(names, str | dict) or not hasattr(names, "__len__"):
            raise DataError(f"class_names must be a list of names, not {names!r}")
        if len({str(name) for name in names}) < len(names):
            twice = next(str(name) for name, count in Counter(map(str, names)).items() if count > 1)
            raise DataError(f"class_names has '{twice}' twice; every class needs a name of its own")
        return len(names)
    labels = data.get("y")
    return int(labels.max()) + 1 if labels is not None and len(labels) else 0


def has_csr_edges(data: Data) -> bool:
    """Whether the edges are given row by row (`crow`, `col`, see `open_graph_store`) in place of `edge_index`."""
    return data.get("edge_index") is None and data.get("crow") is not None and data.get("col") is not None


def node_ids(data: Data) -> list[str] | None:
    """The ids of the nodes as texts, one a node and each once; None where nodes are known by their numbers."""
    ids = data.get("node_id")
    if ids is None:
        return None
    names = [str(name) for name in (ids.tolist() if isinstance(ids, Tensor) else ids)]
    if len(names) != data.num_nodes:
        raise DataError(f"node_id has {len(names)} entries, but the graph has {data.num_nodes} nodes; give each one id")
    if len(set(names)) < len(names):
        seen: dict[str, int] = {}
        node, first = next((i, seen[name]) for i, name in enumerate(names) if seen.setdefault(name, i) != i)
        raise DataError(
            f"node_id has '{names[node][:40]}' at node {first} and at node {node}; every node needs an id of its own"
        )
    return names


def check_data_type(data: Any) -> None:
    """Refuse what is no homogeneous graph of PyG's."""
    if isinstance(data, HeteroData):
        raise DataError("heterogeneous graphs (HeteroData) are not supported; use data.to_homogeneous()")
    if not isinstance(data, Data):
        raise DataError(
            f"expected a torch_geometric.data.Data, not {type(data).__name__}; of a PyG dataset, pass dataset[0]"
        )


def check_graph(data: Any, *, split_index: int | None = None, with_labels: bool = True) -> Data:
    """A shallow copy of `data` with canonical types, or a `DataError`.

    `x` is float32 and dense, `edge_index` and `y` int64, masks boolean and one-dimensional (column
    `split_index` of several), `edge_weight` and `label_weight` float32. Training nodes without a label leave
    the training mask. With `with_labels=False` only what a prediction needs is looked at: `x`, `edge_index` and
    `edge_weight`. In place of `edge_index` there may be `crow` and `col`, the rows of a simple undirected graph;
    features and edges of a store (`checked`) are not read again.
    """
    check_data_type(data)
    data = copy.copy(data)
    checked = data.get("checked") is True
    data.x = _features(data.get("x"), checked)
    nodes = data.x.size(0)
    if "num_nodes" in data and data.num_nodes != nodes:
        raise DataError(f"num_nodes is {data.num_nodes}, but x has {pluralize(nodes, 'row')}; give every node a row")
    if has_csr_edges(data):
        data.crow, data.col = _rows(data.crow, data.col, nodes, checked)
        edges = data.col.numel()
    else:
        data.edge_index = _edges(data.get("edge_index"), nodes)
        edges = data.edge_index.size(1)
    if data.get("edge_weight") is not None:
        data.edge_weight = _weights(data.edge_weight, "edge_weight", edges, "edges", checked)
    if with_labels:
        _check_labels(data, nodes)
        _check_masks(data, nodes, split_index)
        _check_training(data)
    return data


def _tensor(value: Any, name: str) -> Tensor:
    if isinstance(value, Tensor):
        return value
    try:
        return torch.as_tensor(value)
    except (TypeError, ValueError, RuntimeError):
        raise DataError(f"{name} must be a tensor, not {type(value).__name__}") from None


def _features(x: Any, checked: bool = False) -> Tensor:
    if x is None:
        raise DataError("x is missing; the graph needs node features of shape [nodes, features]")
    x = _tensor(x, "x")
    if x.layout != torch.strided:
        x = x.to_dense()
    if x.dim() != 2 or x.is_complex():
        raise DataError(f"x must be real and of shape [nodes, features], not {_shape(x)}")
    if x.size(0) == 0:
        raise DataError("the graph has no nodes (x has no rows)")
    if x.size(1) == 0:
        raise DataError("x has no columns; give every node at least one feature")
    x = x.to(torch.float32).contiguous()
    if checked:
        return x
    if not bool((x.amin() > -LARGEST) & (x.amax() < LARGEST)):  # of NaN both are NaN
        bad = (~torch.isfinite(x)).nonzero()
        what, advice = "NaN or infinite value", "replace or drop them"
        if not len(bad):
            bad = (x.abs() >= LARGEST).nonzero()
            what, advice = "huge value", f"scale the features below {LARGEST:g}"
        node, column = bad[0].tolist()
        raise DataError(f"x has {pluralize(len(bad), what)}, first at node {node}, column {column}; {advice}")
    return x


def _edges(edge_index: Any, nodes: int) -> Tensor:
    if edge_index is None:
        raise DataError("edge_index is missing; give the edges as integers of shape [2, edges]")
    edge_index = _tensor(edge_index, "edge_index")
    if edge_index.layout != torch.strided or edge_index.dim() != 2 or edge_index.size(0) != 2:
        hint = "; transpose it" if edge_index.dim() == 2 and edge_index.size(1) == 2 else ""
        raise DataError(f"edge_index must have shape [2, edges], not {_shape(edge_index)}{hint}")
    if edge_index.numel() and not _is_integer(edge_index):
        raise DataError(f"edge_index must hold integers, not {_kind(edge_index)}")
    edge_index = edge_index.to(torch.int64).contiguous()
    if edge_index.numel():
        low, high = edge_index.aminmax()
        if int(low) < 0 or int(high) >= nodes:
            bad = ((edge_index < 0) | (edge_index >= nodes)).any(dim=0).nonzero().view(-1)
            first = int(bad[0])
            a, b = edge_index[:, first].tolist()
            raise DataError(
                f"edge_index is out of range at {pluralize(len(bad), 'edge')}, first at position {first} "
                f"({a} -> {b}); nodes are numbered 0 to {nodes - 1}"
            )
    return edge_index


def _rows(crow: Any, col: Any, nodes: int, checked: bool) -> tuple[Tensor, Tensor]:
    crow, col = _tensor(crow, "crow"), _tensor(col, "col")
    if crow.dim() != 1 or col.dim() != 1 or not (_is_integer(crow) and _is_integer(col)):
        raise DataError("crow and col must hold integers of shape [nodes + 1] and [edges]")
    if crow.numel() != nodes + 1:
        raise DataError(
            f"crow has {crow.numel():,} entries, but the graph has {pluralize(nodes, 'node')}: one more needed"
        )
    crow = crow.to(torch.int64)
    if int(crow[0]) != 0 or int(crow[-1]) != col.numel():
        raise DataError(f"crow must go from 0 to the number of entries in col, {col.numel():,}")
    if checked:
        return crow, col
    if bool((crow.diff() < 0).any()):
        raise DataError("crow must not decrease")
    row = torch.repeat_interleave(torch.arange(nodes, device=col.device), crow.diff())
    if bool(((col < 0) | (col >= nodes) | (col == row)).any()):
        raise DataError(f"col must hold other nodes, 0 to {nodes - 1}: it is out of range or has self-loops")
    if bool(((col.diff() <= 0) & (row.diff() == 0)).any()):
        raise DataError("col must ascend within each row, without duplicates")
    return crow, col


def _weights(value: Any, name: str, length: int, what: str, checked: bool = False) -> Tensor:
    value = _flat(_tensor(value, name), name, length, what)
    if value.is_complex():
        raise DataError(f"{name} must be real numbers, not {_kind(value)}")
    value = value.to(torch.float32)
    if checked:
        return value
    bad = ~((value >= 0) & (value < LARGEST))
    if bool(bad.any()):
        first = int(bad.nonzero()[0])
        wanted = f"below {LARGEST:g}" if math.isfinite(value[first]) and value[first] > 0 else "finite and not negative"
        raise DataError(
            f"{name} must be {wanted}, but is {float(value[first]):g} at position {first} "
            f"({pluralize(int(bad.sum()), 'such value')})"
        )
    return value


def _check_labels(data: Data, nodes: int) -> None:
    if data.get("y") is None:
        raise DataError("y is missing; give every node a label, or -1 where there is none")
    data.y = _labels(data.y, "y", nodes)
    if data.get("y_true") is not None:
        data.y_true = _labels(data.y_true, "y_true", nodes)
    classes = num_classes(data)
    if data.get("class_names") is None and classes > max(nodes, 1000):
        raise DataError(
            f"the largest label is {classes - 1} on {pluralize(nodes, 'node')}; "
            "number the classes 0, 1, 2, ... or declare class_names"
        )
    for name in ("y", "y_true"):
        values = data.get(name)
        if values is None:
            continue
        bad = ((values < -1) | (values >= classes)).nonzero().view(-1)
        if len(bad):
            first = int(bad[0])
            raise DataError(
                f"{name} has {pluralize(len(bad), 'label')} out of range, first {int(values[first])} at node "
                f"{first}; labels are 0 to {classes - 1}, or -1 for none"
            )
    if data.get("label_weight") is not None:
        data.label_weight = _weights(data.label_weight, "label_weight", nodes, "nodes")
    if data.get("trusted_mask") is not None:
        data.trusted_mask = _mask(data.trusted_mask, "trusted_mask", nodes, None)


def _labels(value: Any, name: str, nodes: int) -> Tensor:
    value = _tensor(value, name)
    if value.dim() == 2 and value.size(1) > 1:
        raise DataError(
            f"multi-label data is not supported: {name} has shape {_shape(value)}; give one class number a node"
        )
    value = _flat(value, name, nodes, "nodes")
    whole = not value.is_complex() and bool((torch.isfinite(value) & (value == value.round())).all())
    if not whole:
        raise DataError(f"{name}: labels not integers; number the classes 0, 1, 2, ... and use -1 for none")
    return value.to(torch.int64)


def _check_masks(data: Data, nodes: int, split_index: int | None) -> None:
    if data.get("train_mask") is None:
        raise DataError("train_mask is missing; say which nodes to learn from, as booleans of shape [nodes]")
    if split_index is not None and (isinstance(split_index, bool) or not isinstance(split_index, Integral)):
        raise DataError(f"split_index must be a whole number, not {split_index!r}")
    several = any((mask := data.get(name)) is not None and _tensor(mask, name).dim() == 2 for name in MASKS)
    if not several and split_index not in (None, 0):
        raise DataError(f"split_index {split_index} is out of range: the masks hold 1 split")
    for name in MASKS:
        mask = data.get(name)
        if mask is None:
            data[name] = torch.zeros(nodes, dtype=torch.bool, device=data.x.device)
        else:
            data[name] = _mask(mask, name, nodes, split_index)


def _mask(mask: Any, name: str, nodes: int, split_index: int | None) -> Tensor:
    mask = _tensor(mask, name)
    if mask.dim() == 2 and mask.size(0) == nodes and (mask.size(1) > 1 or split_index is not None):
        splits = mask.size(1)
        if split_index is None:
            raise DataError(
                f"{name} holds {splits} splits; choose one with split_index=0 to {splits - 1}, an argument of fit"
            )
        if not 0 <= split_index < splits:
            raise DataError(f"split_index {split_index} is out of range: {name} holds {splits} splits")
        mask = mask[:, split_index]
    if mask.dtype != torch.bool and not (_is_integer(mask) and bool(((mask == 0) | (mask == 1)).all())):
        raise DataError(
            f"{name} must be boolean, not {_kind(mask)}; "
            "from node numbers make one with torch_geometric.utils.index_to_mask"
        )
    return _flat(mask, name, nodes, "nodes").to(torch.bool)


def _check_training(data: Data) -> None:
    train, given = data.train_mask, data.y >= 0
    if not bool(train.any()):
        raise DataError("train_mask is empty; mark the nodes to learn from")
    unlabelled = int((train & ~given).sum())
    if unlabelled == int(train.sum()):
        raise DataError("no training node has a label (y is -1 on all of train_mask); give some labels")
    if unlabelled:
        _warn(f"{pluralize(unlabelled, 'training node')} without a label (y is -1) left out of training")
        data.train_mask = train = train & given
    classes = num_classes(data)
    counts = torch.bincount(data.y[train], minlength=classes)
    if int((counts > 0).sum()) == 1:
        raise DataError(
            f"all training nodes carry one class ({_class(data, int(counts.argmax()))}); "
            "labels of at least two classes are needed"
        )
    missing = [_class(data, c) for c in (counts == 0).nonzero().view(-1).tolist()]
    if missing:
        _warn(f"no training node carries {'class' if len(missing) == 1 else 'classes'} {_list(missing)}")
    weight = data.get("label_weight")
    if weight is not None and not bool((weight[train] > 0).any()):
        raise DataError("label_weight is 0 on every training node; give some a positive weight")
    both = int((data.train_mask & data.test_mask).sum())
    if both:
        _warn(f"{pluralize(both, 'node')} in both train_mask and test_mask: test scores will be too high")


def _flat(value: Tensor, name: str, length: int, what: str) -> Tensor:
    """[n] as it is, [n, 1] flattened; anything else does not fit."""
    if value.layout != torch.strided:
        raise DataError(f"{name} must be a dense tensor, not {value.layout}; use .to_dense()")
    if value.dim() == 2 and value.size(1) == 1:
        value = value.view(-1)
    if value.dim() != 1 or value.numel() != length:
        raise DataError(f"{name} has shape {_shape(value)}, but the graph has {pluralize(length, what[:-1])}")
    return value


def _class(data: Data, index: int) -> str:
    names = data.get("class_names")
    return str(index) if names is None or str(names[index]) == str(index) else f"{index} ({names[index]})"


def _list(names: list[str], most: int = 10) -> str:
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest


def _is_integer(value: Tensor) -> bool:
    return not (value.is_floating_point() or value.is_complex() or value.dtype == torch.bool)


def _kind(value: Tensor) -> str:
    return str(value.dtype).removeprefix("torch.")


def _shape(value: Tensor) -> str:
    return str(list(value.shape))


def _warn(message: str) -> None:
    warnings.warn(message, PignnWarning, stacklevel=4)
