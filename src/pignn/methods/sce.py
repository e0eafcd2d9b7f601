"""Symmetric cross-entropy."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torch.nn import functional as F

from ..core.settings import Float, Range, setting
from .core.losses import reverse_cross_entropy
from .core.network import NetworkMethod


@dataclass(kw_only=True, eq=False, repr=False)
class SCE(NetworkMethod):
    """Cross-entropy plus the same with its two arguments exchanged: α·CE + β·RCE.

    Wang et al., "Symmetric Cross Entropy for Robust Learning with Noisy Labels", ICCV 2019.
    RCE = −Σ_c p_c log ȳ_c = 9.21·(1 − p_y), log 0 taken as log 1e-4.
    """

    forward: float = setting(0.1, Float(), "weight α of the cross-entropy", search=Range(0.01, 10.0, log=True))
    reverse: float = setting(1.0, Float(), "weight β of the reverse cross-entropy")

    def pointwise(self, logits: Tensor, y: Tensor) -> Tensor:
        forward = F.cross_entropy(logits, y, reduction="none")
        return self.forward * forward + self.reverse * reverse_cross_entropy(logits, y)
