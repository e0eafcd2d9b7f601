"""Graphs that come in one piece, from arrays or from NetworkX: a table of nodes, features, and edges between rows."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ...core.errors import DataError, PignnWarning
from ...core.text import one_line_text, pluralize

X = ("x", "features", "node_features", "attr", "attr_matrix")
Y = ("y", "label", "labels", "node_labels")
MATRICES = ("adj", "adj_matrix", "adj_t")  # of the last, PyG's, rows are where edges end
EDGES = ("edge_index", "edges", *MATRICES)
WEIGHTS = ("edge_weight", "weight", "weights")
IDS = ("node_id", "id", "ids", "node_ids")
MASKS = ("train_mask", "val_mask", "test_mask")
OF_NODES = (*MASKS, "trusted_mask", "label_weight", "y_true")  # named so in a `Data`: they are that, or refused


@dataclass
class GraphFile:
    """`ends` are rows of `frame`; `label`, `id` and `trusted` are the columns that say so by their names."""

    frame: pd.DataFrame
    ends: np.ndarray
    weight: np.ndarray | None = None
    x: np.ndarray | None = None
    label: str | None = None
    id: str | None = None
    trusted: str | None = None
    masks: dict[str, np.ndarray] = field(default_factory=dict)
    class_names: list[str] | None = None
    y_true: np.ndarray | None = None
    label_weight: np.ndarray | None = None


def from_arrays(arrays: Mapping[str, Any], title: str, *, features_only: bool = False) -> GraphFile:
    """From arrays by their names: `x`, `y`, `edge_index` and so on; a matrix may be in the parts that SciPy saves."""
    found = dict(arrays)
    for prefix in ("adj_", "attr_", ""):
        sparse = _sparse(found, prefix, title)
        if sparse is not None:
            name = prefix[:-1] or ("x" if features_only else "adj")
            found = {key: value for key, value in found.items() if not _is_part(key, prefix)} | {name: sparse}
    x = next((_dense(found[name], name, title) for name in X if name in found), None)
    if features_only:
        return GraphFile(pd.DataFrame(), np.empty((2, 0), np.int64), x=x)
    ends, weight, size = _edges(found, title)
    label = next((name for name in Y if name in found), None)
    nodes = _nodes(x, size, found, label, title)
    if ends.size and (ends.min() < 0 or ends.max() >= nodes):
        node = int(ends.min() if ends.min() < 0 else ends.max())
        raise DataError(f"{title}: edges go to node {node:,}, but there are {pluralize(nodes, 'node')}")
    names = found.get("class_names")
    whole = GraphFile(pd.DataFrame(index=pd.RangeIndex(nodes)), ends, weight, x)
    whole.class_names = None if names is None else [str(name) for name in np.asarray(names).reshape(-1)]
    columns: dict[str, Any] = {}
    for name, value in found.items():
        if name in (*X, *EDGES, *WEIGHTS, "class_names"):
            continue
        if name in OF_NODES:
            each = _of_nodes(value, name, nodes, title)
            if name in MASKS:
                whole.masks[name] = each.astype(bool)
            elif name == "trusted_mask":
                columns[name] = each
            else:
                setattr(whole, name, each)
            continue
        array = value if isinstance(value, np.ndarray) else None
        if array is None and isinstance(value, list) and len(value) == nodes:
            array = np.array([str(each) for each in value], dtype=object)
        if array is None or array.ndim == 0 or len(array) != nodes:
            continue
        array = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
        if array.ndim == 1:
            columns[name] = _numbered(array, name, title) if name == label else array
        elif name == label:
            raise DataError(f"{title}: '{name}' has shape {list(array.shape)}; multi-label data is not supported")
    whole.frame = pd.DataFrame(columns, index=pd.RangeIndex(nodes))
    whole.label = label if label in columns else None
    whole.id = next((name for name in IDS if name in columns), None)
    whole.trusted = "trusted_mask" if "trusted_mask" in columns else None
    return whole


def _of_nodes(value: Any, name: str, nodes: int, title: str) -> np.ndarray:
    """One value a node, or of a mask one for each split as well."""
    try:
        array = np.asarray(value)
    except ValueError:
        raise DataError(f"{title}: '{name}' must be one value a node, not {type(value).__name__}") from None
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    several = name in MASKS and array.ndim == 2 and array.shape[1] > 1
    if not (array.ndim == 1 or several) or len(array) != nodes:
        shape = f"has shape {list(array.shape)}" if array.dtype.kind != "O" else f"is a {type(value).__name__}"
        raise DataError(
            f"{title}: '{name}' {shape}, but there are {pluralize(nodes, 'node')}: one value each is needed"
        )
    if name == "y_true":
        return _numbered(array, name, title, gaps=False).astype(np.int64)
    if name == "label_weight":
        if array.dtype.kind not in "biuf":
            raise DataError(f"{title}: '{name}' must be numbers, not {array.dtype}")
        return array.astype(np.float32)
    if array.dtype.kind not in "biu" or not bool(((array == 0) | (array == 1)).all()):
        hint = "; from node numbers make one with torch_geometric.utils.index_to_mask" if name in MASKS else ""
        raise DataError(f"{title}: '{name}' must be true or false for each node{hint}")
    return array


def _numbered(array: np.ndarray, name: str, title: str, *, gaps: bool = True) -> np.ndarray:
    """Labels, which are class numbers unless they are texts; with ``gaps`` NaN stands for none, as -1 does."""
    if array.dtype.kind == "b":
        return array.astype(np.int64)
    if array.dtype.kind in "OUS" and gaps:
        return array
    whole = array.dtype.kind in "biuf"
    if array.dtype.kind == "f":
        known = array[~np.isnan(array)] if gaps else array
        whole = bool(np.isfinite(known).all()) and bool((known == np.trunc(known)).all())
    if not whole or bool((array < -1).any()):
        raise DataError(f"{title}, '{name}': labels not integers from 0; number the classes, with -1 for none")
    return array


def from_graph(graph: Any, title: str) -> GraphFile:
    """From a NetworkX graph: attributes of nodes are columns, the attribute `weight` of edges is their weight."""
    if not len(graph):
        raise DataError(f"{title} has no nodes")
    names = list(graph.nodes)
    place = {name: i for i, name in enumerate(names)}
    frame = pd.DataFrame([dict(graph.nodes[name]) for name in names])
    frame.columns = frame.columns.astype(str)
    own = "id" if "id" not in frame.columns else "node_id"
    if own not in frame.columns:
        frame.insert(0, own, [name if isinstance(name, int) else str(name) for name in names])
    pairs = np.array([(place[a], place[b]) for a, b in graph.edges()], np.int64).reshape(-1, 2)
    weight = None
    given = [value for _, _, value in graph.edges(data="weight")]
    if any(value is not None for value in given):
        try:
            weight = np.array([1.0 if value is None else value for value in given], np.float32)
        except (TypeError, ValueError):
            raise DataError(f"{title}: weights of edges must be numbers") from None
    return GraphFile(frame, pairs.T.copy(), weight, id=own)


def _is_part(key: str, prefix: str) -> bool:
    return key in {f"{prefix}{part}" for part in ("data", "indices", "indptr", "shape", "format")}


def _sparse(arrays: Mapping[str, Any], prefix: str, title: str) -> Any:
    """A matrix from its parts, if they are there; SciPy trusts indices, so they are looked at."""
    from scipy.sparse import csc_matrix, csr_matrix

    names = [f"{prefix}{part}" for part in ("data", "indices", "indptr", "shape")]
    if any(not isinstance(arrays.get(name), np.ndarray) for name in names):
        return None
    data, indices, indptr, shape = (arrays[name] for name in names)
    kind = arrays.get(f"{prefix}format", np.array("csr"))
    try:
        columns = kind.item() in (b"csc", "csc")
        matrix = (csc_matrix if columns else csr_matrix)((data, indices, indptr), tuple(int(n) for n in shape))
        matrix.check_format(full_check=True)
        return matrix.tocsr()
    except Exception as error:
        raise DataError(f"{title}: the sparse matrix is damaged ({one_line_text(error)})") from None


def _dense(value: Any, name: str, title: str) -> np.ndarray:
    """Features as float32, [N, F]."""
    if hasattr(value, "toarray"):
        rows, columns = value.shape
        if rows * columns > 1 << 33:
            raise DataError(
                f"{title}: '{name}' would take {rows * columns >> 28:,} GiB as a dense matrix; reduce it first"
            )
        value = value.astype(np.float32).toarray()
    if not isinstance(value, np.ndarray) or value.ndim != 2 or value.dtype.kind not in "biuf":
        shape = list(value.shape) if isinstance(value, np.ndarray) else type(value).__name__
        raise DataError(f"{title}: '{name}' must be numbers of shape [nodes, features], not {shape}")
    with np.errstate(over="ignore"):
        return value.astype(np.float32)


def _edges(arrays: Mapping[str, Any], title: str) -> tuple[np.ndarray, np.ndarray | None, int | None]:
    """Ends, weights, and the number of nodes if a matrix tells it."""
    name = next((name for name in EDGES if name in arrays), None)
    if name is None:
        raise DataError(f"{title} holds no edges: an array edge_index of shape [2, edges] is expected")
    value = arrays[name]
    if not hasattr(value, "tocoo") and isinstance(value, np.ndarray) and name in MATRICES:
        from scipy.sparse import coo_matrix

        if value.ndim != 2 or value.dtype.kind not in "biuf":
            raise DataError(f"{title}: '{name}' must be a matrix of numbers")
        value = coo_matrix(value)
    if hasattr(value, "tocoo"):
        matrix = value.tocoo()
        if matrix.shape[0] != matrix.shape[1]:
            raise DataError(f"{title}: an adjacency matrix is square, not {matrix.shape[0]} × {matrix.shape[1]}")
        weight = None if bool((matrix.data == 1).all()) else matrix.data.astype(np.float32)
        both = np.stack([matrix.row, matrix.col]).astype(np.int64)
        return both[::-1] if name == "adj_t" else both, weight, int(matrix.shape[0])
    if not isinstance(value, np.ndarray) or value.ndim != 2 or 2 not in value.shape or value.dtype.kind not in "iu":
        raise DataError(f"{title}: '{name}' must be whole numbers of shape [2, edges]")
    ends = value if value.shape[0] == 2 and (name == "edge_index" or value.shape[1] != 2) else value.T
    weights = next((arrays[key] for key in WEIGHTS if key in arrays), None)
    if weights is None:
        _say_what_is_unused(arrays.get("edge_attr"), ends.shape[1], title)
        return ends.astype(np.int64), None, None
    if not isinstance(weights, np.ndarray) or weights.dtype.kind not in "biuf" or weights.size != ends.shape[1]:
        raise DataError(f"{title}: weights must be numbers, one for each of {pluralize(ends.shape[1], 'edge')}")
    with np.errstate(over="ignore"):
        return ends.astype(np.int64), weights.reshape(-1).astype(np.float32), None


def _say_what_is_unused(attr: Any, edges: int, title: str) -> None:
    """One number an edge, where PyG has it: perhaps the weights, perhaps not."""
    if isinstance(attr, np.ndarray) and attr.dtype.kind in "biuf" and attr.shape in ((edges,), (edges, 1)):
        told = f"{title}: 'edge_attr' is not used; if it holds the weights of the edges, save it as 'edge_weight'"
        warnings.warn(told, PignnWarning, stacklevel=2)


def _nodes(x: np.ndarray | None, size: int | None, arrays: Mapping[str, Any], label: str | None, title: str) -> int:
    lengths = {} if x is None else {"features": len(x)}
    lengths |= {} if size is None else {"adjacency": size}
    for name in (label, *IDS):
        value = arrays.get(name or "")
        if isinstance(value, np.ndarray) and value.ndim:
            lengths[str(name)] = len(value)
    told = arrays.get("num_nodes")
    if isinstance(told, int) and told >= 0:
        lengths["num_nodes"] = told
    if not lengths:
        raise DataError(f"{title}: how many nodes? it holds neither features nor labels nor ids")
    if len(set(lengths.values())) > 1:
        parts = ", ".join(f"{name} {length:,}" for name, length in lengths.items())
        raise DataError(f"{title}: numbers of nodes differ: {parts}")
    nodes = next(iter(lengths.values()))
    if not nodes:
        raise DataError(f"{title} has no nodes")
    return nodes
