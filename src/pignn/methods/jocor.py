"""JoCoR."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torch.nn import functional as F

from ..core import validation as settings
from .co_teaching import SmallLosses
from .core.committee import small_losses
from .core.learner import Step


@dataclass(kw_only=True, eq=False, repr=False)
class JoCoR(SmallLosses):
    """Two networks with one loss that also asks them to agree, on the nodes where it is small.

    Wei et al., "Combating Noisy Labels by Agreement: A Joint Training Method with Co-Regularization", CVPR 2020.
    (1 − λ)(CE₁ + CE₂) + λ(KL(p₁‖p₂) + KL(p₂‖p₁)); nodes are picked as in Co-teaching.

    Args:
        agreement: λ.
    """

    agreement: float = 0.9

    def objective(self, step: Step) -> Tensor:
        logs = F.log_softmax(step.logits, dim=-1)
        divergence = ((logs[0].exp() - logs[1].exp()) * (logs[0] - logs[1])).sum(-1)
        joint = (1 - self.agreement) * self.both(step).sum(0) + self.agreement * divergence
        return step.weighted_mean(joint, small_losses(joint, self.share(step.epoch), step.trusted))

    def check_settings(self) -> None:
        super().check_settings()
        settings.number("agreement", self.agreement, below=1 + 1e-9)
