"""APPNP: an MLP whose predictions are smoothed by personalized PageRank."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .inputs import GraphInputs
from .mlp import MLP


class APPNP(MLP):
    """Gasteiger et al. (ICLR 2019): the MLP's output H smoothed by Z ← (1 − α)ÂZ + αH, 10 hops, α = 0.1."""

    uses_weights = True

    def __init__(
        self, in_channels: int, out_channels: int, *, num_hops: int = 10, alpha: float = 0.1, **options: Any
    ) -> None:
        super().__init__(in_channels, out_channels, **options)
        self.num_hops, self.alpha = num_hops, alpha

    def forward(self, inputs: GraphInputs) -> Tensor:
        h = super().forward(inputs)
        z = h
        for _ in range(self.num_hops):
            z = torch.lerp(inputs.gcn_adj @ z, h, self.alpha)
        return z
