"""Graph attention whose ranking of neighbors depends on the node that attends."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor
from torch.nn import functional as F

from ..graphs.sparse import SparsityPattern, row_softmax, weighted_spmm
from .base import make_empty_matrix_parameters, make_zero_vector_parameters
from .gat import GAT
from .inputs import GraphInputs


class GATv2(GAT):
    """Brody et al. (ICLR 2022): scores a·LeakyReLU_0.2((H W_s)_j + (H W_t)_i), messages (H W_s)_j.

    Softmax over the neighbors and the node itself, 8 heads of 8 units, then one head; ELU; dropout on inputs and
    attention. Attention does not use edge weights. Memory grows with edges × heads × units.
    """

    def create_parameters(self, in_channels: int, out_channels: int) -> None:
        hidden = (self.heads, self.hidden_channels)
        self.shapes = [*[hidden] * (self.num_layers - 1), (1, out_channels)]  # (heads, channels) of each layer
        widths = [in_channels, *(heads * channels for heads, channels in self.shapes)]
        self.source_weights, self.target_weights = (make_empty_matrix_parameters(pairwise(widths)) for _ in range(2))
        self.scores = make_empty_matrix_parameters(self.shapes)
        self.biases = make_zero_vector_parameters(widths[1:])

    def forward(self, inputs: GraphInputs) -> Tensor:
        h = inputs.features
        for i, bias in enumerate(self.biases):
            if isinstance(h, Tensor):
                h = F.dropout(h if i == 0 else F.elu(h), self.dropout, self.training)
            else:
                h = h.dropout(self.dropout, self.training)
            source, target = ((h @ w[i]).view(-1, *self.shapes[i]) for w in (self.source_weights, self.target_weights))
            keys, queries = self.compute_keys_and_queries(inputs, i, source, target)
            chunks = [
                self._aggregate_by_pair_attention(adj, keys, queries[rows], source, self.scores[i])
                for rows, adj in inputs.iter_rows_and_adj_with_self_loops()
            ]
            h = (chunks[0] if len(chunks) == 1 else torch.cat(chunks)) + bias
        return h  # type: ignore[return-value]

    def compute_keys_and_queries(
        self, inputs: GraphInputs, layer: int, source: Tensor, target: Tensor
    ) -> tuple[Tensor, Tensor]:
        """What scores read of the sources and of the targets: here the messages and the projected targets."""
        return source, target

    def _aggregate_by_pair_attention(
        self, adj: SparsityPattern, keys: Tensor, queries: Tensor, messages: Tensor, score_vector: Tensor
    ) -> Tensor:
        mixed = F.leaky_relu(keys[adj.col] + adj.repeat_for_entries(queries), 0.2)
        attention = F.dropout(row_softmax(adj, (mixed * score_vector).sum(-1)), self.dropout, self.training)
        heads = zip(attention.unbind(1), messages.unbind(1), strict=True)
        return torch.cat([weighted_spmm(adj, a.contiguous(), x.contiguous()) for a, x in heads], dim=1)
