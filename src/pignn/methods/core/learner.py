"""A network method at work on one graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch_geometric.data import Data

from ... import backbones, graphs, pairs
from ...core.errors import DataError
from ...training import Phase
from ...training.batches import Batch, iter_batches_of_seed_nodes, make_pyg_or_own_neighbor_sampler
from .labels import GivenLabels, compute_class_weights, mask_labels_of_positive_weight
from .pair_regularizer import PairRegularizer


@dataclass
class Task:
    """What a method learns from. The truth is not in it."""

    inputs: backbones.GraphInputs
    y: Tensor  # [N], the given label of a training node, −1 elsewhere
    nodes: Tensor  # the training nodes with a label
    weight: Tensor  # [N], sums to 1 over ``nodes``
    num_classes: int
    trusted: Tensor  # [N], whether somebody verified the label
    given_labels: GivenLabels  # of validation nodes too, for what is estimated about labels as such

    @classmethod
    def from_data(cls, data: Data, inputs: backbones.GraphInputs, class_weight: str | Sequence[float] | None) -> Task:
        """The given labels of the training nodes, on the device of ``inputs``. Labels of weight 0 are left out."""
        device, classes = inputs.device, graphs.num_classes(data)
        counts = mask_labels_of_positive_weight(data, data.train_mask)
        nodes = counts.nonzero().view(-1).to(device)
        y = torch.where(counts, data.y, -1).to(device)
        trusted = data.get("trusted_mask")
        trusted = torch.zeros_like(data.train_mask) if trusted is None else trusted
        weight = _compute_loss_weights_summing_to_one(data, nodes, class_weight, classes)
        given_labels = GivenLabels.from_data(data, "train+val")
        return cls(inputs, y, nodes, weight, classes, trusted.to(device), given_labels)


def _compute_loss_weights_summing_to_one(
    data: Data, nodes: Tensor, class_weight: str | Sequence[float] | None, num_classes: int
) -> Tensor:
    """The weight of each node's loss, [N]: label_weight × class_weight of training nodes, normalized to sum to 1."""
    y = data.y.to(nodes.device)[nodes]
    weight = torch.ones(nodes.numel(), device=nodes.device)
    if data.get("label_weight") is not None:
        weight = data.label_weight.to(nodes.device)[nodes].clone()
    if class_weight is not None:
        weight *= compute_class_weights(class_weight, y.cpu(), num_classes).to(nodes.device)[y]
    total = weight.sum()
    if not total > 0:
        raise DataError("the weights of all training labels are 0; nothing would be learned")
    return torch.zeros(data.num_nodes, device=nodes.device).index_copy_(0, nodes, weight / total)


@dataclass
class Step:
    """What an objective sees of one step.

    Args:
        epoch: the epoch within the phase.
        phase: the name of the phase.
        nodes: the labeled nodes of the step, [n].
        y: their given labels.
        weight: their weights.
        trusted: whether their labels are trusted.
        logits: the classifier's logits in training mode, [n, classes], or [k, n, classes] of k networks.
        logits_all: the same for all rows of ``inputs``, from the same forward pass.
        inputs: the graph, or the sampled subgraph of a batch. Its first rows are the nodes of the batch, the others
            neighbors of which only a part of the neighborhood is there.
        input_nodes: the node of each row of ``inputs``.
        rows: the rows of the labeled nodes.
        networks: all networks by name.
        eval_logits: computes ``logits`` in evaluation mode, with the networks' own or with other parameters.
    """

    epoch: int
    phase: str
    nodes: Tensor
    y: Tensor
    weight: Tensor
    trusted: Tensor
    logits: Tensor
    logits_all: Tensor
    inputs: backbones.GraphInputs
    input_nodes: Tensor
    rows: Tensor
    networks: dict[str, nn.Module]
    eval_logits: Callable[..., Tensor]

    def forward(
        self, *, x: Tensor | None = None, edge_index: Tensor | None = None, edge_weight: Tensor | None = None
    ) -> Tensor:
        """The classifier's logits of all rows, in training mode, with other features or other edges.

        ``x`` has a row for each row of ``inputs``, and ``edge_index`` numbers these rows.
        """
        return self.networks["classifier"](self.inputs.replace(x=x, edge_index=edge_index, edge_weight=edge_weight))

    def weighted_mean(self, values: Tensor, chosen_mask: Tensor | None = None) -> Tensor:
        """The weighted mean of one number per labeled node, of all or of the chosen ones; 0 if none is chosen."""
        if chosen_mask is None:
            return (self.weight * values).sum()
        weight = self.weight * chosen_mask
        # In a batch the weights of a step are an estimate of 1: a mean over the chosen keeps that scale.
        return (weight * values).sum() * (self.weight.sum() / weight.sum().clamp(min=1e-12))


class LearningMethod(Protocol):
    """What a learner asks of its method."""

    batch_size: int | None
    num_neighbors: Sequence[int]
    schedule: str
    seed: int

    def list_phases(self) -> list[Phase]:
        """What is trained, in order."""

    def prepare_phase(self, task: Task, networks: dict[str, nn.Module], phase: Phase) -> None:
        """Called before a phase."""

    def objective(self, step: Step) -> Tensor:
        """The class loss of one step."""


class NetworkLearner:
    """A network method at work on one graph, as the loop sees it."""

    def __init__(
        self,
        method: LearningMethod,
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
        self.has_estimator = "estimator" in networks and regularizer is not None
        self.age = 0  # epochs that the classifier had learned before this phase
        self.all_nodes = torch.arange(task.inputs.num_nodes, device=task.y.device)
        if method.batch_size is not None:
            self.sampler = make_pyg_or_own_neighbor_sampler(task.inputs, method.num_neighbors)
            # Pairs are learned from all nodes, classes from the labeled ones alone.
            self.pool = task.nodes if regularizer is None else self.all_nodes

    def start_phase(self, phase: Phase) -> None:
        before = self.method.list_phases()
        self.age = sum(p.epochs for p in before[: before.index(phase)] if p.name != "estimator")
        if self.has_estimator and self.method.schedule == "pretrain" and phase.name != "estimator":
            assert self.regularizer is not None
            with torch.no_grad():
                h = self.networks["estimator"].eval()(self.task.inputs.copy_for_chunked_inference())
            self.regularizer.fixed = pairs.EstimatedPairLabels(h)
        self.method.prepare_phase(self.task, self.networks, phase)

    def iter_batches(self, phase: Phase, epoch: int) -> Iterator[Batch | None]:
        if self.method.batch_size is None:
            yield None
            return
        for seeds in iter_batches_of_seed_nodes(self.pool, self.method.batch_size, self._derive_seed(phase, epoch)):
            yield self.sampler(seeds)

    def _derive_seed(self, phase: Phase, epoch: int) -> int:
        """The seed of an epoch's batches and pairs: the same in a resumed run and in all processes."""
        return (int(self.method.seed) * 1_000_003 + 2 * epoch + phase.selects) % 2**63

    def compute_losses(self, phase: Phase, epoch: int, batch: Batch | None, *, needs_value: bool) -> dict[str, Tensor]:
        regularizer = self.regularizer
        if regularizer is not None:
            if batch is None:
                regularizer.draw_and_store_random_pairs(self._derive_seed(phase, epoch))
            else:
                regularizer = regularizer.copy_for_batch_nodes(batch.seeds)
        inputs = self.task.inputs if batch is None else batch.inputs
        rows = slice(None) if batch is None else slice(batch.seeds.numel())
        h_estimator: Tensor | None = None
        members: tuple[Tensor, ...] = ()
        terms = {}
        if self.has_estimator and (phase.name == "estimator" or self.method.schedule == "joint"):
            h_estimator = self.networks["estimator"](inputs)[rows]
        if phase.name != "estimator":
            logits_all = self.networks["classifier"](inputs)
            terms["class"] = self.method.objective(self._build_step(phase, epoch, batch, logits_all))
            h = logits_all[..., rows, :]
            members = h.unbind(0) if h.dim() == 3 else (h,)
        if regularizer is not None:
            estimator, pair = regularizer.compute_structure_and_pair_losses(
                h_estimator, members, self.age + epoch, needs_value=needs_value
            )
            terms |= {name: term for name, term in (("estimator", estimator), ("pair", pair)) if term is not None}
        return terms

    def _build_step(self, phase: Phase, epoch: int, batch: Batch | None, logits_all: Tensor) -> Step:
        """The labeled nodes. Those of a batch are weighted to estimate the mean over all training nodes."""
        task = self.task
        if batch is None:
            inputs, rows, nodes, scale = task.inputs, task.nodes, task.nodes, 1.0
            input_nodes = self.all_nodes
        else:
            inputs, input_nodes = batch.inputs, batch.nodes
            rows = (task.y[batch.seeds] >= 0).nonzero().view(-1)
            nodes, scale = batch.seeds[rows], self.pool.numel() / batch.seeds.numel()

        def eval_logits(parameters: dict[str, Tensor] | None = None) -> Tensor:
            with eval_mode_context(self.networks["classifier"]) as classifier:
                if parameters is not None:
                    return functional_call(classifier, parameters, (inputs,)).index_select(-2, rows)
                compute = getattr(
                    classifier, "compute_member_logits", classifier
                )  # the logits of all members, not their mean
                return compute(inputs).index_select(-2, rows)

        return Step(
            epoch=epoch,
            phase=phase.name,
            nodes=nodes,
            y=task.y[nodes],
            weight=task.weight[nodes] * scale,
            trusted=task.trusted[nodes],
            logits=logits_all.index_select(-2, rows),
            logits_all=logits_all,
            inputs=inputs,
            input_nodes=input_nodes,
            rows=rows,
            networks=self.networks,
            eval_logits=eval_logits,
        )

    def compute_logits(self) -> Tensor:
        # Where batches are drawn, nothing else needs the matrices of the whole graph.
        inputs = self.task.inputs if self.method.batch_size is None else self.task.inputs.copy_for_chunked_inference()
        return self.networks["classifier"](inputs)


class eval_mode_context:
    """``with eval_mode_context(network)``: in evaluation mode inside, in training mode again afterwards."""

    def __init__(self, network: nn.Module) -> None:
        self.network = network

    def __enter__(self) -> nn.Module:
        return self.network.eval()

    def __exit__(self, *_: object) -> None:
        self.network.train()
