"""Label propagation and meta learning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..backbones import GraphInputs
from ..core import validation as settings
from ..core.errors import DataError
from ..graphs.sparse import SparseFeatures
from ..training import Phase
from .core.learner import Step, Task
from .core.network import NetworkMethod

FAR = 1e-2  # half the distance over which a derivative is taken


class Mixer(nn.Module):
    """λ in [0, 1] from a node's two losses, by a network 2 → 64 → 1."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, losses: Tensor) -> Tensor:
        return self.layers(losses).view(-1).sigmoid()


def similar_edges(inputs: GraphInputs) -> Tensor:
    """The cosine of the features at both ends of every edge, at least a little, one value an entry of the pattern."""
    x = inputs.features
    if isinstance(x, SparseFeatures):
        x = inputs.x
    unit = F.normalize(x, dim=1)
    return inputs.adj.products(unit, unit).clamp(min=1e-3)


def propagate(inputs: GraphInputs, y: Tensor, seeds: Tensor, classes: int, alpha: float, num_hops: int) -> Tensor:
    """F ← αŜF + (1 − α)Y from the labels of ``seeds``, Ŝ the row-normalised similarities; the class of each node.

    −1 where no label arrives.
    """
    values = similar_edges(inputs)
    pattern = inputs.adj
    total = torch.segment_reduce(values, "sum", lengths=pattern.counts, initial=0)
    matrix = pattern.matrix(values / pattern.repeat_rows(total.clamp(min=1e-12)))
    start = torch.zeros(inputs.num_nodes, classes, device=y.device)
    start[seeds, y[seeds]] = 1
    f = start
    for _ in range(num_hops):
        f = torch.lerp(start, matrix @ f, alpha)
    top, said = f.max(1)
    return said.where(top > 0, -1)


@dataclass(kw_only=True, eq=False, repr=False)
class LPM(NetworkMethod):
    """Given labels mixed with propagated ones, by shares learnt so that a step helps on the trusted nodes.

    Xia et al., "Towards Robust Graph Neural Networks against Label Noise", 2021 (LPM-1: one trusted node a class).
    Labels of trusted nodes are propagated along edges weighed by similarity. Where the propagated label ŷ is the given
    one it is learnt; elsewhere the loss is λ·CE(ŷ) + (1 − λ)·CE(ȳ), with λ from a small network that sees both losses.
    That network goes down the meta-gradient: how the loss of the trusted nodes, after one step of the classifier,
    depends on λ. With L = Σ w_i(λ_i a_i + (1 − λ_i) b_i) and g' the trusted nodes' gradient at θ − η∇L,
    ∂/∂λ_i = −η w_i g'·∇(a_i − b_i): a derivative along g', taken as a central difference for all nodes at once.

    Args:
        alpha: of the propagation, how much comes from the neighbours.
        num_hops: of the propagation.
        step_size: η of the step that is looked ahead.
        mixer_lr: learning rate of the small network.
    """

    trusted_per_class: ClassVar[int] = 1

    alpha: float = 0.9
    num_hops: int = 50
    step_size: float = 0.1
    mixer_lr: float = 0.003

    def make_networks(self, width: int, classes: int, nodes: int) -> dict[str, nn.Module]:
        return {**super().make_networks(width, classes, nodes), "mixer": Mixer()}

    def optimizer(self, name: str, network: nn.Module) -> torch.optim.Optimizer:
        if name == "mixer":
            return torch.optim.Adam(network.parameters(), lr=self.mixer_lr)
        return super().optimizer(name, network)

    def prepare(self, task: Task, networks: dict[str, nn.Module], phase: Phase) -> None:
        seeds = (task.trusted & (task.y >= 0)).nonzero().view(-1)
        if not seeds.numel():
            raise DataError(
                "lpm needs trusted labels: --trusted COLUMN, or data.trusted_mask in Python, for training nodes"
            )
        said = propagate(task.inputs, task.y, seeds, task.num_classes, self.alpha, self.num_hops)
        self._propagated = said.where((said >= 0) & ~task.trusted, task.y)

    def objective(self, step: Step) -> Tensor:
        other = self._propagated[step.nodes]
        mixed = other != step.y
        ours, theirs = self.pointwise(step.logits, other), self.pointwise(step.logits, step.y)
        share = step.networks["mixer"](torch.stack([ours, theirs], dim=1).detach())
        loss = step.weighted_mean(torch.lerp(theirs, ours, share.detach() * mixed))
        if not bool(step.trusted.any()) or not bool(mixed.any()):
            return loss
        slope = self.meta_gradient(step, other, (share * mixed).detach())
        # Its gradient with respect to λ is the meta-gradient, and its value is 0.
        return loss + ((share - share.detach()) * slope * mixed).sum()

    def meta_gradient(self, step: Step, other: Tensor, share: Tensor) -> Tensor:
        """∂/∂λ_i of the trusted nodes' loss after one step, up to a positive factor common to all; [n]."""
        here: dict[str, Tensor] = dict(step.networks["classifier"].named_parameters())

        def differences(h: Tensor) -> tuple[Tensor, Tensor]:
            ours, theirs = self.pointwise(h, other), self.pointwise(h, step.y)
            return ours - theirs, theirs

        difference, theirs = differences(step.eval_logits())
        ahead = moved(here, _gradient(step.weighted_mean(theirs + share * difference), here), -self.step_size)
        after = self.pointwise(step.eval_logits(ahead)[step.trusted], step.y[step.trusted]).mean()
        direction = _gradient(after, ahead)
        length = sum(float(d.square().sum()) for d in direction) ** 0.5
        if length == 0:
            return torch.zeros_like(difference)
        with torch.no_grad():
            up, down = (
                differences(step.eval_logits(moved(here, direction, sign * FAR / length)))[0] for sign in (1, -1)
            )
        return -step.weight * (up - down) / (2 * FAR)

    def check_settings(self) -> None:
        super().check_settings()
        settings.number("alpha", self.alpha, below=1)
        settings.whole("num_hops", self.num_hops, 1)
        settings.number("step_size", self.step_size)
        settings.number("mixer_lr", self.mixer_lr)


def moved(parameters: dict[str, Tensor], direction: list[Tensor], far: float) -> dict[str, Tensor]:
    """Parameters so far along a direction, to be differentiated anew."""
    pairs = zip(parameters.items(), direction, strict=True)
    return {name: (p.detach() + far * d).requires_grad_() for (name, p), d in pairs}


def _gradient(loss: Tensor, parameters: dict[str, Tensor]) -> list[Tensor]:
    return list(torch.autograd.grad(loss, list(parameters.values()), materialize_grads=True))
