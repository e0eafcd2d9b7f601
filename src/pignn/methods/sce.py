"""Symmetric cross-entropy."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torch.nn import functional as F

from ..core import validation as settings
from .core.losses import reverse_cross_entropy
from .core.network import NetworkMethod


@dataclass(kw_only=True, eq=False, repr=False)
class SCE(NetworkMethod):
    """Cross-entropy and the same with the two sides exchanged: α·CE + β·RCE.

    Wang et al., "Symmetric Cross Entropy for Robust Learning with Noisy Labels", ICCV 2019.
    RCE = −Σ_c p_c log ȳ_c = 9.21·(1 − p_y), log 0 taken as log 1e-4.

    Args:
        forward: α.
        reverse: β.
    """

    forward: float = 0.1
    reverse: float = 1.0

    def pointwise(self, h: Tensor, y: Tensor) -> Tensor:
        return self.forward * F.cross_entropy(h, y, reduction="none") + self.reverse * reverse_cross_entropy(h, y)

    def check_settings(self) -> None:
        super().check_settings()
        settings.number("forward", self.forward)
        settings.number("reverse", self.reverse)
