"""How good predictions are: one function, four metrics.

| metric | meaning |
|---|---|
| `accuracy` | share of nodes predicted right |
| `balanced_accuracy` | mean over the classes present in y of their recall |
| `macro_f1` | mean over the classes present in y or in the predictions of F1 = 2·TP / (2·TP + FP + FN) |
| `average_precision` | mean over the classes present in y of the average precision, one against the rest |
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..core.errors import DataError, unknown

METRICS = ("accuracy", "balanced_accuracy", "macro_f1", "average_precision")


def metric_name(metric: str) -> str:
    """The metric's canonical name: `macro-f1` is `macro_f1`."""
    name = str(metric).replace("-", "_")
    if name not in METRICS:
        raise unknown("metric", metric, METRICS)
    return name


def score(
    y: Any, pred: Any = None, proba: Any = None, metric: str = "accuracy", num_classes: int | None = None
) -> float:
    """Score of predictions against labels, higher is better; nodes with y = -1 are left out.

    Args:
        y: labels, [N].
        pred: predicted classes, [N]; taken from `proba` where absent.
        proba: predicted probabilities, [N, n]; `average_precision` needs them.
        metric: one of `METRICS`.
        num_classes: n, to check labels and probabilities against.
    """
    name = metric_name(metric)
    if pred is None and proba is None:
        raise DataError("a score needs predicted classes or probabilities")
    if pred is None:
        pred = _tensor(proba).argmax(dim=-1)
    y, pred = _tensor(y), _tensor(pred)
    if y.dim() != 1 or y.shape != pred.shape:
        raise DataError(f"labels of shape {list(y.shape)} do not fit predictions of shape {list(pred.shape)}")
    known = y >= 0
    y, pred = y[known], pred[known]
    if not len(y):
        raise DataError(f"nothing to compute the {name.replace('_', ' ')} of: no node has a label")
    if num_classes is not None and int(y.max()) >= num_classes:
        raise DataError(f"label {int(y.max())} is outside the {num_classes} classes")
    if name == "accuracy":
        return float((y == pred).double().mean())
    if name == "average_precision":
        if proba is None:
            raise DataError("average precision needs predicted probabilities")
        proba = _tensor(proba)
        if proba.dim() != 2 or len(proba) != len(known):
            raise DataError(f"probabilities of shape {list(proba.shape)} do not fit {len(known)} labels")
        if proba.shape[1] <= int(y.max()) or num_classes not in (None, proba.shape[1]):
            raise DataError(f"probabilities of {proba.shape[1]} classes do not fit {num_classes or int(y.max()) + 1}")
        return _average_precision(y.numpy(), proba[known].double().numpy())
    from sklearn.metrics import (
        f1_score,
        recall_score,
    )  # slow to import, and accuracy is all that training needs

    if name == "balanced_accuracy":
        return float(recall_score(y, pred, labels=np.unique(y), average="macro", zero_division=0))
    return float(f1_score(y, pred, average="macro", zero_division=0))


def calibration_error(y: Any, proba: Any, bins: int = 15) -> float:
    """Expected calibration error: how far confidence is from accuracy; lower is better, nodes with y = -1 are left out.

    Nodes are put into ``bins`` equal intervals of their largest probability; the error is the mean over nodes of
    |accuracy − mean confidence| of the node's interval.
    """
    y, proba = _tensor(y), _tensor(proba).double()
    if y.dim() != 1 or proba.dim() != 2 or len(proba) != len(y):
        raise DataError(f"labels of shape {list(y.shape)} do not fit probabilities of shape {list(proba.shape)}")
    y, proba = y[y >= 0], proba[y >= 0]
    if not len(y):
        raise DataError("nothing to compute the calibration error of: no node has a label")
    confidence, pred = proba.max(dim=1)
    interval = (confidence * bins).ceil().long().clamp(1, bins) - 1
    gap = torch.zeros(bins, dtype=torch.float64).index_add_(0, interval, (pred == y).double() - confidence)
    return float(gap.abs().sum() / len(y))


def _average_precision(y: NDArray[np.int64], proba: NDArray[np.float64]) -> float:
    from sklearn.metrics import average_precision_score

    if not np.isfinite(proba).all():
        raise DataError("predicted probabilities are not finite")
    return float(np.mean([average_precision_score(y == c, proba[:, c]) for c in np.unique(y)]))


def _tensor(values: Any) -> torch.Tensor:
    return torch.as_tensor(values).detach().cpu()
