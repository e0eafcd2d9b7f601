"""A noise layer on top of the classifier."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..training import Phase
from .core.learner import Step, Task
from .core.losses import noisy_cross_entropy
from .correction import Corrected


class NoiseLayer(nn.Module):
    """T = softmax(B), row by row, learnt."""

    ready: Tensor

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.logits = nn.Parameter(torch.zeros(classes, classes))
        self.register_buffer("ready", torch.tensor(False))

    def forward(self) -> Tensor:
        return self.logits.softmax(-1)


@dataclass(kw_only=True, eq=False, repr=False)
class SModel(Corrected):
    """The transition matrix is a layer after the softmax and is learnt with the network: −log (softmax(B)ᵀp)_y.

    Goldberger & Ben-Reuven, "Training deep neural-networks using a noise adaptation layer", ICLR 2017 (the simple
    model: T does not depend on the features). It begins at the estimated, or the given, transition matrix;
    ``transition_`` is where it began.
    """

    def make_networks(self, width: int, classes: int, nodes: int) -> dict[str, nn.Module]:
        return {**super().make_networks(width, classes, nodes), "noise": NoiseLayer(classes)}

    def optimizer(self, name: str, network: nn.Module) -> torch.optim.Optimizer:
        optimizer = super().optimizer(name, network)
        if name == "noise":  # decay would pull every row towards the uniform one
            optimizer.param_groups[0]["weight_decay"] = 0.0
        return optimizer

    def prepare(self, task: Task, networks: dict[str, nn.Module], phase: Phase) -> None:
        super().prepare(task, networks, phase)
        layer = networks["noise"]
        assert isinstance(layer, NoiseLayer)
        if not layer.ready:  # else it has learnt already: the run is resumed
            layer.logits.data.copy_(self._matrix.clamp(min=1e-3).log())
            layer.ready.fill_(True)

    def objective(self, step: Step) -> Tensor:
        return step.weighted_mean(noisy_cross_entropy(step.logits, step.y, step.networks["noise"](), step.trusted))
