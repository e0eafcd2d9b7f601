"""Graphs that are objects already: NetworkX, SciPy, pandas, PyG."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from torch_geometric.data import Data

from ...core.errors import ConfigError, DataError
from .build_data import build_data
from .graph_files import from_arrays, from_graph
from .import_spec import ImportSpec
from .reading import from_whole, read_graph


def from_pandas(nodes: pd.DataFrame, edges: pd.DataFrame, **options: Any) -> Data:
    """A graph from two data frames; options are those of :func:`read_graph`."""
    for name, frame in (("nodes", nodes), ("edges", edges)):
        if not isinstance(frame, pd.DataFrame):
            raise DataError(f"{name} must be a pandas.DataFrame, not {type(frame).__name__}")
    return read_graph(nodes, edges, **options)


def from_networkx(graph: Any, **options: Any) -> Data:
    """A graph from a NetworkX graph: attributes of nodes are columns, `weight` of edges their weight.

    Options are those of :func:`read_graph` that are about nodes; ids are the nodes themselves.
    """
    if not hasattr(graph, "nodes") or not hasattr(graph, "edges"):
        raise DataError(f"expected a networkx.Graph, not {type(graph).__name__}")
    spec = _wanted(options)
    return build_data(from_whole(from_graph(graph, "graph"), spec, "graph"), spec, "graph")


def from_scipy(
    adjacency: Any, labels: Any = None, features: Any = None, *, ids: Any = None, trusted: Any = None, **options: Any
) -> Data:
    """A graph from a SciPy sparse matrix and arrays.

    Args:
        adjacency: [N, N]; entries other than 1 are weights.
        labels: one a node: names or numbers, -1, None or empty for none.
        features: [N, F] array or sparse matrix, or a data frame of columns; structural ones if absent.
        ids: one a node.
        trusted: one a node, which labels were verified.
        options: as for :func:`read_graph`: `val`, `seed`, `directed`, `encoder`, `class_names`.
    """
    if not hasattr(adjacency, "tocoo") or not hasattr(adjacency, "shape"):
        raise DataError(f"expected a SciPy sparse matrix, not {type(adjacency).__name__}")
    arrays: dict[str, Any] = {"adj": adjacency, "num_nodes": int(adjacency.shape[0])}
    if features is not None and not isinstance(features, pd.DataFrame):
        arrays["x"] = features if hasattr(features, "toarray") else np.asarray(features)
    whole = from_arrays(arrays, "graph")
    frame = features.reset_index(drop=True) if isinstance(features, pd.DataFrame) else whole.frame
    for name, values in (("labels", labels), ("ids", ids), ("trusted", trusted)):
        if values is None:
            continue
        if len(values) != len(whole.frame):
            raise DataError(f"{name} has {len(values):,} values, but the graph has {len(whole.frame):,} nodes")
        name = f"({name})"
        frame = frame.assign(**{name: pd.Series(list(values))})
    if len(frame) != len(whole.frame):
        raise DataError(f"features has {len(frame):,} rows, but the graph has {len(whole.frame):,} nodes")
    frame.columns = frame.columns.astype(str)
    whole.frame, whole.label = frame, None if labels is None else "(labels)"
    whole.id = None if ids is None else "(ids)"
    spec = _wanted(options | ({} if trusted is None else {"trusted": "(trusted)"}))
    return build_data(from_whole(whole, spec, "graph"), spec, "graph")


def _wanted(options: dict[str, Any]) -> ImportSpec:
    try:
        return ImportSpec(**options)
    except TypeError as error:
        raise ConfigError(str(error).replace("ImportSpec.__init__() got an ", "")) from None
