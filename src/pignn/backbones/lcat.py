"""Graph attention that learns how far scores read smoothed features, and how far it attends at all."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from .gatv2 import GATv2
from .inputs import GraphInputs

HALF = math.log10(6)  # l for which σ(10^l − 6) is a half


class LCAT(GATv2):
    """Javaloy et al., "Learnable Graph Convolutional Attention Networks" (ICLR 2023), on GATv2 scores.

    Scores read h̃_i = λ₁(h_i + λ₂ Σ_{N(i)} h_j)/(1 + λ₂|N(i)|) in place of both projections h; messages stay as they are
    and share the projection of the sources. λ₁ = σ(10^{l₁} − 6) and λ₂ = σ(10^{2.2 − l₂} − 6) are learned, one each per
    layer, ½ at first: λ₁ = 0 is the mean over neighbors, λ₂ = 0 is GATv2. Edge weights weight the smoothing.

    Another port switches the smoothing off after the first forward pass, so that it is GATv2 and λ is never learned.
    """

    uses_weights = True

    def create_parameters(self, in_channels: int, out_channels: int) -> None:
        super().create_parameters(in_channels, out_channels)
        self.attention_levels = nn.Parameter(torch.full((self.num_layers,), HALF))
        self.smoothing_levels = nn.Parameter(torch.full((self.num_layers,), 2.2 - HALF))

    def compute_keys_and_queries(
        self, inputs: GraphInputs, layer: int, source: Tensor, target: Tensor
    ) -> tuple[Tensor, Tensor]:
        attention = torch.sigmoid(10 ** self.attention_levels[layer] - 6)
        smoothing = torch.sigmoid(10 ** (2.2 - self.smoothing_levels[layer]) - 6)
        h = torch.cat([source, target], dim=1)
        around = (inputs.sum_adj @ h.flatten(1)).view_as(h)
        # In a sampled subgraph each neighbor stands for those that were left out, in the sum and in the degree.
        degree = inputs.degree if inputs.parent_degrees is None else inputs.parent_degrees[0]
        smooth = attention * (h + smoothing * around) / (1 + smoothing * degree)[:, None, None]
        return smooth[:, : source.shape[1]], smooth[:, source.shape[1] :]
