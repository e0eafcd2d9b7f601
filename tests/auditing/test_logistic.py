"""The audit's regressions reach their minimum in few steps."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from pignn.auditing import logistic


@pytest.fixture
def labels():
    rng = np.random.default_rng(0)
    given = rng.integers(0, 3, 2000)
    features = rng.standard_normal((3, 12))[given] + 1.5 * rng.standard_normal((2000, 12)) + 3.0  # far from the origin
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    return features.astype(np.float32), np.maximum(np.eye(3)[given], 1e-6).astype(np.float32)


def predict(features, weights):
    weights = weights.reshape(-1, 3)
    return torch.softmax(torch.from_numpy(features @ weights[:-1] + weights[-1]), dim=1).numpy()


def test_a_dozen_steps_reach_the_minimum(labels, monkeypatch):
    features, likelihood = labels
    coordinates = logistic.Coordinates.from_features(features, len(features), 3)
    monkeypatch.setattr(logistic, "LOSS_TOLERANCE", 1e-13)
    minimum = predict(features, logistic.fit_flat_logistic_weights(features, likelihood, None, 2000))
    few = predict(features, logistic.fit_flat_logistic_weights(features, likelihood, None, 12, coordinates))
    without = predict(features, logistic.fit_flat_logistic_weights(features, likelihood, None, 12))
    assert np.abs(few - minimum).max() < 2e-3 < 0.02 < np.abs(without - minimum).max()


def test_a_fit_that_starts_at_the_minimum_stays_there(labels):
    features, likelihood = labels
    coordinates = logistic.Coordinates.from_features(features, len(features), 3)
    first = logistic.fit_flat_logistic_weights(features, likelihood, None, None, coordinates)
    again = logistic.fit_flat_logistic_weights(features, likelihood, first, 1, coordinates)
    assert np.abs(predict(features, again) - predict(features, first)).max() < 1e-3
