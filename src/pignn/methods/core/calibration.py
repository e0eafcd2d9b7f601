"""Calibrated probabilities from given labels, some of which are wrong."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from ... import noise
from .labels import GivenLabels, RatePrior, compute_label_log_likelihoods, fit_transition

INVERSE_TEMPERATURES = [10 ** (k / 20) for k in range(-30, 31)]
NUM_FOLDS = 5
LOG_TEMPERATURE_STD = 1.0  # of the log-normal prior around temperature 1
CLASS_BIAS_STD = 3.0  # of the prior around 0
NOISE_ROUNDS = 6  # rounds in which temperature and transition matrix are fitted in turn
# Labels that a noise rate of so much counts as. Without it, classes that nothing tells apart pass for noise.
RATE_PRIOR = RatePrior(rate=0.2, labels=100.0)
MAX_CALIBRATION_LABELS = 5_000  # enough to fit one number


def assign_stratified_folds(y: Tensor, num_folds: int, seed: int = 0) -> Tensor:
    """The fold of each label, stratified by class."""
    generator = torch.Generator().manual_seed(seed)
    shuffled = torch.randperm(len(y), generator=generator)
    order = shuffled[torch.argsort(y[shuffled], stable=True)]
    fold = torch.empty_like(order)
    fold[order] = torch.arange(len(y)) % num_folds
    return fold


def cross_val_predict_scores(
    y: Tensor, num_classes: int, num_folds: int, fit_and_score: Callable[[Tensor, Tensor], Tensor], seed: int = 0
) -> Tensor:
    """Scores [labels, classes] of every label by a classifier that was not trained on it.

    ``fit_and_score(train, held_out)`` learns from the labels in the first mask and scores those in the second.
    """
    fold = assign_stratified_folds(y, min(num_folds, len(y)), seed)
    scores = torch.zeros(len(y), num_classes)
    for number in range(int(fold.max()) + 1):
        held_out = fold == number
        scores[held_out] = fit_and_score(~held_out, held_out)
    return scores


def fit_inverse_temperature_and_likelihoods(scores: Tensor, likelihood: Tensor, weight: Tensor) -> tuple[float, Tensor]:
    """(s, log-likelihood of each label): the s for which softmax(s·scores) explains the labels best.

    ``scores`` come from a classifier that was not trained on the labels; ``likelihood`` is P(given label | true class)
    of each label and class. Without noise this is temperature scaling. With it, labels that the noise explains do not
    flatten the probabilities. The prior keeps s near 1: a few labels that all agree are no proof of certainty.
    """
    # Classes along the first dimension: with so few of them, a softmax over the last one takes eight times as long.
    by_class, chance, weight = (each.double().t().contiguous() for each in (scores, likelihood, weight))

    def compute_log_likelihoods(inverse_temperature: float, stride: int = 1) -> Tensor:
        return _compute_log_marginal_likelihoods(inverse_temperature * by_class[:, ::stride], chance[:, ::stride])

    stride = max(1, len(scores) // MAX_CALIBRATION_LABELS)

    def compute_log_posterior(inverse_temperature: float) -> float:
        return (
            float(weight[::stride] @ compute_log_likelihoods(inverse_temperature, stride))
            - 0.5 * (math.log(inverse_temperature) / LOG_TEMPERATURE_STD) ** 2
        )

    best = max(INVERSE_TEMPERATURES, key=compute_log_posterior)
    return best, compute_log_likelihoods(best)


def fit_class_bias_or_zeros(scores: Tensor, likelihood: Tensor, weight: Tensor) -> Tensor:
    """b for which softmax(scores + b) explains the labels best, [classes]; zeros unless they surely gain by it.

    Classifiers that treat classes alike predict rare ones too often where given labels follow the classes'
    frequencies. The gain in log-likelihood must exceed the Bayesian information criterion's price of b.
    """
    num_classes = scores.shape[1]
    step = max(1, len(scores) // MAX_CALIBRATION_LABELS)
    logits, chance, weight = (each.detach().double()[::step].t().contiguous() for each in (scores, likelihood, weight))
    bias = torch.zeros(num_classes, 1, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([bias], max_iter=50, line_search_fn="strong_wolfe")

    def compute_loss() -> Tensor:
        optimizer.zero_grad()
        value = 0.5 * (bias / CLASS_BIAS_STD).square().sum() - weight @ _compute_log_marginal_likelihoods(
            logits + bias, chance
        )
        value.backward()
        return value

    with torch.enable_grad():
        before = float(compute_loss().detach())
        optimizer.step(compute_loss)
        gain = (before - float(compute_loss().detach())) * step
    price = 0.5 * (num_classes - 1) * math.log(max(float(weight.sum()) * step, 2.0))
    return bias.detach().view(-1).float() if gain > price else torch.zeros(num_classes)


def _compute_log_marginal_likelihoods(logits: Tensor, likelihood: Tensor) -> Tensor:
    """log Σ_c softmax(logits)_c · likelihood_c of each label; both are [classes, labels]."""
    return (logits.softmax(0) * likelihood).sum(0).clamp(min=1e-12).log()


def fit_inverse_temperature_and_transition(
    scores: Tensor, given_labels: GivenLabels, start: Tensor
) -> tuple[float, Tensor]:
    """(s, T): the inverse temperature and, begun at ``start``, the transition matrix that suit the scores best.

    ``scores`` come from a classifier that was not trained on the labels.
    """
    transition = start
    for _ in range(NOISE_ROUNDS):
        likelihood = compute_label_log_likelihoods(given_labels, transition).exp()
        inverse_temperature, _ = fit_inverse_temperature_and_likelihoods(scores, likelihood, given_labels.weight)
        transition = _refit_transition_by_em_rounds(inverse_temperature * scores, given_labels, transition, 1)
    likelihood = compute_label_log_likelihoods(given_labels, transition).exp()
    return fit_inverse_temperature_and_likelihoods(scores, likelihood, given_labels.weight)[0], transition


def compute_cross_fitted_log_likelihoods(logits: Tensor, given_labels: GivenLabels, start: Tensor, seed: int) -> Tensor:
    """The log-likelihood of each label under the transition matrix that the labels of the *other* folds suit best.

    A transition matrix has an entry for each pair of classes. One that is fitted to the very labels that it explains
    makes up for confident logits that say nothing.
    """
    fold = assign_stratified_folds(given_labels.y, min(NUM_FOLDS, len(given_labels.y)), seed)
    values = torch.zeros(len(given_labels.y), dtype=torch.float64)
    for number in range(int(fold.max()) + 1):
        rest, held_out = fold != number, fold == number
        transition = start
        if bool(rest.any()):
            transition = _refit_transition_by_em_rounds(logits[rest], given_labels.subset(rest), start, NOISE_ROUNDS)
        likelihood = compute_label_log_likelihoods(given_labels.subset(held_out), transition).exp()
        by_class, chance = (each.double().t() for each in (logits[held_out], likelihood))
        values[held_out] = _compute_log_marginal_likelihoods(by_class, chance)
    return values


def _refit_transition_by_em_rounds(
    logits: Tensor, given_labels: GivenLabels, transition: Tensor, rounds: int
) -> Tensor:
    log_p = logits.log_softmax(1)
    for _ in range(rounds):
        log_noise = compute_label_log_likelihoods(given_labels, transition)
        transition = fit_transition((log_p + log_noise).softmax(1), given_labels, rate_prior=RATE_PRIOR)
    return transition


def estimate_transition_without_trusted_labels(held_out_scores: Tensor, y: Tensor, trusted: Tensor) -> Tensor:
    """T from held-out scores, see :func:`pignn.noise.estimate`. Trusted labels have no part in it."""
    doubtful = ~trusted
    if not bool(doubtful.any()):
        return torch.eye(held_out_scores.shape[1])
    estimate = noise.estimate(y[doubtful].numpy(), held_out_scores[doubtful].softmax(1).numpy())
    return torch.from_numpy(estimate.transition).float()
