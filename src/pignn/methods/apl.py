"""Active passive loss."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from ..core import validation as settings
from .core.losses import normalised_cross_entropy, reverse_cross_entropy
from .core.network import NetworkMethod


@dataclass(kw_only=True, eq=False, repr=False)
class APL(NetworkMethod):
    """An active loss that raises the given class and a passive one that lowers the others: α·NCE + β·RCE.

    Ma et al., "Normalized Loss Functions for Deep Learning with Noisy Labels", ICML 2020.
    NCE = log p_y / Σ_c log p_c; RCE = −Σ_c p_c log ȳ_c = 9.21·(1 − p_y), log 0 taken as log 1e-4.

    Args:
        active: α.
        passive: β.
    """

    active: float = 1.0
    passive: float = 1.0

    def pointwise(self, h: Tensor, y: Tensor) -> Tensor:
        return self.active * normalised_cross_entropy(h, y) + self.passive * reverse_cross_entropy(h, y)

    def check_settings(self) -> None:
        super().check_settings()
        settings.number("active", self.active)
        settings.number("passive", self.passive)
