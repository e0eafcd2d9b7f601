"""What a graph is like."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from .checks import has_csr_edges, num_classes
from .edges import simplify_edges


def describe_graph(data: Data, *, use_true_labels: bool = False) -> dict[str, Any]:
    """Size, classes and structure of a graph, in memory or in a store, as plain numbers.

    `homophily` is the share of undirected edges whose ends have the same label, among those whose ends both
    have one: the given label `y`, or `y_true` with `use_true_labels=True`. It is None where there is no such edge.
    """
    nodes = int(data.num_nodes or 0)
    degree, col = _rows(data, nodes)
    labels: Tensor | None = data.get("y_true" if use_true_labels else "y")
    counts: dict[str, int] = {}
    if labels is not None:
        classes = num_classes(data)
        names = data.get("class_names") or [str(c) for c in range(classes)]
        sizes = torch.bincount(labels[labels >= 0], minlength=classes).tolist()
        counts = {str(name): size for name, size in zip(names, sizes, strict=True)}
    return {
        "nodes": nodes,
        "edges": len(col) // 2,
        "features": int(data.num_features),
        "classes": counts,
        "unlabeled": nodes - sum(counts.values()),
        "homophily": None if labels is None else _homophily(degree, col, labels),
        "mean_degree": len(col) / nodes if nodes else 0.0,
        "isolated": int((degree == 0).sum()),
        "components": _components(degree, col),
    }


def _rows(data: Data, nodes: int) -> tuple[Tensor, Tensor]:
    """The simple undirected graph row by row: numbers of neighbours, and the neighbours."""
    if has_csr_edges(data):
        return data.crow.diff(), data.col
    row, col = simplify_edges(data.edge_index, nodes).edge_index
    return torch.bincount(row, minlength=nodes), col


def _homophily(degree: Tensor, col: Tensor, labels: Tensor) -> float | None:
    a, b = torch.repeat_interleave(labels, degree), labels[col]
    known = (a >= 0) & (b >= 0)
    return float((a == b)[known].double().mean()) if bool(known.any()) else None


def _components(degree: Tensor, col: Tensor) -> int:
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    crow = torch.cat([degree.new_zeros(1), degree.cumsum(0)]).cpu().numpy()
    ones = torch.ones(len(col), dtype=torch.bool).numpy()
    graph = csr_matrix((ones, col.cpu().numpy(), crow), shape=(len(degree), len(degree)))
    # Every edge is there in both directions, so that strong components are all there are; no transpose is made.
    return int(connected_components(graph, directed=True, connection="strong")[0])
