"""Planetoid-T."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..backbones import GraphInputs, initialize_parameters
from ..core.errors import DataError
from ..core.settings import Float, Int, setting
from ..graphs.sparse import SparsityPattern
from ..training import Phase
from .core.learner import Step, Task
from .core.network import NetworkMethod


class NodeEmbeddingClassifier(nn.Module):
    """Classes from the features of a node and from an embedding of its own: x A + e B + b."""

    uses_weights = False

    def __init__(self, num_nodes: int, in_channels: int, out_channels: int, dimensions: int) -> None:
        super().__init__()
        self.features = nn.Parameter(torch.empty(in_channels, out_channels))
        self.embedded = nn.Parameter(torch.empty(dimensions, out_channels))
        self.bias = nn.Parameter(torch.zeros(out_channels))
        initialize_parameters(self)
        self.embedding = nn.Parameter(torch.randn(num_nodes, dimensions) * 0.1)
        self.context = nn.Parameter(torch.randn(num_nodes, dimensions) * 0.1)

    def forward(self, inputs: GraphInputs) -> Tensor:
        if inputs.num_nodes != len(self.embedding):
            raise DataError(
                f"planetoid-t knows the {len(self.embedding)} nodes it was fitted to, and this graph has "
                f"{inputs.num_nodes}; fit it to this one"
            )
        # The embedding learns from contexts alone: through the class loss each labeled node would memorize its label.
        return inputs.features @ self.features + self.embedding.detach() @ self.embedded + self.bias

    def compute_context_loss(self, nodes: Tensor, contexts: Tensor, sign: Tensor) -> Tensor:
        """The mean of −log σ(γ e_i·w_c)."""
        return F.softplus(-sign * (self.embedding[nodes] * self.context[contexts]).sum(-1)).mean()


def sample_walks(edges: SparsityPattern, starts: Tensor, length: int) -> Tensor:
    """Random walks, [starts, length + 1]. A node without neighbors stays where it is."""
    path = [starts]
    for _ in range(length):
        node = path[-1]
        first = edges.crow[node].long()
        count = edges.crow[node + 1].long() - first
        entry = first + (torch.rand(len(node), device=node.device) * count).long()
        neighbor = edges.col[entry.clamp(max=max(edges.num_entries - 1, 0))].long() if edges.num_entries else node
        path.append(torch.where(count > 0, neighbor, node))
    return torch.stack(path, dim=1)


@dataclass(kw_only=True, eq=False, repr=False)
class Planetoid(NetworkMethod):
    """An embedding of each node that predicts its context, and a classifier of features and embedding.

    Yang et al., "Revisiting Semi-Supervised Learning with Graph Embeddings", ICML 2016, the transductive form. A
    context is a node within ``window`` steps of a random walk, or one with the same given label. For each, one that is
    neither is drawn: −log σ(γ e_i·w_c) with γ = ±1. Unlike in the paper, the class loss does not reach the embedding.
    It predicts for the nodes of its own graph only, and has no backbone.
    """

    needs_whole_graph: ClassVar[bool] = True

    dimensions: int = setting(50, Int(min=1), "dimensions of the embedding")
    context_epochs: int = setting(200, Int(min=1), "epochs that learn the embedding from walks alone, at the start")
    num_walks: int = setting(256, Int(min=1), "random walks per step, from random nodes")
    walk_length: int = setting(10, Int(min=1), "steps of a walk")
    window: int = setting(3, Int(min=1), "largest distance of a context along the walk")
    num_label_pairs: int = setting(256, Int(min=1), "pairs of labeled nodes per step")
    context_weight: float = setting(1.0, Float(), "weight of the context loss")

    def make_networks(self, in_channels: int, num_classes: int, num_nodes: int) -> dict[str, nn.Module]:
        networks = super().make_networks(in_channels, num_classes, num_nodes)
        classifier = NodeEmbeddingClassifier(num_nodes, in_channels, num_classes, self.dimensions)
        return {**networks, "classifier": classifier}

    def list_phases(self) -> list[Phase]:
        return [*super().list_phases()[:-1], Phase("context", self.context_epochs, False), *super().list_phases()[-1:]]

    def make_optimizer(self, name: str, network: nn.Module) -> torch.optim.Optimizer:
        optimizer = super().make_optimizer(name, network)
        if isinstance(network, NodeEmbeddingClassifier):  # weight decay is for what classifies
            tables = {id(network.embedding), id(network.context)}
            group = optimizer.param_groups[0]
            group["params"] = [p for p in network.parameters() if id(p) not in tables]
            optimizer.add_param_group({"params": [network.embedding, network.context], "weight_decay": 0.0})
        return optimizer

    def prepare_phase(self, task: Task, networks: dict[str, nn.Module], phase: Phase) -> None:
        self._edges = task.inputs.adj

    def objective(self, step: Step) -> Tensor:
        network = step.networks["classifier"]
        assert isinstance(network, NodeEmbeddingClassifier)
        if step.phase == "context":
            return network.compute_context_loss(*self._sample_walk_pairs_with_signs())
        class_loss = super().objective(step)
        walk_loss = network.compute_context_loss(*self._sample_walk_pairs_with_signs())
        return class_loss + self.context_weight * (
            walk_loss + network.compute_context_loss(*self._sample_label_pairs_with_signs(step))
        )

    def _sample_walk_pairs_with_signs(self) -> tuple[Tensor, Tensor, Tensor]:
        """(nodes, contexts, ±1): contexts on a walk, and as many random nodes."""
        edges, num_nodes = self._edges, self._edges.shape[0]
        device = edges.col.device
        path = sample_walks(edges, torch.randint(num_nodes, (self.num_walks,), device=device), self.walk_length)
        distances = range(1, min(self.window, self.walk_length) + 1)
        nodes = torch.cat([path[:, :-k].reshape(-1) for k in distances])
        contexts = torch.cat([path[:, k:].reshape(-1) for k in distances])
        negatives = torch.randint(num_nodes, contexts.shape, device=device)
        sign = torch.ones(2 * len(nodes), device=device)
        sign[len(nodes) :] = -1
        return nodes.repeat(2), torch.cat([contexts, negatives]), sign

    def _sample_label_pairs_with_signs(self, step: Step) -> tuple[Tensor, Tensor, Tensor]:
        """(nodes, contexts, ±1): pairs of labeled nodes, by whether their given labels are equal."""
        first, second = torch.randint(len(step.y), (2, self.num_label_pairs), device=step.y.device)
        by_label = step.y.argsort(stable=True)
        counts = torch.bincount(step.y, minlength=step.logits.shape[-1])
        offset = counts.cumsum(0) - counts
        draw = torch.rand(len(first), device=first.device)
        same = by_label[offset[step.y[first]] + (draw * counts[step.y[first]]).long()]
        differs = step.y[first] != step.y[second]
        nodes = torch.cat([step.nodes[first], step.nodes[first][differs]])
        contexts = torch.cat([step.nodes[same], step.nodes[second][differs]])
        return nodes, contexts, torch.cat([torch.ones(len(first)), -torch.ones(int(differs.sum()))]).to(first.device)
