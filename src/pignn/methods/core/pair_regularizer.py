"""The pair regularizer: pair labels from their source, and the two losses built on them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ... import pairs
from ...pairs import PairGraph, PairLabels, PairLabelSource, PairSample, PairTarget

MAX_EXACT_SECONDS = 60.0  # up to here, all pairs are worth their time
PAIRS_PER_SECOND = 6e8  # visited with their gradient on two ordinary cores


def choose_pair_mode_and_reason(num_nodes: int, epochs: int) -> tuple[str, str]:
    """``"exact"`` or ``"sampled"``, by the time that all pairs would take, and the reason in words."""
    seconds = epochs * num_nodes**2 / PAIRS_PER_SECOND
    reason = f"all {num_nodes:,}² pairs would take about {_format_duration(seconds)} on two cores in {epochs} epochs"
    return ("exact" if seconds <= MAX_EXACT_SECONDS else "sampled"), reason


def _format_duration(seconds: float) -> str:
    for size, unit in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds" if seconds >= 2 else f"{seconds:.1f} seconds"


@dataclass
class PairRegularizer:
    """The pair part of a classifier's loss, for one graph.

    Args:
        graph: the connected pairs.
        source: where pair labels come from.
        target: the loss of a pair under its label.
        beta: weight of the pair loss, or ``"auto"``.
        strength: what to multiply that with if it is ``"auto"``.
        warmup: the last epoch before pair labels are used. Up to it there is only the structure loss, or none, as the
            target says.
        fixed: pair labels that stay the same in all steps.
        num_negatives: random pairs per node; ``None`` for all pairs.
        edge_fraction: fraction of the connected pairs in a step, where pairs are random.
    """

    graph: PairGraph
    source: PairLabelSource
    target: PairTarget
    beta: float | str = "auto"
    strength: float = 1.0
    warmup: int = 50
    fixed: PairLabels | None = None
    num_negatives: int | None = None
    edge_fraction: float = 1.0

    def __post_init__(self) -> None:
        self.all_connected = self.graph
        self.sample: PairSample | None = None
        self.estimates: pairs.EstimatedPairLabels | None = None  # of the current step

    def compute_step_beta_or_auto(self) -> float | str:
        """The weight of the pair loss over the pairs of this step."""
        return self.graph.c * self.strength if self.beta == "auto" and self.strength < 1 else self.beta

    def draw_and_store_random_pairs(self, seed: int) -> None:
        """Draw the random pairs of a step, for both losses, unless all pairs are used.

        They have a generator of their own, so that weights and dropout are the same whether pairs are sampled or not.
        """
        if self.num_negatives is not None:
            generator = torch.Generator().manual_seed(seed)
            if self.edge_fraction < 1:
                self.graph = self.all_connected.copy_with_sampled_edges(self.edge_fraction, generator)
            self.sample = PairSample(self.graph.num_nodes, self.num_negatives, self.graph.edges.col.device, generator)

    def copy_for_batch_nodes(self, nodes: Tensor) -> PairRegularizer:
        """The regularizer of the pairs among some randomly drawn nodes."""
        part = copy.copy(self)
        part.graph, part.num_negatives, part.sample, part.estimates = (
            self.graph.build_reweighted_subgraph(nodes),
            None,
            None,
            None,
        )
        part.fixed = None if self.fixed is None else self.fixed.subset(nodes)
        return part

    def compute_structure_and_pair_losses(
        self, h_estimator: Tensor | None, members: Sequence[Tensor], epoch: int, *, needs_value: bool
    ) -> tuple[Tensor | None, Tensor | None]:
        """The estimator's structure loss, and the classifier's pair loss, summed over its members.

        The estimator's embeddings give the pair labels of the same step. ``None`` stands for no such loss.
        """
        estimator, pair = None, None
        if h_estimator is not None:
            if members and self._can_share_pass_over_pairs(epoch):
                common: dict[str, Any] = {
                    "target": self.target,
                    "beta": self.compute_step_beta_or_auto(),
                    "needs_value": needs_value,
                }
                estimator, pair = pairs.compute_structure_loss_and_regularizer(
                    h_estimator, members[0], self.graph, **common
                )
                members = members[1:]
                self.estimates = pairs.EstimatedPairLabels(h_estimator)
            else:
                estimator = self._replace_estimates_and_compute_structure_loss(h_estimator, needs_value=needs_value)
        for h in members:
            loss = self._compute_pair_loss_or_none(h, epoch, needs_value=needs_value)
            if loss is not None:
                pair = loss if pair is None else pair + loss
        return estimator, pair

    def _can_share_pass_over_pairs(self, epoch: int) -> bool:
        return self.sample is None and self.fixed is None and self.source.needs_estimator and epoch > self.warmup

    def _replace_estimates_and_compute_structure_loss(self, h_estimator: Tensor, *, needs_value: bool) -> Tensor:
        self.estimates = pairs.EstimatedPairLabels(h_estimator)
        common: dict[str, Any] = {"needs_value": needs_value, "sample": self.sample, "estimates": self.estimates}
        return pairs.structure_loss(h_estimator, self.graph, **common)

    def _compute_pair_loss_or_none(self, h: Tensor, epoch: int, *, needs_value: bool) -> Tensor | None:
        is_warmup = epoch <= self.warmup
        common: dict[str, Any] = {
            "beta": self.compute_step_beta_or_auto(),
            "needs_value": needs_value,
            "sample": self.sample,
        }
        if self.source.is_connectivity or (is_warmup and self.target.uses_structure_in_warmup):
            return pairs.structure_loss(h, self.graph, **common)
        if is_warmup:
            return None
        labels = self.fixed or self.estimates or pairs.EstimatedPairLabels(h)
        return pairs.regularizer(h, labels, self.graph, target=self.target, **common)
