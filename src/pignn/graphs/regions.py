"""Regions of a graph: the nodes that are nearest to each of some centers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
NODES_PER_CENTER = 20


def draw_region_centers(num_nodes: int, generator: np.random.Generator) -> Ints:
    """One node in twenty, drawn at random."""
    return generator.permutation(num_nodes)[: max(num_nodes // NODES_PER_CENTER, 1)]


def grow_regions(num_neighbors: Ints, neighbors: Ints, centers: Ints) -> Ints:
    """The region of every node, from lists of neighbors: the number of the nearest center, in steps along edges.

    A node that no center reaches is a region of its own.
    """
    num_nodes = len(num_neighbors)
    row, col = np.repeat(np.arange(num_nodes), num_neighbors), neighbors
    region = np.full(num_nodes, -1, dtype=np.int64)
    region[centers] = np.arange(len(centers))
    while True:
        border = (region[row] >= 0) & (region[col] < 0)
        if not border.any():
            break
        region[col[border]] = region[row[border]]
    unreached = np.flatnonzero(region < 0)
    region[unreached] = len(centers) + np.arange(len(unreached))
    return region
