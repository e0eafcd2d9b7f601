"""Methods that train two networks side by side, each of which tells the other what to learn from."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ...backbones import GraphInputs
from .learner import Step
from .network import NetworkMethod


class Committee(nn.Module):
    """Several classifiers as one: apart in training, their mean probability in evaluation."""

    def __init__(self, members: list[nn.Module]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)
        self.uses_weights = getattr(members[0], "uses_weights", True)

    def each(self, graph: GraphInputs) -> Tensor:
        """Logits [k, N, classes]."""
        return torch.stack([member(graph) for member in self.members])

    def forward(self, graph: GraphInputs) -> Tensor:
        h = self.each(graph)
        return h if self.training else h.log_softmax(-1).exp().mean(0).clamp(min=1e-12).log()


@dataclass(kw_only=True, eq=False, repr=False)
class TwoNetworks(NetworkMethod):
    """Two networks of one kind with different first weights. They predict by their mean probability."""

    def make_networks(self, width: int, classes: int, nodes: int) -> dict[str, nn.Module]:
        networks = super().make_networks(width, classes, nodes)
        peer = self.build(self.backbone, width, classes)
        return {**networks, "classifier": Committee([networks["classifier"], peer])}

    def both(self, step: Step) -> Tensor:
        """The pointwise loss of each node in each network, [2, n]."""
        classes = step.logits.shape[-1]
        return self.pointwise(step.logits.reshape(-1, classes), step.y.repeat(2)).view(2, -1)


def small_losses(loss: Tensor, share: float, trusted: Tensor) -> Tensor:
    """The nodes with the smallest losses: a share of all, at least one; trusted ones come first. [n] of bool."""
    count = max(1, round(share * loss.numel())) if loss.numel() else 0
    ranked = torch.where(trusted, -torch.inf, loss.detach())
    chosen = torch.zeros_like(trusted)
    chosen[ranked.topk(count, largest=False).indices] = True
    return chosen | trusted


def forgotten(epoch: int, rate: float, ramp: int) -> float:
    """The share of nodes that is left out in an epoch: from 0 to ``rate`` in a straight line over ``ramp`` epochs."""
    return rate * min(1.0, epoch / ramp) if ramp else rate
