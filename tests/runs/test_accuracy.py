"""What agreement with given labels says about accuracy, on labels that are made here."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_softmax

from pignn.runs.accuracy import MEAN_LEARNING_EXPONENT, HeldOutLabels, estimate_accuracy

NUM_LABELS, NUM_CLASSES, RATE = 1_000, 4, 0.2


def make_labels(accuracy: float, seed: int) -> HeldOutLabels:
    """Views that know nearly everything, predictions that are right as often as is asked, symmetric noise."""
    rng = np.random.default_rng(seed)
    true = rng.integers(NUM_CLASSES, size=NUM_LABELS)

    def replace_some(share: float) -> np.ndarray:
        other = (true + rng.integers(1, NUM_CLASSES, NUM_LABELS)) % NUM_CLASSES
        return np.where(rng.random(NUM_LABELS) < share, other, true)

    seen = 3 * np.eye(NUM_CLASSES)[true] + rng.normal(size=(NUM_LABELS, NUM_CLASSES))
    log_probs = log_softmax(3 * seen, axis=1)  # of these Gaussians
    predicted = replace_some(1 - accuracy)[:, None]
    return HeldOutLabels(replace_some(RATE), predicted, log_probs, np.zeros(NUM_LABELS, dtype=bool))


@pytest.mark.parametrize("accuracy", [0.6, 0.9])
def test_the_interval_contains_the_accuracy_though_labels_are_wrong(accuracy):
    found = [estimate_accuracy(make_labels(accuracy, seed)) for seed in range(5)]
    assert all(low <= accuracy <= high for low, high in (each.interval for each in found))
    assert np.mean([each.noise_rate for each in found]) == pytest.approx(RATE, abs=0.02)
    assert all(high - low < 0.1 for low, high in (each.interval for each in found))


def test_a_model_that_learned_from_all_labels_is_better_than_its_copies():
    labels = make_labels(0.7, seed=0)
    copies, model = estimate_accuracy(labels), estimate_accuracy(labels, share_learned_from=0.8)
    gain = (1 - copies.accuracy) * (1 - 0.8**MEAN_LEARNING_EXPONENT)
    assert model.accuracy == pytest.approx(copies.accuracy + gain)
    width, wider = (each.interval[1] - each.interval[0] for each in (copies, model))
    assert wider == pytest.approx(2 * np.hypot(width / 2, gain))
    assert (model.class_accuracy >= copies.class_accuracy).all()
