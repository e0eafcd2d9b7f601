from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pignn.core.errors import ConfigError, DataError
from pignn.training.metrics import METRICS, score

Y = [0, 0, 0, 1, 1, 2, -1]
PRED = [0, 0, 1, 1, 0, 3, 0]


def test_values_by_hand() -> None:
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


@pytest.mark.parametrize("metric", METRICS)
def test_perfect_is_one_in_every_metric_and_spelling(metric: str) -> None:
    y = torch.tensor([0, 2, 2, -1])
    proba = torch.eye(3)[[0, 2, 2, 1]].requires_grad_()
    assert score(y, proba.argmax(1), proba, metric=metric.replace("_", "-"), num_classes=3) == 1.0
    assert score(y, None, proba, metric=metric) == 1.0


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 3)), min_size=1, max_size=30), st.randoms())
def test_order_and_unlabelled_nodes_do_not_matter(rows: list[tuple[int, int]], random: object) -> None:
    if all(y < 0 for y, _ in rows):
        rows = [*rows, (0, 0)]
    known = [row for row in rows if row[0] >= 0]
    random.shuffle(rows)  # type: ignore[attr-defined]
    for metric in METRICS[:3]:
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
        ({"y": [0, 2], "proba": [[0.5, 0.5]] * 2, "metric": "average_precision"}, DataError, "2 classes"),
        (
            {"y": [0, 1], "proba": [[0.5, 0.5]], "pred": [0, 1], "metric": "average_precision"},
            DataError,
            "do not fit",
        ),
        ({"y": [0, 1], "proba": [[0.5, np.nan]] * 2, "metric": "average_precision"}, DataError, "not finite"),
    ],
)
def test_bad_input_is_one_line(arguments: dict[str, object], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words) as caught:
        score(**arguments)
    assert "\n" not in str(caught.value)
