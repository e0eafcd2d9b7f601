"""How noisy labels are where the truth is not known, from out-of-sample class probabilities. See `model` for the model.

A classifier that learned from noisy labels predicts P(given | x), which T is already mixed into. So T is taken out of
the probabilities (Richardson–Lucy: the p with p·T nearest to q) and fitted again, until it stays the same. There are
two starts, no noise and the confusions of the classifier. The one that makes the given labels more probable in the end
wins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..core.errors import ConfigError, DataError
from .kinds import Floats, Ints
from .model import Bools, NoiseModel, compute_log_probs, fit_noise_model, normalize_rows
from .recorded import parse_class_numbers

MAX_FIT_LABELS = 10_000  # the rate is known to half a percent by then
MAX_UNMIX_ROUNDS = 4
NUM_BOOTSTRAP_SAMPLES = 50


@dataclass(frozen=True, eq=False)
class NoiseEstimate:
    """What `estimate` found: T[i, j] = P(given = j | true = i), and what follows from it."""

    rate: float  # share of given labels that are wrong
    transition: Floats  # [classes, classes], rows sum to 1
    prior: Floats  # [classes], of the true labels
    posterior: Floats  # [nodes, classes], P(true = k | x, given), or P(true = k | x) for unlabeled nodes
    rate_interval: tuple[float, float] | None = None
    transition_interval: tuple[Floats, Floats] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Everything but the posterior, as plain values for JSON."""
        values: dict[str, Any] = {
            "rate": self.rate,
            "transition": self.transition.tolist(),
            "prior": self.prior.tolist(),
        }
        if self.rate_interval is not None:
            values["rate_interval"] = list(self.rate_interval)
        if self.transition_interval is not None:
            values["transition_interval"] = [bound.tolist() for bound in self.transition_interval]
        return values


def estimate(
    labels: ArrayLike, pred_probs: ArrayLike, *, intervals: bool = False, level: float = 0.95, seed: int = 0
) -> NoiseEstimate:
    """Noise rate, transition matrix and prior of given labels.

    Args:
        labels: given labels, -1 where there is none.
        pred_probs: [nodes, classes], from a classifier that has not seen the label of the node.
        intervals: also compute bootstrap intervals. They are valid if the model of `noise.model` is: they say how much
            the labels can tell, not whether the classifier is fit to judge them.
        level: confidence level of the intervals.
        seed: seed of the bootstrap, and of the sample where there are very many labels.
    """
    given, probs = _parse_labels_and_probs(labels, pred_probs)
    known = np.flatnonzero(given >= 0)
    rng = np.random.default_rng(seed)
    sample = known if len(known) <= MAX_FIT_LABELS else np.sort(rng.choice(known, MAX_FIT_LABELS, replace=False))
    fitted, mixed_in = fit_noise_model_and_mixed_in_transition(given[sample], probs[sample])
    log_probs = compute_log_probs(probs if mixed_in is None else unmix_probs(probs, mixed_in))
    return estimate_noise_from_model(given, log_probs, fitted, intervals=intervals, level=level, seed=seed)


def fit_noise_model_and_mixed_in_transition(given: Ints, probs: Floats) -> tuple[NoiseModel, Floats | None]:
    """The noise model, and the T that had to be taken out of the probabilities for it (None: nothing)."""
    best = fit_noise_model(given, compute_log_probs(probs))
    best_mixed_in: Floats | None = None
    for start in (best.transition, _estimate_given_label_shares_by_predicted_class(given, probs)):
        mixed_in = start
        for _ in range(MAX_UNMIX_ROUNDS):
            fitted = fit_noise_model(given, compute_log_probs(unmix_probs(probs, mixed_in)))
            if fitted.penalized_log_likelihood > best.penalized_log_likelihood:
                best, best_mixed_in = fitted, mixed_in
            if np.abs(fitted.transition - mixed_in).max() < 0.01:
                break
            mixed_in = fitted.transition
    return best, best_mixed_in


def estimate_noise_from_model(
    given: Ints,
    log_probs: Floats,
    fitted: NoiseModel,
    *,
    intervals: bool,
    level: float = 0.95,
    seed: int = 0,
    trusted: Bools | None = None,
    given_before_review: Ints | None = None,
) -> NoiseEstimate:
    """What a fitted model says about labels. A trusted label is right, whatever it was before the review."""
    if not 0 < level < 1:
        raise ConfigError(f"level must be between 0 and 1, not {level}")
    known = np.flatnonzero(given >= 0)
    num_classes = log_probs.shape[1]
    posterior = fitted.compute_posterior(given, log_probs)
    if trusted is not None:
        posterior[trusted] = np.eye(num_classes)[given[trusted]]
    bounds: tuple[Any, Any] = (None, None)
    if intervals and len(known):
        known_trusted = None if trusted is None else trusted[known]
        known_before = None if given_before_review is None else given_before_review[known]
        rng = np.random.default_rng(seed)
        bounds = _bootstrap_rate_and_transition_bounds(
            given[known], log_probs[known], fitted, level, rng, known_trusted, known_before
        )
    rate = float((1 - posterior[known, given[known]]).mean()) if len(known) else 0.0
    if bounds[0] is not None:  # with many classes, resampled labels may all look noisier than the labels themselves
        bounds = ((min(bounds[0][0], rate), max(bounds[0][1], rate)), bounds[1])
    return NoiseEstimate(
        rate=rate,
        transition=fitted.transition,
        prior=posterior[known].mean(axis=0) if len(known) else np.full(num_classes, 1 / num_classes),
        posterior=posterior,
        rate_interval=bounds[0],
        transition_interval=bounds[1],
    )


def unmix_probs(probs: Floats, transition: Floats, num_steps: int = 20) -> Floats:
    """The p for which p·T is nearest to the probabilities, by Richardson–Lucy steps. Rows stay distributions."""
    mixed = normalize_rows(probs)
    unmixed = mixed
    for _ in range(num_steps):
        ratio = mixed / np.maximum(unmixed @ transition, 1e-12)
        unmixed = normalize_rows(unmixed * (ratio @ transition.T))
    return unmixed


def _estimate_given_label_shares_by_predicted_class(given: Ints, probs: Floats) -> Floats:
    """The shares of given labels among the nodes that the classifier puts into each class."""
    n = probs.shape[1]
    counts = np.bincount(probs.argmax(axis=1) * n + given, minlength=n * n).reshape(n, n)
    return normalize_rows(counts + 0.5 * np.eye(n) + 0.5 / n)


def _bootstrap_rate_and_transition_bounds(
    given: Ints,
    log_probs: Floats,
    fitted: NoiseModel,
    level: float,
    rng: np.random.Generator,
    trusted: Bools | None,
    given_before_review: Ints | None,
) -> tuple[tuple[float, float], tuple[Floats, Floats]]:
    """Lower and upper bounds of the rate and of T."""
    rates, matrices = [], []
    size = min(len(given), MAX_FIT_LABELS)
    for _ in range(NUM_BOOTSTRAP_SAMPLES):
        sample, counts = np.unique(rng.integers(0, len(given), size), return_counts=True)
        sample_given, sample_log_probs = given[sample], log_probs[sample]
        sample_trusted = None if trusted is None else trusted[sample]
        sample_before = None if given_before_review is None else given_before_review[sample]
        refitted = fit_noise_model(
            sample_given, sample_log_probs, sample_trusted, sample_before, refit_from=fitted, counts=counts
        )
        p_right = refitted.compute_posterior(sample_given, sample_log_probs)[np.arange(len(sample)), sample_given]
        p_right = p_right if sample_trusted is None else np.where(sample_trusted, 1.0, p_right)
        rates.append(1 - float(counts @ p_right) / size)
        matrices.append(refitted.transition)
    quantiles = [(1 - level) / 2, (1 + level) / 2]
    low, high = np.quantile(rates, quantiles)
    bounds = np.quantile(matrices, quantiles, axis=0)
    return (float(low), float(high)), (bounds[0], bounds[1])


def _parse_labels_and_probs(labels: ArrayLike, pred_probs: ArrayLike) -> tuple[Ints, Floats]:
    given = np.asarray(labels)
    probs = np.asarray(pred_probs, dtype=np.float64)
    if probs.ndim != 2 or probs.shape[1] < 1 or given.shape != probs.shape[:1]:
        raise DataError(
            f"labels of shape {list(given.shape)} and pred_probs of shape {list(probs.shape)} do not fit: "
            "give [nodes] and [nodes, classes]"
        )
    given = parse_class_numbers(given, "labels")
    if given.size and given.min() < -1:
        raise DataError("labels must be integers from 0, or -1 for none")
    if given.size and given.max() >= probs.shape[1]:
        raise DataError(f"label {given.max()} has no column among the {probs.shape[1]} of pred_probs")
    if not np.isfinite(probs).all() or (probs < 0).any():
        raise DataError("pred_probs must be finite and not negative")
    total = probs.sum(axis=1)
    if (off := np.flatnonzero((np.abs(total - 1) > 0.01) & (total > 0))).size:  # a row of zeros says nothing
        raise DataError(f"pred_probs must sum to 1 in every row; row {off[0]} sums to {total[off[0]]:.3g}")
    return given, probs
