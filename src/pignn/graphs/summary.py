"""What a graph is like."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from .checks import num_classes
from .edges import simple_edges


def describe(data: Data, *, truth: bool = False) -> dict[str, Any]:
    """Size, classes and structure of a graph as plain numbers.

    `homophily` is the share of undirected edges whose ends have the same label, among those whose ends both
    have one: the given label `y`, or `y_true` with `truth=True`. It is None where there is no such edge.
    """
    nodes = int(data.num_nodes or 0)
    edge_index = simple_edges(data.edge_index, nodes).edge_index
    labels: Tensor | None = data.get("y_true" if truth else "y")
    counts: dict[str, int] = {}
    if labels is not None:
        classes = num_classes(data)
        names = data.get("class_names") or [str(c) for c in range(classes)]
        sizes = torch.bincount(labels[labels >= 0], minlength=classes).tolist()
        counts = {str(name): size for name, size in zip(names, sizes, strict=True)}
    degree = torch.bincount(edge_index[0], minlength=nodes)
    return {
        "nodes": nodes,
        "edges": edge_index.size(1) // 2,
        "features": int(data.num_features),
        "classes": counts,
        "unlabelled": nodes - sum(counts.values()),
        "homophily": None if labels is None else _homophily(edge_index, labels),
        "mean_degree": edge_index.size(1) / nodes if nodes else 0.0,
        "isolated": int((degree == 0).sum()),
        "components": _components(edge_index, nodes),
    }


def _homophily(edge_index: Tensor, labels: Tensor) -> float | None:
    a, b = labels[edge_index]
    known = (a >= 0) & (b >= 0)
    return float((a == b)[known].double().mean()) if bool(known.any()) else None


def _components(edge_index: Tensor, nodes: int) -> int:
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    row, col = edge_index.cpu().numpy()
    ones = torch.ones(len(row), dtype=torch.bool).numpy()
    return int(connected_components(coo_matrix((ones, (row, col)), shape=(nodes, nodes)), directed=False)[0])
