"""The most similar rows of an embedding: among all rows where that is quick, else among those of near clusters."""

from __future__ import annotations

import itertools

import numpy as np
import torch

from ..core.progress import track
from ..noise.kinds import Ints
from .crossfit import Singles

NUM_SIMILAR = 15  # most similar labeled nodes per node
MAX_EXACT_ROWS = 20_000  # above this, some of the most similar rows are missed: those across far clusters
CLUSTER_ROWS, NUM_NEAR_CLUSTERS = 500, 8  # rows of a cluster, and clusters in which its rows look
KMEANS_ROUNDS, ROWS_PER_CENTER = 6, 40


def find_most_similar_rows(embedding: Singles) -> Ints | None:
    """Positions of the most similar rows of each row, most similar first; None for a single row."""
    import faiss

    if len(embedding) < 2:
        return None
    rows = np.ascontiguousarray(embedding, dtype=np.float32)
    num_threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(torch.get_num_threads())
    try:
        if len(rows) <= MAX_EXACT_ROWS:
            found = _find_nearest_rows(rows, rows, min(NUM_SIMILAR, len(rows) - 1) + 1)
        else:
            found = _find_nearest_rows_by_clusters(rows, NUM_SIMILAR + 1)
    finally:
        faiss.omp_set_num_threads(num_threads)
    return _drop_own_position_from_each_row(found)


def _find_nearest_rows(queries: Singles, rows: Singles, num_found: int) -> Ints:
    """Positions of the rows with the largest products."""
    import faiss

    return faiss.knn(queries, rows, num_found, metric=faiss.METRIC_INNER_PRODUCT)[1]


def _find_nearest_rows_by_clusters(rows: Singles, num_found: int) -> Ints:
    """The same among the rows of the nearest clusters: matrix products, as a comparison with all rows would be."""
    import faiss

    num_clusters = len(rows) // CLUSTER_ROWS
    options = {"niter": KMEANS_ROUNDS, "max_points_per_centroid": ROWS_PER_CENTER, "min_points_per_centroid": 1}
    kmeans = faiss.Kmeans(rows.shape[1], num_clusters, spherical=True, seed=0, **options)
    kmeans.train(rows)
    centers: Singles = kmeans.centroids  # type: ignore[assignment]  # faiss knows no types of its own
    cluster = _find_nearest_rows(rows, centers, 1)[:, 0]
    near = _find_nearest_rows(centers, centers, min(NUM_NEAR_CLUSTERS, num_clusters))
    order = np.argsort(cluster, kind="stable")
    ends = np.searchsorted(cluster[order], np.arange(num_clusters + 1))
    members = [order[a:b] for a, b in itertools.pairwise(ends)]
    found = np.full((len(rows), num_found), -1, dtype=np.int64)
    for c in track(range(num_clusters), "audit: similar nodes"):
        others = np.concatenate([members[other] for other in near[c]])
        if len(members[c]):
            best = _find_nearest_rows(rows[members[c]], rows[others], min(num_found, len(others)))
            found[members[c], : best.shape[1]] = others[best]
    return found


def _drop_own_position_from_each_row(found: Ints) -> Ints:
    """One column fewer: without the row itself, or without the last where many equal rows have pushed it out."""
    # A search that ends early leaves -1: the best row that it found stands in.
    found = np.where(found < 0, found[:, :1], found)
    is_self = found == np.arange(len(found))[:, None]
    is_self[~is_self.any(axis=1), -1] = True
    first = is_self.argmax(axis=1)[:, None]
    kept = np.arange(found.shape[1] - 1)[None, :]
    return np.take_along_axis(found, kept + (kept >= first), axis=1)
