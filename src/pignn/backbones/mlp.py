"""Multilayer perceptron: features alone, no graph."""

from __future__ import annotations

from itertools import pairwise

from torch import Tensor
from torch.nn import functional as F

from ..graphs.sparse import SparseFeatures
from .base import Backbone, make_empty_matrix_parameters, make_zero_vector_parameters
from .inputs import GraphInputs
from .scaling import ChunkedFeatures


class MLP(Backbone):
    """Features alone: H ← ReLU(H W + b), no ReLU after the last layer. Dropout between the layers."""

    uses_weights = False

    def create_parameters(self, in_channels: int, out_channels: int) -> None:
        sizes = self.list_input_and_layer_widths(in_channels, out_channels)
        self.weights, self.biases = (
            make_empty_matrix_parameters(pairwise(sizes)),
            make_zero_vector_parameters(sizes[1:]),
        )

    def forward(self, inputs: GraphInputs) -> Tensor:
        h: Tensor | SparseFeatures | ChunkedFeatures = inputs.features
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            if i:
                h = F.dropout(F.relu(h), self.dropout, self.training)  # type: ignore[arg-type]
            h = self.aggregate(inputs, h @ weight) + bias
        return h  # type: ignore[return-value]

    def aggregate(self, inputs: GraphInputs, h: Tensor) -> Tensor:
        """What a layer takes from the neighbors: here nothing."""
        return h
