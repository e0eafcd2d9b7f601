"""Backbones whose layers do not see the graph: none of it (MLP), or only a propagation apart from them (SGC, APPNP)."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..graphs.sparse import SparseFeatures

if TYPE_CHECKING:
    from .networks import GraphInputs


class MLP(nn.Module):
    """Features alone: H ← ReLU(H W + b), no ReLU after the last layer. Dropout between the layers."""

    uses_weights = False

    def __init__(
        self, inputs: int, outputs: int, *, hidden_channels: int = 64, num_layers: int = 2, dropout: float = 0.5
    ) -> None:
        super().__init__()
        self.dropout = dropout
        sizes = [inputs, *[hidden_channels] * (num_layers - 1), outputs]
        self.weights = nn.ParameterList(nn.Parameter(torch.empty(a, b)) for a, b in pairwise(sizes))
        self.biases = nn.ParameterList(nn.Parameter(torch.zeros(b)) for b in sizes[1:])

    def forward(self, graph: GraphInputs) -> Tensor:
        h: Tensor | SparseFeatures = graph.features
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            if i:
                h = F.dropout(F.relu(h), self.dropout, self.training)  # type: ignore[arg-type]
            h = self.gathered(graph, h @ weight) + bias
        return h  # type: ignore[return-value]

    def gathered(self, graph: GraphInputs, h: Tensor) -> Tensor:
        """What a node hears of its neighbours in a layer: here nothing."""
        return h


class SGC(nn.Module):
    """Wu et al. (ICML 2019): Â^K X W + b with Â = D^{-½}(A + I)D^{-½}, K the number of layers; none is hidden."""

    uses_weights = True

    def __init__(
        self, inputs: int, outputs: int, *, hidden_channels: int = 0, num_layers: int = 2, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.num_layers = num_layers
        self.dropout = dropout
        self.weight = nn.Parameter(torch.empty(inputs, outputs))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, graph: GraphInputs) -> Tensor:
        h = graph.features @ self.weight
        for _ in range(self.num_layers):  # Â(X W) = (Â X) W: the narrow matrix is propagated
            h = graph.gcn_adj @ h
        return h + self.bias


class APPNP(MLP):
    """Gasteiger et al. (ICLR 2019): the MLP's output H smoothed by Z ← (1 − α)ÂZ + αH, 10 steps, α = 0.1."""

    uses_weights = True

    def __init__(
        self,
        inputs: int,
        outputs: int,
        *,
        hidden_channels: int = 64,
        num_layers: int = 2,
        dropout: float = 0.5,
        num_hops: int = 10,
        alpha: float = 0.1,
    ) -> None:
        super().__init__(inputs, outputs, hidden_channels=hidden_channels, num_layers=num_layers, dropout=dropout)
        self.num_hops = num_hops
        self.alpha = alpha

    def forward(self, graph: GraphInputs) -> Tensor:
        h = super().forward(graph)
        z = h
        for _ in range(self.num_hops):
            z = torch.lerp(graph.gcn_adj @ z, h, self.alpha)
        return z
