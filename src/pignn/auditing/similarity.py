"""The most similar rows of an embedding: by comparing all where that is quick, else by a graph of near ones (HNSW)."""

from __future__ import annotations

import numpy as np
import torch

from ..noise.kinds import Ints
from .crossfit import Singles

NUM_SIMILAR = 15  # most similar labeled nodes per node
MAX_EXACT_ROWS = 50_000  # above this, one row in twenty that is among the most similar is missed
NUM_LINKS, BUILD_EFFORT, SEARCH_EFFORT = 16, 40, 48  # of HNSW


def find_most_similar_rows(embedding: Singles) -> Ints | None:
    """Positions of the most similar rows of each row, most similar first; None for a single row."""
    import faiss

    if len(embedding) < 2:
        return None
    rows = np.ascontiguousarray(embedding, dtype=np.float32)
    num_threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(torch.get_num_threads())
    try:
        index = _build_index(*rows.shape)
        index.add(rows)
        found = index.search(rows, min(NUM_SIMILAR, len(rows) - 1) + 1)[1]
    finally:
        faiss.omp_set_num_threads(num_threads)
    return _drop_the_row_itself(found)


def _build_index(num_rows: int, width: int):  # type: ignore[no-untyped-def]  # faiss has no types
    import faiss

    if num_rows <= MAX_EXACT_ROWS:
        return faiss.IndexFlatIP(width)
    index = faiss.IndexHNSWFlat(width, NUM_LINKS, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction, index.hnsw.efSearch = BUILD_EFFORT, SEARCH_EFFORT
    return index


def _drop_the_row_itself(found: Ints) -> Ints:
    """One column fewer: without the row itself, or without the last where many equal rows have pushed it out."""
    # A search that ends early leaves -1: the best row that it found stands in.
    found = np.where(found < 0, found[:, :1], found)
    is_self = found == np.arange(len(found))[:, None]
    is_self[~is_self.any(axis=1), -1] = True
    first = is_self.argmax(axis=1)[:, None]
    kept = np.arange(found.shape[1] - 1)[None, :]
    return np.take_along_axis(found, kept + (kept >= first), axis=1)
