"""Views of labeled nodes: several descriptions of a node, none of which involves a label.

- ``smoothed``: features smoothed over the graph by personalized PageRank;
- ``features``: the node's own features;
- ``neighbors``: its own features beside the mean of its neighbors', for links that join different classes;
- ``structure``: its place in the graph, without any feature.

No view suits every graph, and errors that follow the features do not follow the structure. Each view gets a classifier
of its own; `judging` combines what they say.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch

from ..backbones import GraphInputs
from ..graphs.sparse import SparseFeatures
from ..noise.kinds import Ints
from ..propagation import Embedding, StoredGraph, get_block_work_or_none, scale_rows_to_unit_length, smooth
from .crossfit import Features, Singles

EMBEDDING_DIM, DIMENSIONS_PER_CLASS = 128, 4  # an embedding holds up to 32 classes
WIDE_EMBEDDING_DIM = 512  # for more classes than that
# Of the structure, twice as many dimensions as classes: enough to tell classes, too few to tell small regions, whose
# labels may be wrong together.
MIN_STRUCTURE_DIM, MAX_STRUCTURE_DIM, STRUCTURE_ROUNDS, OVERSAMPLING = 16, 128, 8, 8
MAX_SPARSE_ENTRIES = 30_000_000  # of a matrix of features; above it, an embedding takes its place
MAX_DENSITY = 0.2  # of features that are worth a sparse matrix
LARGE_GRAPH_NODES, COLUMNS_AT_ONCE = 1_000_000, 16  # on a large graph, so many columns are smoothed at a time


def embed_nodes(inputs: GraphInputs, nodes: Ints, alpha: float, num_classes: int, seed: int) -> Singles:
    """Smoothed features of `nodes` in at most 128 dimensions (512 for many classes), as rows of length 1.

    No more than 128 features are smoothed as they are, a block of columns at a time, and only the rows of `nodes` are
    kept: an embedding would only rotate them, which changes no logistic regression.
    """
    work = get_block_work_or_none()
    if work is not None and not _needs_embedding(inputs):
        return scale_rows_to_unit_length_(work.smooth_rows_and_save_blocks(nodes, alpha))
    rows = torch.from_numpy(nodes)
    if _needs_embedding(inputs):
        width = _choose_embedding_width(inputs, num_classes)
        return Embedding(width, alpha=alpha, seed=seed).fit_transform(inputs)[rows].numpy()
    scale = inputs.x.abs().sum(dim=1, keepdim=True)
    scale = torch.where(scale > 0, 1 / scale, 0.0)
    width = COLUMNS_AT_ONCE if inputs.num_nodes > LARGE_GRAPH_NODES else inputs.x.shape[1]
    parts = [smooth(inputs, block * scale, alpha=alpha)[rows] for block in inputs.x.split(width, dim=1)]
    return scale_rows_to_unit_length(torch.cat(parts, dim=1)).numpy()


def compute_own_features(inputs: GraphInputs, num_classes: int, seed: int) -> Features | StoredRows:
    """Features of all nodes as rows of length 1: as they are where they are few, otherwise an embedding.

    A narrow embedding cannot hold very many classes. Sparse features, such as words, are then used as they are, and
    dense ones, such as topics of texts, get a wider embedding. With few classes the narrow one is better: all words
    together predict the errors of a rule.
    """
    if not _needs_embedding(inputs):
        work = get_block_work_or_none()
        return scale_rows_to_unit_length(inputs.x).numpy() if work is None else StoredRows(work.graph)
    sparse = _build_sparse_features_or_none(inputs) if _exceed_embedding_dim(num_classes) else None
    if sparse is not None:
        return _scale_sparse_rows_to_unit_length(sparse)
    return Embedding(_choose_embedding_width(inputs, num_classes), alpha=1.0, seed=seed).fit_transform(inputs).numpy()


def average_neighbor_features(
    inputs: GraphInputs, own_features: Features | StoredRows, nodes: Ints, seed: int
) -> Features:
    """Mean features of the neighbors of `nodes`, rows of length 1; zero for a node without neighbors."""
    row, col = list_positions_and_neighbors(inputs, nodes)
    other, num_columns = col.numpy(), inputs.num_nodes
    if isinstance(own_features, StoredRows):
        neighbors, other = np.unique(other, return_inverse=True)
        own_features, num_columns = own_features[neighbors], len(neighbors)
    adj = sp.csr_array((np.ones(len(row), dtype=np.float32), (row, other)), shape=(len(nodes), num_columns))
    if isinstance(own_features, sp.csr_array):
        if int(np.diff(own_features.indptr)[other].sum()) <= MAX_SPARSE_ENTRIES:
            return _scale_sparse_rows_to_unit_length(sp.csr_array(adj @ own_features))
        own_features = Embedding(EMBEDDING_DIM, alpha=1.0, seed=seed).fit_transform(inputs).numpy()
    return scale_rows_to_unit_length(torch.from_numpy(adj @ own_features)).numpy()


class StoredRows:
    """Features of nodes as rows of length 1, read from a graph store when they are asked for."""

    def __init__(self, graph: StoredGraph) -> None:
        self.graph = graph

    def __getitem__(self, nodes: Ints) -> Singles:
        return scale_rows_to_unit_length_(self.graph.read_features(nodes))


def scale_rows_to_unit_length_(rows: Singles) -> Singles:
    """The same in place; a row of zeros stays zero."""
    length = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    rows /= np.where(length > 0, length, 1)
    return rows


def join_columns(left: Features, right: Features) -> Features:
    if sp.issparse(left) and sp.issparse(right):
        return sp.csr_array(sp.hstack([left, right], format="csr"))
    if sp.issparse(left):
        return sp.csr_array(sp.hstack([left, sp.csr_array(right)], format="csr"))
    return np.hstack([left, right])


def embed_structure(inputs: GraphInputs, nodes: Ints, num_classes: int, seed: int) -> Singles:
    """The leading eigenvectors of the regularized adjacency D^-½ A D^-½, D = degree + mean degree; rows of length 1.

    The mean degree keeps small components from taking one eigenvector each (Amini et al., 2013).
    """
    crow, col = inputs.adj.crow.numpy().astype(np.int64), inputs.adj.col.numpy()
    num_nodes, degree = inputs.num_nodes, np.diff(crow)
    scale = (1 / np.sqrt(degree + max(degree.mean(), 1.0))).astype(np.float32)
    row = np.repeat(np.arange(num_nodes), degree)
    matrix = sp.csr_array((scale[row] * scale[col], col, crow), shape=(num_nodes, num_nodes))
    size = min(max(2 * num_classes, MIN_STRUCTURE_DIM), MAX_STRUCTURE_DIM, num_nodes)
    start = np.random.default_rng(seed).standard_normal((num_nodes, min(size + OVERSAMPLING, num_nodes)))
    basis = np.linalg.qr(matrix @ start.astype(np.float32))[0]
    for _ in range(STRUCTURE_ROUNDS):
        basis = np.linalg.qr(matrix @ (matrix @ basis))[0]
    values, vectors = np.linalg.eigh(basis.T @ (matrix @ basis))
    leading = np.argsort(-np.abs(values), kind="stable")[:size]
    embedding = (basis @ vectors[:, leading])[nodes] * values[leading]
    return scale_rows_to_unit_length(torch.from_numpy(embedding.astype(np.float32))).numpy()


def list_positions_and_neighbors(inputs: GraphInputs, nodes: Ints) -> tuple[Ints, torch.Tensor]:
    """The edges of `nodes`: position in `nodes`, and the node at the other end."""
    crow, col = inputs.adj.crow, inputs.adj.col
    rows = torch.from_numpy(nodes)
    start = crow[rows].numpy().astype(np.int64)
    size = crow[rows + 1].numpy().astype(np.int64) - start
    row = np.repeat(np.arange(len(nodes)), size)
    # The entries of a node follow its start; what earlier nodes had is taken off the running number.
    entry = np.arange(len(row)) + np.repeat(start - (np.cumsum(size) - size), size)
    return row, col[torch.from_numpy(entry)]


def _exceed_embedding_dim(num_classes: int) -> bool:
    return num_classes * DIMENSIONS_PER_CLASS > EMBEDDING_DIM


def _choose_embedding_width(inputs: GraphInputs, num_classes: int) -> int:
    """Dimensions of an embedding; on a large graph, wide ones would take too much memory."""
    is_wide = _exceed_embedding_dim(num_classes) and inputs.num_nodes <= LARGE_GRAPH_NODES
    return WIDE_EMBEDDING_DIM if is_wide else EMBEDDING_DIM


def _needs_embedding(inputs: GraphInputs) -> bool:
    return inputs.x.shape[1] > EMBEDDING_DIM or isinstance(inputs.features, SparseFeatures)


def _build_sparse_features_or_none(inputs: GraphInputs) -> sp.csr_array | None:
    """The features as a sparse matrix; None where they are too dense or too many for one."""
    x = inputs.x
    if int(torch.count_nonzero(x)) > min(MAX_SPARSE_ENTRIES, MAX_DENSITY * x.shape[0] * x.shape[1]):
        return None
    return sp.csr_array(x.numpy())


def _scale_sparse_rows_to_unit_length(matrix: sp.csr_array) -> sp.csr_array:
    length = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    scale = np.repeat(np.where(length > 0, 1 / np.where(length > 0, length, 1.0), 0.0), np.diff(matrix.indptr))
    return sp.csr_array((matrix.data * scale.astype(np.float32), matrix.indices, matrix.indptr), shape=matrix.shape)
