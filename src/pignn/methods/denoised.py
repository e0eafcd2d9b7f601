"""A linear classifier of smoothed features, learnt from labels whose noise was estimated and taken out."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from .. import noise
from ..core import validation as settings
from .core.calibration import MOST, fit_inverse_temperature
from .core.embedding_classifier import Embedded
from .core.labels import NEVER, GivenLabels, evidence, symmetric

BELIEF = 50.0  # labels that symmetric noise counts as, beside those at hand, when the transition matrix is estimated
EVEN = 100.0  # labels a class, beside those at hand, by which all classes are held to be equally frequent
SHARP = 20.0  # what cosines are multiplied with to be logits, more or less
SHARPER = [SHARP * 10 ** (k / 8) for k in range(-8, 9)]
RATES = [0.01, *(k / 20 for k in range(1, 16))]


def left_out_cosines(h: Tensor, given: GivenLabels) -> Tensor:
    """How near each labelled node is to the direction of every class's mean *without that node*, [labels, classes]."""
    x = h[given.nodes]
    share = F.one_hot(given.y, given.classes).to(h) * given.weight[:, None]
    total = share.T @ x
    along, own = x @ total.T, (x * x).sum(1, keepdim=True)
    length = (total * total).sum(1) - 2 * share * along + share.square() * own
    cosines = (along - share * own) / length.clamp(min=1e-12).sqrt()
    return torch.where(given.present, cosines, NEVER / SHARP)


def even_rate(cosines: Tensor, y: Tensor) -> float:
    """The likeliest rate of symmetric noise, together with the sharpness of the cosines (log-normal around SHARP)."""
    classes = cosines.shape[1]
    step = max(1, len(y) // MOST)
    cosines, y = cosines[::step].double(), y[::step]
    rates = torch.tensor([rate for rate in RATES if rate < 1 - 1 / classes], dtype=torch.float64)[:, None]
    best, found = -torch.inf, 0.0
    for s in SHARPER:
        right = (s * cosines).softmax(1).gather(1, y[:, None]).T
        likely = (right * (1 - rates) + (1 - right) * rates / (classes - 1)).log().sum(1)
        value, at = (likely - 0.5 * torch.tensor(s / SHARP).log() ** 2).max(0)
        if float(value) > best:
            best, found = float(value), float(rates[at])
    return found


def noise_models(cosines: Tensor, given: GivenLabels) -> list[Tensor]:
    """Two transition matrices: of symmetric noise, and one in which every entry is free.

    The latter is what :func:`pignn.noise.estimate` finds, drawn towards symmetric noise of the same rate: by much where
    labels are few. Trusted labels have no part in either.
    """
    doubtful = ~given.trusted
    count, classes = int(doubtful.sum()), given.classes
    if not count or classes < 2:
        return [torch.eye(classes)]
    y, cosines = given.y[doubtful], cosines[doubtful]
    found = noise.estimate(y.numpy(), (SHARP * cosines).softmax(1).numpy())
    even = symmetric(min(found.rate, 1 - 1 / classes), classes)
    free = (count * torch.from_numpy(found.transition).float() + BELIEF * even) / (count + BELIEF)
    return [symmetric(even_rate(cosines, y), classes), free]


def denoise(h: Tensor, given: GivenLabels, models: list[Tensor] | None = None) -> tuple[list[Tensor], Tensor]:
    """(noise models, P(true | features, given label) of the labelled nodes), each label judged by the others.

    The probabilities are the mean of what the noise models say: few labels cannot tell which one is right, and the
    mean errs less than either. Trusted labels stay what they are.
    """
    cosines = left_out_cosines(h, given)
    models = noise_models(cosines, given) if models is None else models
    posterior = torch.zeros_like(cosines)
    for transition in models:
        log_reach = evidence(given, transition)
        s, _ = fit_inverse_temperature(SHARP * cosines, log_reach.exp(), given.weight)
        posterior += (s * SHARP * cosines + log_reach).softmax(1) / len(models)
    return models, posterior


def balanced(target: Tensor, weight: Tensor) -> Tensor:
    """Weighted soft labels whose class totals are drawn towards one another, by ``EVEN`` labels a class.

    Without it, a class that lost labels to noise by chance would be predicted too rarely: with few labels their
    frequencies say more about the noise than about the classes.
    """
    target = target.double() * weight.double()[:, None]
    total = target.sum(0)
    wanted = torch.where(total > 0, total + EVEN, 0.0)
    return target * wanted * (total.sum() / wanted.sum()) / total.clamp(min=1e-6)


def logistic(x: Tensor, target: Tensor, l2: float) -> Tensor:
    """W of multinomial logistic regression on weighted soft labels, ½·l2·|W|² beside the sum over them."""
    # Classes along the first dimension: with so few of them, a softmax over the last one takes eight times as long.
    x, target = (each.double().t().contiguous() for each in (x, target))
    weights = torch.zeros(len(target), len(x), dtype=x.dtype, requires_grad=True)
    steps = torch.optim.LBFGS([weights], max_iter=30, tolerance_grad=1e-3, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        steps.zero_grad()
        value = 0.5 * l2 * weights.square().sum() - (target * (weights @ x).log_softmax(0)).sum()
        value.backward()
        return value

    with torch.enable_grad():
        steps.step(loss)
    return weights.detach().t().contiguous().float()


@dataclass(kw_only=True, eq=False, repr=False)
class Denoised(Embedded):
    """Labels are corrected first, a linear classifier of smoothed features learns second. No network; seconds.

    The embedding is that of ``prototypes``. Each given label is judged by the class means of the *other* labels; from
    that come transition matrices and, for each label, the probabilities of what it really is (:func:`denoise`). A
    logistic regression learns these, with classes made more equally frequent (:func:`balanced`).

    Fitted: ``transition_`` (P(given | true)), ``posterior_`` (P(true | features, given label) of the nodes in
    ``labelled_``), ``inverse_temperature_``.

    Args:
        labels: learn from the ``"train"`` labels, or from all ``"train+val"`` ones, of validation nodes too.
        dimensions, alpha, num_hops: of the embedding; ``alpha=1`` leaves the graph out.
        l2: of the regularisation, beside a sum over the labels.
        class_weight: ``None``, ``"balanced"``, or one number a class.
        directed: propagate along the edges' direction only.
    """

    l2: float = 1.0

    def _learn(self, h: Tensor, given: GivenLabels) -> Tensor:
        self._models, self.posterior_ = denoise(h, given)
        self.transition_ = torch.stack(self._models).mean(0)
        return self._linear(h, given, self.posterior_)

    def _learn_again(self, h: Tensor, given: GivenLabels) -> Tensor:
        return self._linear(h, given, denoise(h, given, self._models)[1])  # the noise is that of all labels

    def _linear(self, h: Tensor, given: GivenLabels, posterior: Tensor) -> Tensor:
        return logistic(h[given.nodes], balanced(posterior, given.weight), self.l2)

    def check_settings(self) -> None:
        super().check_settings()
        settings.number("l2", self.l2)
