"""The noise of few labels, estimated together with a linear classifier."""

from __future__ import annotations

import numpy as np
import pytest

from pignn.noise.joint_estimation import estimate_noise_from_features


def labeled(kind: str, rate: float, count: int = 700, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features of unit length in five overlapping classes, given labels, and the transition matrix."""
    rng = np.random.default_rng(seed)
    y, n = rng.integers(0, 5, count), 5
    x = np.eye(5)[y] * 2.5 + rng.normal(0, 1, (count, 5))
    x = (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)
    wrong = np.full((n, n), 1 / (n - 1)) if kind == "symmetric" else np.roll(np.eye(n), 1, axis=1)
    np.fill_diagonal(wrong, 0)
    transition = (1 - rate) * np.eye(n) + rate * wrong
    given = (rng.random(count)[:, None] > transition.cumsum(axis=1)[y]).sum(axis=1).clip(max=n - 1)
    return x, given, transition


@pytest.mark.parametrize(("kind", "rate"), [("symmetric", 0.3), ("pair", 0.4), ("pair", 0.2), ("symmetric", 0.0)])
def test_form_and_rate_are_found(kind: str, rate: float) -> None:
    x, given, transition = labeled(kind, rate)
    found = estimate_noise_from_features(x, given, 5)
    assert abs(found.rate - rate) < 0.07
    assert np.abs(found.transition - transition).sum(axis=1).mean() < 0.25
    assert found.rate_interval is not None
    assert found.rate_interval[0] - 0.03 <= rate <= found.rate_interval[1] + 0.03


def test_few_labels_have_a_wide_interval() -> None:
    x, given, _ = labeled("pair", 0.4, count=60)
    few, many = estimate_noise_from_features(x, given, 5), estimate_noise_from_features(*labeled("pair", 0.4)[:2], 5)
    assert few.rate_interval is not None
    assert many.rate_interval is not None
    assert np.ptp(few.rate_interval) > np.ptp(many.rate_interval)


@pytest.mark.parametrize("given", [np.array([0, 1, 2]), np.zeros(40, dtype=np.int64)])
def test_nothing_is_known_of_next_to_no_labels(given: np.ndarray) -> None:
    found = estimate_noise_from_features(np.ones((len(given), 4), dtype=np.float32), given, 3)
    assert found.rate_interval == (0.0, 1.0)
    assert np.array_equal(found.transition, np.eye(3))


def test_the_same_seed_gives_the_same_numbers() -> None:
    x, given, _ = labeled("symmetric", 0.3, count=200)
    assert np.array_equal(
        estimate_noise_from_features(x, given, 5, seed=3).transition,
        estimate_noise_from_features(x, given, 5, seed=3).transition,
    )


def test_a_class_without_labels_gets_none() -> None:
    x, given, _ = labeled("symmetric", 0.2, count=300)
    found = estimate_noise_from_features(x, given, 6)
    assert found.transition[:5, 5].max() < 0.01
