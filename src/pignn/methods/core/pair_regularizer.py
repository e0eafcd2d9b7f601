"""The pair regularizer: pair labels from their source, and the two losses made of them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ... import pairs
from ...pairs import PairGraph, PairLabels, PairSample

MAX_EXACT_SECONDS = 60.0  # up to here, all pairs are worth their time
PAIRS_PER_SECOND = 6e8  # visited with their gradient on two ordinary cores


def choose_pair_mode(num_nodes: int, epochs: int) -> tuple[str, str]:
    """``exact`` or ``sampled`` by the time that all pairs would take, and why."""
    seconds = epochs * num_nodes**2 / PAIRS_PER_SECOND
    reason = f"all {num_nodes:,}² pairs would take about {_format_duration(seconds)} on two cores in {epochs} epochs"
    return ("exact" if seconds <= MAX_EXACT_SECONDS else "sampled"), reason


def _format_duration(seconds: float) -> str:
    for size, unit in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds" if seconds >= 2 else f"{seconds:.1f} seconds"


class PairRegularizer:
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
        num_negatives: int | None = None,
        edge_fraction: float = 1.0,
    ) -> None:
        self.graph = graph
        self.source = source
        self.target = target
        self.beta = beta
        self.warmup = warmup
        self.fixed = fixed
        self.num_negatives = num_negatives
        self.edge_fraction = edge_fraction
        self.all_connected = graph
        self.sample: PairSample | None = None
        self.estimates: pairs.EstimatedPairLabels | None = None  # of the step under way

    def draw(self, seed: int) -> None:
        """Before every step: random pairs for both losses of the step, unless all pairs are used.

        They have a generator of their own, so that weights and dropout are the same whether pairs are sampled or not.
        """
        if self.num_negatives is not None:
            generator = torch.Generator().manual_seed(seed)
            if self.edge_fraction < 1:
                self.graph = self.all_connected.sample_edges(self.edge_fraction, generator)
            self.sample = PairSample(self.graph.num_nodes, self.num_negatives, self.graph.edges.col.device, generator)

    def subset(self, nodes: Tensor) -> PairRegularizer:
        """The same for the pairs among some nodes, drawn at random."""
        part = copy.copy(self)
        part.graph, part.num_negatives, part.sample, part.estimates = self.graph.subgraph(nodes), None, None, None
        part.fixed = None if self.fixed is None else self.fixed.subset(nodes)
        return part

    def compute_losses(
        self, h_estimator: Tensor | None, members: Sequence[Tensor], epoch: int, *, compute_value: bool
    ) -> tuple[Tensor | None, Tensor | None]:
        """S of the estimator's embeddings, and β·L_reg of the classifier's in this epoch, summed over its members.

        The embeddings of the estimator give the pair labels of the same step. ``None`` stands for no such loss.
        """
        estimator, pair = None, None
        if h_estimator is not None:
            if members and self._in_one_pass(epoch):
                common: dict[str, Any] = {"target": self.target, "beta": self.beta, "compute_value": compute_value}
                estimator, pair = pairs.structure_and_regularizer(h_estimator, members[0], self.graph, **common)
                members = members[1:]
                self.estimates = pairs.EstimatedPairLabels(h_estimator)
            else:
                estimator = self._estimator_loss(h_estimator, compute_value=compute_value)
        for h in members:
            more = self._classifier_loss(h, epoch, compute_value=compute_value)
            if more is not None:
                pair = more if pair is None else pair + more
        return estimator, pair

    def _in_one_pass(self, epoch: int) -> bool:
        return self.sample is None and self.fixed is None and self.source == "estimated" and epoch > self.warmup

    def _estimator_loss(self, h_estimator: Tensor, *, compute_value: bool) -> Tensor:
        self.estimates = pairs.EstimatedPairLabels(h_estimator)
        common: dict[str, Any] = {"compute_value": compute_value, "sample": self.sample, "estimates": self.estimates}
        return pairs.structure_loss(h_estimator, self.graph, **common)

    def _classifier_loss(self, h: Tensor, epoch: int, *, compute_value: bool) -> Tensor | None:
        warming = epoch <= self.warmup
        common: dict[str, Any] = {"beta": self.beta, "compute_value": compute_value, "sample": self.sample}
        if self.source == "connectivity" or (warming and self.target == "masked"):
            return pairs.structure_loss(h, self.graph, **common)
        if warming:
            return None
        labels = self.fixed or self.estimates or pairs.EstimatedPairLabels(h)
        return pairs.regularizer(h, labels, self.graph, target=self.target, **common)


def build_fixed_labels(
    source: str, graph: PairGraph, *, seed: int, rank: int, y: Tensor, y_true: Tensor | None
) -> PairLabels | None:
    """The sources that do not change while networks learn; ``None`` for the others."""
    if source == "random":
        return pairs.RandomPairLabels(graph.num_nodes, seed, device=str(graph.row.device))
    if source == "given":
        return pairs.AgreementPairLabels(y)
    if source == "true":
        assert y_true is not None
        return pairs.AgreementPairLabels(y_true.to(torch.int64))
    if source == "low-rank":
        return pairs.LowRankPairLabels(graph, rank)
    return None
