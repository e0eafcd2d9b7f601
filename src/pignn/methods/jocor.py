"""JoCoR."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torch.nn import functional as F

from ..core.settings import Float, Range, setting
from .co_teaching import SmallLossMethod
from .core.committee import build_small_loss_mask
from .core.learner import Step


@dataclass(kw_only=True, eq=False, repr=False)
class JoCoR(SmallLossMethod):
    """Two networks with one loss that also asks them to agree, on the nodes where it is small.

    Wei et al., "Combating Noisy Labels by Agreement: A Joint Training Method with Co-Regularization", CVPR 2020.
    (1 − λ)(CE₁ + CE₂) + λ(KL(p₁‖p₂) + KL(p₂‖p₁)). Nodes are selected as in Co-teaching.
    """

    agreement: float = setting(
        0.1, Float(max=1), "weight λ of the agreement between the two networks", search=Range(0.01, 0.95, log=True)
    )

    def objective(self, step: Step) -> Tensor:
        log_probs = F.log_softmax(step.logits, dim=-1)
        divergence = ((log_probs[0].exp() - log_probs[1].exp()) * (log_probs[0] - log_probs[1])).sum(-1)
        joint = (1 - self.agreement) * self.compute_losses_by_network(step).sum(0) + self.agreement * divergence
        selected = build_small_loss_mask(joint, self.compute_kept_share(step.epoch), step.trusted)
        return step.weighted_mean(joint, selected)
