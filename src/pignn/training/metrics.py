"""How good predictions are. A metric is one :class:`Metric` in the registry ``METRICS``.

Another package adds one through the entry-point group ``pignn.metrics``. NumPy and scikit-learn are imported where they
are used, so that listing the metrics does not wait for them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..core.errors import ConfigError, DataError
from ..core.registry import Entry, Registry

if TYPE_CHECKING:
    import numpy as np

MetricFunction = Callable[..., float]  # of (labels, predicted classes, probabilities or None)


@dataclass(frozen=True)
class Metric:
    """One number for the predictions of some nodes.

    Args:
        name: as in ``model.score(metric=name)``.
        summary: one line for lists.
        compute: a function of the labels [N], the predicted classes [N] and, if it needs them, the probabilities
            [N, num_classes]; else of ``None``. It sees labeled nodes only.
        needs_probs: whether predicted classes are not enough.
        higher_is_better: the direction.
        is_binary: whether it is only for two classes, such as right and wrong labels in an audit.
    """

    name: str
    summary: str
    compute: MetricFunction
    needs_probs: bool = False
    higher_is_better: bool = True
    is_binary: bool = False


METRICS: Registry[Metric] = Registry("metric", "pignn.metrics")


def register_metric(name: str, summary: str, **flags: bool) -> Callable[[MetricFunction], MetricFunction]:
    """Decorate a function to make it the metric ``name``; the flags are those of :class:`Metric`."""

    def register(function: MetricFunction) -> MetricFunction:
        METRICS.register(name, Metric(name, summary, function, **flags), summary)
        return function

    return register


def list_metrics() -> list[Entry]:
    """The name and summary of every metric, those of installed packages included."""
    return METRICS.list_entries()


def get_metric(name: str) -> Metric:
    """The metric called ``name``; ``macro-f1`` is ``macro_f1``."""
    metric = METRICS.get(name if name in METRICS else str(name).replace("-", "_"))
    if not isinstance(metric, Metric):
        raise ConfigError(f"metric '{name}' is a {type(metric).__name__}; its package must provide a Metric")
    return metric


def score(
    y: Any, pred: Any = None, probs: Any = None, metric: str = "accuracy", num_classes: int | None = None
) -> float:
    """Score predictions against labels. Nodes with y = -1 are left out.

    Args:
        y: labels, [N].
        pred: predicted classes, [N]. They are taken from ``probs`` if there are none.
        probs: predicted probabilities, [N, num_classes]. Some metrics need them.
        metric: a name from :func:`list_metrics`.
        num_classes: checks labels and probabilities against this number of classes.
    """
    spec = get_metric(metric)
    text = spec.name.replace("_", " ")
    if pred is None and probs is None:
        raise DataError("a score needs predicted classes or probabilities")
    if pred is None:
        pred = _to_array(probs).argmax(axis=-1)
    y, pred = _to_array(y), _to_array(pred)
    if y.ndim != 1 or y.shape != pred.shape:
        raise DataError(f"labels of shape {list(y.shape)} do not fit predictions of shape {list(pred.shape)}")
    labeled = y >= 0
    y, pred = y[labeled], pred[labeled]
    if not len(y):
        raise DataError(f"nothing to compute the {text} of: no node has a label")
    if num_classes is not None and int(y.max()) >= num_classes:
        raise DataError(f"label {int(y.max())} is outside the {num_classes} classes")
    if not spec.needs_probs:
        return float(spec.compute(y, pred, None))
    if probs is None:
        raise DataError(f"{text} needs predicted probabilities")
    return float(spec.compute(y, pred, _check_and_select_labeled_probs(_to_array(probs), y, labeled, num_classes)))


def score_on_training_labels(y_true: Any, given: Any, pred: Any) -> dict[str, float | None]:
    """What became of training nodes with right and with wrong given labels, from arrays [N] of these nodes alone.

    ``accuracy_right_labels`` and ``accuracy_wrong_labels``: the share of either whose true class is predicted;
    ``memorized_labels``: the share of wrong labels that are predicted. ``None`` where there are no such nodes.
    """
    y_true, given, pred = _to_array(y_true), _to_array(given), _to_array(pred)
    known = (y_true >= 0) & (given >= 0)
    is_wrong = given != y_true
    hits = {
        "accuracy_right_labels": (known & ~is_wrong, pred == y_true),
        "accuracy_wrong_labels": (known & is_wrong, pred == y_true),
        "memorized_labels": (known & is_wrong, pred == given),
    }
    return {name: float(hit[nodes].mean()) if nodes.any() else None for name, (nodes, hit) in hits.items()}


def _check_and_select_labeled_probs(
    probs: np.ndarray, y: np.ndarray, labeled: np.ndarray, num_classes: int | None
) -> np.ndarray:
    """The probabilities of the labeled nodes, if they fit the labels."""
    import numpy as np

    if probs.ndim != 2 or len(probs) != len(labeled):
        raise DataError(f"probabilities of shape {list(probs.shape)} do not fit {len(labeled)} labels")
    if probs.shape[1] <= int(y.max()) or num_classes not in (None, probs.shape[1]):
        raise DataError(f"probabilities of {probs.shape[1]} classes do not fit {num_classes or int(y.max()) + 1}")
    probs = probs[labeled].astype(np.float64)
    if not np.isfinite(probs).all():
        raise DataError("predicted probabilities are not finite")
    return probs


def _to_array(values: Any) -> np.ndarray:
    import numpy as np

    return np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)


@register_metric("accuracy", "share of nodes whose class is predicted correctly")
def compute_accuracy(y: np.ndarray, pred: np.ndarray, probs: np.ndarray | None) -> float:
    return float((y == pred).mean())


@register_metric("balanced_accuracy", "mean recall of the classes present in the labels")
def compute_balanced_accuracy(y: np.ndarray, pred: np.ndarray, probs: np.ndarray | None) -> float:
    import numpy as np
    from sklearn.metrics import recall_score

    return float(recall_score(y, pred, labels=np.unique(y), average="macro", zero_division=0))


@register_metric("macro_f1", "mean F1 = 2·TP / (2·TP + FP + FN) of the classes present in labels or predictions")
def compute_macro_f1(y: np.ndarray, pred: np.ndarray, probs: np.ndarray | None) -> float:
    from sklearn.metrics import f1_score

    return float(f1_score(y, pred, average="macro", zero_division=0))


@register_metric(
    "average_precision", "mean average precision of the classes present, one against the rest", needs_probs=True
)
def compute_average_precision(y: np.ndarray, pred: np.ndarray, probs: np.ndarray) -> float:
    import numpy as np
    from sklearn.metrics import average_precision_score

    return float(np.mean([average_precision_score(y == c, probs[:, c]) for c in np.unique(y)]))


@register_metric(
    "error_average_precision",
    "average precision of p_wrong = probs[:, 1] against labels that are wrong (y = 1) or right (y = 0)",
    needs_probs=True,
    is_binary=True,
)
def compute_average_precision_of_class_one(y: np.ndarray, pred: np.ndarray, probs: np.ndarray) -> float:
    from sklearn.metrics import average_precision_score

    if probs.shape[1] != 2:
        raise DataError(f"error average precision needs the classes right and wrong, not {probs.shape[1]} classes")
    return float(average_precision_score(y, probs[:, 1]))


def calibration_error(y: Any, probs: Any, num_bins: int = 15) -> float:
    """Expected calibration error: how far confidence is from accuracy. Nodes with y = -1 are left out.

    Nodes are put into ``num_bins`` equal intervals of their largest probability. The error is the mean over nodes of
    |accuracy − mean confidence| of the node's interval. Lower is better.
    """
    import numpy as np

    y, probs = _to_array(y), _to_array(probs)
    if y.ndim != 1 or probs.ndim != 2 or len(probs) != len(y):
        raise DataError(f"labels of shape {list(y.shape)} do not fit probabilities of shape {list(probs.shape)}")
    y, probs = y[y >= 0], probs[y >= 0].astype(np.float64)
    if not len(y):
        raise DataError("nothing to compute the calibration error of: no node has a label")
    confidence = probs.max(axis=1)
    interval = np.clip(np.ceil(confidence * num_bins), 1, num_bins).astype(np.int64) - 1
    gap = np.bincount(interval, (probs.argmax(axis=1) == y) - confidence, num_bins)
    return float(np.abs(gap).sum() / len(y))


@register_metric(
    "calibration_error",
    "expected calibration error: mean distance between confidence and accuracy",
    needs_probs=True,
    higher_is_better=False,
)
def compute_calibration_error(y: np.ndarray, pred: np.ndarray, probs: np.ndarray) -> float:
    return calibration_error(y, probs)
