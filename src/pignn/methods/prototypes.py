"""Prototypes: one direction a class in an embedding that the graph smoothed, and a model of how labels go wrong."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from ..core import validation as settings
from ..core.errors import unknown
from ..propagation import unit_rows
from .core.calibration import found_transition
from .core.embedding_classifier import Embedded
from .core.labels import NEVER, GivenLabels, evidence, fitted_transition, symmetric

NOISE_MODELS = ("none", "symmetric", "full")
START = 0.3  # the rate of noise that the mixture begins with
MOST_UNLABELLED = 20_000  # nodes without a label that the mixture reads; more are represented by as many drawn ones


def class_means(h: Tensor, given: GivenLabels) -> Tensor:
    """The direction of each class's weighted mean, [classes, d]; zero for a class without a label."""
    total = torch.zeros(given.classes, h.shape[1], dtype=h.dtype)
    return unit_rows(total.index_add_(0, given.y, h[given.nodes] * given.weight[:, None]))


@dataclass
class Mixture:
    """One prototype a class on the unit sphere, and T[i, j] = P(given = j | true = i)."""

    prototypes: Tensor
    transition: Tensor
    posterior: Tensor  # P(true | node, given label) of the labelled nodes
    rounds: int


def fit_mixture(
    h: Tensor,
    given: GivenLabels,
    *,
    noise: str = "symmetric",
    concentration: float = 20.0,
    unlabelled: float = 0.05,
    rounds: int = 50,
    pseudo: float = 5.0,
    seed: int = 0,
) -> Mixture:
    """Expectation–maximisation of P(h, given) = Σ_c exp(κ h·m_c) T[c, given] / C over unit rows ``h``.

    Starts from the class means, and with ``"none"`` stays there. A node without a label has no factor T and counts
    ``unlabelled``; a trusted label is its class. ``"full"`` learns every entry of T, with ``pseudo`` labels a class of
    what symmetric noise would give; a class without a label keeps out of it.
    """
    classes = given.classes
    means = class_means(h, given)
    hot = F.one_hot(given.y, classes).to(h)
    if noise == "none":
        return Mixture(means, torch.eye(classes), hot, 0)
    mine, weight = h[given.nodes], given.weight[:, None].to(h)
    rest, weight_rest = _unlabelled(h, given, unlabelled, seed)
    absent = ~given.present
    transition, posterior, done = symmetric(START, classes), hot, 0
    while done < rounds:
        done += 1
        logits = concentration * mine @ means.T + evidence(given, transition)
        posterior = logits.masked_fill_(absent, NEVER).softmax(1)
        total = (posterior * weight).T @ mine
        if len(rest):
            spread = (concentration * rest @ means.T).masked_fill_(absent, NEVER).softmax(1)
            total += weight_rest * spread.T @ rest
        before, means = means, unit_rows(total)
        if not bool(given.trusted.all()):
            transition = fitted_transition(posterior, given, math.inf if noise == "symmetric" else pseudo)
        if float((means - before).abs().max()) < 1e-4:
            break
    return Mixture(means, transition, posterior, done)


def _unlabelled(h: Tensor, given: GivenLabels, weight: float, seed: int) -> tuple[Tensor, float]:
    """Rows of nodes without a label, at most so many, and what each counts."""
    if not weight:
        return h[:0], 0.0
    bare = torch.ones(len(h), dtype=torch.bool)
    bare[given.nodes] = False
    rest = bare.nonzero().view(-1)
    if len(rest) > MOST_UNLABELLED:
        weight *= len(rest) / MOST_UNLABELLED
        drawn = torch.randperm(len(rest), generator=torch.Generator().manual_seed(seed))[:MOST_UNLABELLED]
        rest = rest[drawn.sort().values]
    return h[rest], weight


@dataclass(kw_only=True, eq=False, repr=False)
class Prototypes(Embedded):
    """The class whose prototype is nearest, in features that the graph smoothed. No network; seconds.

    Features are smoothed by personalised PageRank and reduced by :class:`pignn.propagation.Embedding`, for which no
    label is needed; each class is one direction there. ``noise="none"`` takes the mean of the given labels' nodes.
    Otherwise expectation–maximisation learns the directions together with the noise, see :func:`fit_mixture`. How sure
    a prediction is, is set by held-out given labels under the noise that was found.

    Fitted: ``transition_`` (P(given | true)), ``posterior_`` (P(true | features, given label) of the nodes in
    ``labelled_``), ``prototypes_``, ``inverse_temperature_`` and ``rounds_``.

    Args:
        noise: the model of the noise: ``"none"``, ``"symmetric"`` or ``"full"`` (every entry of a transition matrix).
        labels: learn from the ``"train"`` labels, or from all ``"train+val"`` ones, of validation nodes too.
        dimensions, alpha, num_hops: of the embedding.
        concentration: κ, how tightly the nodes of a class lie around its prototype.
        unlabelled: what a node without a label counts, beside 1 of a label.
        rounds: of expectation–maximisation, at most.
        class_weight: ``None``, ``"balanced"``, or one number a class.
        directed: propagate along the edges' direction only.
    """

    noise: str = "symmetric"
    concentration: float = 20.0
    unlabelled: float = 0.05
    rounds: int = 50

    @property
    def prototypes_(self) -> Tensor:
        """[classes, dimensions], of length 1."""
        return self.weight_.T / self.concentration

    def _learn(self, h: Tensor, given: GivenLabels) -> Tensor:
        mixture = self._mixture(h, given)
        self.transition_, self.posterior_, self.rounds_ = mixture.transition, mixture.posterior, mixture.rounds
        return self.concentration * mixture.prototypes.T

    def _learn_again(self, h: Tensor, given: GivenLabels) -> Tensor:
        return self.concentration * self._mixture(h, given).prototypes.T

    def _judge(self, given: GivenLabels) -> None:
        if self.noise == "none":  # the means know of no noise; the sharpness must
            self.transition_ = found_transition(self.held_out_, given.y, given.trusted)

    def _mixture(self, h: Tensor, given: GivenLabels) -> Mixture:
        return fit_mixture(
            h,
            given,
            noise=self.noise,
            concentration=self.concentration,
            unlabelled=self.unlabelled,
            rounds=self.rounds,
            seed=int(self.seed),
        )

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors, about = super()._state()
        return tensors, {**about, "rounds": self.rounds_}

    def _set_state(self, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
        super()._set_state(tensors, about)
        self.rounds_ = int(about["rounds"])

    def check_settings(self) -> None:
        super().check_settings()
        if self.noise not in NOISE_MODELS:
            raise unknown("noise model", self.noise, NOISE_MODELS)
        settings.number("concentration", self.concentration)
        settings.number("unlabelled", self.unlabelled)
        settings.whole("rounds", self.rounds, 1)
