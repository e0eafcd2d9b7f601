"""Probabilities that mean something, from given labels some of which are wrong."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from ... import noise
from .labels import GivenLabels, evidence, fitted_transition

SHARPNESS = [10 ** (k / 20) for k in range(-30, 31)]  # that scores are multiplied with
FOLDS = 5  # parts of the labels, each judged by what the others teach
DOUBT = 1.0  # standard deviation of log sharpness around 0 before any label is seen
ROUNDS = 6  # of finding sharpness and noise in turn
MOST = 5_000  # labels that are enough to fit one number


def folds(y: Tensor, count: int, seed: int = 0) -> Tensor:
    """Which of ``count`` parts each label belongs to, the classes spread evenly over them."""
    generator = torch.Generator().manual_seed(seed)
    shuffled = torch.randperm(len(y), generator=generator)
    order = shuffled[torch.argsort(y[shuffled], stable=True)]
    part = torch.empty_like(order)
    part[order] = torch.arange(len(y)) % count
    return part


def held_out(y: Tensor, classes: int, count: int, scores: Callable[[Tensor, Tensor], Tensor], seed: int = 0) -> Tensor:
    """Scores [labels, classes] of every label by a classifier that has not seen it.

    ``scores(keep, ask)`` learns from the labels where ``keep`` and answers for those where ``ask``.
    """
    part = folds(y, min(count, len(y)), seed)
    result = torch.zeros(len(y), classes)
    for fold in range(int(part.max()) + 1):
        ask = part == fold
        result[ask] = scores(~ask, ask)
    return result


def fit_inverse_temperature(scores: Tensor, reach: Tensor, weight: Tensor) -> tuple[float, Tensor]:
    """(s, log-likelihood of each label): the s for which softmax(s·scores) says best what the labels are.

    ``scores`` are those of a classifier that has not seen the labels; ``reach`` is P(given | true) for each label and
    class. Without noise this is temperature scaling; with it, labels that the noise explains do not make the
    probabilities duller. Scores are logits already, more or less, so that s is near 1 unless labels speak against it:
    few labels that all agree are no proof of certainty.
    """
    # Classes along the first dimension: with so few of them, a softmax over the last one takes eight times as long.
    by_class, chance, weight = (each.double().t().contiguous() for each in (scores, reach, weight))

    def likelihood(s: float, step: int = 1) -> Tensor:
        return ((s * by_class[:, ::step]).softmax(0) * chance[:, ::step]).sum(0).clamp(min=1e-12).log()

    step = max(1, len(scores) // MOST)
    best = max(SHARPNESS, key=lambda s: float(weight[::step] @ likelihood(s, step)) - 0.5 * (math.log(s) / DOUBT) ** 2)
    return best, likelihood(best)


def under_own_noise(scores: Tensor, given: GivenLabels, start: Tensor) -> tuple[float, Tensor]:
    """(s, log-likelihood of each label) under the transition matrix, begun at ``start``, that suits the scores best.

    ``scores`` are those of a classifier that has not seen the labels.
    """
    transition = start
    for _ in range(ROUNDS):
        reach = evidence(given, transition)
        s, _ = fit_inverse_temperature(scores, reach.exp(), given.weight)
        transition = fitted_transition(((s * scores).log_softmax(1) + reach).softmax(1), given)
    return fit_inverse_temperature(scores, evidence(given, transition).exp(), given.weight)


def found_transition(scores: Tensor, y: Tensor, trusted: Tensor) -> Tensor:
    """T as held-out scores tell it, see :func:`pignn.noise.estimate`; trusted labels have no part in it."""
    doubtful = ~trusted
    if not bool(doubtful.any()):
        return torch.eye(scores.shape[1])
    found = noise.estimate(y[doubtful].numpy(), scores[doubtful].softmax(1).numpy())
    return torch.from_numpy(found.transition).float()
