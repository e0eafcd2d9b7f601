"""Methods that train two networks side by side, each of which selects what the other learns from."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ...backbones import GraphInputs
from .learner import Step
from .network import NetworkMethod


class Committee(nn.Module):
    """Several classifiers as one: separate in training, their mean probability in evaluation."""

    def __init__(self, members: list[nn.Module]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)
        self.uses_weights = getattr(members[0], "uses_weights", True)

    def compute_member_logits(self, inputs: GraphInputs) -> Tensor:
        """Logits of every member, [members, N, classes]."""
        return torch.stack([member(inputs) for member in self.members])

    def forward(self, inputs: GraphInputs) -> Tensor:
        logits = self.compute_member_logits(inputs)
        return logits if self.training else logits.log_softmax(-1).exp().mean(0).clamp(min=1e-12).log()


@dataclass(kw_only=True, eq=False, repr=False)
class TwoNetworkMethod(NetworkMethod):
    """Two networks of one kind with different initial weights. They predict by their mean probability."""

    def make_networks(self, in_channels: int, num_classes: int, num_nodes: int) -> dict[str, nn.Module]:
        networks = super().make_networks(in_channels, num_classes, num_nodes)
        peer = self.build_network(self.backbone, in_channels, num_classes)
        return {**networks, "classifier": Committee([networks["classifier"], peer])}

    def compute_losses_by_network(self, step: Step) -> Tensor:
        """The pointwise loss of each node in each network, [2, n]."""
        num_classes = step.logits.shape[-1]
        return self.pointwise(step.logits.reshape(-1, num_classes), step.y.repeat(2)).view(2, -1)


def build_small_loss_mask(losses: Tensor, share: float, trusted: Tensor) -> Tensor:
    """A mask of the nodes with the smallest losses: a share of all, at least one. Trusted ones come first."""
    count = max(1, round(share * losses.numel())) if losses.numel() else 0
    ranked = torch.where(trusted, -torch.inf, losses.detach())
    mask = torch.zeros_like(trusted)
    mask[ranked.topk(count, largest=False).indices] = True
    return mask | trusted


def compute_forget_share(epoch: int, forget_rate: float, ramp: int) -> float:
    """The share of nodes that an epoch leaves out: from 0 to ``forget_rate``, linearly over ``ramp`` epochs."""
    return forget_rate * min(1.0, epoch / ramp) if ramp else forget_rate
