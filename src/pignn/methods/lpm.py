"""Label propagation and meta learning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..backbones import GraphInputs
from ..core.errors import DataError
from ..core.settings import Float, Int, setting
from ..training import Phase
from .core.learner import Step, Task
from .core.network import NetworkMethod

DIFFERENCE_STEP = 1e-2  # half the distance of the central difference


class Mixer(nn.Module):
    """λ in [0, 1] from a node's two losses, by a network 2 → 64 → 1."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, losses: Tensor) -> Tensor:
        return self.layers(losses).view(-1).sigmoid()


def compute_edge_similarities(inputs: GraphInputs) -> Tensor:
    """The cosine of the features at both ends of every edge, at least 0.001; one value per entry of ``inputs.adj``."""
    unit = F.normalize(inputs.x, dim=1)
    return inputs.adj.compute_dot_products_at_entries(unit, unit).clamp(min=1e-3)


def predict_by_propagating_labels(
    inputs: GraphInputs, y: Tensor, seeds: Tensor, num_classes: int, alpha: float, num_hops: int
) -> Tensor:
    """The class of each node by F ← αŜF + (1 − α)Y from the labels of ``seeds``, Ŝ the row-normalized similarities.

    −1 where no label arrives.
    """
    values = compute_edge_similarities(inputs)
    pattern = inputs.adj
    total = torch.segment_reduce(values, "sum", lengths=pattern.entries_per_row, initial=0)
    matrix = pattern.to_csr(values / pattern.repeat_for_entries(total.clamp(min=1e-12)))
    start = torch.zeros(inputs.num_nodes, num_classes, device=y.device)
    start[seeds, y[seeds]] = 1
    f = start
    for _ in range(num_hops):
        f = torch.lerp(start, matrix @ f, alpha)
    score, predicted = f.max(1)
    return predicted.where(score > 0, -1)


@dataclass(kw_only=True, eq=False, repr=False)
class LPM(NetworkMethod):
    """Given labels mixed with propagated ones, by shares learned so that a step helps on the trusted nodes.

    Xia et al., "Towards Robust Graph Neural Networks against Label Noise", 2021 (LPM-1: one trusted node per class).
    Labels of trusted nodes are propagated along edges weighted by similarity. Where the propagated label ŷ is the given
    one it is learned; elsewhere the loss is λ·CE(ŷ) + (1 − λ)·CE(ȳ), with λ from a small network that sees both losses.
    That network follows the meta-gradient: how the loss of the trusted nodes, after one step of the classifier,
    depends on λ. With L = Σ w_i(λ_i a_i + (1 − λ_i) b_i) and g' the trusted nodes' gradient at θ − η∇L,
    ∂/∂λ_i = −η w_i g'·∇(a_i − b_i): a derivative along g', taken as a central difference for all nodes at once.
    """

    trusted_per_class: ClassVar[int] = 1

    alpha: float = setting(0.9, Float(max=1, open_max=True), "share that comes from the neighbors in the propagation")
    num_hops: int = setting(50, Int(min=1), "number of propagation steps")
    step_size: float = setting(0.1, Float(), "size η of the step that is looked ahead")
    mixer_lr: float = setting(0.003, Float(), "learning rate of the network that mixes both labels")

    def make_networks(self, in_channels: int, num_classes: int, num_nodes: int) -> dict[str, nn.Module]:
        return {**super().make_networks(in_channels, num_classes, num_nodes), "mixer": Mixer()}

    def make_optimizer(self, name: str, network: nn.Module) -> torch.optim.Optimizer:
        if name == "mixer":
            return torch.optim.Adam(network.parameters(), lr=self.mixer_lr)
        return super().make_optimizer(name, network)

    def prepare_phase(self, task: Task, networks: dict[str, nn.Module], phase: Phase) -> None:
        seeds = (task.trusted & (task.y >= 0)).nonzero().view(-1)
        if not seeds.numel():
            raise DataError(
                "lpm needs trusted labels: --trusted COLUMN, or data.trusted_mask in Python, for training nodes"
            )
        labels = predict_by_propagating_labels(task.inputs, task.y, seeds, task.num_classes, self.alpha, self.num_hops)
        self._propagated = labels.where((labels >= 0) & ~task.trusted, task.y)

    def objective(self, step: Step) -> Tensor:
        propagated = self._propagated[step.nodes]
        mixed = propagated != step.y
        propagated_loss, given_loss = self.pointwise(step.logits, propagated), self.pointwise(step.logits, step.y)
        share = step.networks["mixer"](torch.stack([propagated_loss, given_loss], dim=1).detach())
        loss = step.weighted_mean(torch.lerp(given_loss, propagated_loss, share.detach() * mixed))
        if not bool(step.trusted.any()) or not bool(mixed.any()):
            return loss
        slope = self.compute_meta_gradient(step, propagated, (share * mixed).detach())
        # Its gradient with respect to λ is the meta-gradient, and its value is 0.
        return loss + ((share - share.detach()) * slope * mixed).sum()

    def compute_meta_gradient(self, step: Step, propagated: Tensor, share: Tensor) -> Tensor:
        """∂/∂λ_i of the trusted nodes' loss after one step, up to a positive factor common to all; [n]."""
        parameters: dict[str, Tensor] = dict(step.networks["classifier"].named_parameters())

        def compute_difference(logits: Tensor) -> tuple[Tensor, Tensor]:
            given_loss = self.pointwise(logits, step.y)
            return self.pointwise(logits, propagated) - given_loss, given_loss

        difference, given_loss = compute_difference(step.eval_logits())
        gradient = _compute_gradient(step.weighted_mean(given_loss + share * difference), parameters)
        ahead = copy_moved_parameters(parameters, gradient, -self.step_size)
        after = self.pointwise(step.eval_logits(ahead)[step.trusted], step.y[step.trusted]).mean()
        direction = _compute_gradient(after, ahead)
        length = sum(float(d.square().sum()) for d in direction) ** 0.5
        if length == 0:
            return torch.zeros_like(difference)
        with torch.no_grad():
            up, down = (
                compute_difference(step.eval_logits(copy_moved_parameters(parameters, direction, distance)))[0]
                for distance in (DIFFERENCE_STEP / length, -DIFFERENCE_STEP / length)
            )
        return -step.weight * (up - down) / (2 * DIFFERENCE_STEP)


def copy_moved_parameters(parameters: dict[str, Tensor], direction: list[Tensor], distance: float) -> dict[str, Tensor]:
    """The parameters moved along a direction, with gradients of their own."""
    moves = zip(parameters.items(), direction, strict=True)
    return {name: (p.detach() + distance * d).requires_grad_() for (name, p), d in moves}


def _compute_gradient(loss: Tensor, parameters: dict[str, Tensor]) -> list[Tensor]:
    return list(torch.autograd.grad(loss, list(parameters.values()), materialize_grads=True))
