"""The pair regulariser: pair labels from their source, and the two losses made of them."""

from __future__ import annotations

import torch
from torch import Tensor

from .. import pairs
from ..pairs import PairGraph, PairLabels


class PairRegulariser:
    """The pair part of a classifier's loss, for one graph.

    During warm-up (epochs ≤ ``warmup``) the classifier gets the plain structure loss under ``masked`` and nothing
    under ``soft``; afterwards pair labels weigh it. Connectivity is the structure loss from first to last.
    """

    def __init__(
        self,
        graph: PairGraph,
        *,
        source: str = "estimated",
        target: str = "masked",
        beta: float | str = "auto",
        warmup: int = 50,
        fixed: PairLabels | None = None,
    ) -> None:
        self.graph = graph
        self.source = source
        self.target = target
        self.beta = beta
        self.warmup = warmup
        self.fixed = fixed

    def estimator_loss(self, h_estimator: Tensor, *, value: bool) -> Tensor:
        return pairs.structure_loss(h_estimator, self.graph, value=value)

    def loss(self, h: Tensor, epoch: int, h_estimator: Tensor | None, *, value: bool) -> Tensor | None:
        """β·L_reg of the classifier's embeddings in this epoch; ``None`` where there is none."""
        warming = epoch <= self.warmup
        if self.source == "connectivity" or (warming and self.target == "masked"):
            return pairs.structure_loss(h, self.graph, beta=self.beta, value=value)
        if warming:
            return None
        labels = self.fixed if self.fixed is not None else pairs.Estimated(h if h_estimator is None else h_estimator)
        return pairs.regularizer(h, labels, self.graph, target=self.target, beta=self.beta, value=value)


def fixed_labels(
    source: str, graph: PairGraph, *, seed: int, rank: int, y: Tensor, y_true: Tensor | None
) -> PairLabels | None:
    """The sources that do not change while networks learn; ``None`` for the others."""
    if source == "random":
        return pairs.Random(graph.num_nodes, seed, device=str(graph.row.device))
    if source == "given":
        return pairs.Compared(y)
    if source == "true":
        assert y_true is not None
        return pairs.Compared(y_true.to(torch.int64))
    if source == "low-rank":
        return pairs.LowRank(graph, rank)
    return None
