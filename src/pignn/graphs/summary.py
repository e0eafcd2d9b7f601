"""What a graph is like, in numbers and as a digest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from ..io.digests import compute_digest_of_parts
from .homophily import compute_homophily_or_none, list_labeled_edge_end_labels
from .view import LabeledGraph

STORED_KEYS = ("x", "crow", "col", "edge_weight")  # a graph store knows the digest of these


def compute_graph_statistics(data: Data, *, with_true_labels: bool = False) -> dict[str, Any]:
    """Size, classes and structure of a graph, in memory or in a store, as plain numbers.

    `homophily` is the share of undirected edges whose ends have the same label, among those whose ends both have one:
    the given label `y`, or `y_true` with `with_true_labels=True`. It is None where there is no such edge.
    """
    graph = LabeledGraph.from_data(data)
    degree, neighbors = graph.get_neighbor_counts_and_neighbors()
    labels = graph.y_true if with_true_labels else graph.y
    counts: dict[str, int] = {}
    if labels is not None:
        sizes = torch.bincount(labels[labels >= 0], minlength=graph.num_classes).tolist()
        counts = dict(zip(graph.class_names, sizes, strict=True))
    return {
        "nodes": graph.num_nodes,
        "edges": len(neighbors) // 2,
        "features": int(data.num_features),
        "classes": counts,
        "unlabeled": graph.num_nodes - sum(counts.values()),
        "homophily": None
        if labels is None
        else compute_homophily_or_none(*list_labeled_edge_end_labels(labels, degree, neighbors)),
        "mean_degree": len(neighbors) / graph.num_nodes if graph.num_nodes else 0.0,
        "isolated": int((degree == 0).sum()),
        "components": _count_components(degree, neighbors),
    }


def compute_graph_digest(data: Data, attributes: Iterable[str]) -> str:
    """A short digest of these attributes of a graph. A graph store is not read again: it knows its own digest."""
    stored = str(data.get("digest")) if data.get("checked") else ""
    parts: list[Any] = [stored] if set(attributes) & set(STORED_KEYS) else []
    for key in attributes:
        value = data.get(key)
        if value is not None and not (stored and key in STORED_KEYS):
            parts += [key, torch.as_tensor(value)]
    return compute_digest_of_parts(*parts, length=16)


def _count_components(degree: Tensor, neighbors: Tensor) -> int:
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    crow = torch.cat([degree.new_zeros(1), degree.cumsum(0)]).cpu().numpy()
    ones = torch.ones(len(neighbors), dtype=torch.bool).numpy()
    graph = csr_matrix((ones, neighbors.cpu().numpy(), crow), shape=(len(degree), len(degree)))
    # Every edge is there in both directions, so that strong components are all there are; no transpose is made.
    return int(connected_components(graph, directed=True, connection="strong")[0])
