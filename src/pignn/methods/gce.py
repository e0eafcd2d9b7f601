"""Generalized cross-entropy."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..core.settings import Bool, Float, Int, Range, setting
from .core.learner import Step
from .core.network import NetworkMethod


class KeptNodes(nn.Module):
    """The mask of nodes that are learned from; part of the state of a training."""

    kept: Tensor

    def __init__(self, num_nodes: int) -> None:
        super().__init__()
        self.register_buffer("kept", torch.ones(num_nodes, dtype=torch.bool))


@dataclass(kw_only=True, eq=False, repr=False)
class GCE(NetworkMethod):
    """Between cross-entropy (q → 0) and mean absolute error (q = 1): (1 − p_y^q)/q.

    Zhang & Sabuncu, "Generalized Cross Entropy Loss for Training Deep Neural Networks with Noisy Labels", NeurIPS 2018.
    The truncated form leaves out nodes with p_y ≤ k, whose loss is held at (1 − k^q)/q: they have no gradient.
    """

    q: float = setting(
        0.7,
        Float(max=1, open_min=True),
        "exponent between cross-entropy (0) and absolute error (1)",
        search=Range(0.1, 1.0),
    )
    truncated: bool = setting(False, Bool(), "use the truncated form")
    k: float = setting(
        0.5, Float(max=1, open_max=True), "probability of its given label above which the truncated form keeps a node"
    )
    refresh: int = setting(10, Int(min=1), "epochs between two updates of the kept nodes")
    start: int = setting(40, Int(), "epoch of the first update of the kept nodes")

    def pointwise(self, logits: Tensor, y: Tensor) -> Tensor:
        # −expm1(q log p)/q keeps its digits where p is near 1.
        return torch.expm1(-self.q * F.cross_entropy(logits, y, reduction="none")) / -self.q

    def objective(self, step: Step) -> Tensor:
        if not self.truncated:
            return super().objective(step)
        state = step.networks["kept"]
        assert isinstance(state, KeptNodes)
        kept = state.kept
        if step.epoch >= self.start and (step.epoch - self.start) % self.refresh == 0:
            with torch.no_grad():
                label_prob = step.eval_logits().softmax(-1).gather(1, step.y[:, None]).view(-1)
            kept[step.nodes] = (label_prob > self.k) | step.trusted
        mask = kept[step.nodes]
        if not bool(mask.any()):  # nothing would be learned, now and ever after
            mask = torch.ones_like(mask)
        constant = (1 - self.k**self.q) / self.q
        return step.weighted_mean(torch.where(mask, self.pointwise(step.logits, step.y), constant))

    def make_networks(self, in_channels: int, num_classes: int, num_nodes: int) -> dict[str, nn.Module]:
        networks = super().make_networks(in_channels, num_classes, num_nodes)
        return {**networks, "kept": KeptNodes(num_nodes)} if self.truncated else networks
