"""A linear classifier whose boundaries run where nodes are few, learned together with the label noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ..core.settings import Float, Range, setting
from ..propagation import NodeVectors
from .core.embedding_classifier import EmbeddingClassifier
from .core.labels import (
    IMPOSSIBLE_LOGIT,
    GivenLabels,
    build_symmetric_transition,
    compute_label_log_likelihoods,
    fit_transition,
)
from .denoised import estimate_transitions_and_posterior, fit_logistic_regression, weight_and_balance_targets

INITIAL_NOISE_RATE = 0.3
NUM_ROUNDS = 4  # in which W and T are learned in turn
LBFGS_STEPS = 12  # per round
MAX_NODES = 4_000  # nodes that show where the graph is dense; of more, as many are drawn
MAX_LABELS = 20_000  # labels that are learned from; of more, as many are drawn


def compute_mutual_information(logits: Tensor) -> Tensor:
    """I(node; class) = H(mean of p) − mean of H(p): high if every prediction is certain and all classes are used.

    ``logits`` are [classes, nodes].
    """
    log_p = logits.log_softmax(0)
    p = log_p.exp()
    mean = p.mean(1)
    return (p * log_p).sum(0).mean() - (mean * mean.clamp(min=1e-9).log()).sum()


def fit_weights_and_transition(
    embedded: NodeVectors, given_labels: GivenLabels, start: Tensor, information_weight: float, l2: float, seed: int = 0
) -> tuple[Tensor, Tensor]:
    """(W, T) that maximize Σ log Σ_c p_c T[c, given] + λ·I(node; class) − ½·l2·|W|², p = softmax(h W).

    λ = information_weight·√labels. W starts at ``start``; W and T are learned in turn. Classes without a label are
    never used.
    """
    generator = torch.Generator().manual_seed(seed)
    is_small = len(embedded) <= MAX_NODES
    nodes = torch.arange(len(embedded)) if is_small else torch.randperm(len(embedded), generator=generator)[:MAX_NODES]
    sample = embedded[nodes]
    present = given_labels.labeled_class_mask
    if len(given_labels.y) > MAX_LABELS:
        given_labels = given_labels.subset(torch.randperm(len(given_labels.y), generator=generator)[:MAX_LABELS])
    # Classes along the first dimension: with so few of them, a softmax over the last one takes eight times as long.
    x, sample = (rows.double().t().contiguous() for rows in (embedded[given_labels.nodes], sample))
    weight = given_labels.weight.double()
    w = start.double().t().contiguous().requires_grad_()
    transition = build_symmetric_transition(INITIAL_NOISE_RATE, given_labels.num_classes)

    def compute_logits(columns: Tensor) -> Tensor:
        return torch.where(present[:, None], w @ columns, IMPOSSIBLE_LOGIT)

    for _ in range(NUM_ROUNDS):
        log_noise = compute_label_log_likelihoods(given_labels, transition).double().t().contiguous()
        optimizer = torch.optim.LBFGS([w], max_iter=LBFGS_STEPS, line_search_fn="strong_wolfe")

        def compute_loss(log_noise: Tensor = log_noise, optimizer: torch.optim.Optimizer = optimizer) -> Tensor:
            optimizer.zero_grad()
            likelihood = weight @ (compute_logits(x).log_softmax(0) + log_noise).logsumexp(0)
            information = (
                information_weight * math.sqrt(len(given_labels.y)) * compute_mutual_information(compute_logits(sample))
            )
            value = 0.5 * l2 * w.square().sum() - likelihood - information
            value.backward()
            return value

        with torch.enable_grad():
            optimizer.step(compute_loss)
        with torch.no_grad():
            posterior = (compute_logits(x).log_softmax(0) + log_noise).softmax(0).t()
        transition = fit_transition(posterior, given_labels)
    return w.detach().t().contiguous().float(), transition


@dataclass(kw_only=True, eq=False, repr=False)
class LowDensity(EmbeddingClassifier):
    """Boundaries between classes avoid nodes: unlabeled ones say where to cut, labels which side is which. Seconds.

    The embedding is that of ``prototypes``. Beside the likelihood of the given labels under a transition matrix that
    is learned with it, the classifier maximizes the information that a node gives about its class (Krause, Perona and
    Gomes, NeurIPS 2010): every node certainly belongs to some class, and all classes are used. A label surrounded by
    another class is then treated as noise instead of bending the boundary. It starts from what ``denoised`` learns.
    """

    information_weight: float = setting(
        15.0, Float(), "weight of the information, times the square root of the number of labels"
    )
    l2: float = setting(
        0.3,
        Float(),
        "strength of the L2 penalty, relative to a sum over the labels",
        search=Range(0.01, 10.0, log=True),
    )

    def _fit_weights_and_set_posterior(self, embedded: NodeVectors, given_labels: GivenLabels) -> Tensor:
        self.transitions_, posterior = estimate_transitions_and_posterior(embedded, given_labels, self.transitions_)
        weights, self.transition_ = self._fit_weights_and_transition(embedded, given_labels, posterior)
        scores = torch.where(given_labels.labeled_class_mask, embedded[given_labels.nodes] @ weights, IMPOSSIBLE_LOGIT)
        self.posterior_ = (
            scores.log_softmax(1) + compute_label_log_likelihoods(given_labels, self.transition_)
        ).softmax(1)
        return weights

    def _fit_weights_with_known_transitions(self, embedded: NodeVectors, given_labels: GivenLabels) -> Tensor:
        return self._fit_weights_and_transition(
            embedded, given_labels, estimate_transitions_and_posterior(embedded, given_labels, self.transitions_)[1]
        )[0]

    def _fit_weights_and_transition(
        self, embedded: NodeVectors, given_labels: GivenLabels, posterior: Tensor
    ) -> tuple[Tensor, Tensor]:
        start = fit_logistic_regression(
            embedded[given_labels.nodes], weight_and_balance_targets(posterior, given_labels.weight), 1.0
        )
        weight, seed = float(self.information_weight), int(self.seed) % 2**31
        return fit_weights_and_transition(embedded, given_labels, start, weight, float(self.l2), seed)
