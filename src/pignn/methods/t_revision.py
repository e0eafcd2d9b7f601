"""T-Revision."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..core.settings import Float, Int, setting
from ..training import Phase
from .core.learner import Step, Task
from .core.network import NetworkMethod


class Revision(nn.Module):
    """T + ΔT with rows normalized to probabilities. T is set once, ΔT is learned."""

    ready: Tensor
    anchored: Tensor

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self.register_buffer("anchored", torch.eye(num_classes))
        self.register_buffer("ready", torch.tensor(False))
        self.slack = nn.Parameter(torch.zeros(num_classes, num_classes))

    def forward(self) -> Tensor:
        raw = (self.anchored + self.slack).clamp(min=1e-6)
        return raw / raw.sum(1, keepdim=True)


def estimate_transition_at_anchors(probs: Tensor, percentile: float) -> Tensor:
    """T from the noisy posterior: row i is that of the node whose p_i is just below the percentile.

    The very largest ones are left out: a network that has memorized noise is surest of those.
    """
    rank = min(len(probs) - 1, max(0, int(percentile / 100 * (len(probs) - 1))))
    anchor_nodes = probs.argsort(dim=0)[rank]  # one per class
    return probs[anchor_nodes]


@dataclass(kw_only=True, eq=False, repr=False)
class TRevision(NetworkMethod):
    """Importance-weighted training with a transition matrix that is itself revised.

    Xia et al., "Are Anchor Points Really Indispensable in Label-Noise Learning?", NeurIPS 2019.
    (1) The classifier learns the given labels: its output is the noisy posterior. (2) T is read off at anchor
    points. (3) It goes on by Σ p_y/((T + ΔT)ᵀp)_y · CE, with a constant p in the weight, while ΔT is learned from
    the same loss through the weight. Rows of T + ΔT stay probabilities.
    """

    posterior_epochs: int = setting(20, Int(min=1), "epochs of step 1, which learns the noisy posterior")
    percentile: float = setting(97.0, Float(max=100), "percentile of p_i at which the anchor of class i is taken")
    slack_lr: float = setting(1e-3, Float(), "learning rate of ΔT")

    def list_phases(self) -> list[Phase]:
        return [
            *super().list_phases()[:-1],
            Phase("posterior", self.posterior_epochs, False),
            *super().list_phases()[-1:],
        ]

    def make_networks(self, in_channels: int, num_classes: int, num_nodes: int) -> dict[str, nn.Module]:
        return {**super().make_networks(in_channels, num_classes, num_nodes), "revision": Revision(num_classes)}

    def make_optimizer(self, name: str, network: nn.Module) -> torch.optim.Optimizer:
        if name == "revision":
            return torch.optim.Adam(network.parameters(), lr=self.slack_lr)
        return super().make_optimizer(name, network)

    def prepare_phase(self, task: Task, networks: dict[str, nn.Module], phase: Phase) -> None:
        revision = networks["revision"]
        assert isinstance(revision, Revision)
        if phase.name != "training" or revision.ready:
            return
        with torch.no_grad():
            probs = networks["classifier"].eval()(task.inputs).softmax(-1)
        revision.anchored.copy_(estimate_transition_at_anchors(probs, self.percentile))
        revision.ready.fill_(True)

    def objective(self, step: Step) -> Tensor:
        loss = self.pointwise(step.logits, step.y)
        if step.phase == "posterior":
            return step.weighted_mean(loss)
        probs = step.logits.detach().softmax(-1)
        noisy_prob = (probs * step.networks["revision"]().t()[step.y]).sum(-1)
        weight = probs.gather(1, step.y[:, None]).view(-1) / noisy_prob.clamp(min=1e-6)
        return step.weighted_mean(loss * weight.where(~step.trusted, 1.0))
