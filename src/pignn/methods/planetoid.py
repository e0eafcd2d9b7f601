"""Planetoid-T."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..backbones import GraphInputs, initialize
from ..core import validation as settings
from ..core.errors import ConfigError, DataError
from ..graphs.sparse import Pattern
from ..training import Phase
from .core.learner import Step, Task
from .core.network import NetworkMethod


class Embedded(nn.Module):
    """Classes from a node's features and from an embedding of its own: x A + e B + b."""

    uses_weights = False

    def __init__(self, nodes: int, inputs: int, outputs: int, dimensions: int) -> None:
        super().__init__()
        self.features = nn.Parameter(torch.empty(inputs, outputs))
        self.embedded = nn.Parameter(torch.empty(dimensions, outputs))
        self.bias = nn.Parameter(torch.zeros(outputs))
        initialize(self)
        self.embedding = nn.Parameter(torch.randn(nodes, dimensions) * 0.1)
        self.context = nn.Parameter(torch.randn(nodes, dimensions) * 0.1)

    def forward(self, graph: GraphInputs) -> Tensor:
        if graph.num_nodes != len(self.embedding):
            raise DataError(
                f"planetoid-t knows the {len(self.embedding)} nodes it was fitted to, and this graph has "
                f"{graph.num_nodes}; fit it to this one"
            )
        # The embedding learns from contexts alone: by the class loss each labelled node would learn its own by heart.
        return graph.features @ self.features + self.embedding.detach() @ self.embedded + self.bias

    def foretold(self, node: Tensor, context: Tensor, sign: Tensor) -> Tensor:
        """The mean of −log σ(γ e_i·w_c)."""
        return F.softplus(-sign * (self.embedding[node] * self.context[context]).sum(-1)).mean()


def walk(edges: Pattern, starts: Tensor, length: int) -> Tensor:
    """Random walks [starts, length + 1]; a node without neighbours stays where it is."""
    steps = [starts]
    for _ in range(length):
        at = steps[-1]
        first = edges.crow[at].long()
        count = edges.crow[at + 1].long() - first
        pick = first + (torch.rand(len(at), device=at.device) * count).long()
        moved = edges.col[pick.clamp(max=max(edges.size - 1, 0))].long() if edges.size else at
        steps.append(torch.where(count > 0, moved, at))
    return torch.stack(steps, dim=1)


@dataclass(kw_only=True, eq=False, repr=False)
class Planetoid(NetworkMethod):
    """An embedding of each node that foretells its context, and a classifier on features and embedding.

    Yang et al., "Revisiting Semi-Supervised Learning with Graph Embeddings", ICML 2016, the transductive form. A
    context is a node within ``window`` steps of a random walk, or one with the same given label; for each, one that is
    neither is drawn: −log σ(γ e_i·w_c) with γ = ±1. Unlike there, the class loss does not reach the embedding. It
    knows the nodes of its graph only, and has no backbone.

    Args:
        dimensions: of the embedding.
        context_epochs: in which the embedding is learnt from walks alone, before the rest.
        walks: that start in each step, at random nodes.
        length: of a walk.
        window: how far a context is along the walk.
        label_contexts: pairs of labelled nodes in each step.
        context: weight of the context loss.
    """

    dimensions: int = 50
    context_epochs: int = 200
    walks: int = 256
    length: int = 10
    window: int = 3
    label_contexts: int = 256
    context: float = 1.0

    def make_networks(self, width: int, classes: int, nodes: int) -> dict[str, nn.Module]:
        networks = super().make_networks(width, classes, nodes)
        return {**networks, "classifier": Embedded(nodes, width, classes, self.dimensions)}

    def phases(self) -> list[Phase]:
        return [*super().phases()[:-1], Phase("context", self.context_epochs, False), *super().phases()[-1:]]

    def optimizer(self, name: str, network: nn.Module) -> torch.optim.Optimizer:
        optimizer = super().optimizer(name, network)
        if isinstance(network, Embedded):  # decay is for what classifies
            tables = {id(network.embedding), id(network.context)}
            group = optimizer.param_groups[0]
            group["params"] = [p for p in network.parameters() if id(p) not in tables]
            optimizer.add_param_group({"params": [network.embedding, network.context], "weight_decay": 0.0})
        return optimizer

    def prepare(self, task: Task, networks: dict[str, nn.Module], phase: Phase) -> None:
        self._edges = task.inputs.adj

    def objective(self, step: Step) -> Tensor:
        network = step.networks["classifier"]
        assert isinstance(network, Embedded)
        if step.phase == "context":
            return network.foretold(*self._near())
        return super().objective(step) + self.context * (
            network.foretold(*self._near()) + network.foretold(*self._alike(step))
        )

    def _near(self) -> tuple[Tensor, Tensor, Tensor]:
        """(nodes, contexts, ±1): contexts on a walk, and as many nodes at random."""
        edges, n = self._edges, self._edges.shape[0]
        device = edges.col.device
        path = walk(edges, torch.randint(n, (self.walks,), device=device), self.length)
        apart = range(1, min(self.window, self.length) + 1)
        node = torch.cat([path[:, :-k].reshape(-1) for k in apart])
        context = torch.cat([path[:, k:].reshape(-1) for k in apart])
        return _with_negatives(node, context, torch.randint(n, context.shape, device=device))

    def _alike(self, step: Step) -> tuple[Tensor, Tensor, Tensor]:
        """(nodes, contexts, ±1): pairs of labelled nodes, by whether their given labels are the same."""
        n = len(step.y)
        one, other = torch.randint(n, (2, self.label_contexts), device=step.y.device)
        by_label = step.y.argsort(stable=True)
        counts = torch.bincount(step.y, minlength=step.logits.shape[-1])
        first = counts.cumsum(0) - counts
        same = by_label[first[step.y[one]] + (torch.rand(len(one), device=one.device) * counts[step.y[one]]).long()]
        differs = step.y[one] != step.y[other]
        node = torch.cat([step.nodes[one], step.nodes[one][differs]])
        context = torch.cat([step.nodes[same], step.nodes[other][differs]])
        return node, context, torch.cat([torch.ones(len(one)), -torch.ones(int(differs.sum()))]).to(one.device)

    def check_settings(self) -> None:
        super().check_settings()
        if self.batch_size is not None:
            raise ConfigError("planetoid-t learns an embedding of every node and has no mini-batches: leave batch_size")
        for name in ("dimensions", "walks", "length", "window", "label_contexts", "context_epochs"):
            settings.whole(name, getattr(self, name), 1)
        settings.number("context", self.context)


def _with_negatives(node: Tensor, context: Tensor, random: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    sign = torch.ones(2 * len(node), device=node.device)
    sign[len(node) :] = -1
    return node.repeat(2), torch.cat([context, random]), sign
