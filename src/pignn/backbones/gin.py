"""Graph isomorphism network."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .base import Backbone, make_empty_matrix_parameters, make_zero_vector_parameters
from .inputs import GraphInputs


class GIN(Backbone):
    """Xu et al. (ICLR 2019): H ← ReLU(norm(((1 + ε)H + Σ_{N(i)} H) W + b)), one learned ε per layer.

    The last layer has neither normalization nor ReLU. Edge weights, if any, weight the sum. Batch normalization keeps
    the sums of large neighborhoods in range. Dropout between the layers.
    """

    def create_parameters(self, in_channels: int, out_channels: int) -> None:
        sizes = self.list_input_and_layer_widths(in_channels, out_channels)
        self.weights, self.biases = (
            make_empty_matrix_parameters(pairwise(sizes)),
            make_zero_vector_parameters(sizes[1:]),
        )
        self.eps = nn.Parameter(torch.zeros(self.num_layers))
        self.norms = nn.ModuleList(nn.BatchNorm1d(size) for size in sizes[1:-1])

    def forward(self, inputs: GraphInputs) -> Tensor:
        h = inputs.features
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            if i:
                h = F.dropout(F.relu(self.norms[i - 1](h)), self.dropout, self.training)
            mapped = h @ weight  # Σ(H)W = Σ(HW): the product with the narrower matrix comes first
            h = (1 + self.eps[i]) * mapped + inputs.sum_adj @ mapped + bias
        return h  # type: ignore[return-value]
