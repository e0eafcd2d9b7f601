"""What agreement with given labels says about accuracy, on labels that are made here."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_softmax

from pignn.runs.accuracy import MEAN_LEARNING_EXPONENT, HeldOutLabels, estimate_accuracy

NUM_LABELS, NUM_CLASSES, RATE = 1_000, 4, 0.2


def make_labels(share_right: float, seed: int) -> tuple[HeldOutLabels, float]:
    """Calibrated views, a method that knows no more than they do, and labels under symmetric noise; its accuracy."""
    rng = np.random.default_rng(seed)

    def replace_some(classes: np.ndarray, share: float) -> np.ndarray:
        other = (classes + rng.integers(1, NUM_CLASSES, NUM_LABELS)) % NUM_CLASSES
        return np.where(rng.random(NUM_LABELS) < share, other, classes)

    true = rng.integers(NUM_CLASSES, size=NUM_LABELS)
    seen = 3 * np.eye(NUM_CLASSES)[true] + rng.normal(size=(NUM_LABELS, NUM_CLASSES))
    predicted = replace_some(seen.argmax(axis=1), 1 - share_right)
    given, trusted = replace_some(true, RATE), np.zeros(NUM_LABELS, dtype=bool)
    labels = HeldOutLabels(given, predicted[:, None], log_softmax(3 * seen, axis=1), trusted)
    return labels, float((predicted == true).mean())


@pytest.mark.parametrize("share_right", [0.6, 1.0])
def test_the_interval_contains_the_accuracy_though_labels_are_wrong(share_right):
    for seed in range(5):
        labels, accuracy = make_labels(share_right, seed)
        found = estimate_accuracy(labels)
        assert found.interval[0] <= accuracy <= found.interval[1] < found.interval[0] + 0.1
        assert found.noise_rate == pytest.approx(RATE, abs=0.04)


def test_a_model_that_learned_from_all_labels_is_better_than_its_copies():
    labels, _ = make_labels(0.7, seed=0)
    copies, model = estimate_accuracy(labels), estimate_accuracy(labels, share_learned_from=0.8)
    gain = (1 - copies.accuracy) * (1 - 0.8**MEAN_LEARNING_EXPONENT)
    assert model.accuracy == pytest.approx(copies.accuracy + gain)
    width, wider = (each.interval[1] - each.interval[0] for each in (copies, model))
    assert wider == pytest.approx(2 * np.hypot(width / 2, gain))
    assert (model.class_accuracy >= copies.class_accuracy).all()
