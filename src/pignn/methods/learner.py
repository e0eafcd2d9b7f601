"""A network method at work on one graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from .. import backbones, pairs
from ..training import Phase
from ..training.batches import Batch, NeighbourSampler, shares
from .regulariser import PairRegulariser

if TYPE_CHECKING:
    from .network import NetworkMethod


@dataclass
class Task:
    """What a method learns from. The truth is not in it."""

    inputs: backbones.Inputs
    y: Tensor
    nodes: Tensor
    weight: Tensor
    num_classes: int


class NetworkLearner:
    """A network method at work on one graph, as the loop sees it."""

    def __init__(
        self,
        method: NetworkMethod,
        task: Task,
        networks: dict[str, nn.Module],
        optimizers: dict[str, torch.optim.Optimizer],
        regulariser: PairRegulariser | None,
    ) -> None:
        self.method = method
        self.task = task
        self.networks = networks
        self.optimizers = optimizers
        self.regulariser = regulariser
        self.estimates = "estimator" in networks
        if method.batch_size is not None:
            self.sampler = NeighbourSampler(task.inputs, method.neighbours)
            # Pairs are learnt from all nodes, classes from the labelled ones alone.
            everybody = torch.arange(task.inputs.num_nodes, device=task.y.device)
            self.pool = task.nodes if regulariser is None else everybody

    def begin(self, phase: Phase) -> None:
        if self.estimates and self.method.schedule == "pretrain" and phase.selects:
            assert self.regulariser is not None
            with torch.no_grad():
                h = self.networks["estimator"].eval()(self.task.inputs)
            self.regulariser.fixed = pairs.Estimated(h)

    def batches(self, phase: Phase, epoch: int) -> Iterator[Batch | None]:
        if self.method.batch_size is None:
            yield None
            return
        for seeds in shares(self.pool, self.method.batch_size, self._seed(phase, epoch)):
            yield self.sampler(seeds)

    def _seed(self, phase: Phase, epoch: int) -> int:
        """Of what is drawn for an epoch: a resumed run, and all processes of one, come to the same."""
        return (int(self.method.seed) * 1_000_003 + 2 * epoch + phase.selects) % 2**63

    def losses(self, phase: Phase, epoch: int, batch: Batch | None, *, value: bool) -> dict[str, Tensor]:
        regulariser = self.regulariser
        if regulariser is not None:
            if batch is None:
                regulariser.draw(self._seed(phase, epoch))
            else:
                regulariser = regulariser.among(batch.seeds)
        inputs = self.task.inputs if batch is None else batch.inputs
        rows = slice(None) if batch is None else slice(batch.seeds.numel())
        terms, h_estimator = {}, None
        if self.estimates and (not phase.selects or self.method.schedule == "joint"):
            assert regulariser is not None
            h_estimator = self.networks["estimator"](inputs)[rows]
            terms["estimator"] = regulariser.estimator_loss(h_estimator, value=value)
        if phase.selects:
            h = self.networks["classifier"](inputs)[rows]
            terms["class"] = self._class_loss(h, batch)
            if regulariser is not None:
                pair = regulariser.loss(h, epoch, h_estimator, value=value)
                if pair is not None:
                    terms["pair"] = pair
        return terms

    def _class_loss(self, h: Tensor, batch: Batch | None) -> Tensor:
        """Weighted mean over the training nodes; of a batch, the estimate of it that its nodes give."""
        task = self.task
        if batch is None:
            each = self.method.pointwise(h[task.nodes], task.y[task.nodes])
            return (task.weight[task.nodes] * each).sum()
        labelled = (task.y[batch.seeds] >= 0).nonzero().view(-1)
        nodes = batch.seeds[labelled]
        each = self.method.pointwise(h[labelled], task.y[nodes])
        return (task.weight[nodes] * each).sum() * (self.pool.numel() / batch.seeds.numel())

    def outputs(self) -> Tensor:
        return self.networks["classifier"](self.task.inputs)
