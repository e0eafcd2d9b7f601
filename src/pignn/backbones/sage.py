"""GraphSAGE with the mean aggregator."""

from __future__ import annotations

from itertools import pairwise

from torch import Tensor
from torch.nn import functional as F

from ..graphs.sparse import SparseFeatures
from .base import Backbone, make_empty_matrix_parameters, make_zero_vector_parameters
from .inputs import GraphInputs
from .scaling import ChunkedFeatures


class GraphSAGE(Backbone):
    """Hamilton et al. (NeurIPS 2017), mean aggregator: H ← ReLU(mean_{N(i)}(H) W_n + H W_s + b).

    Edge weights, if any, weight the mean. Dropout between the layers.
    """

    def create_parameters(self, in_channels: int, out_channels: int) -> None:
        sizes = self.list_input_and_layer_widths(in_channels, out_channels)
        self.neighbor_weights = make_empty_matrix_parameters(pairwise(sizes))
        self.self_weights = make_empty_matrix_parameters(pairwise(sizes))
        self.biases = make_zero_vector_parameters(sizes[1:])

    def forward(self, inputs: GraphInputs) -> Tensor:
        h: Tensor | SparseFeatures | ChunkedFeatures = inputs.features
        layers = zip(self.neighbor_weights, self.self_weights, self.biases, strict=True)
        for i, (neighbor_weight, self_weight, bias) in enumerate(layers):
            if i:
                h = F.dropout(F.relu(h), self.dropout, self.training)  # type: ignore[arg-type]
            # mean(H) W = mean(H W): the product with the narrower matrix comes first.
            h = inputs.mean_adj @ (h @ neighbor_weight) + h @ self_weight + bias
        return h  # type: ignore[return-value]
