"""How often predictions are right, by given labels some of which are wrong.

Predictions of nodes whose label was held out are compared with given labels. If wrong labels depend on the true class
alone, P(given = j, predicted = m) = Σ_k P(true = k, predicted = m)·T[k, j]. There are two ways back from what is seen:

- by the matrix: solve for P(true, predicted) and take its trace. It trusts T alone;
- by the node: the mean of P(true = predicted | x, given) under the noise model. It also trusts the probabilities.

T and these probabilities come from the audit's own views of the nodes and not from the method under test, whose
mistakes they would repeat. The estimate is the mean of both ways. Its interval joins, as independent errors, what a
bootstrap over nodes with T fitted anew to each sample leaves open, half the difference of the two ways, and
``MODEL_ERROR``, which no number of labels removes: real errors never follow a matrix exactly.

Who predicted a held-out label has learned from fewer labels than the model that the user keeps. Its error falls with
the number of labels n as n^-γ, where γ is between 0 (more labels do not help) and 1/2 (what an average does). The gain
of the middle is added to the accuracy and counts as an error too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm

from ..noise.kinds import Floats, Ints
from ..noise.model import MIN_GAIN, Bools, NoiseModel, fit_noise_model

LEVEL = 0.9
MODEL_ERROR = 0.02
MEAN_LEARNING_EXPONENT = 0.25  # γ
NUM_BOOTSTRAP_SAMPLES = 40
MAX_BOOTSTRAP_LABELS = 5_000
MAX_CONDITION = 20.0  # of T; beyond that, the way by the matrix multiplies chance


@dataclass(frozen=True, eq=False)
class AccuracyEstimate:
    """The share of right predictions, overall and by true class [classes], each with lower and upper bounds."""

    accuracy: float
    interval: tuple[float, float]
    class_accuracy: Floats  # NaN where a class has hardly any node
    class_intervals: Floats  # [classes, 2]
    noise_rate: float
    noise_rate_interval: tuple[float, float]
    posterior: Floats  # [labels, classes], P(true = k | x, given)
    model: NoiseModel


@dataclass(frozen=True, eq=False)
class HeldOutLabels:
    """Given labels, predictions that were made without them, and log P(true = k | x) of an audit."""

    given: Ints
    predicted: Ints  # [labels, repeats of the cross-validation]
    log_probs: Floats
    trusted: Bools

    def select_positions(self, positions: Ints) -> HeldOutLabels:
        return HeldOutLabels(
            self.given[positions], self.predicted[positions], self.log_probs[positions], self.trusted[positions]
        )

    def fit_noise(self, start: NoiseModel | None = None) -> NoiseModel:
        trusted = self.trusted if self.trusted.any() else None
        return fit_noise_model(self.given, self.log_probs, trusted, refit_from=start, min_gain=MIN_GAIN)

    def compute_posterior(self, model: NoiseModel) -> Floats:
        posterior = model.compute_posterior(self.given, self.log_probs)
        posterior[self.trusted] = np.eye(posterior.shape[1])[self.given[self.trusted]]
        return posterior

    def score_by_matrix_and_by_posterior(self, model: NoiseModel) -> tuple[Floats, Floats]:
        """What each prediction adds to the accuracy by the matrix and by the node, both [labels, repeats].

        The trace of P(true, predicted) = T⁻ᵀ·P(given, predicted) is the mean of T⁻¹[given, predicted].
        """
        p_right = np.take_along_axis(self.compute_posterior(model), self.predicted, axis=1)
        if self.trusted.any() or np.linalg.cond(model.transition) > MAX_CONDITION:
            return p_right, p_right
        inverse = np.linalg.inv(model.transition).astype(np.float64)
        return inverse[self.given[:, None], self.predicted], p_right

    def estimate_accuracies_and_noise_rate(self, model: NoiseModel) -> tuple[float, float, float, Floats]:
        """Accuracy by the matrix and by the node, the rate of wrong labels, and accuracy by class."""
        by_matrix, p_right = self.score_by_matrix_and_by_posterior(model)
        posterior = self.compute_posterior(model)
        num_classes, repeats = posterior.shape[1], self.predicted.shape[1]
        right = np.bincount(self.predicted.ravel(), p_right.ravel(), num_classes) / repeats
        by_class = right / np.maximum(posterior.sum(axis=0), 1e-12)
        rate = float(1 - posterior[np.arange(len(self.given)), self.given].mean())
        return float(np.clip(by_matrix.mean(), 0.0, 1.0)), float(p_right.mean()), rate, by_class


def estimate_accuracy(
    labels: HeldOutLabels, *, share_learned_from: float = 1.0, level: float = LEVEL, seed: int = 0
) -> AccuracyEstimate:
    """Accuracy with an interval, from given labels that were held out.

    It is that of a model which learned from all labels, while predictions are by copies that learned from a share.
    """
    rng, size = np.random.default_rng(seed), len(labels.given)
    fitted = labels.select_positions(_sample_positions_if_too_many(rng, size, MAX_BOOTSTRAP_LABELS * 2)).fit_noise()
    by_matrix, by_node, rate, by_class = labels.estimate_accuracies_and_noise_rate(fitted)
    drawn = []
    for _ in range(NUM_BOOTSTRAP_SAMPLES):
        sample = labels.select_positions(rng.integers(0, size, min(size, MAX_BOOTSTRAP_LABELS)))
        one_matrix, one_node, one_rate, one_class = sample.estimate_accuracies_and_noise_rate(sample.fit_noise(fitted))
        drawn.append([(one_matrix + one_node) / 2, one_rate, *one_class])
    shrink = np.sqrt(min(size, MAX_BOOTSTRAP_LABELS) / size)  # a smaller sample varies more than all labels do
    spread = float(norm.ppf((1 + level) / 2)) * np.nanstd(drawn, axis=0, ddof=1) * shrink
    half_width = np.sqrt(spread**2 + MODEL_ERROR**2)
    share_of_errors_mended = 1 - share_learned_from**MEAN_LEARNING_EXPONENT
    accuracy, gain = _add_gain_of_more_labels((by_matrix + by_node) / 2, share_of_errors_mended)
    by_class, class_gain = _add_gain_of_more_labels(by_class, share_of_errors_mended)
    counts = labels.compute_posterior(fitted)
    # Rare classes: one node more or less.
    class_half = np.hypot(half_width[2:], class_gain) + 1 / np.maximum(counts.sum(axis=0), 1)
    total_half = float(np.sqrt(half_width[0] ** 2 + ((by_matrix - by_node) / 2) ** 2 + gain**2))
    return AccuracyEstimate(
        accuracy=accuracy,
        interval=_build_clipped_interval(accuracy, total_half),
        class_accuracy=np.where(counts.sum(axis=0) >= 1, by_class, np.nan),
        class_intervals=np.array([_build_clipped_interval(a, h) for a, h in zip(by_class, class_half, strict=True)]),
        noise_rate=rate,
        noise_rate_interval=_build_clipped_interval(rate, float(half_width[1])),
        posterior=counts,
        model=fitted,
    )


def _add_gain_of_more_labels(accuracy: Any, share_of_errors_mended: float) -> tuple[Any, Any]:
    """The accuracy with all labels, and what was added, which is as uncertain as it is large."""
    gain = (1 - accuracy) * share_of_errors_mended
    return accuracy + gain, gain


def _sample_positions_if_too_many(rng: np.random.Generator, size: int, max_size: int) -> Ints:
    return np.arange(size) if size <= max_size else np.sort(rng.choice(size, max_size, replace=False))


def _build_clipped_interval(value: float, half_width: float) -> tuple[float, float]:
    return max(value - half_width, 0.0), min(value + half_width, 1.0)
