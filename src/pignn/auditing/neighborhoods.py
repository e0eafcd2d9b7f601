"""The surroundings of a suspect: its neighbors and the most similar nodes, with their given labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..noise.kinds import Ints
from .evidence import Evidence

MAX_DRAWN_NEIGHBORS = 12
MAX_NAMED_SIMILAR = 8


@dataclass(frozen=True)
class Neighborhood:
    """The surroundings of one suspect. Nodes are numbers; votes are [class, count], most frequent first."""

    neighbors: list[int]  # those to draw
    degree: int
    votes: list[list[int]]
    links: list[list[int]]  # pairs of positions in `neighbors` that have an edge
    similar: list[int]
    similar_votes: list[list[int]]


def build_neighborhoods(evidence: Evidence, suspects: Ints) -> list[Neighborhood]:
    """The surroundings of some labeled nodes. Without an all-pairs comparison, no similar nodes are named."""
    crow, col = evidence.inputs.adj.crow.numpy(), evidence.inputs.adj.col.numpy()
    given = evidence.graph.y.reshape(-1).numpy()
    neighbors = [col[crow[node] : crow[node + 1]] for node in suspects]
    drawn = [all_[np.argsort(given[all_] < 0, kind="stable")[:MAX_DRAWN_NEIGHBORS]] for all_ in neighbors]
    positions = np.searchsorted(evidence.nodes, suspects)  # nodes are sorted
    similar = [
        evidence.nodes[:0]
        if evidence.most_similar_positions is None
        else evidence.nodes[evidence.most_similar_positions[position]]
        for position in positions
    ]
    return [
        Neighborhood(
            drawn[i].tolist(),
            len(neighbors[i]),
            _list_class_counts_most_frequent_first(given[neighbors[i]]),
            links,
            similar[i][:MAX_NAMED_SIMILAR].tolist(),
            _list_class_counts_most_frequent_first(given[similar[i]]),
        )
        for i, links in enumerate(_list_induced_edges_per_group(crow, col, drawn))
    ]


def _list_induced_edges_per_group(crow: Ints, col: Ints, groups: list[Ints]) -> list[list[list[int]]]:
    """Edges within each group of nodes, as pairs of positions in it."""
    links: list[list[list[int]]] = [[] for _ in groups]
    table = np.full((len(groups), MAX_DRAWN_NEIGHBORS), -1, dtype=np.int64)
    for number, nodes in enumerate(groups):
        table[number, : len(nodes)] = nodes
    first, second = np.triu_indices(MAX_DRAWN_NEIGHBORS, 1)
    group, pair = np.nonzero(table[:, second] >= 0)
    is_edge = _compute_edge_mask(crow, col, table[group, first[pair]], table[group, second[pair]])
    for g, a, b in zip(group[is_edge], first[pair[is_edge]], second[pair[is_edge]], strict=True):
        links[g].append([int(a), int(b)])
    return links


def _compute_edge_mask(crow: Ints, col: Ints, sources: Ints, targets: Ints) -> NDArray[np.bool_]:
    """Whether each pair of nodes has an edge, by a binary search in all sorted rows at once."""
    low, high = crow[sources].astype(np.int64), crow[sources + 1].astype(np.int64)
    if not len(col):
        return np.zeros(len(low), dtype=bool)
    end = high.copy()
    while (low < high).any():
        middle = np.minimum((low + high) // 2, len(col) - 1)
        is_below = (col[middle] < targets) & (low < high)
        high = np.where((low < high) & ~is_below, middle, high)
        low = np.where(is_below, middle + 1, low)
    return (low < end) & (col[np.minimum(low, len(col) - 1)] == targets)


def _list_class_counts_most_frequent_first(classes: Ints) -> list[list[int]]:
    counts = np.bincount(classes[classes >= 0])
    present = np.flatnonzero(counts)
    return [[int(c), int(counts[c])] for c in present[np.argsort(-counts[present], kind="stable")]]
