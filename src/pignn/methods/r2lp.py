"""R2LP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..backbones import GraphInputs
from ..core.settings import Float, Int, setting
from ..training import Phase
from .core.learner import Step, Task, eval_mode_context
from .core.network import NetworkMethod

NUM_ITERATIONS = 2


class GlobalGNN(nn.Module):
    """GloGNN: H0 = W2·relu(δ·XW1 + (1 − δ)·A·W3), then H from a graph that all pairs of nodes have a part in.

    With a = 1/(α + β), b = 1 − γ: M = (I/b² + a·HᵀH)⁻¹, G = b·a·H − b·a²·H·M·(HᵀH), H ← b·H(HᵀG) + β·Σ_k w_k Â_r^k G −
    γ·b·H0(HᵀG) + γ·H0, twice, from H = H0. Products are classes × classes or thin. W3 has a row per node of the graph
    that was learned from; on others δ·XW1 alone is read. ``initial_scores`` and
    ``hidden`` are H0 and H of the last forward pass.
    """

    initial_scores: Tensor
    hidden: Tensor

    def __init__(self, sizes: tuple[int, int, int], width: int, method: R2LP) -> None:
        super().__init__()
        in_channels, num_classes, num_nodes = sizes
        self.features, self.nodes = (nn.Parameter(torch.empty(n, width)) for n in (in_channels, num_nodes))
        for matrix in (self.features, self.nodes):
            nn.init.xavier_uniform_(matrix)
        self.bias, self.head = nn.Parameter(torch.zeros(width)), nn.Linear(width, num_classes)
        self.order_weights = nn.Parameter(torch.full((method.orders,), 1 / method.orders))
        self.alpha, self.beta, self.gamma, self.delta = method.alpha, method.beta, method.gamma, method.feature_share
        self.dropout = 0.5 if method.dropout is None else method.dropout

    def forward(self, inputs: GraphInputs) -> Tensor:
        mixed = self.delta * (inputs.features @ self.features)
        if inputs.num_nodes == len(self.nodes):
            mixed = mixed + (1 - self.delta) * (inputs.sum_adj @ self.nodes)
        self.initial_scores = self.head(F.dropout((mixed + self.bias).relu(), self.dropout, self.training))
        h = self.initial_scores
        a, b = 1 / (self.alpha + self.beta), 1 - self.gamma
        for _ in range(NUM_ITERATIONS):
            gram = h.t() @ h
            g = b * a * h - b * a**2 * h @ torch.linalg.solve(compute_inverse_of_middle_matrix(h, a, b), gram)
            product = h.t() @ g
            around, hop = torch.zeros_like(g), g
            for weight in self.order_weights:
                hop = average_neighbors_and_self(inputs, hop)
                around = around + weight * hop
            h = (
                b * h @ product
                + self.beta * around
                - self.gamma * b * self.initial_scores @ product
                + self.gamma * self.initial_scores
            )
        self.hidden = h
        return h


def compute_inverse_of_middle_matrix(h: Tensor, a: float, b: float) -> Tensor:
    """M⁻¹ = I/b² + a·HᵀH."""
    return torch.eye(h.shape[1], dtype=h.dtype, device=h.device) / b**2 + a * h.t() @ h


def average_neighbors_and_self(inputs: GraphInputs, h: Tensor) -> Tensor:
    """Â_r·h, Â_r = (D + I)⁻¹(A + I)."""
    return (inputs.sum_adj @ h + h) / (inputs.degree + 1)[:, None]


def propagate_labels_over_learned_graph(
    network: GlobalGNN, inputs: GraphInputs, labels: Tensor, share: float
) -> Tensor:
    """Y + share·Z·Y with the graph Z that the network has found; Z is never formed.

    Z = (b·HHᵀ + β·w₁·Â_r − γ·b·H0·Hᵀ)·(a·I − a²·H·M·Hᵀ), from right to left.
    """
    h, a, b = network.hidden, 1 / (network.alpha + network.beta), 1 - network.gamma
    right = a * labels - a**2 * h @ torch.linalg.solve(compute_inverse_of_middle_matrix(h, a, b), h.t() @ labels)
    thin = h.t() @ right
    around = network.beta * network.order_weights[0] * average_neighbors_and_self(inputs, right)
    return labels + share * (b * h @ thin + around - network.gamma * b * network.initial_scores @ thin)


class LabelSets(nn.Module):
    """Labels that are held to be clean, with their classes, and the round that they were chosen before."""

    clean: Tensor
    classes: Tensor
    prepared: Tensor

    def __init__(self, num_nodes: int) -> None:
        super().__init__()
        self.register_buffer("clean", torch.zeros(num_nodes, dtype=torch.bool))
        self.register_buffer("classes", torch.full((num_nodes,), -1))
        self.register_buffer("prepared", torch.tensor(-1))


@dataclass(kw_only=True, eq=False, repr=False)
class R2LP(NetworkMethod):
    """Label propagation on a learned graph moves noisy labels into a clean set, round by round; for heterophily too.

    Cheng et al., "Resurrecting Label Propagation for Graphs with Heterophily and Label Noise", KDD 2024. The network
    (:class:`GlobalGNN`) learns the clean set. After each round Y0 = (1 − ω)·[c·Y_clean + (1 − c)·(n·Y_noisy +
    (1 − n)·softmax(H))] is propagated (:func:`propagate_labels_over_learned_graph`), and ``move_share`` of the noisy
    labels, of the largest entry, join the clean set with the class of that entry. The clean set begins as the trusted
    labels (true ones in the authors' program); without any, the first round learns all given labels. The last has
    ``epochs``.

    Everything is linear in nodes and edges; references form several N × N matrices. The authors have 20 rounds of up to
    200 epochs and their own weights per dataset, here those of Cora. Another port supervises nodes by index, with no
    clean set: its first round is not a number. There, nodes that move keep their old label in propagation.
    """

    needs_whole_graph: ClassVar[bool] = True

    rounds: int = setting(4, Int(min=1), "rounds of training")
    pretrain_epochs: int = setting(100, Int(min=1), "epochs of each round but the last")
    move_share: float = setting(0.5, Float(max=1), "share of the noisy labels that a round moves into the clean set")
    alpha: float = setting(77.0, Float(), "weight α of the norm of the learned graph")
    beta: float = setting(1000.0, Float(open_min=True), "weight β of its distance to powers of the given graph")
    gamma: float = setting(0.8, Float(max=1, open_max=True), "share γ of the first states")
    feature_share: float = setting(0.9, Float(max=1), "share δ of features, against neighbors by number")
    orders: int = setting(6, Int(min=1), "powers of the given graph")
    propagation_share: float = setting(0.4, Float(max=1), "share ω of propagated labels")
    clean_share: float = setting(0.3, Float(max=1), "share c of clean labels in what is propagated")
    noisy_share: float = setting(0.5, Float(max=1), "share n of noisy labels, against predictions, in the rest")

    def list_phases(self) -> list[Phase]:
        before = [Phase(f"round {i + 1}", self.pretrain_epochs, False) for i in range(self.rounds - 1)]
        return [*super().list_phases()[:-1], *before, *super().list_phases()[-1:]]

    def make_networks(self, in_channels: int, num_classes: int, num_nodes: int) -> dict[str, nn.Module]:
        networks = super().make_networks(in_channels, num_classes, num_nodes)
        classifier = GlobalGNN((in_channels, num_classes, num_nodes), self.hidden_channels or 64, self)
        return {**networks, "classifier": classifier, "label_sets": LabelSets(num_nodes)}

    def prepare_phase(self, task: Task, networks: dict[str, nn.Module], phase: Phase) -> None:
        if phase.name == "estimator":
            return
        classifier, sets = networks["classifier"], networks["label_sets"]
        assert isinstance(classifier, GlobalGNN)
        assert isinstance(sets, LabelSets)
        names = [each.name for each in self.list_phases() if each.name != "estimator"]
        number = names.index(phase.name)
        if int(sets.prepared) >= number:  # a run that is resumed within the round
            return
        if number == 0:
            sets.clean.copy_(task.trusted & (task.y >= 0))
            sets.classes.copy_(task.y)
        else:
            self.move_surest_labels_to_clean(task, classifier, sets)
        sets.prepared.fill_(number)

    @torch.no_grad()
    def move_surest_labels_to_clean(self, task: Task, classifier: GlobalGNN, sets: LabelSets) -> None:
        """Propagate, and move the surest noisy labels."""
        noisy = (task.y >= 0) & ~sets.clean
        if not bool(noisy.any()):
            return
        with eval_mode_context(classifier):
            probs = classifier(task.inputs).softmax(-1)
        one_hot = F.one_hot(sets.classes.clamp(min=0), task.num_classes).to(probs)
        given = self.noisy_share * one_hot * noisy[:, None] + (1 - self.noisy_share) * probs
        start = self.clean_share * one_hot * sets.clean[:, None] + (1 - self.clean_share) * given
        start = (1 - self.propagation_share) * start
        height, found = propagate_labels_over_learned_graph(classifier, task.inputs, start, self.propagation_share).max(
            1
        )
        nodes = noisy.nonzero().view(-1)
        moved = nodes[height[nodes].topk(max(1, int(self.move_share * len(nodes)))).indices]
        sets.clean[moved] = True
        sets.classes[moved] = found[moved]

    def objective(self, step: Step) -> Tensor:
        sets = step.networks["label_sets"]
        assert isinstance(sets, LabelSets)
        chosen = sets.clean[step.nodes]
        if not bool(chosen.any()):  # nobody has verified a label: the first round learns from all
            chosen = torch.ones_like(chosen)
        return step.weighted_mean(self.pointwise(step.logits, sets.classes[step.nodes]), chosen)
