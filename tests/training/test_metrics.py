from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import pignn
from pignn.core.errors import ConfigError, DataError
from pignn.training.metrics import METRICS, get_metric, score

Y = [0, 0, 0, 1, 1, 2, -1]
PRED = [0, 0, 1, 1, 0, 3, 0]


def test_scores_equal_values_by_hand() -> None:
    assert score(Y, PRED) == pytest.approx(3 / 6)
    assert score(Y, PRED, metric="balanced_accuracy") == pytest.approx((2 / 3 + 1 / 2 + 0) / 3)
    # F1 of classes 0 to 3: 2·2/(2·2 + 1 + 1), 2·1/(2·1 + 1 + 1), 0, 0
    assert score(Y, PRED, metric="macro_f1") == pytest.approx((2 / 3 + 1 / 2) / 4)


def test_average_precision_by_hand() -> None:
    proba = [[0.9, 0.1], [0.6, 0.4], [0.7, 0.3], [0.2, 0.8]]
    # Class 0 is at ranks 1 and 3, class 1 at ranks 1 and 3 too.
    expected = (1 / 2) * (1 / 1) + (1 / 2) * (2 / 3)
    assert score([0, 0, 1, 1], None, proba, metric="average_precision") == pytest.approx(expected)


def test_average_precision_leaves_out_absent_classes() -> None:
    proba = np.array([[0.9, 0.1, 0.0], [0.1, 0.9, 0.0], [0.3, 0.3, 0.4]])
    assert score([0, 1, -1], None, proba, metric="average-precision", num_classes=3) == 1.0


@pytest.mark.parametrize("metric", METRICS.list_names())
def test_perfect_predictions_reach_the_best_value_in_every_metric_and_spelling(metric: str) -> None:
    classes = 2 if get_metric(metric).is_binary else 3
    y = torch.tensor([0, classes - 1, classes - 1, -1])
    probs = torch.eye(classes)[[0, classes - 1, classes - 1, 1]].requires_grad_()
    best = 1.0 if get_metric(metric).higher_is_better else 0.0
    assert score(y, probs.argmax(1), probs, metric=metric.replace("_", "-"), num_classes=classes) == best
    assert score(y, None, probs, metric=metric) == best


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 3)), min_size=1, max_size=30), st.randoms())
def test_order_and_unlabeled_nodes_do_not_matter(rows: list[tuple[int, int]], random: object) -> None:
    if all(y < 0 for y, _ in rows):
        rows = [*rows, (0, 0)]
    known = [row for row in rows if row[0] >= 0]
    random.shuffle(rows)  # type: ignore[attr-defined]
    for metric in ("accuracy", "balanced_accuracy", "macro_f1"):
        assert score(*zip(*rows, strict=True), metric=metric) == pytest.approx(
            score(*zip(*known, strict=True), metric=metric)
        )


def test_accuracy_counts_exactly_where_float32_cannot() -> None:
    n = 2**24 + 1
    y = torch.zeros(n, dtype=torch.int64)
    pred = y.clone()
    pred[0] = 1
    assert score(y, pred) == (n - 1) / n


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"y": Y, "pred": PRED, "metric": "acuracy"}, ConfigError, "did you mean 'accuracy'"),
        ({"y": [-1, -1], "pred": [0, 1]}, DataError, "no node has a label"),
        ({"y": [0, 1], "pred": [0]}, DataError, "do not fit"),
        ({"y": [0, 1]}, DataError, "needs predicted"),
        ({"y": [0, 5], "pred": [0, 1], "num_classes": 3}, DataError, "outside the 3 classes"),
        (
            {"y": [0, 1], "pred": [0, 1], "metric": "average_precision"},
            DataError,
            "needs predicted probabilities",
        ),
        ({"y": [0, 2], "probs": [[0.5, 0.5]] * 2, "metric": "average_precision"}, DataError, "2 classes"),
        (
            {"y": [0, 1], "probs": [[0.5, 0.5]], "pred": [0, 1], "metric": "average_precision"},
            DataError,
            "do not fit",
        ),
        ({"y": [0, 1], "probs": [[0.5, np.nan]] * 2, "metric": "average_precision"}, DataError, "not finite"),
    ],
)
def test_bad_input_is_refused_in_one_line(arguments: dict[str, object], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words) as caught:
        score(**arguments)
    assert "\n" not in str(caught.value)


def test_calibration_error_and_errors_by_hand() -> None:
    probs = [[0.9, 0.1], [0.2, 0.8], [0.4, 0.6], [0.5, 0.5]]
    assert score([0, 1, 0, -1], None, probs, metric="calibration_error") == pytest.approx((0.1 + 0.2 + 0.6) / 3)
    # p_wrong ranks the only wrong label second.
    p_wrong = [[0.9, 0.1], [0.4, 0.6], [0.2, 0.8], [0.0, 1.0]]
    assert score([0, 1, 0, -1], None, p_wrong, metric="error_average_precision") == pytest.approx(1 / 2)


def test_a_metric_of_another_package_works_by_name(noisy, install_package) -> None:
    install_package(
        """
        from pignn.training import Metric

        def compute(y, pred, probs):
            return min((pred[y == c] == c).mean() for c in set(y))

        worst_recall = Metric("worst_recall", "lowest recall of any class", compute)
        """,
        "[pignn.metrics]\nworst_recall = other_package:worst_recall\n",
    )
    assert "worst_recall" in [entry.name for entry in pignn.list_metrics()]
    model = pignn.make("vanilla", epochs=5).fit(noisy)
    y, pred = noisy.y_true[noisy.test_mask].numpy(), model.predict(noisy)[noisy.test_mask.numpy()]
    expected = min((pred[y == c] == c).mean() for c in range(3))
    assert model.score(noisy, metric="worst-recall") == pytest.approx(expected)
