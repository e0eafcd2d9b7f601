"""Regions of a graph: the nodes that are nearest to each of some centers."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
NODES_PER_CENTER = 20
CHUNK_ENTRIES = 1 << 21  # of neighbors that are looked at together


def draw_region_centers(num_nodes: int, generator: np.random.Generator) -> Ints:
    """One node in twenty, drawn at random."""
    return generator.permutation(num_nodes)[: max(num_nodes // NODES_PER_CENTER, 1)]


def grow_regions(num_neighbors: Ints, neighbors: Ints, centers: Ints) -> Ints:
    """The region of every node, from lists of neighbors: the number of the nearest center, in steps along edges.

    A node that no center reaches is a region of its own.
    """
    num_nodes, end = len(num_neighbors), np.cumsum(num_neighbors)
    last_rows = np.searchsorted(end, np.arange(CHUNK_ENTRIES, len(neighbors) + CHUNK_ENTRIES, CHUNK_ENTRIES))
    bounds = np.unique([0, *np.minimum(last_rows + 1, num_nodes)])
    region = np.full(num_nodes, -1, dtype=np.int64)
    region[centers] = np.arange(len(centers))
    is_growing = True
    while is_growing:
        before, is_growing = region.copy(), False
        for start, stop in itertools.pairwise(bounds):
            row = np.repeat(np.arange(start, stop), num_neighbors[start:stop])
            col = neighbors[end[start] - num_neighbors[start] : end[stop - 1]]
            border = (before[row] >= 0) & (before[col] < 0)
            region[col[border]] = before[row[border]]
            is_growing |= bool(border.any())
    unreached = np.flatnonzero(region < 0)
    region[unreached] = len(centers) + np.arange(len(unreached))
    return region
