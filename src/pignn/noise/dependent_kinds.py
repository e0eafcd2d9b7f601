"""Noise that depends on more than the true class: on the features, or on where a node lies in the graph."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from torch_geometric.data import Data

from ..graphs.regions import draw_region_centers, grow_regions
from ..graphs.view import LabeledGraph
from .kinds import Floats, Ints, LabelsToCorrupt, NoiseKind, make_generator

FEATURES_PER_KEYWORD, MIN_KEYWORDS = 20, 3


class InstanceNoise(NoiseKind):
    """Wrong labels depend on the features.

    Let w, v_1, ..., v_n be random Gaussian directions and s_i, u_ic the projections w·x_i and v_c·x_i, each
    standardized over the corrupted nodes. A label becomes wrong with probability q_i = σ(a + s_i), where a is such that
    the mean of q is the rate. The wrong class c is drawn with probability ∝ exp(u_ic).
    """

    name = "instance"
    depends_on_graph: ClassVar[bool] = True

    def corrupt_labels(self, labels_to_corrupt: LabelsToCorrupt) -> Ints:
        x, truth = labels_to_corrupt.features, labels_to_corrupt.true_labels
        if not len(truth):
            return truth
        generator = make_generator("instance-directions", labels_to_corrupt.seed)
        projected = _standardize_columns(x @ generator.standard_normal((x.shape[1], labels_to_corrupt.num_classes + 1)))
        wrong = labels_to_corrupt.uniform_draws[0] < compute_flip_probs_with_mean_rate(
            projected[:, 0], labels_to_corrupt.rate
        )
        logits = projected[:, 1:]
        logits[np.arange(len(truth)), truth] = -np.inf
        weight = np.exp(logits - logits.max(axis=1, keepdims=True)).cumsum(axis=1)
        other_class = (weight / weight[:, -1:] <= labels_to_corrupt.uniform_draws[1][:, None]).sum(axis=1)
        return np.where(wrong, other_class, truth)


class KeywordRuleNoise(NoiseKind):
    """Labels made by keywords, so that wrong labels are a function of the features alone.

    Every class has a list of features, drawn at random: a twentieth of them, at least 3. A node's score for a class is
    the sum of its features in the list, standardized over the corrupted nodes. Nodes get the class of their best score,
    from the highest score down, until round(rate · n) of n labels are wrong, or as many as can be.
    """

    name = "rule"
    depends_on_graph: ClassVar[bool] = True

    def corrupt_labels(self, labels_to_corrupt: LabelsToCorrupt) -> Ints:
        x = labels_to_corrupt.features
        if not len(x):
            return labels_to_corrupt.true_labels
        num_keywords = min(max(MIN_KEYWORDS, x.shape[1] // FEATURES_PER_KEYWORD), x.shape[1])
        generator = make_generator("rule-keywords", labels_to_corrupt.seed)
        keywords = [generator.permutation(x.shape[1])[:num_keywords] for _ in range(labels_to_corrupt.num_classes)]
        score = _standardize_columns(np.stack([x[:, columns].sum(axis=1) for columns in keywords], axis=1))
        score += 1e-9 * labels_to_corrupt.uniform_draws[1][:, None]  # features often tie
        order = np.argsort(-score.max(axis=1), kind="stable")
        return relabel_until_rate(labels_to_corrupt.true_labels, score.argmax(axis=1), order, labels_to_corrupt.rate)


class ClusterNoise(NoiseKind):
    """Regions labeled by mistake.

    Every node belongs to the nearest of some centers (one in twenty nodes, drawn at random), counted in steps along
    edges. Whole regions, in random order, get one class that is not the most frequent there, until round(rate · n) of n
    labels are wrong, or as many as can be.
    """

    name = "cluster"
    depends_on_graph: ClassVar[bool] = True

    def corrupt_labels(self, labels_to_corrupt: LabelsToCorrupt) -> Ints:
        truth, num_classes = labels_to_corrupt.true_labels, labels_to_corrupt.num_classes
        generator = make_generator("cluster-centres", labels_to_corrupt.seed)
        regions = _assign_nodes_to_random_regions(labels_to_corrupt.data, generator)
        region, num_regions = regions[labels_to_corrupt.nodes], int(regions.max(initial=-1)) + 1
        counts = np.bincount(region * num_classes + truth, minlength=num_regions * num_classes)
        most_frequent = counts.reshape(num_regions, num_classes).argmax(axis=1)
        region_label = (most_frequent + generator.integers(1, num_classes, num_regions)) % num_classes
        order = np.argsort(
            generator.permutation(num_regions)[region] + labels_to_corrupt.uniform_draws[1], kind="stable"
        )
        return relabel_until_rate(truth, region_label[region], order, labels_to_corrupt.rate)


def compute_flip_probs_with_mean_rate(scores: Floats, rate: float) -> Floats:
    """q_i = σ(a + scores_i), where bisection finds the a for which the mean of q is `rate`."""
    if rate in (0.0, 1.0) or not len(scores):
        return np.full(len(scores), rate)
    # At the ends of the bracket every σ(a + s_i) is below, or above, the rate.
    center = math.log(rate) - math.log1p(-rate)
    low, high = center - float(scores.max()), center - float(scores.min())
    for _ in range(100):
        offset = (low + high) / 2
        if _sigmoid(offset + scores).mean() < rate:
            low = offset
        else:
            high = offset
    return _sigmoid((low + high) / 2 + scores)


def _sigmoid(values: Floats) -> Floats:
    # scipy.special.expit rounds differently, and recorded experiments depend on every bit.
    return 0.5 * (1.0 + np.tanh(0.5 * values))


def _standardize_columns(columns: Floats) -> Floats:
    """Columns with mean 0 and variance 1; a constant column becomes 0."""
    columns = columns - columns.mean(axis=0)
    deviation = columns.std(axis=0)
    return columns / np.where(deviation > 1e-12, deviation, 1.0)


def _assign_nodes_to_random_regions(data: Data, generator: np.random.Generator) -> Ints:
    graph = LabeledGraph.from_data(data)
    num_neighbors, neighbors = (part.cpu().numpy() for part in graph.get_neighbor_counts_and_neighbors())
    return grow_regions(num_neighbors, neighbors, draw_region_centers(graph.num_nodes, generator))


def relabel_until_rate(true_labels: Ints, new_labels: Ints, order: Ints, rate: float) -> Ints:
    """Give nodes their new label in this order until the share `rate` of all labels is wrong."""
    num_wrong = (new_labels != true_labels)[order].cumsum()
    relabeled = order[: np.searchsorted(num_wrong, round(rate * len(true_labels)), side="right")]
    given = true_labels.copy()
    given[relabeled] = new_labels[relabeled]
    return given
