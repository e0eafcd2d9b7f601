"""What the page of a training counts: predictions beside labels, calibration, and where nodes lie."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from ...methods.core.base import Method
from ...training.metrics import calibration_error

BINS = 10
DRAWN = 2_000  # nodes in a picture
FLOOR = math.log(1e-3)  # a smaller probability is drawn as if it were this one

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Beside:
    """Predictions of some nodes beside their labels, given or true."""

    labels: Ints
    proba: NDArray[Any]

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def predicted(self) -> Ints:
        return np.asarray(self.proba.argmax(1), dtype=np.int64)

    @property
    def equal(self) -> int:
        return int((self.predicted == self.labels).sum())

    @property
    def share(self) -> float:
        return self.equal / len(self)

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the share, by Wilson: as if the nodes were drawn at random, one by one."""
        n, z = len(self), 1.96
        middle = self.share + z**2 / (2 * n)
        more = z * math.sqrt(self.share * (1 - self.share) / n + z**2 / (4 * n**2))
        return (middle - more) / (1 + z**2 / n), (middle + more) / (1 + z**2 / n)

    def confusion(self) -> list[list[int]]:
        """How many nodes of each label (rows) are predicted as each class (columns)."""
        classes = self.proba.shape[1]
        cell = self.labels * classes + self.predicted
        return np.bincount(cell, minlength=classes**2).reshape(classes, classes).tolist()

    @property
    def error(self) -> float:
        """Expected calibration error."""
        return calibration_error(self.labels, self.proba, num_bins=BINS)

    def calibration(self) -> dict[int, tuple[float, float, int]]:
        """(mean confidence, share of equal labels, nodes) by interval of confidence, of those that hold any."""
        confidence = self.proba.max(1).astype(np.float64)
        interval = np.clip(np.ceil(confidence * BINS).astype(int), 1, BINS) - 1
        equal = self.predicted == self.labels
        found = {b: interval == b for b in range(BINS)}
        return {
            b: (float(confidence[here].mean()), float(equal[here].mean()), int(here.sum()))
            for b, here in found.items()
            if here.any()
        }


@dataclass(frozen=True)
class Parts:
    """Of a training; None where there are no such nodes."""

    proba: NDArray[Any]
    learnt: Beside | None  # given labels that were learnt from
    held_out: Beside | None  # given labels that were not
    test: Beside | None  # true labels of test nodes
    wrong: float | None  # share of given labels that are not the true ones


def learns_from_val(model: Method) -> bool:
    """Methods that need no validation labels may learn from them too."""
    return getattr(model, "labels", "train") == "train+val"


def parts(model: Method, data: Data, scores: NDArray[Any]) -> Parts:
    """Counted from the scores of all nodes of a checked graph. True labels are read for scoring alone."""
    proba = torch.from_numpy(scores).softmax(1).numpy()
    given = data.y.cpu().numpy()
    train, val, test = (data[f"{name}_mask"].cpu().numpy() for name in ("train", "val", "test"))
    truth = None if data.get("y_true") is None else data.y_true.cpu().numpy()
    all_given = learns_from_val(model)
    known = None if truth is None else (given >= 0) & (truth >= 0)
    return Parts(
        proba,
        _beside(given, proba, train | val if all_given else train),
        None if all_given else _beside(given, proba, val),
        None if truth is None else _beside(truth, proba, test),
        None if truth is None or known is None or not known.any() else float((given != truth)[known].mean()),
    )


def _beside(labels: Ints, proba: NDArray[Any], nodes: NDArray[Any]) -> Beside | None:
    nodes = nodes & (labels >= 0)
    return Beside(labels[nodes], proba[nodes]) if nodes.any() else None


@dataclass(frozen=True)
class Places:
    """Where some nodes lie in a picture; ``flat`` where height means nothing."""

    nodes: Ints
    xy: NDArray[Any]
    flat: bool
    held: float  # share of the variance that is in the picture


def places(scores: NDArray[Any], seed: int = 0) -> Places:
    """The first two principal components of the log-probabilities of at most `DRAWN` nodes, drawn at random.

    With two classes there is one component: the other axis only keeps nodes from lying upon each other.
    """
    rng = np.random.default_rng(seed)
    many = len(scores) > DRAWN
    nodes = np.sort(rng.choice(len(scores), DRAWN, replace=False)) if many else np.arange(len(scores))
    logs = torch.from_numpy(scores[nodes]).double().log_softmax(1).clamp(min=FLOOR)
    logs = logs - logs.mean(1, keepdim=True)
    _, size, axes = torch.linalg.svd(logs - logs.mean(0), full_matrices=False)
    flat = scores.shape[1] < 3 or len(nodes) < 3
    axes = axes[: 1 if flat else 2]
    # The sign of a component is a matter of chance: its largest part is positive.
    axes = axes * torch.gather(axes, 1, axes.abs().argmax(1, keepdim=True)).sign()
    xy = ((logs - logs.mean(0)) @ axes.T).numpy()
    held = float((size[:2] ** 2).sum() / (size**2).sum().clamp(min=1e-30))
    return Places(nodes, np.column_stack([xy, rng.random(len(nodes))]) if flat else xy, flat, held)
