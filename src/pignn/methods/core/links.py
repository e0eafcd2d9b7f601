"""Links that are not in the graph: candidates, an edge predictor that weighs them, and classifiers that use them.

Nothing here is N × N: candidates are found in tiles and kept as the best few of each node, and products of embeddings
are computed at edges and candidates only.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ... import backbones
from ...backbones import GraphInputs
from ...graphs.sparse import SparsityPattern, dot_products
from .views import copy_with_replaced_edges

PREDICTOR_CHANNELS = 64
TILE_VALUES = 1 << 22  # similarities that are held at once


def find_columns_with_largest_products(row_vectors: Tensor, column_vectors: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The ``k`` columns [m, d] with the largest inner product with each of the rows [n, d], and these products.

    Exact, in tiles of a few million products: indices [n, k] and values [n, k]. Fewer if there are fewer columns.
    """
    k = min(k, len(column_vectors))
    size = max(1, TILE_VALUES // max(len(column_vectors), 1))
    tiles = [(part @ column_vectors.t()).topk(k, dim=1) for part in row_vectors.split(size)]
    if not tiles:
        return torch.empty(0, k, dtype=torch.int64, device=row_vectors.device), row_vectors.new_empty(0, k)
    return torch.cat([tile.indices for tile in tiles]), torch.cat([tile.values for tile in tiles])


def find_pairs_of_similar_nodes(inputs: GraphInputs, row_nodes: Tensor, column_nodes: Tensor, k: int) -> Tensor:
    """Pairs (row node, one of its ``k`` column nodes with the most similar features by cosine), [2, pairs]."""
    x = F.normalize(inputs.x.float(), dim=1)
    nearest, _ = find_columns_with_largest_products(x[row_nodes], x[column_nodes], k)
    return torch.stack([row_nodes[:, None].expand_as(nearest).reshape(-1), column_nodes[nearest].reshape(-1)])


def symmetrize_pairs_without_edges(pairs: Tensor, adj: SparsityPattern) -> Tensor:
    """As :func:`sort_pairs_without_edges`, in both directions."""
    return sort_pairs_without_edges(torch.cat([pairs, pairs.flip(0)], dim=1), adj)


def sort_pairs_without_edges(pairs: Tensor, adj: SparsityPattern) -> Tensor:
    """Pairs [2, n], once each, sorted, without self-pairs and without what ``adj`` has already.

    The first node of a pair is the one that receives the other's messages, as a row of ``adj`` does.
    """
    num_nodes = adj.shape[0]
    keys = (pairs[0] * num_nodes + pairs[1])[pairs[0] != pairs[1]].unique()
    present = adj.row * num_nodes + adj.col.long()  # sorted: a pattern has its columns in order
    keys = keys[~torch.isin(keys, present)]
    return torch.stack([keys // num_nodes, keys % num_nodes])


def reconstruction_loss(z: Tensor, adj: SparsityPattern, num_negatives: int) -> Tensor:
    """N/(P + M) · [Σ_edges (z_i·z_j − 1)² + M · mean over non-edges of (z_i·z_j)²], P edges, M = N·num_negatives/2.

    The mean over all non-edges takes the place of random ones: Σ_ij (z_i·z_j)² = ‖ZᵀZ‖², a thin product.
    """
    num_nodes, num_edges = len(z), adj.num_entries / 2
    at_edges = dot_products(adj, z)
    num_pairs = (num_nodes * (num_nodes - 1) - adj.num_entries) / 2
    others = (z.t() @ z).square().sum() - z.square().sum(1).square().sum() - at_edges.square().sum()
    num_negatives_all = num_nodes * num_negatives / 2 if num_pairs else 0
    negative = num_negatives_all * others.clamp(min=0) / (2 * num_pairs) if num_pairs else z.new_zeros(())
    positive = (at_edges - 1).square().sum() / 2
    return (positive + negative) * num_nodes / max(num_edges + num_negatives_all, 1)


def build_edge_predictor(in_channels: int, init: str) -> nn.Module:
    """A GCN of two layers of 64 units without dropout, whatever the classifier's settings."""
    size = PREDICTOR_CHANNELS
    return backbones.build("gcn", in_channels, size, init=init, hidden_channels=size, num_layers=2, dropout=0.0)


class LinkedGraph:
    """A graph with further links: where they go among the edges, so that their weights can be learned."""

    def __init__(self, adj: SparsityPattern, links: Tensor) -> None:
        num_nodes = adj.shape[0]
        self.links = SparsityPattern.from_row_sorted(links[0], links[1], adj.shape)
        keys = torch.cat([adj.row * num_nodes + adj.col.long(), links[0] * num_nodes + links[1]])
        sorted_keys, self.order = keys.sort()
        self.pattern = SparsityPattern.from_row_sorted(sorted_keys // num_nodes, sorted_keys % num_nodes, adj.shape)
        self.num_edges = adj.num_entries

    def build_inputs(self, inputs: GraphInputs, link_weight: Tensor) -> GraphInputs:
        """The graph with the links: weight 1 or the given one for edges, ``link_weight`` for links."""
        given = link_weight.new_ones(self.num_edges) if inputs.edge_weight is None else inputs.edge_weight
        result = copy_with_replaced_edges(
            inputs, self.pattern, torch.cat([given.to(link_weight), link_weight])[self.order]
        )
        result.directed = True  # links may go one way
        return result


class LinkedClassifier(nn.Module):
    """A classifier on the graph with predicted links; the edge predictor is trained with it.

    The weight of a link is relu(z_i·z_j), or 0 below ``min_weight``, with z the predictor's output. On another graph,
    where links to labeled nodes mean nothing, the given edges are used alone. ``z`` and ``linked``, the graph with its
    links, are those of the last forward pass.
    """

    links: Tensor
    fingerprint: Tensor
    z: Tensor
    linked: GraphInputs

    def __init__(self, predictor: nn.Module, classifier: nn.Module, min_weight: float, *, unit: bool) -> None:
        super().__init__()
        self.predictor, self.classifier = predictor, classifier
        self.min_weight, self.unit = min_weight, unit
        self.uses_weights = getattr(classifier, "uses_weights", True)
        self.register_buffer("links", torch.empty(2, 0, dtype=torch.int64))
        self.register_buffer("fingerprint", torch.zeros(3, dtype=torch.int64))
        self._graph: LinkedGraph | None = None

    def set_training_links(self, inputs: GraphInputs, links: Tensor) -> None:
        """The candidates, as :func:`symmetrize_pairs_without_edges` gives them, of the graph that is learned from."""
        self.links, self.fingerprint, self._graph = links, _compute_edge_fingerprint(inputs), None

    def embed(self, inputs: GraphInputs) -> Tensor:
        """z of every node."""
        z = self.predictor(inputs)
        return F.normalize(z, dim=1) if self.unit else z

    def compute_link_weights(self, pattern: SparsityPattern, z: Tensor) -> Tensor:
        weight = dot_products(pattern, z)
        return weight * (weight >= self.min_weight)

    def add_predicted_links_and_store(self, inputs: GraphInputs) -> GraphInputs:
        """The inputs with the predicted links."""
        self.z = self.embed(inputs)
        self.linked = inputs
        if self.links.numel() and torch.equal(_compute_edge_fingerprint(inputs), self.fingerprint):
            if self._graph is None:
                self._graph = LinkedGraph(inputs.adj, self.links)
            self.linked = self.copy_inputs_with_links_of_graph(self._graph, inputs)
        return self.linked

    def copy_inputs_with_links_of_graph(self, graph: LinkedGraph, inputs: GraphInputs) -> GraphInputs:
        """The inputs with the links of ``graph``, weighed by the last ``z``."""
        weight = self.compute_link_weights(graph.links, self.z)
        if not self.uses_weights:  # what cannot be weighed can be left out
            kept = (weight > 0).nonzero().view(-1)
            graph = LinkedGraph(inputs.adj, torch.stack([graph.links.row, graph.links.col.long()])[:, kept])
            weight = weight[kept]
        return graph.build_inputs(inputs, weight)

    def forward(self, inputs: GraphInputs) -> Tensor:
        return self.classifier(self.add_predicted_links_and_store(inputs))

    def compute_member_logits(self, inputs: GraphInputs) -> Tensor:
        """As :class:`~pignn.methods.core.committee.Committee` has them, or the logits of a single network."""
        compute = getattr(self.classifier, "compute_member_logits", self.classifier)
        return compute(self.add_predicted_links_and_store(inputs))

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        if (links := state_dict.get(f"{prefix}links")) is not None:  # as many as were found
            self.links, self._graph = torch.empty_like(links, device=self.links.device), None
        super()._load_from_state_dict(state_dict, prefix, *args)


def _compute_edge_fingerprint(inputs: GraphInputs) -> Tensor:
    """Numbers that differ for graphs with other edges."""
    adj = inputs.adj
    size = torch.tensor([adj.shape[0], adj.num_entries], device=adj.col.device)
    return torch.cat([size, ((adj.row + 1) * (adj.col.long() * 31 + 7)).sum()[None]])
