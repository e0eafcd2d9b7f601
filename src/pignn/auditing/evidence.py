"""What the graph and the features say about labelled nodes, without a label of their own."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from ..backbones import GraphInputs
from ..graphs.sparse import SparseFeatures
from ..noise.kinds import Floats, Ints
from ..propagation import Embedding, smooth, unit_rows

DIMENSIONS = 128
RESTART = 0.1
SIMILAR = 15  # most similar labelled nodes that are asked
MOST_COMPARED = 50_000  # labels up to which everybody is compared with everybody
BLOCK = 16  # columns smoothed at a time on a large graph
LARGE = 1_000_000  # nodes


def coordinates(inputs: GraphInputs, nodes: Ints, alpha: float, seed: int) -> NDArray[np.float32]:
    """Smoothed features of `nodes` in at most 128 dimensions, rows of length 1.

    Where there are no more features than that, they are smoothed as they are, a block of columns at a time, and only
    the rows of `nodes` are kept: a rotation, which is all that an embedding would add, changes no logistic regression.
    """
    at = torch.from_numpy(nodes)
    if inputs.x.shape[1] > DIMENSIONS or isinstance(inputs.features, SparseFeatures):
        return Embedding(DIMENSIONS, alpha=alpha, seed=seed).fit_transform(inputs)[at].numpy()
    scale = inputs.x.abs().sum(dim=1, keepdim=True)
    scale = torch.where(scale > 0, 1 / scale, 0.0)
    width = BLOCK if inputs.num_nodes > LARGE else inputs.x.shape[1]
    parts = [smooth(inputs, block * scale, alpha=alpha)[at] for block in inputs.x.split(width, dim=1)]
    return unit_rows(torch.cat(parts, dim=1)).numpy()


def own_and_around(
    inputs: GraphInputs, nodes: Ints, some: Ints, seed: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Features of `nodes` as they are, and the mean of the neighbours' features of `some`; rows of length 1.

    A node's own features have no part in the second; without a neighbour it is zero.
    """
    if inputs.x.shape[1] > DIMENSIONS or isinstance(inputs.features, SparseFeatures):
        x = Embedding(DIMENSIONS, alpha=1.0, seed=seed).fit_transform(inputs)
        own, scale = x[torch.from_numpy(nodes)].numpy(), torch.ones(len(x))
    else:
        x, own = inputs.x, coordinates(inputs, nodes, 1.0, seed)
        scale = x.norm(dim=1)
        scale = torch.where(scale > 0, 1 / scale, 0.0)
    row, col = _entries(inputs, some)
    shape = (len(some), inputs.num_nodes)
    links = sp.csr_array((scale[col].numpy(), (row, col.numpy())), shape=shape)
    return own, unit_rows(torch.from_numpy(links @ x.numpy())).numpy()


def _entries(inputs: GraphInputs, nodes: Ints) -> tuple[Ints, torch.Tensor]:
    """The links of `nodes`: position in `nodes`, and the node at the other end."""
    crow, col = inputs.adj.crow, inputs.adj.col
    at = torch.from_numpy(nodes)
    start = crow[at].numpy().astype(np.int64)
    size = crow[at + 1].numpy().astype(np.int64) - start
    row = np.repeat(np.arange(len(nodes)), size)
    # The entries of a node follow its start; what earlier nodes had is taken off the running number.
    entry = np.arange(len(row)) + np.repeat(start - (np.cumsum(size) - size), size)
    return row, col[torch.from_numpy(entry)]


def labelled_edges(inputs: GraphInputs, nodes: Ints) -> tuple[Ints, Ints]:
    """Both directions of the edges between labelled nodes, by their position in `nodes`."""
    row, col = _entries(inputs, nodes)
    position = np.full(inputs.num_nodes, -1, dtype=np.int64)
    position[nodes] = np.arange(len(nodes))
    other = position[col.numpy()]
    return row[other >= 0], other[other >= 0]


def counts(edges: tuple[Ints, Ints], given: Ints, classes: int) -> Floats:
    """How many neighbours of each labelled node were given each class."""
    row, col = edges
    return np.bincount(row * classes + given[col], minlength=len(given) * classes).reshape(-1, classes).astype(float)


def similar_counts(z: NDArray[np.float32], given: Ints, classes: int) -> Floats | None:
    """The same for the most similar labelled nodes; None where there are too many to compare."""
    if len(z) > MOST_COMPARED:
        return None
    most = min(SIMILAR, len(z) - 1)
    total = np.empty((len(z), classes))
    step = max(1, 20_000_000 // len(z))
    rows = np.arange(len(z))
    for start in range(0, len(z), step):
        part = rows[start : start + step]
        alike = z[part] @ z.T
        alike[np.arange(len(part)), part] = -np.inf  # nobody asks a node about itself
        near = np.argpartition(-alike, most - 1, axis=1)[:, :most]
        labels = given[near] + classes * np.arange(len(part))[:, None]
        total[part] = np.bincount(labels.ravel(), minlength=len(part) * classes).reshape(-1, classes)
    return total


def log_shares(votes: Floats, prior: Floats) -> Floats:
    """Votes as logarithms of class shares; one vote of the prior keeps few of them from saying much."""
    smoothed = votes + prior
    return np.log(smoothed / smoothed.sum(axis=1, keepdims=True))


def homophily(edges: tuple[Ints, Ints], given: Ints, classes: int) -> tuple[float | None, float | None]:
    """Share of edges between equal given labels, and the same with chance at 0 and perfection at 1."""
    row, col = edges
    if not len(row):
        return None, None
    same = float((given[row] == given[col]).mean())
    ends = np.bincount(given[row], minlength=classes) / len(row)
    chance = float((ends**2).sum())
    return same, (same - chance) / (1 - chance) if chance < 1 else None
