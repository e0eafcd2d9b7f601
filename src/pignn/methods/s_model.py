"""A noise layer on top of the classifier."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..training import Phase
from .core.learner import Step, Task
from .core.losses import compute_forward_corrected_losses
from .correction import TransitionMethod


class NoiseLayer(nn.Module):
    """T = softmax(B) row by row, learned."""

    ready: Tensor

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self.logits = nn.Parameter(torch.zeros(num_classes, num_classes))
        self.register_buffer("ready", torch.tensor(False))

    def forward(self) -> Tensor:
        return self.logits.softmax(-1)


@dataclass(kw_only=True, eq=False, repr=False)
class SModel(TransitionMethod):
    """The transition matrix is a layer after the softmax that is learned with the network: −log (softmax(B)ᵀp)_y.

    Goldberger & Ben-Reuven, "Training deep neural-networks using a noise adaptation layer", ICLR 2017 (the simple
    model: T does not depend on the features). It starts at the estimated or the set transition matrix, which stays in
    ``transition_``.
    """

    def make_networks(self, in_channels: int, num_classes: int, num_nodes: int) -> dict[str, nn.Module]:
        return {**super().make_networks(in_channels, num_classes, num_nodes), "noise": NoiseLayer(num_classes)}

    def make_optimizer(self, name: str, network: nn.Module) -> torch.optim.Optimizer:
        optimizer = super().make_optimizer(name, network)
        if name == "noise":  # decay would pull every row towards the uniform one
            optimizer.param_groups[0]["weight_decay"] = 0.0
        return optimizer

    def prepare_phase(self, task: Task, networks: dict[str, nn.Module], phase: Phase) -> None:
        super().prepare_phase(task, networks, phase)
        layer = networks["noise"]
        assert isinstance(layer, NoiseLayer)
        if not layer.ready:  # else it has learned already: the run is resumed
            layer.logits.data.copy_(self._matrix.clamp(min=1e-3).log())
            layer.ready.fill_(True)

    def objective(self, step: Step) -> Tensor:
        return step.weighted_mean(
            compute_forward_corrected_losses(step.logits, step.y, step.networks["noise"](), step.trusted)
        )
