"""Combine the views of a node: a weighted geometric mean of their class probabilities.

    P(true = k | x) ∝ Π_v q_v(k)^w_v,    P(given = j | x) = Σ_k P(true = k | x) · T[k, j]

The weights w ≥ 0, one per view, maximize the likelihood of given labels that no view has seen. Such a fit prefers a
view that predicts the errors of labels, as features do the errors of a rule. The result is therefore the mean of the
fitted weights and of cautious ones. These grow with the square of what each view alone tells about the given labels,
and one number scales them all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from ..noise.kinds import Floats, Ints
from .crossfit import Bools

MAX_STACKED_LABELS = 10_000  # a handful of weights needs no more
MAX_WEIGHT = 5.0
MIN_INFORMATION = 1e-3  # per label, of a view that says nothing


def compute_view_weights(
    view_log_probs: Sequence[Floats], given: Ints, trusted: Bools, transition: Floats, seed: int
) -> Floats:
    """The weight of each view, by labels that none has seen."""
    chosen = np.arange(len(given))
    if len(given) > MAX_STACKED_LABELS:
        chosen = np.sort(np.random.default_rng(seed).choice(len(given), MAX_STACKED_LABELS, replace=False))
    # A trusted label is the true one, whatever T says.
    one_hot = np.eye(len(transition))[given[chosen]]
    likelihood = np.maximum(np.where(trusted[chosen, None], one_hot, transition.T[given[chosen]]), 1e-6)
    logs = np.stack([view[chosen] for view in view_log_probs])
    fitted = fit_stacking_weights(logs, likelihood)
    shares = compute_information_weights(logs, given[chosen])
    cautious = shares * fit_stacking_weights(np.tensordot(shares, logs, axes=1)[None], likelihood)
    return (fitted + cautious) / 2


def mix_log_probs(view_log_probs: Sequence[Floats], weights: Floats) -> Floats:
    """log P(true = k | x) by all views together."""
    return log_softmax(np.sum([w * view for w, view in zip(weights, view_log_probs, strict=True)], axis=0), axis=-1)


def compute_information_weights(view_log_probs: Floats, given: Ints) -> Floats:
    """Weights that sum to 1, by the square of how far each view predicts given labels better than their shares do."""
    class_shares = np.bincount(given, minlength=view_log_probs.shape[2]) / len(given)
    information = view_log_probs[:, np.arange(len(given)), given].mean(axis=1) - np.log(class_shares[given]).mean()
    weights = np.maximum(information, MIN_INFORMATION) ** 2
    return weights / weights.sum()


def fit_stacking_weights(view_log_probs: Floats, likelihood: Floats) -> Floats:
    """The weights of views [views, nodes, classes], given P(given label | true = k) of every node."""

    def compute_loss(weights: Floats) -> tuple[float, Floats]:
        probs = softmax(np.tensordot(weights, view_log_probs, axes=1), axis=-1)
        joint = probs * likelihood
        total = np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
        slope = -np.einsum("nk,vnk->v", joint / total - probs, view_log_probs)
        return -float(np.log(total).sum()), slope

    start = np.full(len(view_log_probs), 1.0 / len(view_log_probs))
    return minimize(
        compute_loss, start, jac=True, method="L-BFGS-B", bounds=[(0.0, MAX_WEIGHT)] * len(view_log_probs)
    ).x
