"""ERASE."""

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

DEFAULT_LR = 3e-3
NEWTON_STEPS = 5  # of the logistic regression, in every epoch


class CodedClassifier(nn.Module):
    """Logits of a logistic regression on codes, the encoder's outputs with length 1. The regression is no parameter."""

    head: Tensor
    codes: Tensor

    def __init__(self, encoder: nn.Module, code_channels: int, num_classes: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.uses_weights = getattr(encoder, "uses_weights", True)
        self.register_buffer("head", torch.zeros(code_channels + 1, num_classes))

    def forward(self, inputs: GraphInputs) -> Tensor:
        self.codes = self.encode(inputs)
        return append_ones_column(self.codes) @ self.head

    def encode(self, inputs: GraphInputs) -> Tensor:
        return F.normalize(self.encoder(inputs), dim=1)


def append_ones_column(x: Tensor) -> Tensor:
    return torch.cat([x, x.new_ones(len(x), 1)], dim=1)


def compute_head_after_newton_steps(
    head: Tensor, x: Tensor, target: Tensor, weight: Tensor, penalty: float, num_steps: int
) -> Tensor:
    """Weights with a smaller Σ w_i·CE(x_i·W, target_i) + penalty/2·‖W‖², by a bound on its curvature.

    W ← W + (½ Xᵀdiag(w)X + penalty)⁻¹(Xᵀdiag(w)(target − p) − penalty·W): no step is too long (Böhning, 1992).
    """
    bound = 0.5 * (x.t() * weight) @ x
    bound.diagonal().add_(penalty)
    factor = torch.linalg.cholesky(bound)
    for _ in range(num_steps):
        gap = target - (x @ head).softmax(-1)
        head = head + torch.cholesky_solve((x.t() * weight) @ gap - penalty * head, factor)
    return head


def compute_coding_rate(codes: Tensor, epsilon: float, factor: float = 1.0) -> Tensor:
    """½ logdet(I + factor·d/(nε)·WᵀW) of n codes of d channels: how much room they take. Only d × d matrices."""
    num_codes, channels = codes.shape
    gram = codes.t() @ codes * (factor * channels / (max(num_codes, 1) * epsilon))
    gram = gram + torch.eye(channels, dtype=codes.dtype, device=codes.device)
    return torch.linalg.cholesky(gram).diagonal().log().sum()


def compute_coding_rate_loss(
    codes: Tensor, classes: Tensor, num_classes: int, expand: float, compress: float, epsilon: float
) -> Tensor:
    """−γ₂·R(W, γ₁) + γ₁·Σ_c (N_c/N)·R(W_c): all codes spread out, those of a class close together."""
    loss = -expand * compute_coding_rate(codes, epsilon, compress)
    for c in range(num_classes):
        members = codes[classes == c]
        if len(members):
            loss = loss + compress * len(members) / len(codes) * compute_coding_rate(members, epsilon)
    return loss


@dataclass(kw_only=True, eq=False, repr=False)
class ERASE(NetworkMethod):
    """Codes that spread out while those of a class stay close, for classes that propagation has denoised.

    Chen et al., "ERASE: Error-Resilient Representation Learning on Graphs for Label Noise Tolerance", CIKM 2024. Y are
    the given labels after ``propagation_steps`` steps Y ← (1 − α)ÂY + αY. In every step Y' = softmax(β·Y + (1 −
    β)·|cos(w_i, mean code of c)|), propagated as Y is; argmax Y' are the classes of all nodes. The loss of the codes W
    is that of :func:`compute_coding_rate_loss`. A logistic regression on unit-length codes learns the denoised labels
    of the training nodes and predicts; here it is carried on by a few Newton steps an epoch, so that every epoch can be
    judged by given validation labels (the authors judge by clean ones).

    Nothing is larger than N × classes and d × d; references build classes × N × N matrices. The authors have a GAT of
    256 hidden channels, 512 codes, a ReLU after them, T = 5 and a learning rate of 0.001. Here the codes of the loss
    have length 1 and either sign: with a ReLU, or free to grow, they all take one direction. Similarities have a part
    from ``warm_epochs`` on, and propagated labels are normalized by class and node. Adam with AMSGrad, learning rate
    0.003.
    """

    needs_whole_graph: ClassVar[bool] = True

    code_channels: int = setting(128, Int(min=1), "number d of channels of a code")
    compress: float = setting(1.0, Float(open_min=True), "γ₁: how much codes of a class are drawn together")
    expand: float = setting(2.0, Float(), "γ₂: how much all codes are spread out")
    epsilon: float = setting(0.05, Float(open_min=True), "precision ε of a code")
    alpha: float = setting(0.6, Float(max=1), "share of a label that stays where it is in a propagation step")
    label_share: float = setting(0.6, Float(max=1), "β: share of propagated labels, against similarity of codes")
    propagation_steps: int = setting(20, Int(), "steps T of propagation")
    warm_epochs: int = setting(10, Int(), "epochs before similarities of codes have a part in the classes")
    penalty: float = setting(1.0, Float(open_min=True), "L2 penalty of the logistic regression, for weights of mean 1")

    def make_networks(self, in_channels: int, num_classes: int, num_nodes: int) -> dict[str, nn.Module]:
        networks = super().make_networks(in_channels, num_classes, num_nodes)
        encoder = self.build_network(self.backbone, in_channels, self.code_channels)
        return {**networks, "classifier": CodedClassifier(encoder, self.code_channels, num_classes)}

    def make_optimizer(self, name: str, network: nn.Module) -> torch.optim.Optimizer:
        if name != "classifier":
            return super().make_optimizer(name, network)
        lr, decay = DEFAULT_LR if self.lr is None else float(self.lr), float(self.weight_decay)
        return torch.optim.Adam(network.parameters(), lr=lr, weight_decay=decay, amsgrad=True)

    def prepare_phase(self, task: Task, networks: dict[str, nn.Module], phase: Phase) -> None:
        labels = torch.zeros(task.inputs.num_nodes, task.num_classes, device=task.y.device)
        labels[task.nodes, task.y[task.nodes]] = 1
        self._labels = self.propagate_and_normalize_labels(task.inputs, labels)

    def propagate_and_normalize_labels(self, inputs: GraphInputs, labels: Tensor) -> Tensor:
        """T steps, then columns divided by their sums (Zhu et al., 2003) and rows by theirs.

        Without the former the most frequent class would take all nodes after many steps.
        """
        for _ in range(self.propagation_steps):
            labels = (1 - self.alpha) * (inputs.gcn_adj @ labels) + self.alpha * labels
        labels = labels / labels.sum(0).clamp(min=1e-12)
        return labels / labels.sum(1, keepdim=True).clamp(min=1e-12)

    @torch.no_grad()
    def compute_denoised_classes(self, step: Step, codes: Tensor) -> Tensor:
        """The classes of all nodes; trusted labels stay."""
        classes = self._labels.argmax(1)[step.rows]
        total = torch.zeros(self._labels.shape[1], codes.shape[1], device=codes.device)
        total.index_add_(0, classes, codes[step.rows] * step.weight[:, None])
        similarity = (codes @ F.normalize(total, dim=1).t()).abs()
        label_share = 1.0 if step.epoch < self.warm_epochs else self.label_share
        soft = (label_share * self._labels + (1 - label_share) * similarity).softmax(1)
        found = self.propagate_and_normalize_labels(step.inputs, soft).argmax(1)
        found[step.rows] = torch.where(step.trusted, step.y, found[step.rows])
        return found

    def objective(self, step: Step) -> Tensor:
        classifier = step.networks["classifier"]
        assert isinstance(classifier, CodedClassifier)
        codes, num_classes = classifier.codes, self._labels.shape[1]
        classes = self.compute_denoised_classes(step, codes.detach())
        loss = compute_coding_rate_loss(codes, classes, num_classes, self.expand, self.compress, self.epsilon)
        self.fit_head_in_place(step, classifier, classes[step.rows])
        return loss

    @torch.no_grad()
    def fit_head_in_place(self, step: Step, classifier: CodedClassifier, classes: Tensor) -> None:
        with eval_mode_context(classifier):
            x = append_ones_column(classifier.encode(step.inputs))[step.rows]
        target = F.one_hot(classes, self._labels.shape[1]).to(x)
        head = compute_head_after_newton_steps(
            classifier.head, x, target, step.weight * len(x), self.penalty, NEWTON_STEPS
        )
        classifier.head = head  # a new tensor: the forward pass of this step keeps the old one for its gradient
