"""Graphs that come in one piece, as arrays by name or as a NetworkX graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ...core.errors import DataError, warn_user
from ...core.text import format_count, format_error_in_one_line
from .raw_graph import RawGraph

FEATURE_NAMES = ("x", "features", "node_features", "attr", "attr_matrix")
LABEL_NAMES = ("y", "label", "labels", "node_labels")
MATRIX_NAMES = ("adj", "adj_matrix", "adj_t")  # of the last, PyG's, rows are where edges end
EDGE_NAMES = ("edge_index", "edges", *MATRIX_NAMES)
WEIGHT_NAMES = ("edge_weight", "weight", "weights")
ID_NAMES = ("node_id", "id", "ids", "node_ids")
MASK_NAMES = ("train_mask", "val_mask", "test_mask")
NOT_COLUMNS = {*FEATURE_NAMES, *EDGE_NAMES, *WEIGHT_NAMES, "class_names"}
MATRIX_PARTS = ("data", "indices", "indptr", "shape")


def build_raw_graph_from_arrays(arrays: Mapping[str, Any], title: str) -> RawGraph:
    """A graph from arrays by their names: ``x``, ``y``, ``edge_index`` and so on.

    A sparse matrix may be given by the parts that SciPy saves. Other arrays with one value per node are columns.
    """
    arrays = _replace_parts_by_sparse_matrices(arrays, title, "adj")
    x = _find_dense_features_or_none(arrays, title)
    ends, weight, matrix_size = _find_edges_weights_and_num_nodes(arrays, title)
    label = _find_first_present_name_or_none(LABEL_NAMES, arrays)
    num_nodes = _infer_num_nodes(x, matrix_size, arrays, label, title)
    if ends.size and (ends.min() < 0 or ends.max() >= num_nodes):
        node = int(ends.min() if ends.min() < 0 else ends.max())
        raise DataError(f"{title}: edges go to node {node:,}, but there are {format_count(num_nodes, 'node')}")
    per_node = {
        name: parse(_parse_node_array(arrays[name], name, num_nodes, title), name, title)
        for name, parse in _PER_NODE_PARSERS.items()
        if name in arrays
    }
    columns: dict[str, Any] = {}
    for name, value in arrays.items():
        if name == "trusted_mask":
            columns[name] = per_node[name]
        elif name not in per_node and name not in NOT_COLUMNS:
            column = _parse_node_column_or_none(value, name, num_nodes, title, is_label=name == label)
            columns |= {} if column is None else {name: column}
    names = arrays.get("class_names")
    return RawGraph(
        title,
        pd.DataFrame(columns, index=pd.RangeIndex(num_nodes)),
        ends,
        weight,
        x,
        id=_find_first_present_name_or_none(ID_NAMES, columns),
        label=label if label in columns else None,
        trusted=_find_first_present_name_or_none(("trusted_mask",), columns),
        masks={name: per_node[name] for name in MASK_NAMES if name in per_node},
        class_names=None if names is None else [str(name) for name in np.asarray(names).reshape(-1)],
        y_true=per_node.get("y_true"),
        label_weight=per_node.get("label_weight"),
    )


def find_features_or_raise(arrays: Mapping[str, Any], title: str) -> np.ndarray:
    """Features among arrays by name: a sparse matrix of SciPy's, or an array ``x`` or ``features``."""
    x = _find_dense_features_or_none(_replace_parts_by_sparse_matrices(arrays, title, "x"), title)
    if x is None:
        raise DataError(f"{title} holds no features: save a SciPy matrix, or an array x of shape [nodes, features]")
    return x


def build_raw_graph_from_networkx(graph: Any, title: str) -> RawGraph:
    """A graph from NetworkX: attributes of nodes are columns, the attribute ``weight`` of edges is their weight."""
    if not len(graph):
        raise DataError(f"{title} has no nodes")
    names = list(graph.nodes)
    positions = {name: i for i, name in enumerate(names)}
    frame = pd.DataFrame([dict(graph.nodes[name]) for name in names])
    frame.columns = frame.columns.astype(str)
    id_column = "id" if "id" not in frame.columns else "node_id"
    if id_column not in frame.columns:
        frame.insert(0, id_column, [name if isinstance(name, int) else str(name) for name in names])
    pairs = np.array([(positions[a], positions[b]) for a, b in graph.edges()], np.int64).reshape(-1, 2)
    weight = None
    values = [value for _, _, value in graph.edges(data="weight")]
    if any(value is not None for value in values):
        try:
            weight = np.array([1.0 if value is None else value for value in values], np.float32)
        except (TypeError, ValueError):
            raise DataError(f"{title}: weights of edges must be numbers") from None
    return RawGraph(title, frame, pairs.T.copy(), weight, id=id_column, name=_find_name_column_or_none(frame))


def _find_name_column_or_none(frame: pd.DataFrame) -> str | None:
    """The attribute with the names of the nodes, if texts that are mostly different are in one that is called so."""
    texts = [name for name in ("name", "title", "label") if name in frame and pd.api.types.is_string_dtype(frame[name])]
    return next((name for name in texts if frame[name].nunique() > 0.9 * len(frame)), None)


def _find_first_present_name_or_none(names: tuple[str, ...], arrays: Mapping[str, Any]) -> str | None:
    return next((name for name in names if name in arrays), None)


def _parse_node_array(value: Any, name: str, num_nodes: int, title: str) -> np.ndarray:
    """An array with one value per node. A mask may have one column per split."""
    try:
        array = np.asarray(value)
    except ValueError:
        raise DataError(f"{title}: '{name}' must be one value per node, not {type(value).__name__}") from None
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    has_splits = name in MASK_NAMES and array.ndim == 2 and array.shape[1] > 1
    if not (array.ndim == 1 or has_splits) or len(array) != num_nodes:
        shape = f"has shape {list(array.shape)}" if array.dtype.kind != "O" else f"is a {type(value).__name__}"
        nodes = format_count(num_nodes, "node")
        raise DataError(f"{title}: '{name}' {shape}, but there are {nodes}: one value each is needed")
    return array


def _check_zero_one_and_cast_masks_to_bool(array: np.ndarray, name: str, title: str) -> np.ndarray:
    if array.dtype.kind not in "biu" or not bool(((array == 0) | (array == 1)).all()):
        hint = "; from node numbers make one with torch_geometric.utils.index_to_mask" if name in MASK_NAMES else ""
        raise DataError(f"{title}: '{name}' must be true or false for each node{hint}")
    return array.astype(bool) if name in MASK_NAMES else array


def _check_numeric_and_cast_to_float32(array: np.ndarray, name: str, title: str) -> np.ndarray:
    if array.dtype.kind not in "biuf":
        raise DataError(f"{title}: '{name}' must be numbers, not {array.dtype}")
    return array.astype(np.float32)


def _check_and_cast_true_labels_to_int64(array: np.ndarray, name: str, title: str) -> np.ndarray:
    return _check_and_cast_labels(array, name, title, allows_missing=False).astype(np.int64)


# What these names mean in PyG's `Data`: an array of such a name is that, or an error.
_PER_NODE_PARSERS: dict[str, Callable[[np.ndarray, str, str], np.ndarray]] = {
    **dict.fromkeys((*MASK_NAMES, "trusted_mask"), _check_zero_one_and_cast_masks_to_bool),
    "label_weight": _check_numeric_and_cast_to_float32,
    "y_true": _check_and_cast_true_labels_to_int64,
}


def _parse_node_column_or_none(
    value: Any, name: str, num_nodes: int, title: str, *, is_label: bool
) -> np.ndarray | None:
    """One value per node, if it is that."""
    array = value if isinstance(value, np.ndarray) else None
    if array is None and isinstance(value, list) and len(value) == num_nodes:
        array = np.array([str(each) for each in value], dtype=object)
    if array is None or array.ndim == 0 or len(array) != num_nodes:
        return None
    array = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
    if array.ndim == 1:
        return _check_and_cast_labels(array, name, title) if is_label else array
    if is_label:
        raise DataError(f"{title}: '{name}' has shape {list(array.shape)}; multi-label data is not supported")
    return None


def _check_and_cast_labels(array: np.ndarray, name: str, title: str, *, allows_missing: bool = True) -> np.ndarray:
    """Labels, which are class numbers unless they are texts. NaN may stand for none, as -1 does."""
    if array.dtype.kind == "b":
        return array.astype(np.int64)
    if array.dtype.kind in "OUS" and allows_missing:
        return array
    are_integers = array.dtype.kind in "biuf"
    if array.dtype.kind == "f":
        known = array[~np.isnan(array)] if allows_missing else array
        are_integers = bool(np.isfinite(known).all()) and bool((known == np.trunc(known)).all())
    if not are_integers or bool((array < -1).any()):
        raise DataError(f"{title}, '{name}': labels not integers from 0; number the classes, with -1 for none")
    return array


def _replace_parts_by_sparse_matrices(
    arrays: Mapping[str, Any], title: str, name_without_prefix: str
) -> dict[str, Any]:
    """The arrays with sparse matrices in place of their parts; ``name_without_prefix`` names the unprefixed one."""
    joined = dict(arrays)
    for prefix in ("adj_", "attr_", ""):
        matrix = _build_sparse_matrix_from_parts_or_none(joined, prefix, title)
        if matrix is not None:
            parts = {f"{prefix}{part}" for part in (*MATRIX_PARTS, "format")}
            joined = {key: value for key, value in joined.items() if key not in parts}
            joined[prefix[:-1] or name_without_prefix] = matrix
    return joined


def _build_sparse_matrix_from_parts_or_none(arrays: Mapping[str, Any], prefix: str, title: str) -> Any:
    """A matrix from its parts, if they are there. SciPy trusts indices, so they are checked."""
    from scipy.sparse import csc_matrix, csr_matrix

    names = [f"{prefix}{part}" for part in MATRIX_PARTS]
    if any(not isinstance(arrays.get(name), np.ndarray) for name in names):
        return None
    data, indices, indptr, shape = (arrays[name] for name in names)
    layout = arrays.get(f"{prefix}format", np.array("csr"))
    try:
        kind = csc_matrix if layout.item() in (b"csc", "csc") else csr_matrix
        matrix = kind((data, indices, indptr), tuple(int(size) for size in shape))
        matrix.check_format(full_check=True)
        return matrix.tocsr()
    except Exception as error:
        raise DataError(f"{title}: the sparse matrix is damaged ({format_error_in_one_line(error)})") from None


def _find_dense_features_or_none(arrays: Mapping[str, Any], title: str) -> np.ndarray | None:
    """Features as float32, [N, F]."""
    name = _find_first_present_name_or_none(FEATURE_NAMES, arrays)
    if name is None:
        return None
    value = arrays[name]
    if hasattr(value, "toarray"):
        rows, columns = value.shape
        if rows * columns > 1 << 33:
            size = f"{rows * columns >> 28:,} GiB"
            raise DataError(f"{title}: '{name}' would take {size} as a dense matrix; reduce it first")
        value = value.astype(np.float32).toarray()
    if not isinstance(value, np.ndarray) or value.ndim != 2 or value.dtype.kind not in "biuf":
        shape = list(value.shape) if isinstance(value, np.ndarray) else type(value).__name__
        raise DataError(f"{title}: '{name}' must be numbers of shape [nodes, features], not {shape}")
    with np.errstate(over="ignore"):
        return value.astype(np.float32)


def _find_edges_weights_and_num_nodes(
    arrays: Mapping[str, Any], title: str
) -> tuple[np.ndarray, np.ndarray | None, int | None]:
    """Ends and weights of edges, and the number of nodes if a matrix tells it."""
    name = _find_first_present_name_or_none(EDGE_NAMES, arrays)
    if name is None:
        raise DataError(f"{title} holds no edges: an array edge_index of shape [2, edges] is expected")
    value = arrays[name]
    if hasattr(value, "tocoo") or (isinstance(value, np.ndarray) and name in MATRIX_NAMES):
        return _parse_adjacency_as_edges(value, name, title)
    if not isinstance(value, np.ndarray) or value.ndim != 2 or 2 not in value.shape or value.dtype.kind not in "iu":
        raise DataError(f"{title}: '{name}' must be whole numbers of shape [2, edges]")
    ends = value if value.shape[0] == 2 and (name == "edge_index" or value.shape[1] != 2) else value.T
    num_edges, weight_name = ends.shape[1], _find_first_present_name_or_none(WEIGHT_NAMES, arrays)
    if weight_name is None:
        _warn_if_edge_attr_may_be_weights(arrays.get("edge_attr"), num_edges, title)
        return ends.astype(np.int64), None, None
    weights = arrays[weight_name]
    if not isinstance(weights, np.ndarray) or weights.dtype.kind not in "biuf" or weights.size != num_edges:
        raise DataError(f"{title}: weights must be numbers, one for each of {format_count(num_edges, 'edge')}")
    with np.errstate(over="ignore"):
        return ends.astype(np.int64), weights.reshape(-1).astype(np.float32), None


def _parse_adjacency_as_edges(value: Any, name: str, title: str) -> tuple[np.ndarray, np.ndarray | None, int]:
    """Ends, weights and number of nodes from an adjacency matrix. Weights that are all 1 are none."""
    if isinstance(value, np.ndarray):
        from scipy.sparse import coo_matrix

        if value.ndim != 2 or value.dtype.kind not in "biuf":
            raise DataError(f"{title}: '{name}' must be a matrix of numbers")
        value = coo_matrix(value)
    matrix = value.tocoo()
    if matrix.shape[0] != matrix.shape[1]:
        raise DataError(f"{title}: an adjacency matrix is square, not {matrix.shape[0]} × {matrix.shape[1]}")
    weight = None if bool((matrix.data == 1).all()) else matrix.data.astype(np.float32)
    ends = np.stack([matrix.row, matrix.col]).astype(np.int64)
    return ends[::-1] if name == "adj_t" else ends, weight, int(matrix.shape[0])


def _warn_if_edge_attr_may_be_weights(attr: Any, num_edges: int, title: str) -> None:
    """One number per edge, where PyG has it, may be the weights or not."""
    if isinstance(attr, np.ndarray) and attr.dtype.kind in "biuf" and attr.shape in ((num_edges,), (num_edges, 1)):
        message = f"{title}: 'edge_attr' is not used; if it holds the weights of the edges, save it as 'edge_weight'"
        warn_user(message)


def _infer_num_nodes(
    x: np.ndarray | None, matrix_size: int | None, arrays: Mapping[str, Any], label: str | None, title: str
) -> int:
    lengths = {} if x is None else {"features": len(x)}
    lengths |= {} if matrix_size is None else {"adjacency": matrix_size}
    for name in (label, *ID_NAMES):
        value = arrays.get(name or "")
        if isinstance(value, np.ndarray) and value.ndim:
            lengths[str(name)] = len(value)
    declared = arrays.get("num_nodes")
    if isinstance(declared, int) and declared >= 0:
        lengths["num_nodes"] = declared
    if not lengths:
        raise DataError(f"{title}: how many nodes? it holds neither features nor labels nor ids")
    if len(set(lengths.values())) > 1:
        parts = ", ".join(f"{name} {length:,}" for name, length in lengths.items())
        raise DataError(f"{title}: numbers of nodes differ: {parts}")
    num_nodes = next(iter(lengths.values()))
    if not num_nodes:
        raise DataError(f"{title} has no nodes")
    return num_nodes
