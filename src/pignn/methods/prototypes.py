"""Prototypes: one direction per class in an embedding of smoothed features, and a model of the label noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from ..core.settings import Choice, Float, Int, Range, setting
from ..propagation import NodeVectors, scale_rows_to_unit_length
from .core.calibration import estimate_transition_without_trusted_labels
from .core.embedding_classifier import EmbeddingClassifier
from .core.labels import (
    IMPOSSIBLE_LOGIT,
    GivenLabels,
    build_symmetric_transition,
    compute_label_log_likelihoods,
    draw_unlabeled_nodes,
    fit_transition,
)

NOISE_MODELS = ("none", "symmetric", "full")
INITIAL_NOISE_RATE = 0.3
PRIOR_LABELS_PER_CLASS = 5.0  # how many labels the prior of symmetric noise counts as if T is full
MAX_UNLABELED = 20_000  # unlabeled nodes that are read; of more, as many are drawn and count more each
TOLERANCE = 1e-4  # EM ends when no entry of a prototype changes by more


def compute_unit_class_means(embedded: NodeVectors, given_labels: GivenLabels) -> Tensor:
    """The direction of the weighted mean of each class, [classes, d]. Zero for a class without a label."""
    total = torch.zeros(given_labels.num_classes, embedded.shape[1], dtype=embedded.dtype)
    return scale_rows_to_unit_length(
        total.index_add_(0, given_labels.y, embedded[given_labels.nodes] * given_labels.weight[:, None])
    )


@dataclass
class Mixture:
    """One prototype per class on the unit sphere, and T[i, j] = P(given = j | true = i)."""

    prototypes: Tensor
    transition: Tensor
    posterior: Tensor  # P(true | node, given label) of the labeled nodes
    num_rounds: int


def fit_mixture(
    embedded: NodeVectors,
    given_labels: GivenLabels,
    *,
    noise: str = "symmetric",
    concentration: float = 20.0,
    unlabeled_weight: float = 0.05,
    max_rounds: int = 50,
    seed: int = 0,
) -> Mixture:
    """Expectation–maximization of P(h, given) = Σ_c exp(κ h·m_c) T[c, given] / C over unit rows h.

    Starts from the class means, and with ``"none"`` stays there. An unlabeled node has no factor T and counts
    ``unlabeled_weight``; a trusted label is its class. ``"full"`` learns every entry of T, with a prior of symmetric
    noise. A class without a label stays unused.
    """
    means = compute_unit_class_means(embedded, given_labels)
    one_hot = F.one_hot(given_labels.y, given_labels.num_classes).to(embedded.dtype)
    if noise == "none":
        return Mixture(means, torch.eye(given_labels.num_classes), one_hot, 0)
    labeled, weight = embedded[given_labels.nodes], given_labels.weight[:, None].to(embedded.dtype)
    unlabeled, unlabeled_weight = _sample_unlabeled_rows_and_weight(embedded, given_labels, unlabeled_weight, seed)
    absent = ~given_labels.labeled_class_mask
    transition, posterior, num_rounds = (
        build_symmetric_transition(INITIAL_NOISE_RATE, given_labels.num_classes),
        one_hot,
        0,
    )
    while num_rounds < max_rounds:
        num_rounds += 1
        logits = concentration * labeled @ means.T + compute_label_log_likelihoods(given_labels, transition)
        posterior = logits.masked_fill_(absent, IMPOSSIBLE_LOGIT).softmax(1)
        total = (posterior * weight).T @ labeled
        if len(unlabeled):
            soft = (concentration * unlabeled @ means.T).masked_fill_(absent, IMPOSSIBLE_LOGIT).softmax(1)
            total += unlabeled_weight * soft.T @ unlabeled
        before, means = means, scale_rows_to_unit_length(total)
        if not bool(given_labels.trusted.all()):
            prior = math.inf if noise == "symmetric" else PRIOR_LABELS_PER_CLASS
            transition = fit_transition(posterior, given_labels, prior)
        if float((means - before).abs().max()) < TOLERANCE:
            break
    return Mixture(means, transition, posterior, num_rounds)


def _sample_unlabeled_rows_and_weight(
    embedded: NodeVectors, given_labels: GivenLabels, weight: float, seed: int
) -> tuple[Tensor, float]:
    """Rows of unlabeled nodes, at most ``MAX_UNLABELED``, and the weight of each."""
    if not weight:
        return embedded[given_labels.nodes[:0]], 0.0
    nodes = draw_unlabeled_nodes(len(embedded), given_labels, MAX_UNLABELED, seed)
    count = len(embedded) - len(given_labels.nodes)
    return embedded[nodes], weight * max(count / MAX_UNLABELED, 1.0)


@dataclass(kw_only=True, eq=False, repr=False)
class Prototypes(EmbeddingClassifier):
    """The class of the nearest prototype in features that the graph has smoothed. No network; seconds.

    Features are smoothed by personalized PageRank and reduced by :class:`pignn.propagation.Embedding`, which needs no
    label. Each class is one direction there. ``noise="none"`` takes the mean of the labeled nodes. Otherwise
    expectation–maximization learns the directions together with the noise, see :func:`fit_mixture`. The temperature is
    fitted to held-out given labels under the estimated noise.

    After fit, beside the attributes of its base class: ``prototypes_`` and ``num_rounds_``.
    """

    noise: str = setting(
        "symmetric",
        Choice(NOISE_MODELS),
        "model of the label noise; full has a free entry for every pair of classes",
    )
    concentration: float = setting(
        20.0,
        Float(),
        "how tightly the nodes of a class lie around its prototype (κ)",
        search=Range(2.0, 100.0, log=True),
    )
    unlabeled_weight: float = setting(
        0.05,
        Float(),
        "weight of an unlabeled node, beside 1 of a labeled one",
        search=Range(0.005, 0.5, log=True),
    )
    max_rounds: int = setting(50, Int(min=1), "maximum number of rounds of expectation–maximization")

    @property
    def prototypes_(self) -> Tensor:
        """Unit vectors, [classes, dimensions]."""
        return self.weight_.T / self.concentration

    def _fit_weights_and_set_posterior(self, embedded: NodeVectors, given_labels: GivenLabels) -> Tensor:
        mixture = self._fit_mixture(embedded, given_labels)
        self.transition_, self.posterior_, self.num_rounds_ = mixture.transition, mixture.posterior, mixture.num_rounds
        return self.concentration * mixture.prototypes.T

    def _fit_weights_with_known_transitions(self, embedded: NodeVectors, given_labels: GivenLabels) -> Tensor:
        return self.concentration * self._fit_mixture(embedded, given_labels).prototypes.T

    def _set_transition_if_no_noise_model(self, given_labels: GivenLabels) -> None:
        if self.noise == "none":  # class means have no noise model, but the temperature needs one
            self.transition_ = (
                estimate_transition_without_trusted_labels(self.held_out_, given_labels.y, given_labels.trusted)
                if self.transitions_ is None
                else torch.stack(self.transitions_).mean(0)
            )

    def _fit_mixture(self, embedded: NodeVectors, given_labels: GivenLabels) -> Mixture:
        return fit_mixture(
            embedded,
            given_labels,
            noise=self.noise,
            concentration=self.concentration,
            unlabeled_weight=self.unlabeled_weight,
            max_rounds=self.max_rounds,
            seed=int(self.seed),
        )

    def _get_tensors_and_metadata(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors, metadata = super()._get_tensors_and_metadata()
        return tensors, {**metadata, "num_rounds": self.num_rounds_}

    def _set_tensors_and_metadata(self, tensors: dict[str, Tensor], metadata: dict[str, Any]) -> None:
        super()._set_tensors_and_metadata(tensors, metadata)
        self.num_rounds_ = int(metadata["num_rounds"])
