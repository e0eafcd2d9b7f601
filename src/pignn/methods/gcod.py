"""GCOD."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..core.settings import Float, setting
from .core.encoding import EncodedClassifier, EncodedMethod
from .core.learner import Step

LEAST = 1e-4  # of discounts and probabilities whose logarithm is taken


class Discounts(nn.Module):
    """u_i in [0, 1] of every node: how far its label is left aside."""

    def __init__(self, num_nodes: int) -> None:
        super().__init__()
        self.values = nn.Parameter(torch.zeros(num_nodes))

    @torch.no_grad()
    def clamp_to_unit_interval_(self) -> None:
        self.values.clamp_(0, 1)


def compute_centroids_of_least_discounted(hidden: Tensor, y: Tensor, discounts: Tensor, num_classes: int) -> Tensor:
    """The mean hidden state of each class, over the half of its labels with the smallest discounts; [C, d]."""
    order = discounts.argsort(stable=True)
    order = order[y[order].argsort(stable=True)]  # class by class, by discount within
    counts = torch.bincount(y, minlength=num_classes)
    position = torch.arange(len(y), device=y.device) - (counts.cumsum(0) - counts)[y[order]]
    chosen = order[position < (counts[y[order]] + 1) // 2]
    total = torch.zeros(num_classes, hidden.shape[1], device=hidden.device).index_add_(0, y[chosen], hidden[chosen])
    return total / torch.bincount(y[chosen], minlength=num_classes).clamp(min=1)[:, None]


def compute_discounted_losses(logits: Tensor, y: Tensor, target: Tensor, discounts: Tensor, accuracy: Tensor) -> Tensor:
    """−target·log(p_y + accuracy·u), at most 0: labels that are left aside have little left to teach."""
    own = logits.softmax(-1).gather(1, y[:, None]).view(-1)
    return -target * (own + accuracy * discounts).clamp(LEAST, 1).log()


def compute_losses_that_fit_discounts(predicted: Tensor, y: Tensor, discounts: Tensor, num_classes: int) -> Tensor:
    """‖onehot(predicted) + u·onehot(y) − onehot(y)‖²/C: u goes to 0 where the label is predicted, to 1 elsewhere."""
    agrees = (predicted == y).to(discounts)
    return ((agrees + discounts - 1).square() + 1 - agrees) / num_classes


def compute_alignment_losses(logits: Tensor, y: Tensor, discounts: Tensor) -> Tensor:
    """KL(σ(h_y) ‖ σ(−log u)) of two coins; σ(−log u) = 1/(1 + u)."""
    aligned = logits.gather(1, y[:, None]).view(-1)
    wanted = (1 / (1 + discounts)).clamp(LEAST, 1 - LEAST)
    p = torch.sigmoid(aligned)
    return p * (F.logsigmoid(aligned) - wanted.log()) + (1 - p) * (F.logsigmoid(-aligned) - (1 - wanted).log())


@dataclass(kw_only=True, eq=False, repr=False)
class GCOD(EncodedMethod):
    """A learned number per label says how far it is left aside; class centroids say how typical a node is.

    Wani et al., "GCOD" (arXiv 2412.08419). u_i begins at 0 and learns, by an Adam of its own,
    :func:`compute_losses_that_fit_discounts`. The network learns :func:`compute_discounted_losses`, whose target is
    max(0, cos(h_i, centroid of y_i)) with centroids from the half of each class with the smallest u, and (1 − accuracy)
    times :func:`compute_alignment_losses`. Accuracy is the agreement with given labels in the step.

    Costs are linear. Another port takes logits for hidden states and lets a running mean of all labels be the centroid,
    wrong ones included, and mixes the target with the given label.
    """

    discount_lr: float = setting(0.1, Float(open_min=True), "learning rate of the discounts u")
    alignment_weight: float = setting(1.0, Float(), "weight of the alignment with the discounts")

    def make_networks(self, in_channels: int, num_classes: int, num_nodes: int) -> dict[str, nn.Module]:
        return {**super().make_networks(in_channels, num_classes, num_nodes), "discounts": Discounts(num_nodes)}

    def make_optimizer(self, name: str, network: nn.Module) -> torch.optim.Optimizer:
        if name == "discounts":
            return torch.optim.Adam(network.parameters(), lr=self.discount_lr)
        return super().make_optimizer(name, network)

    def objective(self, step: Step) -> Tensor:
        classifier, discounts = step.networks["classifier"], step.networks["discounts"]
        assert isinstance(classifier, EncodedClassifier)
        assert isinstance(discounts, Discounts)
        discounts.clamp_to_unit_interval_()
        u, num_classes, y = discounts.values[step.nodes], step.logits.shape[-1], step.y
        u = u.where(~step.trusted, 0.0)
        with torch.no_grad():
            hidden = classifier.hidden[step.rows]
            centroids = compute_centroids_of_least_discounted(hidden, y, u, num_classes)
            target = F.cosine_similarity(hidden, centroids[y], dim=1).clamp(min=0)
            target = target.where(~step.trusted, 1.0)
            predicted = step.logits.argmax(1)
            accuracy = step.weighted_mean((predicted == y).float()) / step.weight.sum().clamp(min=1e-12)
        fixed = u.detach()
        losses = compute_discounted_losses(step.logits, y, target, fixed, accuracy)
        aligned = compute_alignment_losses(step.logits, y, fixed)
        losses = losses + self.alignment_weight * (1 - accuracy) * aligned
        return step.weighted_mean(losses + compute_losses_that_fit_discounts(predicted, y, u, num_classes))
