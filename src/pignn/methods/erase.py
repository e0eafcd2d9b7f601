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

PENALTIES = (1.0, 3e-2, 1e-3, 3e-5)  # L2 penalties of the logistic regression that are tried
NEWTON_STEPS = 5  # of each regression, in every epoch


class CodedClassifier(nn.Module):
    """Logits of a logistic regression on the encoder's codes at length 1. The regression is no parameter.

    ``codes`` are those of the last forward pass, at their own length; ``heads`` the regressions of all penalties.
    """

    head: Tensor
    heads: Tensor
    codes: Tensor

    def __init__(self, encoder: nn.Module, code_channels: int, num_classes: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.uses_weights = getattr(encoder, "uses_weights", True)
        self.register_buffer("head", torch.zeros(code_channels + 1, num_classes))
        self.register_buffer("heads", torch.zeros(len(PENALTIES), code_channels + 1, num_classes, dtype=torch.float64))

    def forward(self, inputs: GraphInputs) -> Tensor:
        self.codes = self.encoder(inputs).relu()
        return append_ones_column(F.normalize(self.codes, dim=1)) @ self.head


def append_ones_column(x: Tensor) -> Tensor:
    return torch.cat([x, x.new_ones(len(x), 1)], dim=1)


def compute_heads_after_newton_steps(
    heads: Tensor, x: Tensor, target: Tensor, weight: Tensor, penalties: Tensor, num_steps: int
) -> Tensor:
    """Weights [k, d, C] with smaller Σ w_i·CE(x_i·W, target_i) + penalty/2·‖W‖², by a bound on the curvature.

    W ← W + (½ Xᵀdiag(w)X + penalty)⁻¹(Xᵀdiag(w)(target − p) − penalty·W): no step is too long (Böhning, 1992).
    """
    penalties = penalties[:, None, None]
    bound = 0.5 * (x.t() * weight) @ x + penalties * torch.eye(x.shape[1]).to(x)
    factor = torch.linalg.cholesky(bound)
    for _ in range(num_steps):
        gap = target - (x @ heads).softmax(-1)
        heads = heads + torch.cholesky_solve((x.t() * weight) @ gap - penalties * heads, factor)
    return heads


def compute_coding_rate(codes: Tensor, epsilon: float, factor: float = 1.0) -> Tensor:
    """½ logdet(I + factor·d/(nε)·WᵀW) of n codes of d channels: how much room they take. Only d × d matrices.

    In double precision: codes grow, and the matrix has eigenvalues from 1 to 10⁹.
    """
    num_codes, channels = codes.shape
    codes = codes.double()
    gram = codes.t() @ codes * (factor * channels / (max(num_codes, 1) * epsilon))
    gram = gram + torch.eye(channels).to(codes)
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
    β)·|cos(w_i, mean code of c)|), propagated as Y is; argmax Y' are the classes of all nodes. The loss of the codes W,
    which end in a ReLU, is that of :func:`compute_coding_rate_loss`. A logistic regression on codes of length 1 learns
    the denoised labels of the training nodes and predicts; here a few Newton steps an epoch carry it on, so that every
    epoch can be judged by given validation labels (the authors judge by clean ones). They also choose its penalty, as
    codes are nearly parallel: they differ by a hundredth of their length, and a penalty of 1 would see no difference.

    Nothing is larger than N × classes and d × d; references build classes × N × N matrices. The authors have a GAT of
    256 hidden channels, 512 codes and a learning rate of 0.001. Adam with AMSGrad.
    """

    needs_whole_graph: ClassVar[bool] = True

    code_channels: int = setting(128, Int(min=1), "number d of channels of a code")
    compress: float = setting(1.0, Float(open_min=True), "γ₁: how much codes of a class are drawn together")
    expand: float = setting(2.0, Float(), "γ₂: how much all codes are spread out")
    epsilon: float = setting(0.05, Float(open_min=True), "precision ε of a code")
    alpha: float = setting(0.6, Float(max=1), "share of a label that stays where it is in a propagation step")
    label_share: float = setting(0.6, Float(max=1), "β: share of propagated labels, against similarity of codes")
    propagation_steps: int = setting(5, Int(), "steps T of propagation")

    def make_networks(self, in_channels: int, num_classes: int, num_nodes: int) -> dict[str, nn.Module]:
        networks = super().make_networks(in_channels, num_classes, num_nodes)
        encoder = self.build_network(self.backbone, in_channels, self.code_channels)
        return {**networks, "classifier": CodedClassifier(encoder, self.code_channels, num_classes)}

    def make_optimizer(self, name: str, network: nn.Module) -> torch.optim.Optimizer:
        optimizer = super().make_optimizer(name, network)
        for group in optimizer.param_groups:
            group["amsgrad"] = name == "classifier"
        return optimizer

    def prepare_phase(self, task: Task, networks: dict[str, nn.Module], phase: Phase) -> None:
        labels = torch.zeros(task.inputs.num_nodes, task.num_classes, device=task.y.device)
        labels[task.nodes, task.y[task.nodes]] = 1
        self._task, self._labels = task, self.propagate_labels(task.inputs, labels)

    def propagate_labels(self, inputs: GraphInputs, labels: Tensor) -> Tensor:
        """T steps Y ← (1 − α)ÂY + αY."""
        for _ in range(self.propagation_steps):
            labels = (1 - self.alpha) * (inputs.gcn_adj @ labels) + self.alpha * labels
        return labels

    @torch.no_grad()
    def compute_denoised_classes(self, step: Step, codes: Tensor) -> Tensor:
        """The classes of all nodes; trusted labels stay."""
        classes = self._labels.argmax(1)[step.rows]
        total = torch.zeros(self._labels.shape[1], codes.shape[1], device=codes.device)
        total.index_add_(0, classes, codes[step.rows] * step.weight[:, None])
        similarity = (F.normalize(codes, dim=1) @ F.normalize(total, dim=1).t()).abs()
        soft = (self.label_share * self._labels + (1 - self.label_share) * similarity).softmax(1)
        found = self.propagate_labels(step.inputs, soft).argmax(1)
        found[step.rows] = torch.where(step.trusted, step.y, found[step.rows])
        return found

    def objective(self, step: Step) -> Tensor:
        classifier = step.networks["classifier"]
        assert isinstance(classifier, CodedClassifier)
        codes, num_classes = classifier.codes, self._labels.shape[1]
        classes = self.compute_denoised_classes(step, codes.detach())
        self.fit_heads_and_choose(step, classifier, classes)
        loss = compute_coding_rate_loss(codes, classes, num_classes, self.expand, self.compress, self.epsilon)
        return loss.to(codes.dtype)

    @torch.no_grad()
    def fit_heads_and_choose(self, step: Step, classifier: CodedClassifier, classes: Tensor) -> None:
        """A few steps of the regressions on denoised training labels; the best on given validation labels predicts.

        Where there is none, denoised classes of unlabeled nodes take their place.
        """
        with eval_mode_context(classifier):
            x = append_ones_column(F.normalize(classifier.encoder(step.inputs).relu(), dim=1)).double()
        target = F.one_hot(classes[step.rows], self._labels.shape[1]).to(x)
        weight, penalties = (step.weight * len(target)).double(), x.new_tensor(PENALTIES)
        classifier.heads = compute_heads_after_newton_steps(
            classifier.heads, x[step.rows], target, weight, penalties, NEWTON_STEPS
        )
        given = self._task.given_labels
        held_out = self._task.y[given.nodes.to(x.device)] < 0
        nodes, y = given.nodes.to(x.device)[held_out], given.y.to(x.device)[held_out]
        if not len(nodes):
            nodes = (self._task.y < 0).nonzero().view(-1)
            y = classes[nodes]
        agreement = ((x[nodes] @ classifier.heads).argmax(-1) == y).double().mean(1)
        classifier.head = classifier.heads[int(agreement.argmax())].to(classifier.head)  # a new tensor, as the forward
        # pass of this step keeps the old one
