"""RNCGLN."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..backbones import GraphInputs
from ..core.settings import Float, Int, setting
from ..training import Phase
from .core.best_outputs import BestOutputs
from .core.contrast import sample_row_indices
from .core.learner import Step, Task, eval_mode_context
from .core.losses import soft_cross_entropy
from .core.network import NetworkMethod

NUM_LAYERS, NUM_POWERS, JUDGED_EVERY = 2, 4, 5
TILE_VALUES = 1 << 18  # similarities that a step computes


class LinearAttention(nn.Module):
    """softmax(Q over channels)·(softmax(K over nodes)ᵀ·V) of each head: channels × channels, never N × N."""

    def __init__(self, channels: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.maps, self.out = nn.Linear(channels, 3 * channels), nn.Linear(channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        maps = self.maps.weight @ x.t() + self.maps.bias[:, None]  # nodes last: sums over them read memory in order
        q, k, v = maps.view(3, self.heads, -1, len(x))
        mixed = v @ k.softmax(-1).transpose(1, 2) @ q.softmax(1)
        return self.out(mixed.reshape(-1, len(x)).t())


class Transformer(nn.Module):
    """Layer-normalized features → linear → two transformer layers (normalized before, residual) → linear.

    ``embedded`` are the rows of length 1 whose products are the similarities, from the last forward pass. The first map
    is computed as LN(x)·W = (xW − mean·1W)/deviation, so that sparse features stay sparse.
    """

    embedded: Tensor
    uses_weights = False

    def __init__(
        self, in_channels: int, channels: int, num_classes: int, heads: int, wide: int, dropout: float
    ) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_channels, channels))
        nn.init.xavier_uniform_(self.weight)
        self.bias, self.dropout = nn.Parameter(torch.zeros(channels)), dropout
        self.first_norms, self.second_norms = (
            nn.ModuleList(nn.LayerNorm(channels) for _ in range(NUM_LAYERS)) for _ in range(2)
        )
        self.attention = nn.ModuleList(LinearAttention(channels, heads) for _ in range(NUM_LAYERS))
        self.mlps = nn.ModuleList(
            nn.Sequential(nn.Linear(channels, wide), nn.GELU(), nn.Dropout(dropout), nn.Linear(wide, channels))
            for _ in range(NUM_LAYERS)
        )
        self.norm, self.head = nn.LayerNorm(channels), nn.Linear(channels, num_classes)

    def forward(self, inputs: GraphInputs) -> Tensor:
        variance, mean = inputs.row_variance_and_mean
        x = (inputs.features @ self.weight - mean * self.weight.sum(0)) * (variance + 1e-5).rsqrt() + self.bias
        x = F.dropout(x, self.dropout, self.training)
        self.embedded = F.normalize(F.layer_norm(x, x.shape[1:]), dim=1)
        layers = zip(self.first_norms, self.attention, self.second_norms, self.mlps, strict=True)
        for first_norm, attention, second_norm, mlp in layers:
            x = x + F.dropout(attention(first_norm(x)), self.dropout, self.training)
            x = x + F.dropout(mlp(second_norm(x)), self.dropout, self.training)
        return self.head(self.norm(x))


class Improvement(nn.Module):
    """What self-improvement has come to: targets and training nodes, and the embedding that B was weighed by."""

    best: BestOutputs
    embedded: Tensor
    is_used: Tensor

    def __init__(self, num_nodes: int, num_classes: int, channels: int) -> None:
        super().__init__()
        self.best = BestOutputs(num_nodes, num_classes)
        self.register_buffer("embedded", torch.zeros(num_nodes, channels))
        self.register_buffer("is_used", torch.tensor(False))


def compute_rows_of_adjacency_power(inputs: GraphInputs, rows: Tensor) -> Tensor:
    """Rows of Â⁴, [rows, N], by four sparse products."""
    start = torch.zeros(inputs.num_nodes, len(rows), device=inputs.device)
    start[rows, torch.arange(len(rows), device=inputs.device)] = 1
    for _ in range(NUM_POWERS):
        start = inputs.gcn_adj @ start
    return start.t()


def zero_all_but_largest_per_row(values: Tensor, k: int) -> Tensor:
    """Each row without all but its ``k`` largest entries."""
    kept = values.topk(min(k, values.shape[1]), dim=1)
    return torch.zeros_like(values).scatter_(1, kept.indices, kept.values)


def compute_graph_contrastive_loss(
    embedded: Tensor, rows: Tensor, positive_weights: Tensor, temperature: float
) -> Tensor:
    """The mean over rows of −log(Σ_j B_ij e^{τ s_ij} / Σ_j e^{τ s_ij}), s_ii = 0.

    Rows without any B_ij > 0 are left out.
    """
    known = (positive_weights > 0).any(1)
    if not bool(known.any()):
        return embedded.sum() * 0
    rows, positive_weights = (
        rows[known],
        positive_weights[known],
    )  # not masked afterwards: a row without any has no finite gradient
    similarity = (embedded[rows] @ embedded.t()).scatter(1, rows[:, None], 0.0) * temperature
    return (similarity.logsumexp(1) - (similarity + positive_weights.clamp(min=0).log()).logsumexp(1)).mean()


@dataclass(kw_only=True, eq=False, repr=False)
class RNCGLN(NetworkMethod):
    """A transformer of features, drawn to the graph by a contrast, that replaces labels and edges as it improves.

    Zhu et al., "Robust Node Classification on Graph Data with Graph and Label Noise", AAAI 2024. No message passes at
    prediction: the graph is in the loss alone, CE + r·:func:`compute_graph_contrastive_loss` with B = Â⁴ at first.
    Whenever given validation labels are predicted better than before (after ``warm_epochs``), targets become the
    probabilities of all nodes (one-hot from ``certainty`` on), training nodes those above ``confidence`` but for
    validation nodes, and B the largest ``neighbor_share`` of each row of s∘Â⁴ (256 at most).

    The authors have 128 channels, 2,048 in feed-forward layers, 5,000 epochs and a learning rate of 0.0005; B is pruned
    again and again there, and probabilities go through another softmax. Similarities are those of random rows with all
    nodes, 262,144 a step, and rows of B are computed when they are asked for: references hold three dense N × N
    matrices. Another port takes powers of the bare adjacency. It has no backbone.
    """

    needs_whole_graph: ClassVar[bool] = True
    default_lr: ClassVar[float | None] = 1e-3

    contrast_weight: float = setting(1.0, Float(), "weight r of the contrast")
    temperature: float = setting(1.0, Float(open_min=True), "factor τ of similarities")
    warm_epochs: int = setting(100, Int(), "epochs before labels and edges are replaced")
    certainty: float = setting(0.95, Float(max=1), "probability from which a target is one-hot")
    confidence: float = setting(0.9, Float(max=1), "probability from which a node is learned from")
    neighbor_share: float = setting(0.1, Float(max=1, open_min=True), "share of each row of B that is kept")
    channels: int = setting(64, Int(min=8), "width of the transformer, a multiple of ``heads``")
    wide_channels: int = setting(128, Int(min=1), "width of the feed-forward layers")
    heads: int = setting(8, Int(min=1), "heads of the attention")

    def make_networks(self, in_channels: int, num_classes: int, num_nodes: int) -> dict[str, nn.Module]:
        networks = super().make_networks(in_channels, num_classes, num_nodes)
        dropout, size = 0.4 if self.dropout is None else self.dropout, self.channels // self.heads * self.heads
        classifier = Transformer(in_channels, size, num_classes, self.heads, self.wide_channels, dropout)
        return {**networks, "classifier": classifier, "improvement": Improvement(num_nodes, num_classes, size)}

    def prepare_phase(self, task: Task, networks: dict[str, nn.Module], phase: Phase) -> None:
        self._task = task
        given = task.given_labels.nodes.to(task.y.device)
        self._may_learn = torch.ones_like(task.y, dtype=torch.bool)
        self._may_learn[given[task.y[given] < 0]] = False  # validation nodes

    def objective(self, step: Step) -> Tensor:
        classifier, state = step.networks["classifier"], step.networks["improvement"]
        assert isinstance(classifier, Transformer)
        assert isinstance(state, Improvement)
        embedded = classifier.embedded
        if step.epoch >= self.warm_epochs and step.epoch % JUDGED_EVERY == 0 and step.epoch:
            self.update_improvement_if_better(step, classifier, state)
        loss = self.compute_class_loss(step, state)
        count = max(1, TILE_VALUES // len(embedded))
        rows = sample_row_indices(len(embedded), count, embedded.device)
        graph = self.compute_contrast_weight_rows(step.inputs, rows, state)
        return loss + self.contrast_weight * compute_graph_contrastive_loss(embedded, rows, graph, self.temperature)

    @torch.no_grad()
    def update_improvement_if_better(self, step: Step, classifier: Transformer, state: Improvement) -> None:
        with eval_mode_context(classifier):
            probs = classifier(step.inputs).softmax(-1)
        if state.best.keep_if_better(self._task, probs, probs.argmax(1)):
            state.embedded = classifier.embedded.clone()
            state.is_used.fill_(True)

    def compute_class_loss(self, step: Step, state: Improvement) -> Tensor:
        if not bool(state.is_used):
            return super().objective(step)
        probs = state.best.outputs
        height = probs.amax(1)
        sure = (height >= self.confidence) & self._may_learn
        sure[step.nodes[step.trusted]] = False  # learned from their label
        targets = torch.where(
            (height >= self.certainty)[:, None], F.one_hot(probs.argmax(1), probs.shape[1]).to(probs), probs
        )
        losses = [soft_cross_entropy(step.logits_all[sure], targets[sure])]
        losses.append(self.pointwise(step.logits[step.trusted], step.y[step.trusted]))
        total = torch.cat(losses)
        return total.mean() if len(total) else super().objective(step)

    @torch.no_grad()
    def compute_contrast_weight_rows(self, inputs: GraphInputs, rows: Tensor, state: Improvement) -> Tensor:
        """Rows of B."""
        graph = compute_rows_of_adjacency_power(inputs, rows)
        if not bool(state.is_used):
            return graph
        embedded = state.embedded
        similarity = (embedded[rows] @ embedded.t()).scatter_(1, rows[:, None], 0.0)
        return zero_all_but_largest_per_row(
            similarity * graph, min(max(1, int(self.neighbor_share * len(embedded))), 256)
        )
