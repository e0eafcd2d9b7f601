"""Graph attention network."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from ..graphs.sparse import SparseFeatures, SparsityPattern, row_softmax, weighted_spmm
from .base import Backbone, make_empty_matrix_parameters, make_zero_vector_parameters
from .inputs import GraphInputs
from .scaling import ChunkedFeatures


class GAT(Backbone):
    """Veličković et al. (ICLR 2018): 8 heads of 8 units, then one head; ELU; dropout on inputs and attention.

    For every head, H ← Σ_j α_ij (H W)_j + b over the neighbors and the node itself, with α_i the softmax over j of
    LeakyReLU_0.2(a_s·(H W)_j + a_t·(H W)_i). Attention does not use edge weights.
    """

    uses_weights = False
    default_lr = 0.005
    default_hidden_channels = 8
    default_dropout = 0.6

    def __init__(self, in_channels: int, out_channels: int, *, heads: int = 8, **options: Any) -> None:
        self.heads = heads
        super().__init__(in_channels, out_channels, **options)

    def create_parameters(self, in_channels: int, out_channels: int) -> None:
        hidden = (self.heads, self.hidden_channels)
        self.shapes = [*[hidden] * (self.num_layers - 1), (1, out_channels)]  # (heads, channels) of each layer
        widths = [in_channels, *(heads * channels for heads, channels in self.shapes)]
        self.weights = make_empty_matrix_parameters(pairwise(widths))
        self.sources, self.targets = (
            make_empty_matrix_parameters(self.shapes),
            make_empty_matrix_parameters(self.shapes),
        )
        self.biases = make_zero_vector_parameters(widths[1:])

    def forward(self, inputs: GraphInputs) -> Tensor:
        h: Tensor | SparseFeatures | ChunkedFeatures = inputs.features
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            if not isinstance(h, Tensor):
                mapped = h.dropout(self.dropout, self.training) @ weight
            else:
                mapped = F.dropout(h if i == 0 else F.elu(h), self.dropout, self.training) @ weight
            heads = mapped.view(-1, *self.shapes[i])
            by_source, by_target = (heads * self.sources[i]).sum(dim=-1), (heads * self.targets[i]).sum(dim=-1)
            chunks = [
                self._aggregate_by_attention(adj, heads, by_source, by_target[rows])
                for rows, adj in inputs.iter_rows_and_adj_with_self_loops()
            ]
            h = (chunks[0] if len(chunks) == 1 else torch.cat(chunks)) + bias
        return h  # type: ignore[return-value]

    def _aggregate_by_attention(
        self, adj: SparsityPattern, h: Tensor, source_scores: Tensor, target_scores: Tensor
    ) -> Tensor:
        logits = source_scores[adj.col] + adj.repeat_for_entries(target_scores)
        attention = row_softmax(adj, F.leaky_relu(logits, 0.2))
        attention = F.dropout(attention, self.dropout, self.training)
        heads = [
            weighted_spmm(adj, a.contiguous(), x.contiguous())
            for a, x in zip(attention.unbind(1), h.unbind(1), strict=True)
        ]
        return torch.cat(heads, dim=1)
