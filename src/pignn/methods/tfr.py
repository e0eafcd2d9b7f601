"""TFR."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..backbones import GraphInputs
from ..core.settings import Float, Int, setting
from ..graphs.sparse import SparsityPattern, weighted_spmm
from .core.contrast import sample_row_indices
from .core.learner import Step
from .core.losses import soft_cross_entropy
from .core.network import NetworkMethod
from .core.views import copy_with_random_edges_dropped

DECODER_CHANNELS = 64


class Decoder(nn.Module):
    """Features from the class probabilities p of a node and its neighbors, itself among them.

    e_ij = σ(a·relu(W p_i) + b·relu(V p_j)), message e_ij·U[p_i, p_j], their mean, ReLU, dropout, linear map. The
    confidence of a node is its mean e_ij. All messages are linear in e: two sparse products, no row is gathered.
    """

    def __init__(self, num_classes: int, out_channels: int, dropout: float) -> None:
        super().__init__()
        size = DECODER_CHANNELS
        self.target, self.source = (nn.Linear(num_classes, size, bias=False) for _ in range(2))
        self.target_score, self.source_score = (nn.Linear(size, 1, bias=False) for _ in range(2))
        self.own, self.other = (nn.Linear(num_classes, size, bias=False) for _ in range(2))
        self.out, self.dropout = nn.Linear(size, out_channels), dropout

    def compute_hidden_and_confidence(self, probs: Tensor, adj: SparsityPattern) -> tuple[Tensor, Tensor]:
        """Hidden states and confidence of every node."""
        to, fro = (
            score(m(probs).relu()).view(-1)
            for m, score in ((self.target, self.target_score), (self.source, self.source_score))
        )
        edge = torch.sigmoid(adj.repeat_for_entries(to) + fro[adj.col.long()])
        itself = torch.sigmoid(to + fro)[:, None]
        sources = torch.cat([probs, torch.ones_like(itself)], dim=1)
        total = weighted_spmm(adj, edge, sources) + itself * sources
        total = total / (adj.entries_per_row + 1)[:, None]
        confidence = total[:, -1:]
        hidden = self.own(probs) * confidence + self.other(total[:, :-1])
        return hidden.relu(), confidence.detach().view(-1)

    def decode(self, hidden: Tensor) -> Tensor:
        return self.out(F.dropout(hidden, self.dropout, self.training))


def compute_feature_shares(inputs: GraphInputs, rows: Tensor) -> Tensor:
    """What is to be reconstructed: features as shares of their row; softmax of features that may be negative."""
    x = inputs.select_features(rows)
    if bool((x < 0).any()):
        return x.softmax(1)
    return x / x.sum(1, keepdim=True).clamp(min=1e-12)


@dataclass(kw_only=True, eq=False, repr=False)
class TFR(NetworkMethod):
    """Class probabilities must tell features: a decoder reconstructs them, and says which nodes to learn from.

    TFR, by the authors of NoisyGL. The loss is (1 − q)·CE + β·(cross-entropy between features and what the
    :class:`Decoder` makes of p on a graph without a share of its edges) + q·(cross-entropy of the nodes with the
    highest confidence with their own p, detached), q the agreement with given labels in the step.

    At most ``reconstruct_nodes`` random nodes a step are reconstructed: features of all would be a dense N × F. Their
    program also computes accuracies from true labels in every epoch, to print them.
    """

    reconstruction_weight: float = setting(1.0, Float(), "weight β of the reconstruction of features")
    pseudo_share: float = setting(0.3, Float(max=1), "share of the nodes, by confidence, that learn from themselves")
    edge_drop: float = setting(0.58, Float(max=1, open_max=True), "share of edges that the decoder does without")
    decoder_dropout: float = setting(0.5, Float(max=1, open_max=True), "dropout in the decoder")
    reconstruct_nodes: int = setting(1000, Int(min=1), "most nodes that a step reconstructs")

    def make_networks(self, in_channels: int, num_classes: int, num_nodes: int) -> dict[str, nn.Module]:
        networks = super().make_networks(in_channels, num_classes, num_nodes)
        return {**networks, "decoder": Decoder(num_classes, in_channels, self.decoder_dropout)}

    def objective(self, step: Step) -> Tensor:
        decoder = step.networks["decoder"]
        assert isinstance(decoder, Decoder)
        hidden, confidence = decoder.compute_hidden_and_confidence(
            step.logits_all.softmax(-1), copy_with_random_edges_dropped(step.inputs, self.edge_drop).adj
        )
        rows = sample_row_indices(len(hidden), self.reconstruct_nodes, hidden.device)
        wanted = compute_feature_shares(step.inputs, rows)
        reconstruction = soft_cross_entropy(decoder.decode(hidden[rows]), wanted).mean()
        agrees = (step.logits.argmax(1) == step.y).float()
        q = step.weighted_mean(agrees) / step.weight.sum().clamp(min=1e-12)
        supervised = super().objective(step)
        pseudo = self.compute_entropy_of_most_confident(step.logits_all, confidence)
        return (1 - q) * supervised + self.reconstruction_weight * reconstruction + q * pseudo

    def compute_entropy_of_most_confident(self, logits: Tensor, confidence: Tensor) -> Tensor:
        """The entropy of the most confident nodes, as a cross-entropy with fixed probabilities; 0 if there are none."""
        count = int(len(confidence) * self.pseudo_share)
        if not count:
            return logits.new_zeros(())
        chosen = logits[confidence.topk(count).indices]
        return soft_cross_entropy(chosen, chosen.detach().softmax(-1)).mean()
