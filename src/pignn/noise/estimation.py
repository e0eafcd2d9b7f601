"""How noisy labels are whose truth is not known, from out-of-sample class probabilities. The model is in `model`.

A classifier that learnt from noisy labels predicts P(given | x), in which T is mixed already. So T is taken out of the
probabilities (Richardson–Lucy: the p with p·T nearest to q) and fitted again, until it stays. There are two starts,
no noise and the confusions of the classifier; the one that makes the given labels more probable in the end is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import ConfigError, DataError
from . import model
from .kinds import Floats, Ints
from .recorded import check_integers

MOST = 10_000  # labels that the fit uses; the rate is known to half a percent by then
ROUNDS = 4
DRAWS = 50  # of the bootstrap


@dataclass(frozen=True, eq=False)
class NoiseEstimate:
    """What `estimate` found: T[i, j] = P(given = j | true = i), and what follows from it."""

    rate: float  # share of given labels that are wrong
    transition: Floats  # [classes, classes], rows sum to 1
    prior: Floats  # [classes], of the true labels
    posterior: Floats  # [nodes, classes], P(true = k | x, given); of unlabelled nodes P(true = k | x)
    rate_interval: tuple[float, float] | None = None
    transition_interval: tuple[Floats, Floats] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Everything but the posterior, as plain values for JSON."""
        plain: dict[str, Any] = {
            "rate": self.rate,
            "transition": self.transition.tolist(),
            "prior": self.prior.tolist(),
        }
        if self.rate_interval is not None:
            plain["rate_interval"] = list(self.rate_interval)
        if self.transition_interval is not None:
            plain["transition_interval"] = [bound.tolist() for bound in self.transition_interval]
        return plain


def estimate(
    labels: ArrayLike, pred_probs: ArrayLike, *, intervals: bool = False, level: float = 0.95, seed: int = 0
) -> NoiseEstimate:
    """Noise rate, transition matrix and prior of given labels.

    Args:
        labels: given labels, -1 where there is none.
        pred_probs: [nodes, classes], from a classifier that has not seen the label of the node.
        intervals: also give bootstrap intervals. They hold if the model of `noise.model` does: they say how much the
            labels at hand can tell, not whether the classifier is fit to judge them.
        level: of the intervals.
        seed: of the bootstrap, and of the sample where there are very many labels.
    """
    given, probability = _checked(labels, pred_probs)
    known = np.flatnonzero(given >= 0)
    rng = np.random.default_rng(seed)
    sample = known if len(known) <= MOST else np.sort(rng.choice(known, MOST, replace=False))
    fitted, mixed = fit_unmixed(given[sample], probability[sample])
    logs = model.log_probs(probability if mixed is None else unmix_probs(probability, mixed))
    return summarize_labels(given, logs, fitted, intervals=intervals, level=level, seed=seed)


def fit_unmixed(given: Ints, probability: Floats) -> tuple[model.NoiseModel, Floats | None]:
    """The noise model, and the T that was taken out of the probabilities for it (None: none)."""
    best = model.fit_noise_model(given, model.log_probs(probability))
    taken: Floats | None = None
    for start in (best.transition, confusions(given, probability)):
        out = start
        for _ in range(ROUNDS):
            found = model.fit_noise_model(given, model.log_probs(unmix_probs(probability, out)))
            if found.evidence > best.evidence:
                best, taken = found, out
            if np.abs(found.transition - out).max() < 0.01:
                break
            out = found.transition
    return best, taken


def summarize_labels(
    given: Ints,
    logs: Floats,
    fitted: model.NoiseModel,
    *,
    intervals: bool,
    level: float = 0.95,
    seed: int = 0,
    trusted: NDArray[np.bool_] | None = None,
    before: Ints | None = None,
) -> NoiseEstimate:
    """What a fitted model says about labels; a trusted one is right, whatever it was ``before``."""
    if not 0 < level < 1:
        raise ConfigError(f"level must be between 0 and 1, not {level}")
    known = np.flatnonzero(given >= 0)
    posterior = fitted.posterior(given, logs)
    if trusted is not None:
        posterior[trusted] = np.eye(logs.shape[1])[given[trusted]]
    bounds: tuple[Any, Any] = (None, None)
    if intervals and len(known):
        verified = None if trusted is None else trusted[known]
        earlier = None if before is None else before[known]
        rng = np.random.default_rng(seed)
        bounds = _bootstrap(given[known], logs[known], fitted, level, rng, verified, earlier)
    return NoiseEstimate(
        rate=float((1 - posterior[known, given[known]]).mean()) if len(known) else 0.0,
        transition=fitted.transition,
        prior=posterior[known].mean(axis=0) if len(known) else np.full(logs.shape[1], 1 / logs.shape[1]),
        posterior=posterior,
        rate_interval=bounds[0],
        transition_interval=bounds[1],
    )


def confusions(given: Ints, probability: Floats) -> Floats:
    """Share of given labels among the nodes that the classifier puts into each class."""
    n = probability.shape[1]
    counts = np.bincount(probability.argmax(axis=1) * n + given, minlength=n * n).reshape(n, n)
    return model.normalize_rows(counts + 0.5 * np.eye(n) + 0.5 / n)


def unmix_probs(probability: Floats, transition: Floats, steps: int = 20) -> Floats:
    """The p for which p·T is nearest to the probabilities, by Richardson–Lucy steps; rows stay distributions."""
    q = model.normalize_rows(probability)
    p = q
    for _ in range(steps):
        p = model.normalize_rows(p * ((q / np.maximum(p @ transition, 1e-12)) @ transition.T))
    return p


def _bootstrap(
    given: Ints,
    logs: Floats,
    fitted: model.NoiseModel,
    level: float,
    rng: np.random.Generator,
    trusted: NDArray[np.bool_] | None,
    before: Ints | None,
) -> tuple[tuple[float, float], tuple[Floats, Floats]]:
    rates, matrices = [], []
    size = min(len(given), MOST)
    for _ in range(DRAWS):
        pick = rng.integers(0, len(given), size)
        verified = None if trusted is None else trusted[pick]
        again = model.fit_noise_model(
            given[pick], logs[pick], verified, None if before is None else before[pick], start=fitted
        )
        right = again.posterior(given[pick], logs[pick])[np.arange(size), given[pick]]
        rates.append(1 - (right if verified is None else np.where(verified, 1.0, right)).mean())
        matrices.append(again.transition)
    ends = [(1 - level) / 2, (1 + level) / 2]
    low, high = np.quantile(rates, ends)
    bounds = np.quantile(matrices, ends, axis=0)
    return (float(low), float(high)), (bounds[0], bounds[1])


def _checked(labels: ArrayLike, pred_probs: ArrayLike) -> tuple[Ints, Floats]:
    given = np.asarray(labels)
    probability = np.asarray(pred_probs, dtype=np.float64)
    if probability.ndim != 2 or probability.shape[1] < 1 or given.shape != probability.shape[:1]:
        raise DataError(
            f"labels of shape {list(given.shape)} and pred_probs of shape {list(probability.shape)} do not fit: "
            "give [nodes] and [nodes, classes]"
        )
    given = check_integers(given, "labels")
    if given.size and given.min() < -1:
        raise DataError("labels must be whole numbers from 0, or -1 for none")
    if given.size and given.max() >= probability.shape[1]:
        raise DataError(f"label {given.max()} has no column among the {probability.shape[1]} of pred_probs")
    if not np.isfinite(probability).all() or (probability < 0).any():
        raise DataError("pred_probs must be finite and not negative")
    total = probability.sum(axis=1)
    if (off := np.flatnonzero((np.abs(total - 1) > 0.01) & (total > 0))).size:  # a row of zeros says nothing
        raise DataError(f"pred_probs must sum to 1 in every row; row {off[0]} sums to {total[off[0]]:.3g}")
    return given, probability
