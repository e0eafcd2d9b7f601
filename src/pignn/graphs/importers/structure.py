"""Features from the graph alone, for nodes that have no others.

Each is defined by what is around a node and not by where in the graph it is, so it means the same in another graph:

| feature | of node i, with degree d_i and neighbors N(i) |
|---|---|
| `degree` | log(1 + d_i) |
| `neighbors_degree` | log(1 + mean of d_j over N(i)) |
| `largest_neighbor` | log(1 + largest d_j over N(i)) |
| `two_steps` | log(1 + sum of d_j over N(i)): walks of two steps |
| `spread` | standard deviation of log(1 + d_j) over N(i) |
| `clustering` | share of the pairs of neighbors that are joined |
| `triangles` | log(1 + triangles through i) |
| `return_2` | probability that a random walk is back after 2 steps |
| `return_3` | the same after 3 steps |
"""

from __future__ import annotations

import numpy as np

STRUCTURE_NAMES = (
    "degree",
    "neighbors_degree",
    "largest_neighbor",
    "two_steps",
    "spread",
    "clustering",
    "triangles",
    "return_2",
    "return_3",
)
MAX_WEDGES = 1 << 24  # paths of two steps in one block


def compute_structural_features(crow: np.ndarray, col: np.ndarray) -> np.ndarray:
    """The features above of all nodes, [N, 9] in float32, from the rows of a simple undirected graph."""
    num_nodes = len(crow) - 1
    degree = np.diff(crow).astype(np.float64)
    from scipy.sparse import csr_matrix

    adjacency = csr_matrix((np.ones(len(col)), col, crow), shape=(num_nodes, num_nodes))
    divisor = np.maximum(degree, 1)
    log = np.log1p(degree)
    sums = adjacency @ np.stack([degree, log, log * log, 1 / divisor], axis=1)
    mean_log = sums[:, 1] / divisor
    largest = np.zeros(num_nodes)
    filled = degree > 0
    if len(col):
        largest[filled] = np.maximum.reduceat(degree[col], crow[:-1][filled])
    triangles, closed = _count_triangles_plain_and_degree_weighted(crow, col, degree)
    x = np.stack(
        [
            log,
            np.log1p(sums[:, 0] / divisor),
            np.log1p(largest),
            np.log1p(sums[:, 0]),
            np.sqrt(np.maximum(sums[:, 2] / divisor - mean_log**2, 0)),
            2 * triangles / np.maximum(degree * (degree - 1), 1),
            np.log1p(triangles),
            sums[:, 3] / divisor,
            2 * closed / divisor,
        ],
        axis=1,
    )
    return x.astype(np.float32)


def _count_triangles_plain_and_degree_weighted(
    crow: np.ndarray, col: np.ndarray, degree: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """For each node i, the number of triangles {i, j, k}, and their sum of 1 / (d_j d_k).

    Every edge is directed from the end of lower degree to the other: no node then has more than about √(2 E) edges
    going out, hubs included, and each triangle u → v, u → w, v → w is found once at each of its edges.
    """
    num_nodes = len(degree)
    rank = np.empty(num_nodes, np.int64)
    rank[np.lexsort((np.arange(num_nodes), degree))] = np.arange(num_nodes)
    row = np.repeat(np.arange(num_nodes), np.diff(crow))
    up = rank[row] < rank[col]
    ends = (row[up], col[up])
    from scipy.sparse import csr_matrix

    forward = csr_matrix((np.ones(int(up.sum())), ends), shape=(num_nodes, num_nodes))
    weight = 1 / np.maximum(degree, 1)
    out, backward = np.diff(forward.indptr), forward.T.tocsr()
    count, closed = np.zeros(num_nodes), np.zeros(num_nodes)
    # u's: via v, the wedges u → v → w with u → w; v's: via w, u → w ← v with u → v.
    for other, middle in ((forward, out), (backward, np.diff(backward.indptr))):
        work = np.concatenate([[0], np.cumsum(forward @ middle.astype(np.float64))])
        start = 0
        while start < num_nodes:
            stop = max(int(np.searchsorted(work, work[start] + MAX_WEDGES, side="right")) - 1, start + 1)
            block = forward[start:stop]
            counts = (block @ other).multiply(block).tocoo()  # number of middles at each edge u → end
            via = (block.multiply(weight) @ other).multiply(block).tocoo()  # sum over the middles of 1 / degree
            u, end = counts.row + start, counts.col
            if other is forward:  # end is w, the middle v
                count += np.bincount(u, counts.data, num_nodes) + np.bincount(end, counts.data, num_nodes)
                closed += np.bincount(via.row + start, via.data * weight[via.col], num_nodes)
                closed += np.bincount(via.col, via.data * weight[via.row + start], num_nodes)
            else:  # end is v, the middle w
                count += np.bincount(end, counts.data, num_nodes)
                closed += np.bincount(via.col, via.data * weight[via.row + start], num_nodes)
            start = stop
    return count, closed
