"""Noise as benchmarks of other people draw it: NoisyGL's instance noise, BeGIN's kinds, pairs of similar classes."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from ..core.errors import DataError
from ..core.settings import Float
from ..graphs.view import LabeledGraph
from .dependent_kinds import relabel_until_rate
from .kinds import Floats, Ints, LabelsToCorrupt, NoiseKind, make_generator

RATE_DEVIATION = 0.1  # of NoisyGL's flip rates around the one that was asked for
ROWS_PER_CHUNK = 1 << 15
MAX_FITTED_NODES, EMBEDDING_DIMENSIONS = 20_000, 64


class NoisyGLInstanceNoise(NoiseKind):
    """Instance noise as the NoisyGL benchmark draws it (after Xia et al., NeurIPS 2020).

    A node is wrong with probability q_i, drawn from a normal distribution around the rate (deviation 0.1) that is cut
    off at 0 and 1. Its wrong class c is drawn with probability ∝ exp(x_i·W[y_i])_c, W of classes × features × classes
    standard normal numbers. Features enter as they are.
    """

    name = "instance-noisygl"
    depends_on_graph: ClassVar[bool] = True

    def corrupt_labels(self, labels_to_corrupt: LabelsToCorrupt) -> Ints:
        truth, rate, num_classes = labels_to_corrupt.true_labels, labels_to_corrupt.rate, labels_to_corrupt.num_classes
        x, generator = labels_to_corrupt.features, make_generator("instance-noisygl-weights", labels_to_corrupt.seed)
        low, high = ndtr((np.array([0.0, 1.0]) - rate) / RATE_DEVIATION)
        own_rate = rate + RATE_DEVIATION * ndtri(low + (high - low) * labels_to_corrupt.uniform_draws[0])
        own_rate = own_rate.clip(0, 1) if 0 < rate < 1 else np.full(len(truth), rate)
        draws = labels_to_corrupt.uniform_draws[1]
        logits = np.empty((len(truth), num_classes))
        for c in range(num_classes):
            logits[truth == c] = x[truth == c] @ generator.standard_normal((x.shape[1], num_classes))
        wrong = draws >= 1 - own_rate
        position = (draws - 1 + own_rate) / np.where(wrong, own_rate, 1.0)  # of a wrong one within its share
        return np.where(wrong, draw_other_classes(logits, truth, position), truth)


class DoubtNoise(NoiseKind):
    """Labels that are easily taken for others become wrong: round(rate · n) of n, as BeGIN (Kim et al., 2025) does.

    From a distribution p_i over classes for each node, nodes are drawn without replacement with probability ∝ 1 −
    p_i(y_i), and their class from p_i without y_i. A subclass says what log p_i are, up to a constant per node.
    """

    depends_on_graph: ClassVar[bool] = True

    @abstractmethod
    def compute_logits(self, labels_to_corrupt: LabelsToCorrupt) -> Floats:
        """One row for each node to corrupt, [nodes, classes]."""

    def corrupt_labels(self, labels_to_corrupt: LabelsToCorrupt) -> Ints:
        truth = labels_to_corrupt.true_labels
        if not len(truth):
            return truth
        logits = self.compute_logits(labels_to_corrupt)
        others = logits.copy()
        others[np.arange(len(truth)), truth] = -np.inf
        doubt = np.logaddexp.reduce(others, axis=1) - np.logaddexp.reduce(logits, axis=1)
        first, second = labels_to_corrupt.uniform_draws
        waiting = np.log(-np.log1p(-first) + 1e-300) - doubt  # the smallest exponential times of rates ∝ doubt
        return relabel_until_rate(
            truth, draw_other_classes(logits, truth, second), np.argsort(waiting, kind="stable"), labels_to_corrupt.rate
        )


class TopologyNoise(DoubtNoise):
    """A label is taken for the classes around the node (BeGIN).

    p_i = softmax(d_i/temperature), d_ic the personalized PageRank (restart ``alpha``, random walk with self-loops) from
    i to other nodes of class c. Nodes that reach none come last.
    """

    name = "topology"

    def __init__(self, alpha: float = 0.9, temperature: float = 0.01) -> None:
        Float(max=1, open_min=True).raise_unless_valid("alpha", alpha)
        Float(open_min=True).raise_unless_valid("temperature", temperature)
        self.alpha, self.temperature = alpha, temperature

    def compute_logits(self, labels_to_corrupt: LabelsToCorrupt) -> Floats:
        walk, classes = build_walk_matrix_with_self_loops(labels_to_corrupt), labels_to_corrupt.num_classes
        one_hot = build_one_hot(labels_to_corrupt.all_true_labels, classes)
        near = one_hot * self.alpha
        for _ in range(count_powers_until_negligible(1 - self.alpha)):
            near = (1 - self.alpha) * (walk @ near) + self.alpha * one_hot
        near -= one_hot * self._compute_pagerank_from_itself(walk)[:, None]
        near = near[labels_to_corrupt.nodes].clip(min=0)
        logits = near / self.temperature
        alone = np.flatnonzero(near.sum(axis=1) <= 1e-12)
        logits[alone, labels_to_corrupt.true_labels[alone]] = 1e3
        return logits

    def _compute_pagerank_from_itself(self, walk: sp.csr_matrix) -> Floats:
        """PageRank of each node from itself, α Σ_k (1 − α)^k (T^k)_ii, for k ≤ 3; T³ some rows at a time."""
        transposed, step = walk.T.tocsr(), 1 - self.alpha
        second = np.asarray(walk.multiply(transposed).sum(axis=1)).ravel()
        third = [
            np.asarray((walk[rows] @ walk).multiply(transposed[rows]).sum(axis=1)).ravel()
            for rows in list_row_slices(walk.shape[0])
        ]
        return self.alpha * (1 + step * walk.diagonal() + step**2 * second + step**3 * np.concatenate(third))

    def to_record(self) -> dict[str, Any]:
        return {"kind": self.name, "alpha": self.alpha, "temperature": self.temperature}


class FeatureNoise(DoubtNoise):
    """A label is taken for classes of similar features (BeGIN).

    p_i = softmax(cos(x_i, m_c)/temperature), m_c the mean features of the nodes of class c.
    """

    name = "feature"

    def __init__(self, temperature: float = 0.01) -> None:
        Float(open_min=True).raise_unless_valid("temperature", temperature)
        self.temperature = temperature

    def compute_logits(self, labels_to_corrupt: LabelsToCorrupt) -> Floats:
        x, means = labels_to_corrupt.features, sum_features_by_class(labels_to_corrupt)
        norms = np.linalg.norm(x, axis=1, keepdims=True) * np.linalg.norm(means, axis=1)
        return (x @ means.T) / np.maximum(norms, 1e-10) / self.temperature

    def to_record(self) -> dict[str, Any]:
        return {"kind": self.name, "temperature": self.temperature}


class ConfidenceNoise(DoubtNoise):
    """A label is taken for what a classifier finds likely (BeGIN).

    p_i are probabilities of a classifier that has learned the truth of other nodes: ``probs`` [N, classes], such as
    :meth:`predict_proba` of a GraphSAGE, as BeGIN has it. By default a logistic regression on features of the node and
    the mean of its neighbors' (in 64 dimensions), fitted to one half of the labeled nodes for the other.
    """

    name = "confidence"

    def __init__(self, probs: ArrayLike | None = None) -> None:
        self.probs = None if probs is None else np.asarray(probs, dtype=np.float64)

    def compute_logits(self, labels_to_corrupt: LabelsToCorrupt) -> Floats:
        probs, shape = self.probs, (len(labels_to_corrupt.all_true_labels), labels_to_corrupt.num_classes)
        if probs is None:
            probs = compute_cross_fitted_probs(labels_to_corrupt)
        if probs.shape != shape or not np.isfinite(probs).all() or (probs < 0).any():
            raise DataError(f"noise 'confidence' needs probabilities of shape {list(shape)}, not {list(probs.shape)}")
        return np.log(probs[labels_to_corrupt.nodes].clip(min=1e-12))


class SimilarPairNoise(NoiseKind):
    """Every class becomes the one most similar to it, for round(rate · n) of n labels.

    After "GNNs Under More Realistic Label Noise". Its program never keeps the best similarity it has found and swaps
    classes back; here every class goes to its own most similar one.
    """

    depends_on_graph: ClassVar[bool] = True

    @abstractmethod
    def compute_class_similarity(self, labels_to_corrupt: LabelsToCorrupt) -> Floats:
        """How similar class j is to class i, [classes, classes]."""

    def corrupt_labels(self, labels_to_corrupt: LabelsToCorrupt) -> Ints:
        similarity = np.array(self.compute_class_similarity(labels_to_corrupt), dtype=np.float64)
        np.fill_diagonal(similarity, -np.inf)
        truth = labels_to_corrupt.true_labels
        order = np.argsort(labels_to_corrupt.uniform_draws[0], kind="stable")
        return relabel_until_rate(truth, similarity.argmax(axis=1)[truth], order, labels_to_corrupt.rate)


class FeaturePairNoise(SimilarPairNoise):
    """Every class becomes the class of most similar features: the largest mean of x_i·x_j between both."""

    name = "feature-pair"

    def compute_class_similarity(self, labels_to_corrupt: LabelsToCorrupt) -> Floats:
        counts = np.bincount(
            labels_to_corrupt.all_true_labels[labels_to_corrupt.all_true_labels >= 0],
            minlength=labels_to_corrupt.num_classes,
        )
        means = sum_features_by_class(labels_to_corrupt) / np.maximum(counts, 1)[:, None]
        result: Floats = means @ means.T
        result[:, counts == 0] = -np.inf  # nobody is taken for a class that is not there
        return result


class StructurePairNoise(SimilarPairNoise):
    """Every class becomes the other class that is most frequent among the neighbors of its nodes."""

    name = "structure-pair"

    def compute_class_similarity(self, labels_to_corrupt: LabelsToCorrupt) -> Floats:
        one_hot = build_one_hot(labels_to_corrupt.all_true_labels, labels_to_corrupt.num_classes)
        result: Floats = one_hot.T @ (build_simple_adjacency(labels_to_corrupt) @ one_hot)
        return result


def draw_other_classes(logits: Floats, truth: Ints, draws: Floats) -> Ints:
    """A class other than the true one for each node, with probability ∝ exp(logits)."""
    others = logits.copy()
    others[np.arange(len(truth)), truth] = -np.inf
    weight = np.exp(others - others.max(axis=1, keepdims=True, initial=-1e300)).cumsum(axis=1)
    chosen = (weight / weight[:, -1:] <= draws[:, None]).sum(axis=1)
    result: Ints = chosen.clip(max=logits.shape[1] - 1).astype(np.int64)
    return result


def sum_features_by_class(labels_to_corrupt: LabelsToCorrupt) -> Floats:
    """The sum of the features of the nodes of each class, some rows at a time, [classes, features]."""
    x, truth, classes = labels_to_corrupt.data.x, labels_to_corrupt.all_true_labels, labels_to_corrupt.num_classes
    total = np.zeros((classes, x.shape[1]))
    for rows in list_row_slices(len(truth)):
        total += build_one_hot(truth[rows], classes).T @ x[rows].detach().cpu().double().numpy()
    return total


def build_one_hot(labels: Ints, num_classes: int) -> Floats:
    """One row for each label, zeros where there is none."""
    result: Floats = (labels[:, None] == np.arange(num_classes)).astype(np.float64)
    return result


def build_simple_adjacency(labels_to_corrupt: LabelsToCorrupt) -> sp.csr_matrix:
    """The simple undirected graph, without weights."""
    graph = LabeledGraph.from_data(labels_to_corrupt.data)
    degree, neighbors = (part.cpu().numpy() for part in graph.get_neighbor_counts_and_neighbors())
    crow = np.concatenate([[0], degree.cumsum()])
    return sp.csr_matrix((np.ones(len(neighbors)), neighbors, crow), shape=(graph.num_nodes, graph.num_nodes))


def build_walk_matrix_with_self_loops(labels_to_corrupt: LabelsToCorrupt) -> sp.csr_matrix:
    """D^{-1}(A + I)."""
    adj = build_simple_adjacency(labels_to_corrupt)
    adj = (adj + sp.identity(adj.shape[0], format="csr")).tocsr()
    return sp.csr_matrix(adj.multiply(1 / adj.sum(axis=1)))


def compute_cross_fitted_probs(labels_to_corrupt: LabelsToCorrupt) -> Floats:
    """Probabilities of a logistic regression on each half of the labeled nodes for the rest, [N, classes]."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.linear_model import LogisticRegression

    truth, classes = labels_to_corrupt.all_true_labels, labels_to_corrupt.num_classes
    generator = make_generator("confidence-halves", labels_to_corrupt.seed)
    x = sp.csr_matrix(labels_to_corrupt.data.x.detach().cpu().numpy().astype(np.float64))
    both = sp.hstack([x, build_walk_matrix_with_self_loops(labels_to_corrupt) @ x]).tocsr()
    size = min(EMBEDDING_DIMENSIONS, both.shape[1] - 1, both.shape[0] - 1)
    h = TruncatedSVD(size, random_state=0).fit_transform(both)
    h /= np.maximum(np.linalg.norm(h, axis=1, keepdims=True), 1e-12) / 10
    half = generator.permutation(len(truth)) % 2
    probs = np.full((len(truth), classes), 1 / classes)
    for part in (0, 1):
        known = generator.permutation(np.flatnonzero((half != part) & (truth >= 0)))[:MAX_FITTED_NODES]
        if len(np.unique(truth[known])) < 2:
            continue
        model = LogisticRegression(max_iter=500).fit(h[known], truth[known])
        probs[half == part] = 0
        probs[np.ix_(half == part, model.classes_)] = model.predict_proba(h[half == part])
    return probs


def count_powers_until_negligible(step: float) -> int:
    """After how many powers of ``step`` the rest is below 1e-12."""
    return 1 if step <= 0 else min(200, int(np.ceil(np.log(1e-12) / np.log(step))))


def list_row_slices(num_rows: int) -> list[slice]:
    return [slice(start, start + ROWS_PER_CHUNK) for start in range(0, max(num_rows, 1), ROWS_PER_CHUNK)]
