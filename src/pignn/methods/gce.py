"""Generalised cross-entropy."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..core import validation as settings
from ..core.errors import ConfigError
from .core.learner import Step
from .core.network import NetworkMethod


class Kept(nn.Module):
    """Which nodes are learnt from; part of the state of a training."""

    kept: Tensor

    def __init__(self, nodes: int) -> None:
        super().__init__()
        self.register_buffer("kept", torch.ones(nodes, dtype=torch.bool))


@dataclass(kw_only=True, eq=False, repr=False)
class GCE(NetworkMethod):
    """Between cross-entropy (q → 0) and mean absolute error (q = 1): (1 − p_y^q)/q.

    Zhang & Sabuncu, "Generalized Cross Entropy Loss for Training Deep Neural Networks with Noisy Labels", NeurIPS 2018.
    The truncated form leaves out nodes with p_y ≤ k, whose loss is held at (1 − k^q)/q: they have no gradient.

    Args:
        q: in (0, 1].
        truncated: use the truncated form.
        k: the least probability of its label that a node must have.
        refresh: epochs between two looks at which nodes have it.
        start: the epoch of the first look.
    """

    q: float = 0.7
    truncated: bool = False
    k: float = 0.5
    refresh: int = 10
    start: int = 40

    def pointwise(self, h: Tensor, y: Tensor) -> Tensor:
        # −expm1(q log p)/q keeps its digits where p is near 1.
        return torch.expm1(-self.q * F.cross_entropy(h, y, reduction="none")) / -self.q

    def objective(self, step: Step) -> Tensor:
        if not self.truncated:
            return super().objective(step)
        store = step.networks["kept"]
        assert isinstance(store, Kept)
        kept = store.kept
        if step.epoch >= self.start and (step.epoch - self.start) % self.refresh == 0:
            with torch.no_grad():
                own = step.eval_logits().softmax(-1).gather(1, step.y[:, None]).view(-1)
            kept[step.nodes] = (own > self.k) | step.trusted
        chosen = kept[step.nodes]
        if not bool(chosen.any()):  # nothing would be learnt, now and ever after
            chosen = torch.ones_like(chosen)
        left_out = (1 - self.k**self.q) / self.q
        return step.weighted_mean(torch.where(chosen, self.pointwise(step.logits, step.y), left_out))

    def make_networks(self, width: int, classes: int, nodes: int) -> dict[str, nn.Module]:
        networks = super().make_networks(width, classes, nodes)
        return {**networks, "kept": Kept(nodes)} if self.truncated else networks

    def check_settings(self) -> None:
        super().check_settings()
        if not isinstance(self.q, Real) or not 0 < self.q <= 1:
            raise ConfigError(f"q must be above 0 and at most 1, not {self.q!r}")
        settings.flag("truncated", self.truncated)
        settings.number("k", self.k, below=1)
        settings.whole("refresh", self.refresh, 1)
        settings.whole("start", self.start, 0)
