"""Features from the graph alone, for nodes that have no others.

Each is defined by what is around a node and not by where in the graph it is, so it means the same in another graph:

| feature | of node i, with degree d_i and neighbours N(i) |
|---|---|
| `degree` | log(1 + d_i) |
| `neighbours_degree` | log(1 + mean of d_j over N(i)) |
| `largest_neighbour` | log(1 + largest d_j over N(i)) |
| `two_steps` | log(1 + sum of d_j over N(i)): walks of two steps |
| `spread` | standard deviation of log(1 + d_j) over N(i) |
| `clustering` | share of the pairs of neighbours that are joined |
| `triangles` | log(1 + triangles through i) |
| `return_2` | probability that a random walk is back after 2 steps |
| `return_3` | the same after 3 steps |
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

NAMES = (
    "degree",
    "neighbours_degree",
    "largest_neighbour",
    "two_steps",
    "spread",
    "clustering",
    "triangles",
    "return_2",
    "return_3",
)
WEDGES = 1 << 24  # paths of two steps that are looked at together


def structural(crow: np.ndarray, col: np.ndarray) -> np.ndarray:
    """The features above of all nodes, [N, 9] in float32, from the rows of a simple undirected graph."""
    nodes = len(crow) - 1
    degree = np.diff(crow).astype(np.float64)
    adjacency = csr_matrix((np.ones(len(col)), col, crow), shape=(nodes, nodes))
    some = np.maximum(degree, 1)
    log = np.log1p(degree)
    sums = adjacency @ np.stack([degree, log, log * log, 1 / some], axis=1)
    mean_log = sums[:, 1] / some
    largest = np.zeros(nodes)
    filled = degree > 0
    if len(col):
        largest[filled] = np.maximum.reduceat(degree[col], crow[:-1][filled])
    triangles, closed = _triangles(crow, col, degree)
    x = np.stack(
        [
            log,
            np.log1p(sums[:, 0] / some),
            np.log1p(largest),
            np.log1p(sums[:, 0]),
            np.sqrt(np.maximum(sums[:, 2] / some - mean_log**2, 0)),
            2 * triangles / np.maximum(degree * (degree - 1), 1),
            np.log1p(triangles),
            sums[:, 3] / some,
            2 * closed / some,
        ],
        axis=1,
    )
    return x.astype(np.float32)


def _triangles(crow: np.ndarray, col: np.ndarray, degree: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each node i, the number of triangles {i, j, k}, and their sum of 1 / (d_j d_k).

    Every edge is directed from the end of lower degree to the other: no node then has more than about √(2 E) edges
    going out, hubs included, and each triangle u → v, u → w, v → w is found once at each of its edges.
    """
    nodes = len(degree)
    rank = np.empty(nodes, np.int64)
    rank[np.lexsort((np.arange(nodes), degree))] = np.arange(nodes)
    row = np.repeat(np.arange(nodes), np.diff(crow))
    up = rank[row] < rank[col]
    ends = (row[up], col[up])
    forward = csr_matrix((np.ones(int(up.sum())), ends), shape=(nodes, nodes))
    weight = 1 / np.maximum(degree, 1)
    out, backward = np.diff(forward.indptr), forward.T.tocsr()
    count, closed = np.zeros(nodes), np.zeros(nodes)
    # u's: via v, the wedges u → v → w with u → w; v's: via w, u → w ← v with u → v.
    for other, middle in ((forward, out), (backward, np.diff(backward.indptr))):
        work = np.concatenate([[0], np.cumsum(forward @ middle.astype(np.float64))])
        start = 0
        while start < nodes:
            stop = max(int(np.searchsorted(work, work[start] + WEDGES, side="right")) - 1, start + 1)
            block = forward[start:stop]
            found = (block @ other).multiply(block).tocoo()  # number of middles at each edge u → end
            via = (block.multiply(weight) @ other).multiply(block).tocoo()  # sum over the middles of 1 / degree
            u, end = found.row + start, found.col
            if other is forward:  # end is w, the middle v
                count += np.bincount(u, found.data, nodes) + np.bincount(end, found.data, nodes)
                closed += np.bincount(via.row + start, via.data * weight[via.col], nodes)
                closed += np.bincount(via.col, via.data * weight[via.row + start], nodes)
            else:  # end is v, the middle w
                count += np.bincount(end, found.data, nodes)
                closed += np.bincount(via.col, via.data * weight[via.row + start], nodes)
            start = stop
    return count, closed
