"""Numbers on the page of a training: predictions compared with labels, calibration, and positions of nodes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import binomtest
from sklearn.metrics import confusion_matrix
from torch_geometric.data import Data

from ...training.metrics import calibration_error

NUM_BINS = 10
LEARNED, HELD_OUT, TEST = "given labels learned from", "held-out given labels", "true labels of test nodes"
MAX_DRAWN_NODES = 2_000
MIN_LOG_PROB = math.log(1e-3)  # a smaller probability is drawn as if it were this one

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class LabelComparison:
    """Predictions of some nodes and their labels, given or true."""

    labels: Ints
    probs: NDArray[Any]

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def predicted(self) -> Ints:
        return np.asarray(self.probs.argmax(1), dtype=np.int64)

    @property
    def num_equal(self) -> int:
        return int((self.predicted == self.labels).sum())

    @property
    def share(self) -> float:
        """Share of labels that equal the prediction."""
        return self.num_equal / len(self)

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the share, as if the nodes were drawn independently."""
        return binomtest(self.num_equal, len(self)).proportion_ci(method="wilson")

    def count_confusion(self) -> list[list[int]]:
        """How many nodes of each label (rows) are predicted as each class (columns)."""
        return confusion_matrix(self.labels, self.predicted, labels=range(self.probs.shape[1])).tolist()

    @property
    def calibration_error(self) -> float:
        return calibration_error(self.labels, self.probs, num_bins=NUM_BINS)

    def compute_calibration_bins(self) -> dict[int, tuple[float, float, int]]:
        """(mean confidence, share of equal labels, number of nodes) per interval of confidence that has nodes."""
        confidence = self.probs.max(1).astype(np.float64)
        bin_of_node = np.clip(np.ceil(confidence * NUM_BINS).astype(int), 1, NUM_BINS) - 1
        is_equal = self.predicted == self.labels
        return {
            int(b): (float(confidence[nodes].mean()), float(is_equal[nodes].mean()), int(nodes.sum()))
            for b in np.unique(bin_of_node)
            for nodes in [bin_of_node == b]
        }


@dataclass(frozen=True)
class TrainingScores:
    """Comparisons of a training with labels; None where there are no such nodes."""

    probs: NDArray[Any]
    learned: LabelComparison | None  # given labels that were learned from
    held_out: LabelComparison | None  # given labels that were not
    test: LabelComparison | None  # true labels of test nodes
    wrong_share: float | None  # share of given labels that are not the true ones


def compare_with_labels(data: Data, logits: NDArray[Any], learns_from_val: bool) -> TrainingScores:
    """Compare the predictions for a checked graph with its labels. True labels are read for scoring alone."""
    probs = torch.from_numpy(logits).softmax(1).numpy()
    given = data.y.cpu().numpy()
    train, val, test = (data[f"{name}_mask"].cpu().numpy() for name in ("train", "val", "test"))
    truth = None if data.get("y_true") is None else data.y_true.cpu().numpy()
    known = None if truth is None else (given >= 0) & (truth >= 0)
    return TrainingScores(
        probs,
        _build_comparison_or_none(given, probs, train | val if learns_from_val else train),
        None if learns_from_val else _build_comparison_or_none(given, probs, val),
        None if truth is None else _build_comparison_or_none(truth, probs, test),
        None if truth is None or known is None or not known.any() else float((given != truth)[known].mean()),
    )


def list_given_and_test_comparisons(scores: TrainingScores) -> list[tuple[str, LabelComparison]]:
    """Held-out given labels, or those learned from if none were held out, and true labels if they are known."""
    given = (HELD_OUT, scores.held_out) if scores.held_out is not None else (LEARNED, scores.learned)
    return [(name, comparison) for name, comparison in (given, (TEST, scores.test)) if comparison is not None]


def _build_comparison_or_none(labels: Ints, probs: NDArray[Any], nodes: NDArray[Any]) -> LabelComparison | None:
    nodes = nodes & (labels >= 0)
    return LabelComparison(labels[nodes], probs[nodes]) if nodes.any() else None


@dataclass(frozen=True)
class NodePositions:
    """Where some nodes lie in a picture; `is_flat` if the height has no meaning."""

    nodes: Ints
    xy: NDArray[Any]
    is_flat: bool
    variance_share: float  # share of the variance that the picture shows


def project_nodes(logits: NDArray[Any], seed: int = 0) -> NodePositions:
    """The first two principal components of the log-probabilities of some nodes, drawn at random if there are many.

    Two classes have one component. The other axis then only keeps nodes from covering each other.
    """
    rng = np.random.default_rng(seed)
    nodes = np.arange(len(logits))
    if len(logits) > MAX_DRAWN_NODES:
        nodes = np.sort(rng.choice(len(logits), MAX_DRAWN_NODES, replace=False))
    logs = torch.from_numpy(logits[nodes]).double().log_softmax(1).clamp(min=MIN_LOG_PROB)
    logs = logs - logs.mean(1, keepdim=True)
    centered = logs - logs.mean(0)
    _, size, axes = torch.linalg.svd(centered, full_matrices=False)
    is_flat = logits.shape[1] < 3 or len(nodes) < 3
    axes = axes[: 1 if is_flat else 2]
    # The sign of a component is arbitrary: its largest part is made positive.
    axes = axes * torch.gather(axes, 1, axes.abs().argmax(1, keepdim=True)).sign()
    xy = (centered @ axes.T).numpy()
    variance_share = float((size[:2] ** 2).sum() / (size**2).sum().clamp(min=1e-30))
    return NodePositions(
        nodes, np.column_stack([xy, rng.random(len(nodes))]) if is_flat else xy, is_flat, variance_share
    )
