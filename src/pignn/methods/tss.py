"""TSS."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .. import propagation
from ..backbones import GraphInputs
from ..core.errors import DataError
from ..core.settings import Choice, Float, Int, setting
from .core.curriculum import PACES, compute_difficulty_rank_shares, compute_easy_share
from .core.learner import Step, Task
from .core.pretraining import TeacherPretrainedMethod

MIN_PROXIMITY = 1e-8  # of two nodes that no short path joins
TILE_VALUES = 1 << 22
NUM_HOPS = 20
MAX_LABELS = 20_000


def compute_pagerank_rows(inputs: GraphInputs, nodes: Tensor, alpha: float) -> Tensor:
    """The rows of ``nodes`` of personalized PageRank, [nodes, N]: as many thin products as there are nodes."""
    start = torch.zeros(inputs.num_nodes, len(nodes), device=inputs.device)
    start[nodes, torch.arange(len(nodes), device=inputs.device)] = 1
    return propagation.smooth(inputs, start, alpha=alpha, num_hops=NUM_HOPS).t().contiguous()


def compute_boundary_centrality(proximity: Tensor, nodes: Tensor, y: Tensor, num_classes: int) -> Tensor:
    """How near each of the labeled ``nodes`` is to class boundaries, [n], from proximities [n, N] and labels [n].

    Σ_c CBC_c / (its range), CBC_c(i) = 1/|c| Σ_{u: y_u = c} Σ_{v: y_v ≠ c} Π_ui·Π_iv/Π_uv. In tiles of nodes.
    """
    total = torch.zeros(len(nodes), device=y.device)
    at_labeled = proximity[:, nodes]  # [n, n], labeled nodes only
    for c in range(num_classes):
        inside, outside = (y == c).nonzero().view(-1), (y != c).nonzero().view(-1)
        if not len(inside) or not len(outside):
            continue
        ratio = 1 / at_labeled[inside][:, outside].clamp(min=MIN_PROXIMITY)
        size = max(1, TILE_VALUES // max(len(inside), len(outside)))
        parts = [
            ((ratio.t() @ at_labeled[inside][:, tile]) * at_labeled[outside][:, tile]).sum(0)
            for tile in torch.arange(len(nodes), device=y.device).split(size)
        ]
        centrality = torch.cat(parts) / len(inside)
        total += centrality / (centrality.max() - centrality.min()).clamp(min=1e-12)
    return total


@dataclass(kw_only=True, eq=False, repr=False)
class TSS(TeacherPretrainedMethod):
    """A curriculum by topology: labels far from class boundaries first, and only those that a teacher confirms.

    Wu et al., "Mitigating Label Noise on Graphs via Topological Sample Selection", ICML 2024. With Π = α(I − (1 −
    α)Â)⁻¹ the difficulty of a labeled node is its class-conditional betweenness
    (:func:`compute_boundary_centrality`); nodes of difficulty 0 come last. Epoch t learns from the easiest share λ +
    (1 − λ)t/T, of these only where the teacher's class is the given label.

    Only the rows of Π of labeled nodes are computed, by power iteration, and only at labeled nodes are they kept.
    Ranges are those over labeled nodes. Other ports invert an N × N matrix and take positions in the list of training
    nodes for node numbers, which is right only where training nodes come first; one predicts with dropout on.
    """

    alpha: float = setting(0.15, Float(max=1, open_min=True), "restart probability of PageRank")
    pace: str = setting("linear", Choice(PACES), "how the share of labels grows")
    start_share: float = setting(0.25, Float(max=1, open_min=True), "share λ of the labels at the beginning")
    pace_epochs: int = setting(200, Int(), "epochs T after which all labels may be learned from")

    def prepare_from_teacher_outputs(self, task: Task, outputs: Tensor) -> None:
        nodes, y = task.nodes, task.y[task.nodes]
        if len(nodes) > MAX_LABELS:
            raise DataError(
                f"tss compares labels pair by pair: {len(nodes):,} are more than {MAX_LABELS:,}; use clnode"
            )
        blocks = [compute_pagerank_rows(task.inputs, part, self.alpha)[:, nodes] for part in nodes.split(256)]
        positions = torch.arange(len(nodes), device=nodes.device)
        difficulty = compute_boundary_centrality(torch.cat(blocks), positions, y, task.num_classes)
        difficulty[difficulty == 0] = torch.inf
        difficulty[task.trusted[nodes]] = -torch.inf
        self._rank = torch.ones(len(task.y), device=nodes.device)
        self._rank[nodes] = compute_difficulty_rank_shares(difficulty)
        self._confirmed = (outputs.argmax(1) == task.y) | task.trusted

    def train_objective(self, step: Step) -> Tensor:
        share = compute_easy_share(self.pace, self.start_share, step.epoch, self.pace_epochs)
        chosen = (self._rank[step.nodes] <= share) & self._confirmed[step.nodes]
        if not bool(chosen.any()):  # of few labels the easiest may all be doubted
            chosen = self._confirmed[step.nodes]
        return step.weighted_mean(self.pointwise(step.logits, step.y), chosen)
