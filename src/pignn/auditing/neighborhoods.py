"""What stands around a suspect: its neighbours and the most similar nodes, with their given labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

from ..backbones import GraphInputs
from ..noise.kinds import Ints
from ..report.audit import Neighborhood
from . import evidence

DRAWN = 12  # neighbours in a drawing
ALIKE = 8  # similar nodes that are named
BLOCK = 500  # suspects that are compared with all labels at a time


def describe_neighborhoods(data: Data, suspects: Ints, labelled: Ints, seed: int = 0) -> list[Neighborhood]:
    """For every suspect. Similar nodes are told up to as many labels as the audit itself compares."""
    graph = data.__copy__()
    graph.x = graph.x if isinstance(graph.x, torch.Tensor) else torch.as_tensor(graph.x)
    inputs = GraphInputs.from_data(graph)
    crow, col = inputs.adj.crow.numpy(), inputs.adj.col.numpy()
    given = torch.as_tensor(data.y).reshape(-1).numpy()
    near = _similar(inputs, suspects, labelled, seed)
    all_of = [col[crow[node] : crow[node + 1]] for node in suspects]
    shown = [few[np.argsort(given[few] < 0, kind="stable")[:DRAWN]] for few in all_of]  # labelled ones first
    return [
        Neighborhood(
            shown[at].tolist(),
            len(all_of[at]),
            _votes(given[all_of[at]]),
            links,
            [] if near is None else near[at, :ALIKE].tolist(),
            [] if near is None else _votes(given[near[at]]),
        )
        for at, links in enumerate(_links(crow, col, shown))
    ]


def _links(crow: Any, col: Any, shown: list[Any]) -> list[list[list[int]]]:
    """Edges within each of the lists of nodes, as pairs of places in it."""
    found: list[list[list[int]]] = [[] for _ in shown]
    table = np.full((len(shown), DRAWN), -1, dtype=np.int64)
    for place, nodes in enumerate(shown):
        table[place, : len(nodes)] = nodes
    first, second = np.triu_indices(DRAWN, 1)
    at, pair = np.nonzero(table[:, second] >= 0)
    one, other = table[at, first[pair]], table[at, second[pair]]
    # All pairs at once: halve the part of a node's sorted row in which the other one must be.
    low, high = crow[one].astype(np.int64), crow[one + 1].astype(np.int64)
    end = high.copy()
    while (low < high).any():
        middle = np.minimum((low + high) // 2, len(col) - 1)
        below = (col[middle] < other) & (low < high)
        high = np.where((low < high) & ~below, middle, high)
        low = np.where(below, middle + 1, low)
    there = (low < end) & (col[np.minimum(low, len(col) - 1)] == other) if len(col) else np.zeros(len(low), dtype=bool)
    for i, a, b in zip(at[there], first[pair[there]], second[pair[there]], strict=True):
        found[i].append([int(a), int(b)])
    return found


def _votes(classes: Any) -> list[list[int]]:
    count = np.bincount(classes[classes >= 0])
    present = np.flatnonzero(count)
    return [[int(c), int(count[c])] for c in present[np.argsort(-count[present], kind="stable")]]


def _similar(inputs: GraphInputs, suspects: Ints, labelled: Ints, seed: int) -> Ints | None:
    if len(labelled) > evidence.MOST_COMPARED or len(labelled) < 2:
        return None
    z = evidence.coordinates(inputs, labelled, evidence.RESTART, seed)
    most = min(evidence.SIMILAR, len(labelled) - 1)
    place = np.searchsorted(labelled, suspects)  # `labelled` is sorted
    near = np.empty((len(suspects), most), dtype=np.int64)
    for start in range(0, len(suspects), BLOCK):
        part = place[start : start + BLOCK]
        alike = z[part] @ z.T
        alike[np.arange(len(part)), part] = -np.inf
        best = np.argpartition(-alike, most - 1, axis=1)[:, :most]
        order = np.argsort(-np.take_along_axis(alike, best, axis=1), axis=1, kind="stable")
        near[start : start + BLOCK] = labelled[np.take_along_axis(best, order, axis=1)]
    return near
