"""Graphs from Python objects: NetworkX, SciPy, pandas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from torch_geometric.data import Data

from ...core.errors import DataError
from .build_data import build_data
from .graph_arrays import build_raw_graph_from_arrays, build_raw_graph_from_networkx
from .import_spec import ImportSpec
from .reading import assign_roles_in_place_and_complete_spec, read_graph


def from_pandas(nodes: pd.DataFrame, edges: pd.DataFrame, **options: Any) -> Data:
    """Build a graph from two data frames. Options are those of :func:`read_graph`."""
    for name, frame in (("nodes", nodes), ("edges", edges)):
        if not isinstance(frame, pd.DataFrame):
            raise DataError(f"{name} must be a pandas.DataFrame, not {type(frame).__name__}")
    return read_graph(nodes, edges, **options)


def from_networkx(graph: Any, **options: Any) -> Data:
    """Build a graph from NetworkX: attributes of nodes are columns, `weight` of edges is their weight.

    Options are those of :func:`read_graph` that are about nodes. Ids are the nodes themselves.
    """
    if not hasattr(graph, "nodes") or not hasattr(graph, "edges"):
        raise DataError(f"expected a networkx.Graph, not {type(graph).__name__}")
    spec = ImportSpec.from_options(options)
    return build_data(
        *assign_roles_in_place_and_complete_spec(build_raw_graph_from_networkx(graph, "graph"), spec), "graph"
    )


def from_scipy(
    adjacency: Any, labels: Any = None, features: Any = None, *, ids: Any = None, trusted: Any = None, **options: Any
) -> Data:
    """Build a graph from a SciPy sparse matrix and arrays.

    Args:
        adjacency: [N, N]; entries other than 1 are weights.
        labels: one per node: names or numbers; -1, None or empty for none.
        features: [N, F] array or sparse matrix, or a data frame of columns. Default: structural features.
        ids: one per node.
        trusted: one per node: which labels were verified.
        options: as for :func:`read_graph`: `val`, `seed`, `directed`, `encoder`, `class_names`.
    """
    if not hasattr(adjacency, "tocoo") or not hasattr(adjacency, "shape"):
        raise DataError(f"expected a SciPy sparse matrix, not {type(adjacency).__name__}")
    arrays: dict[str, Any] = {"adj": adjacency, "num_nodes": int(adjacency.shape[0])}
    if features is not None and not isinstance(features, pd.DataFrame):
        arrays["x"] = features if hasattr(features, "toarray") else np.asarray(features)
    raw_graph = build_raw_graph_from_arrays(arrays, "graph")
    frame = features.reset_index(drop=True) if isinstance(features, pd.DataFrame) else raw_graph.frame
    for name, values in (("labels", labels), ("ids", ids), ("trusted", trusted)):
        if values is None:
            continue
        if len(values) != raw_graph.num_nodes:
            raise DataError(f"{name} has {len(values):,} values, but the graph has {raw_graph.num_nodes:,} nodes")
        frame = frame.assign(**{f"({name})": pd.Series(list(values))})
    if len(frame) != raw_graph.num_nodes:
        raise DataError(f"features has {len(frame):,} rows, but the graph has {raw_graph.num_nodes:,} nodes")
    frame.columns = frame.columns.astype(str)
    raw_graph.frame, raw_graph.label = frame, None if labels is None else "(labels)"
    raw_graph.id = None if ids is None else "(ids)"
    spec = ImportSpec.from_options(options | ({} if trusted is None else {"trusted": "(trusted)"}))
    return build_data(*assign_roles_in_place_and_complete_spec(raw_graph, spec), "graph")
