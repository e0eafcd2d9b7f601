"""A linear classifier whose boundaries run where nodes are few, learnt together with how labels go wrong."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ..core import validation as settings
from .core.embedding_classifier import Embedded
from .core.labels import NEVER, GivenLabels, evidence, fitted_transition, symmetric
from .denoised import balanced, denoise, logistic

START = 0.3  # the rate of noise to begin with
ROUNDS = 4  # of learning W and T in turn
STEPS = 12  # of each
MOST_NODES = 4_000  # that tell where nodes are few; of more, as many are drawn
MOST_LABELS = 20_000  # that are learnt from; likewise


def information(logits: Tensor) -> Tensor:
    """I(node; class) = H(mean of p) − mean of H(p): high where every node is sure and all classes are used.

    ``logits`` are [classes, nodes].
    """
    log_p = logits.log_softmax(0)
    p = log_p.exp()
    mean = p.mean(1)
    return (p * log_p).sum(0).mean() - (mean * mean.clamp(min=1e-9).log()).sum()


def separate(
    h: Tensor, given: GivenLabels, start: Tensor, push: float, l2: float, seed: int = 0
) -> tuple[Tensor, Tensor]:
    """(W, T) that maximise Σ log Σ_c p_c T[c, given] + λ·I(node; class) − ½·l2·|W|², p = softmax(h W).

    λ = push·√labels. W begins at ``start``; it and T are learnt in turn. Classes without a label are never used.
    """
    draw = torch.Generator().manual_seed(seed)
    rest = h if len(h) <= MOST_NODES else h[torch.randperm(len(h), generator=draw)[:MOST_NODES]]
    present = given.present
    if len(given.y) > MOST_LABELS:
        given = given.take(torch.randperm(len(given.y), generator=draw)[:MOST_LABELS])
    # Classes along the first dimension: with so few of them, a softmax over the last one takes eight times as long.
    x, rest = (rows.double().t().contiguous() for rows in (h[given.nodes], rest))
    weight = given.weight.double()
    w = start.double().t().contiguous().requires_grad_()
    transition = symmetric(START, given.classes)

    def logits(columns: Tensor) -> Tensor:
        return torch.where(present[:, None], w @ columns, NEVER)

    for _ in range(ROUNDS):
        reach = evidence(given, transition).double().t().contiguous()
        steps = torch.optim.LBFGS([w], max_iter=STEPS, line_search_fn="strong_wolfe")

        def loss(reach: Tensor = reach, steps: torch.optim.Optimizer = steps) -> Tensor:
            steps.zero_grad()
            likely = weight @ (logits(x).log_softmax(0) + reach).logsumexp(0)
            pushed = push * math.sqrt(len(given.y)) * information(logits(rest))
            value = 0.5 * l2 * w.square().sum() - likely - pushed
            value.backward()
            return value

        with torch.enable_grad():
            steps.step(loss)
        with torch.no_grad():
            posterior = (logits(x).log_softmax(0) + reach).softmax(0).t()
        transition = fitted_transition(posterior, given)
    return w.detach().t().contiguous().float(), transition


@dataclass(kw_only=True, eq=False, repr=False)
class LowDensity(Embedded):
    """Boundaries between classes avoid nodes: unlabelled ones say where to cut, labels which side is which. Seconds.

    The embedding is that of ``prototypes``. Beside the likelihood of the given labels under a transition matrix that
    is learnt with it, the classifier maximises the information that a node gives about its class (Krause, Perona and
    Gomes, NeurIPS 2010): that every node is surely of some class, and all classes are used. So labels that lie
    among many of another class are noise rather than a boundary. It begins with what ``denoised`` learns.

    Fitted: ``transition_`` (P(given | true)), ``posterior_`` (P(true | features, given label) of the nodes in
    ``labelled_``), ``inverse_temperature_``.

    Args:
        labels: learn from the ``"train"`` labels, or from all ``"train+val"`` ones, of validation nodes too.
        dimensions, alpha, num_hops: of the embedding.
        push: weight of the information, times the square root of the number of labels.
        l2: of the regularisation, beside a sum over the labels.
        class_weight: ``None``, ``"balanced"``, or one number a class.
        directed: propagate along the edges' direction only.
    """

    push: float = 15.0
    l2: float = 0.3

    def _learn(self, h: Tensor, given: GivenLabels) -> Tensor:
        self._models, posterior = denoise(h, given)
        weight, self.transition_ = self._separated(h, given, posterior)
        scores = torch.where(given.present, h[given.nodes] @ weight, NEVER)
        self.posterior_ = (scores.log_softmax(1) + evidence(given, self.transition_)).softmax(1)
        return weight

    def _learn_again(self, h: Tensor, given: GivenLabels) -> Tensor:
        return self._separated(h, given, denoise(h, given, self._models)[1])[0]

    def _separated(self, h: Tensor, given: GivenLabels, posterior: Tensor) -> tuple[Tensor, Tensor]:
        start = logistic(h[given.nodes], balanced(posterior, given.weight), 1.0)
        return separate(h, given, start, float(self.push), float(self.l2), int(self.seed) % 2**31)

    def check_settings(self) -> None:
        super().check_settings()
        settings.number("push", self.push)
        settings.number("l2", self.l2)
