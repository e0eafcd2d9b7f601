"""A network method at work on one graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch_geometric.data import Data

from ... import backbones, graphs, pairs
from ...core.errors import DataError
from ...training import Phase
from ...training.batches import Batch, iter_seed_batches, make_neighbor_sampler
from .labels import class_weights, counting
from .pair_regularizer import PairRegularizer

if TYPE_CHECKING:
    from .network import NetworkMethod


@dataclass
class Task:
    """What a method learns from. The truth is not in it."""

    inputs: backbones.GraphInputs
    y: Tensor  # [N], −1 where there is nothing to learn from
    nodes: Tensor  # those with something to learn from
    weight: Tensor  # [N], sums to 1 over ``nodes``
    num_classes: int
    trusted: Tensor  # [N]: somebody verified this label

    @classmethod
    def from_data(cls, data: Data, inputs: backbones.GraphInputs, class_weight: str | Sequence[float] | None) -> Task:
        """The given labels of the training nodes, where ``inputs`` are; those of weight 0 have no say at all."""
        device, classes = inputs.x.device, graphs.num_classes(data)
        counts = counting(data, data.train_mask)
        nodes = counts.nonzero().view(-1).to(device)
        y = torch.where(counts, data.y, -1).to(device)
        trusted = data.get("trusted_mask")
        trusted = torch.zeros_like(data.train_mask) if trusted is None else trusted
        weight = _node_weights(data, nodes, class_weight, classes)
        return cls(inputs, y, nodes, weight, classes, trusted.to(device))


def _node_weights(data: Data, nodes: Tensor, class_weight: str | Sequence[float] | None, classes: int) -> Tensor:
    """How much each node's loss counts: label_weight × class_weight of training nodes, made to sum to 1; [N]."""
    y = data.y.to(nodes.device)[nodes]
    weight = torch.ones(nodes.numel(), device=nodes.device)
    if data.get("label_weight") is not None:
        weight = data.label_weight.to(nodes.device)[nodes].clone()
    if class_weight is not None:
        weight *= class_weights(class_weight, y.cpu(), classes).to(nodes.device)[y]
    total = weight.sum()
    if not total > 0:
        raise DataError("the weights of all training labels are 0; nothing would be learnt")
    return torch.zeros(data.num_nodes, device=nodes.device).index_copy_(0, nodes, weight / total)


@dataclass
class Step:
    """What an objective sees: the labelled nodes of one step, and what the classifier says of them.

    ``logits`` are those in training mode, [n, classes], or [k, n, classes] of a committee of k networks.
    """

    epoch: int
    phase: str
    nodes: Tensor
    y: Tensor
    weight: Tensor
    trusted: Tensor
    logits: Tensor
    networks: dict[str, nn.Module]
    eval_logits: Callable[..., Tensor]  # the same logits in evaluation mode, of these or of other parameters

    def weighted_mean(self, each: Tensor, chosen: Tensor | None = None) -> Tensor:
        """The weighted mean of one number a node, over all or over the chosen ones; 0 where none is chosen."""
        if chosen is None:
            return (self.weight * each).sum()
        weight = self.weight * chosen
        # In a batch the weights of a step are an estimate of 1: a mean over the chosen keeps that scale.
        return (weight * each).sum() * (self.weight.sum() / weight.sum().clamp(min=1e-12))


class NetworkLearner:
    """A network method at work on one graph, as the loop sees it."""

    def __init__(
        self,
        method: NetworkMethod,
        task: Task,
        networks: dict[str, nn.Module],
        optimizers: dict[str, torch.optim.Optimizer],
        regularizer: PairRegularizer | None,
    ) -> None:
        self.method = method
        self.task = task
        self.networks = networks
        self.optimizers = optimizers
        self.regularizer = regularizer
        self.estimates = "estimator" in networks
        self.age = 0  # epochs that the classifier had learnt before this phase
        if method.batch_size is not None:
            self.sampler = make_neighbor_sampler(task.inputs, method.num_neighbors)
            # Pairs are learnt from all nodes, classes from the labelled ones alone.
            everybody = torch.arange(task.inputs.num_nodes, device=task.y.device)
            self.pool = task.nodes if regularizer is None else everybody

    def start_phase(self, phase: Phase) -> None:
        before = self.method.phases()
        self.age = sum(p.epochs for p in before[: before.index(phase)] if p.name != "estimator")
        if self.estimates and self.method.schedule == "pretrain" and phase.name != "estimator":
            assert self.regularizer is not None
            with torch.no_grad():
                h = self.networks["estimator"].eval()(self.task.inputs.as_chunked())
            self.regularizer.fixed = pairs.EstimatedPairLabels(h)
        self.method.prepare(self.task, self.networks, phase)

    def iter_batches(self, phase: Phase, epoch: int) -> Iterator[Batch | None]:
        if self.method.batch_size is None:
            yield None
            return
        for seeds in iter_seed_batches(self.pool, self.method.batch_size, self._seed(phase, epoch)):
            yield self.sampler(seeds)

    def _seed(self, phase: Phase, epoch: int) -> int:
        """Of what is drawn for an epoch: a resumed run, and all processes of one, come to the same."""
        return (int(self.method.seed) * 1_000_003 + 2 * epoch + phase.selects) % 2**63

    def compute_losses(
        self, phase: Phase, epoch: int, batch: Batch | None, *, compute_value: bool
    ) -> dict[str, Tensor]:
        regularizer = self.regularizer
        if regularizer is not None:
            if batch is None:
                regularizer.draw_pairs(self._seed(phase, epoch))
            else:
                regularizer = regularizer.subset(batch.seeds)
        inputs = self.task.inputs if batch is None else batch.inputs
        rows = slice(None) if batch is None else slice(batch.seeds.numel())
        h_estimator: Tensor | None = None
        members: tuple[Tensor, ...] = ()
        terms = {}
        if self.estimates and (phase.name == "estimator" or self.method.schedule == "joint"):
            h_estimator = self.networks["estimator"](inputs)[rows]
        if phase.name != "estimator":
            h = self.networks["classifier"](inputs)[..., rows, :]
            terms["class"] = self.method.objective(self._step(phase, epoch, batch, h))
            members = h.unbind(0) if h.dim() == 3 else (h,)
        if regularizer is not None:
            estimator, pair = regularizer.compute_losses(
                h_estimator, members, self.age + epoch, compute_value=compute_value
            )
            terms |= {name: term for name, term in (("estimator", estimator), ("pair", pair)) if term is not None}
        return terms

    def _step(self, phase: Phase, epoch: int, batch: Batch | None, h: Tensor) -> Step:
        """The labelled nodes; of a batch, weighed so that they estimate the mean over all training nodes."""
        task = self.task
        if batch is None:
            inputs, rows, nodes, scale = task.inputs, task.nodes, task.nodes, 1.0
        else:
            inputs = batch.inputs
            rows = (task.y[batch.seeds] >= 0).nonzero().view(-1)
            nodes, scale = batch.seeds[rows], self.pool.numel() / batch.seeds.numel()

        def eval_logits(parameters: dict[str, Tensor] | None = None) -> Tensor:
            with eval_mode_context(self.networks["classifier"]) as classifier:
                if parameters is not None:
                    return functional_call(classifier, parameters, (inputs,)).index_select(-2, rows)
                every = getattr(classifier, "each", classifier)  # of a committee, not its mean
                return every(inputs).index_select(-2, rows)

        return Step(
            epoch=epoch,
            phase=phase.name,
            nodes=nodes,
            y=task.y[nodes],
            weight=task.weight[nodes] * scale,
            trusted=task.trusted[nodes],
            logits=h.index_select(-2, rows),
            networks=self.networks,
            eval_logits=eval_logits,
        )

    def predict_logits(self) -> Tensor:
        # Where batches are drawn, nothing else needs the matrices of the whole graph.
        inputs = self.task.inputs if self.method.batch_size is None else self.task.inputs.as_chunked()
        return self.networks["classifier"](inputs)


class eval_mode_context:
    """``with eval_mode_context(network)``: in evaluation mode inside, in training mode again afterwards."""

    def __init__(self, network: nn.Module) -> None:
        self.network = network

    def __enter__(self) -> nn.Module:
        return self.network.eval()

    def __exit__(self, *_: object) -> None:
        self.network.train()
