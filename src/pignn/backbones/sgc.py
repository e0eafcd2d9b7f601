"""Simple graph convolution: a linear classifier of propagated features."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .base import Backbone
from .inputs import GraphInputs


class SGC(Backbone):
    """Wu et al. (ICML 2019): Â^K X W + b with Â = D^{-½}(A + I)D^{-½} and K = ``num_layers``; no hidden layer."""

    default_lr = 0.2
    default_dropout = 0.0

    def create_parameters(self, in_channels: int, out_channels: int) -> None:
        self.weight = nn.Parameter(torch.empty(in_channels, out_channels))
        self.bias = nn.Parameter(torch.zeros(out_channels))

    def forward(self, inputs: GraphInputs) -> Tensor:
        h = inputs.features @ self.weight
        for _ in range(self.num_layers):  # Â(X W) = (Â X) W: the narrow matrix is propagated
            h = inputs.gcn_adj @ h
        return h + self.bias
