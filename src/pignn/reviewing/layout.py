"""A map of nodes in two dimensions: nodes with similar embeddings lie close together."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from ..auditing.crossfit import Singles
from ..noise.kinds import Floats, Ints

NUM_ROUNDS, NUM_ROUNDS_OF_MANY, MANY_NODES = 120, 50, 20_000
NUM_RANDOM, NUM_LINKED = 4, 10
PUSH = 12.0  # of random nodes, beside the pull of similar ones


def compute_layout(embedding: Singles, similar: Ints | None, seed: int) -> Floats:
    """[nodes, 2] in the unit square: similar nodes pull each other together, random ones push each other away.

    The start is the two leading principal directions. Every round moves all nodes at once along the gradient of
    Σ_similar log(1 + d²) − Σ_random log(1 + 1/d²)·share, the loss of LargeVis and UMAP.
    """
    rng = np.random.default_rng(seed)
    centered = embedding - embedding.mean(axis=0)
    _, vectors = np.linalg.eigh(centered.T @ centered)
    place = (centered @ vectors[:, -2:]).astype(np.float64)
    place = np.pad(place, ((0, 0), (2 - place.shape[1], 0)))  # one feature alone has one direction
    place = 10 * place / np.maximum(place.std(axis=0), 1e-9) + rng.normal(size=place.shape) * 0.1
    if similar is None or len(place) < 3:
        return _scale_to_unit_square(place)
    num_nodes, links = len(place), similar[:, :NUM_LINKED]
    rows = np.repeat(np.arange(num_nodes), links.shape[1])
    graph = csr_array((np.ones(len(rows), dtype=np.float64), (rows, links.ravel())), shape=(num_nodes, num_nodes))
    graph = csr_array((graph + graph.T) / 2)
    ends = np.repeat(np.arange(num_nodes), np.diff(graph.indptr)), graph.indices
    rounds = NUM_ROUNDS if num_nodes <= MANY_NODES else NUM_ROUNDS_OF_MANY
    for step in range(rounds):
        rate = 1 - step / rounds
        between = place[ends[0]] - place[ends[1]]
        pull = graph.data / (1 + np.square(between).sum(axis=1))
        move = -np.stack([np.bincount(ends[0], pull * between[:, axis], num_nodes) for axis in (0, 1)], axis=1)
        for _ in range(NUM_RANDOM):
            other = rng.permutation(num_nodes)
            away = place - place[other]
            distance = np.square(away).sum(axis=1)
            move += PUSH * away / ((0.1 + distance) * (1 + distance))[:, None]
        place += rate * np.clip(move, -4, 4)
    return _scale_to_unit_square(place)


def _scale_to_unit_square(place: Floats) -> Floats:
    """The square is filled: halfway between where nodes lie and their ranks, so that far ones leave room."""
    low, high = np.quantile(place, [0.005, 0.995], axis=0)
    spread = np.clip((place - low) / np.maximum(high - low, 1e-9), 0, 1)
    ranks = place.argsort(axis=0, kind="stable").argsort(axis=0) / max(len(place) - 1, 1)
    return ((spread + ranks) / 2).astype(np.float32)
