"""A linear classifier of smoothed features, trained on labels from which the estimated noise was removed."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from .. import noise
from ..core.settings import Float, Range, setting
from ..propagation import NodeVectors
from .core.calibration import MAX_CALIBRATION_LABELS, fit_inverse_temperature_and_likelihoods
from .core.embedding_classifier import EmbeddingClassifier
from .core.labels import IMPOSSIBLE_LOGIT, GivenLabels, build_symmetric_transition, compute_label_log_likelihoods

SYMMETRIC_PRIOR_LABELS = 50.0  # labels that symmetric noise counts as when the transition matrix is estimated
BALANCE_PRIOR_LABELS = 100.0  # labels per class that equal class frequencies count as
COSINE_SCALE = 20.0  # inverse temperature of cosines as logits, more or less
COSINE_SCALES = [COSINE_SCALE * 10 ** (k / 8) for k in range(-8, 9)]
NOISE_RATES = [0.01, *(k / 20 for k in range(1, 16))]


def compute_leave_one_out_cosines_of_labeled(embedded: NodeVectors, given_labels: GivenLabels) -> Tensor:
    """The cosine between each labeled node and the mean of each class *without that node*, [labels, classes]."""
    x = embedded[given_labels.nodes]
    share = F.one_hot(given_labels.y, given_labels.num_classes).to(embedded.dtype) * given_labels.weight[:, None]
    total = share.T @ x
    along, own = x @ total.T, (x * x).sum(1, keepdim=True)
    length = (total * total).sum(1) - 2 * share * along + share.square() * own
    cosines = (along - share * own) / length.clamp(min=1e-12).sqrt()
    return torch.where(given_labels.labeled_class_mask, cosines, IMPOSSIBLE_LOGIT / COSINE_SCALE)


def fit_symmetric_rate(class_cosines: Tensor, y: Tensor) -> float:
    """The likeliest rate of symmetric noise, together with the scale of cosines (log-normal around COSINE_SCALE)."""
    num_classes = class_cosines.shape[1]
    step = max(1, len(y) // MAX_CALIBRATION_LABELS)
    cosines, y = class_cosines[::step].double(), y[::step]
    rates = torch.tensor([rate for rate in NOISE_RATES if rate < 1 - 1 / num_classes], dtype=torch.float64)[:, None]
    best, best_rate = -torch.inf, 0.0
    for scale in COSINE_SCALES:
        right = (scale * cosines).softmax(1).gather(1, y[:, None]).T
        log_likelihoods = (right * (1 - rates) + (1 - right) * rates / (num_classes - 1)).log().sum(1)
        value, index = (log_likelihoods - 0.5 * torch.tensor(scale / COSINE_SCALE).log() ** 2).max(0)
        if float(value) > best:
            best, best_rate = float(value), float(rates[index])
    return best_rate


def estimate_symmetric_and_free_transitions(cosines: Tensor, given_labels: GivenLabels) -> list[Tensor]:
    """Two transition matrices: one of symmetric noise, and one in which every entry is free.

    The latter is what :func:`pignn.noise.estimate` finds, pulled towards symmetric noise of the same rate, the more the
    fewer labels there are. Trusted labels have no part in either.
    """
    doubtful = ~given_labels.trusted
    count, num_classes = int(doubtful.sum()), given_labels.num_classes
    if not count or num_classes < 2:
        return [torch.eye(num_classes)]
    y, cosines = given_labels.y[doubtful], cosines[doubtful]
    estimate = noise.estimate(y.numpy(), (COSINE_SCALE * cosines).softmax(1).numpy())
    symmetric = build_symmetric_transition(min(estimate.rate, 1 - 1 / num_classes), num_classes)
    weighted = count * torch.from_numpy(estimate.transition).float() + SYMMETRIC_PRIOR_LABELS * symmetric
    free = weighted / (count + SYMMETRIC_PRIOR_LABELS)
    return [build_symmetric_transition(fit_symmetric_rate(cosines, y), num_classes), free]


def estimate_transitions_and_posterior(
    embedded: NodeVectors, given_labels: GivenLabels, transitions: list[Tensor] | None = None
) -> tuple[list[Tensor], Tensor]:
    """(transition matrices, P(true | features, given label) of the labeled nodes), each label judged by the others.

    The probabilities are averaged over the matrices: few labels cannot tell which one is right, and the mean errs less
    than either. Trusted labels stay as they are.
    """
    cosines = compute_leave_one_out_cosines_of_labeled(embedded, given_labels)
    transitions = estimate_symmetric_and_free_transitions(cosines, given_labels) if transitions is None else transitions
    posterior = torch.zeros_like(cosines)
    for transition in transitions:
        log_noise = compute_label_log_likelihoods(given_labels, transition)
        s, _ = fit_inverse_temperature_and_likelihoods(COSINE_SCALE * cosines, log_noise.exp(), given_labels.weight)
        posterior += (s * COSINE_SCALE * cosines + log_noise).softmax(1) / len(transitions)
    return transitions, posterior


def weight_and_balance_targets(target: Tensor, weight: Tensor) -> Tensor:
    """Weighted soft labels whose class totals are pulled towards one another, by a prior of labels per class.

    Without it, a class that lost labels to noise by chance would be predicted too rarely: with few labels their
    frequencies say more about the noise than about the classes.
    """
    target = target.double() * weight.double()[:, None]
    total = target.sum(0)
    balanced = torch.where(total > 0, total + BALANCE_PRIOR_LABELS, 0.0)
    return target * balanced * (total.sum() / balanced.sum()) / total.clamp(min=1e-6)


def fit_logistic_regression(x: Tensor, target: Tensor, l2: float) -> Tensor:
    """W of multinomial logistic regression on weighted soft labels, with ½·l2·|W|² added to the sum of losses."""
    # Classes along the first dimension: with so few of them, a softmax over the last one takes eight times as long.
    x, target = (each.double().t().contiguous() for each in (x, target))
    weights = torch.zeros(len(target), len(x), dtype=x.dtype, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights], max_iter=30, tolerance_grad=1e-3, line_search_fn="strong_wolfe")

    def compute_loss() -> Tensor:
        optimizer.zero_grad()
        value = 0.5 * l2 * weights.square().sum() - (target * (weights @ x).log_softmax(0)).sum()
        value.backward()
        return value

    with torch.enable_grad():
        optimizer.step(compute_loss)
    return weights.detach().t().contiguous().float()


@dataclass(kw_only=True, eq=False, repr=False)
class Denoised(EmbeddingClassifier):
    """Corrects the labels first, then trains a linear classifier of smoothed features. No network; seconds.

    The embedding is that of ``prototypes``. Each given label is judged by the class means of the *other* labels. From
    that come transition matrices and, for each label, the probabilities of the true class
    (:func:`estimate_transitions_and_posterior`). A logistic regression learns these, with class frequencies made more
    equal (:func:`weight_and_balance_targets`).
    """

    l2: float = setting(
        1.0,
        Float(),
        "strength of the L2 penalty, relative to a sum over the labels",
        search=Range(0.03, 30.0, log=True),
    )

    def _fit_weights_and_set_posterior(self, embedded: NodeVectors, given_labels: GivenLabels) -> Tensor:
        self.transitions_, self.posterior_ = estimate_transitions_and_posterior(
            embedded, given_labels, self.transitions_
        )
        self.transition_ = torch.stack(self.transitions_).mean(0)
        return self._fit_weights_to_posterior(embedded, given_labels, self.posterior_)

    def _fit_weights_with_known_transitions(self, embedded: NodeVectors, given_labels: GivenLabels) -> Tensor:
        return self._fit_weights_to_posterior(
            embedded, given_labels, estimate_transitions_and_posterior(embedded, given_labels, self.transitions_)[1]
        )  # the noise is that of all labels

    def _fit_weights_to_posterior(self, embedded: NodeVectors, given_labels: GivenLabels, posterior: Tensor) -> Tensor:
        return fit_logistic_regression(
            embedded[given_labels.nodes], weight_and_balance_targets(posterior, given_labels.weight), self.l2
        )
