"""Active passive loss."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from ..core.settings import Float, Range, setting
from .core.losses import normalized_cross_entropy, reverse_cross_entropy
from .core.network import NetworkMethod


@dataclass(kw_only=True, eq=False, repr=False)
class APL(NetworkMethod):
    """An active loss that raises the given class and a passive one that lowers the others: α·NCE + β·RCE.

    Ma et al., "Normalized Loss Functions for Deep Learning with Noisy Labels", ICML 2020.
    NCE = log p_y / Σ_c log p_c; RCE = −Σ_c p_c log ȳ_c = 9.21·(1 − p_y), log 0 taken as log 1e-4.
    """

    active: float = setting(
        1.0, Float(), "weight α of the active loss (normalized cross-entropy)", search=Range(0.1, 10.0, log=True)
    )
    passive: float = setting(
        1.0, Float(), "weight β of the passive loss (reverse cross-entropy)", search=Range(0.1, 10.0, log=True)
    )

    def pointwise(self, logits: Tensor, y: Tensor) -> Tensor:
        return self.active * normalized_cross_entropy(logits, y) + self.passive * reverse_cross_entropy(logits, y)
