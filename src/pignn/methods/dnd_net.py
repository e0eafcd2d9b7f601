"""DnD-NeT."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .. import propagation
from ..backbones import GraphInputs
from ..core.settings import Float, Int, setting
from ..graphs.sparse import SparsityPattern, spmm
from ..training import Phase
from .core.learner import Step, Task
from .core.losses import soft_cross_entropy
from .core.network import NetworkMethod

ALPHA, NUM_HOPS = 0.1, 10


class PerturbedMLP(nn.Module):
    """An MLP of smoothed features g, and of g + noise_size·sign(g)·(a learned vector of length 1 per node).

    In training mode the logits of both, [2, N, classes]; in evaluation mode the mean of their probabilities. Only the
    graph that was learned from has vectors; on others g alone is read.
    """

    components: Tensor
    vectors: Tensor

    def __init__(
        self,
        sizes: tuple[int, int, int],
        hidden_channels: int,
        dimensions: int,
        noise_size: float,
        dropout: float,
    ) -> None:
        super().__init__()
        in_channels, num_classes, num_nodes = sizes
        self.first, self.second = nn.Linear(dimensions, hidden_channels), nn.Linear(hidden_channels, num_classes)
        self.noise = nn.Parameter(torch.randn(num_nodes, dimensions))
        self.register_buffer("components", torch.zeros(in_channels, dimensions))
        self.noise_size, self.dropout = noise_size, dropout
        self._last: tuple[Any, Any, Tensor] | None = None

    def smooth_and_cache_features(self, inputs: GraphInputs) -> Tensor:
        """g [N, d] of unit length; kept for the graph that was asked about last."""
        if self._last is None or self._last[0] is not inputs.adj or self._last[1] is not inputs.raw_x:
            plain = GraphInputs(inputs.raw_x, inputs.adj, inputs.edge_weight, directed=inputs.directed)
            embedding = propagation.Embedding(self.components.shape[1], alpha=ALPHA, num_hops=NUM_HOPS)
            embedding.components_ = self.components
            self._last = (inputs.adj, inputs.raw_x, embedding.transform(plain.copy_with_scaling(inputs.scaling)))
        return self._last[2]

    def apply_layers(self, smoothed: Tensor) -> Tensor:
        h = self.first(F.dropout(smoothed, self.dropout, self.training)).relu()
        return self.second(F.dropout(h, self.dropout, self.training))

    def compute_member_logits(self, inputs: GraphInputs) -> Tensor:
        g = self.smooth_and_cache_features(inputs)
        if len(g) != len(self.noise):
            return torch.stack([self.apply_layers(g)] * 2)
        return torch.stack(
            [self.apply_layers(g), self.apply_layers(g + self.noise_size * g.sign() * F.normalize(self.noise, dim=1))]
        )

    def forward(self, inputs: GraphInputs) -> Tensor:
        logits = self.compute_member_logits(inputs)
        return logits if self.training else logits.log_softmax(-1).exp().mean(0).clamp(min=1e-12).log()


def average_neighbor_probs(adj: SparsityPattern, edge_weight: Tensor, probs: Tensor) -> Tensor:
    """The weighted mean of the neighbors' probabilities, [N, classes]; zeros where all weights are 0."""
    total = spmm(adj.to_csr(edge_weight), torch.cat([probs, probs.new_ones(len(probs), 1)], dim=1))
    return total[:, :-1] / total[:, -1:].clamp(min=1e-12)


def compute_certainty_weights(mean_probs: Tensor) -> Tensor:
    """exp(−entropy(mean_probs)/log C): 1 where all neighbors are surely of one class, 1/e where they say nothing."""
    entropy = -torch.xlogy(mean_probs, mean_probs).sum(1)
    known = mean_probs.sum(1) > 0
    return torch.where(known, (-entropy / math.log(max(mean_probs.shape[1], 2))).exp(), math.exp(-1))


@dataclass(kw_only=True, eq=False, repr=False)
class DnDNeT(NetworkMethod):
    """Smoothing apart from the network, a second pass on learned perturbations, agreement with neighbors.

    Ding et al., "Divide and Denoise: Empowering Simple Models for Robust Semi-Supervised Node Classification against
    Label Noise" (DnD-NeT), KDD 2024. Features are smoothed once (PageRank, restart 0.1, 10 steps); a MLP with one
    hidden layer reads them, and reads them perturbed (:class:`PerturbedMLP`). The loss is (1 − b)·CE(pure) +
    b·CE(perturbed) + λ_c·mean over unlabeled nodes of w_i·‖p_i − p'_i‖² + λ_n·CE between p_i and the sharpened mean of
    its neighbors, weighted by the cosine of their features; w_i of :func:`compute_certainty_weights`. Gradients are
    clipped to length 1. The answer is the mean of both passes. It has no backbone.

    Features enter in their ``dimensions`` leading directions, so that perturbations are N × dimensions. The authors
    tune all weights per kind *and rate* of noise, and build an N × N indicator that they do not use.
    """

    needs_whole_graph: ClassVar[bool] = True

    perturbed_share: float = setting(0.5, Float(max=1), "share b of the perturbed pass in the class loss")
    consistency_weight: float = setting(1.0, Float(), "weight λ_c of the agreement of both passes")
    neighbor_weight: float = setting(0.1, Float(), "weight λ_n of the agreement with neighbors")
    temperature: float = setting(0.5, Float(max=1, open_min=True), "temperature that sharpens the neighbors' mean")
    noise_size: float = setting(0.1, Float(), "length of a perturbation")
    dimensions: int = setting(32, Int(min=1), "leading directions of the smoothed features that are read")

    def make_networks(self, in_channels: int, num_classes: int, num_nodes: int) -> dict[str, nn.Module]:
        networks = super().make_networks(in_channels, num_classes, num_nodes)
        dropout, hidden = 0.5 if self.dropout is None else self.dropout, self.hidden_channels or 64
        sizes, dimensions = (in_channels, num_classes, num_nodes), min(self.dimensions, in_channels, num_nodes)
        return {**networks, "classifier": PerturbedMLP(sizes, hidden, dimensions, self.noise_size, dropout)}

    def make_optimizer(self, name: str, network: nn.Module) -> torch.optim.Optimizer:
        optimizer = super().make_optimizer(name, network)
        if name == "classifier":
            parameters = list(network.parameters())
            optimizer.register_step_pre_hook(lambda *_: _clip_gradients(parameters))
        return optimizer

    def prepare_phase(self, task: Task, networks: dict[str, nn.Module], phase: Phase) -> None:
        network, inputs = networks["classifier"], task.inputs
        assert isinstance(network, PerturbedMLP)
        embedding = propagation.Embedding(network.components.shape[1], alpha=ALPHA, num_hops=NUM_HOPS)
        network.components = embedding.fit(inputs).components_
        g = network.smooth_and_cache_features(inputs)
        self._similarity = inputs.adj.compute_dot_products_at_entries(g, g).clamp(min=0)
        self._unlabeled = task.y < 0

    def objective(self, step: Step) -> Tensor:
        pure, perturbed = step.logits
        losses = [self.pointwise(logits, step.y) for logits in (pure, perturbed)]
        loss = step.weighted_mean((1 - self.perturbed_share) * losses[0] + self.perturbed_share * losses[1])
        pure, perturbed = step.logits_all
        adj, fixed = step.inputs.adj, pure.detach().softmax(-1)
        plain_mean = average_neighbor_probs(adj, torch.ones_like(self._similarity), fixed)
        differences = (pure.softmax(-1) - perturbed.softmax(-1)).square().sum(1)
        if bool(self._unlabeled.any()):
            consistency = (compute_certainty_weights(plain_mean) * differences)[self._unlabeled].mean()
            loss = loss + self.consistency_weight * consistency
        mean = average_neighbor_probs(adj, self._similarity, fixed)
        sharp = mean ** (1 / self.temperature)
        total = sharp.sum(1, keepdim=True)
        aligned = soft_cross_entropy(pure, sharp / total.clamp(min=1e-12)) * (total.view(-1) > 0)
        return loss + self.neighbor_weight * aligned.mean()


def _clip_gradients(parameters: list[nn.Parameter]) -> None:
    nn.utils.clip_grad_norm_(parameters, 1.0)
