"""A trained network as a module of plain tensors: features and edges in, logits out."""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor, nn

from .scaling import FeatureScaling


class EdgeOperator:
    """A matrix with an entry per edge and, perhaps, a diagonal; a product with it is one sum over the edges."""

    def __init__(self, edge_index: Tensor, values: Tensor, diagonal: Tensor | None = None) -> None:
        self.edge_index, self.values, self.diagonal = edge_index, values, diagonal

    def __matmul__(self, h: Tensor) -> Tensor:
        source, target = self.edge_index
        start = torch.zeros_like(h) if self.diagonal is None else self.diagonal[:, None] * h
        return start.index_add(0, target, self.values[:, None] * h[source])


class EdgeListInputs:
    """What networks read of :class:`~pignn.backbones.GraphInputs`, made by operations that ``torch.export`` knows.

    Edges are simple, without self-loops and, unless the model is directed, there in both directions.
    """

    def __init__(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor) -> None:
        self.x = self.features = x
        self.edge_index, self.edge_weight = edge_index, edge_weight
        self.num_nodes = x.shape[0]

    @cached_property
    def degree(self) -> Tensor:
        return self.features.new_zeros(self.features.shape[0]).index_add(0, self.edge_index[1], self.edge_weight)

    @cached_property
    def gcn_adj(self) -> EdgeOperator:
        scale = (1 + self.degree).rsqrt()
        source, target = self.edge_index
        return EdgeOperator(self.edge_index, scale[target] * scale[source] * self.edge_weight, scale.square())

    @cached_property
    def mean_adj(self) -> EdgeOperator:
        share = 1 / self.degree.clamp(min=torch.finfo(self.degree.dtype).tiny)
        return EdgeOperator(self.edge_index, share[self.edge_index[1]] * self.edge_weight)

    @cached_property
    def sum_adj(self) -> EdgeOperator:
        return EdgeOperator(self.edge_index, self.edge_weight)


class ExportableNetwork(nn.Module):
    """A classifier with the scaling of its features: ``forward(x, edge_index, edge_weight)`` gives logits [N, classes].

    Weights are 1 where a graph has none.
    """

    def __init__(self, network: nn.Module, scaling: FeatureScaling | None) -> None:
        super().__init__()
        self.network, self.kind = network, None if scaling is None else scaling.kind
        for name, part in ({} if scaling is None else scaling.tensors()).items():
            self.register_buffer(name, part)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor) -> Tensor:
        if self.kind is not None:
            buffers = dict(self.named_buffers(recurse=False))
            x = FeatureScaling(self.kind, buffers.get("center"), buffers.get("scale")).apply(x)
        logits: Tensor = self.network(EdgeListInputs(x, edge_index, edge_weight))
        return logits
