"""A graph convolution with what recent comparisons found to matter."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from .base import Backbone, make_empty_matrix_parameters, make_zero_vector_parameters
from .inputs import GraphInputs


class TunedGCN(Backbone):
    """Luo et al., "Classic GNNs are Strong Baselines" (NeurIPS 2024): a GCN with residuals, normalization and width.

    H ← ReLU(norm(ÂHW + HR + b)) for every layer, then a linear map to the classes; layer normalization, width 256,
    dropout after each layer. The residual lets a node keep its own features where neighbors are of other classes.

    It stands for GPS and other graph transformers here: on the datasets of node classification that comparison finds it
    level with them or ahead, without attention between all pairs of nodes or eigenvectors as positions.
    """

    default_hidden_channels = 256

    def create_parameters(self, in_channels: int, out_channels: int) -> None:
        width = self.hidden_channels
        shapes = [(in_channels, width), *[(width, width)] * (self.num_layers - 1)]
        self.weights, self.residuals = make_empty_matrix_parameters(shapes), make_empty_matrix_parameters(shapes)
        self.biases = make_zero_vector_parameters([width] * self.num_layers)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in shapes)
        self.head, self.head_bias = (
            make_empty_matrix_parameters([(width, out_channels)]),
            make_zero_vector_parameters([out_channels]),
        )

    def forward(self, inputs: GraphInputs) -> Tensor:
        h = inputs.features
        for weight, residual, bias, norm in zip(self.weights, self.residuals, self.biases, self.norms, strict=True):
            mapped = inputs.gcn_adj @ (h @ weight) + h @ residual + bias
            h = F.dropout(F.relu(norm(mapped)), self.dropout, self.training)
        return h @ self.head[0] + self.head_bias[0]
