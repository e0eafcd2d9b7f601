"""T-Revision."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..core import validation as settings
from ..training import Phase
from .core.learner import Step, Task
from .core.network import NetworkMethod


class Revision(nn.Module):
    """T + ΔT with its rows made probabilities again; T is found once, ΔT is learnt."""

    ready: Tensor
    anchored: Tensor

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.register_buffer("anchored", torch.eye(classes))
        self.register_buffer("ready", torch.tensor(False))
        self.slack = nn.Parameter(torch.zeros(classes, classes))

    def forward(self) -> Tensor:
        raw = (self.anchored + self.slack).clamp(min=1e-6)
        return raw / raw.sum(1, keepdim=True)


def anchors(probs: Tensor, percentile: float) -> Tensor:
    """T from the noisy posterior: row i is that of the node whose p_i is just below the percentile.

    The very largest ones are left out: a network that has learnt noise by heart is surest of those.
    """
    rank = min(len(probs) - 1, max(0, int(percentile / 100 * (len(probs) - 1))))
    nodes = probs.argsort(dim=0)[rank]  # of each class, the node at that place
    return probs[nodes]


@dataclass(kw_only=True, eq=False, repr=False)
class TRevision(NetworkMethod):
    """Importance-weighted training with a transition matrix that is itself revised.

    Xia et al., "Are Anchor Points Really Indispensable in Label-Noise Learning?", NeurIPS 2019.
    (1) The classifier learns the given labels: its output is the noisy posterior. (2) T is read off at anchor
    points. (3) It goes on by Σ p_y/((T + ΔT)ᵀp)_y · CE, with a constant p in the weight, while ΔT is learnt from
    the same loss through the weight. Rows of T + ΔT stay probabilities.

    Args:
        posterior_epochs: of step 1.
        percentile: of p_i among all nodes, at which the anchor of class i is taken.
        slack_lr: learning rate of ΔT.
    """

    posterior_epochs: int = 20
    percentile: float = 97.0
    slack_lr: float = 1e-3

    def phases(self) -> list[Phase]:
        return [*super().phases()[:-1], Phase("posterior", self.posterior_epochs, False), *super().phases()[-1:]]

    def make_networks(self, width: int, classes: int, nodes: int) -> dict[str, nn.Module]:
        return {**super().make_networks(width, classes, nodes), "revision": Revision(classes)}

    def optimizer(self, name: str, network: nn.Module) -> torch.optim.Optimizer:
        if name == "revision":
            return torch.optim.Adam(network.parameters(), lr=self.slack_lr)
        return super().optimizer(name, network)

    def prepare(self, task: Task, networks: dict[str, nn.Module], phase: Phase) -> None:
        revision = networks["revision"]
        assert isinstance(revision, Revision)
        if phase.name != "training" or revision.ready:
            return
        with torch.no_grad():
            probs = networks["classifier"].eval()(task.inputs).softmax(-1)
        revision.anchored.copy_(anchors(probs, self.percentile))
        revision.ready.fill_(True)

    def objective(self, step: Step) -> Tensor:
        loss = self.pointwise(step.logits, step.y)
        if step.phase == "posterior":
            return step.weighted_mean(loss)
        p = step.logits.detach().softmax(-1)
        given = (p * step.networks["revision"]().t()[step.y]).sum(-1)
        weight = p.gather(1, step.y[:, None]).view(-1) / given.clamp(min=1e-6)
        return step.weighted_mean(loss * weight.where(~step.trusted, 1.0))

    def check_settings(self) -> None:
        super().check_settings()
        settings.whole("posterior_epochs", self.posterior_epochs, 1)
        settings.number("percentile", self.percentile, below=100 + 1e-9)
        settings.number("slack_lr", self.slack_lr)
