"""UnionNET."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from ..core.settings import Float, Int, setting
from .core.encoding import EncodedClassifier, EncodedMethod
from .core.learner import Step
from .core.links import TILE_VALUES


def compute_label_shares_of_nearest(
    z: Tensor, y: Tensor, num_classes: int, k: int, trusted: Tensor | None = None
) -> Tensor:
    """P(c|i) = Σ_{j∈S_i} softmax_j(cos(z_i, z_j))·1[y_j = c], S_i the ``k`` most similar other labeled nodes; [n, C].

    In tiles of a few million similarities. A trusted or only node has its own label.
    """
    own = F.one_hot(y, num_classes).to(z)
    k = min(k, len(y) - 1)
    if k < 1:
        return own
    unit = F.normalize(z, dim=1)
    result, size = torch.empty_like(own), max(1, TILE_VALUES // len(y))
    for start in range(0, len(y), size):
        rows = torch.arange(start, min(start + size, len(y)), device=y.device)
        similarity = unit[rows] @ unit.t()
        similarity[rows - start, rows] = -torch.inf
        values, support = similarity.topk(k, dim=1)
        shares = values.softmax(1)
        result[rows] = torch.zeros(len(rows), num_classes).to(z).scatter_add_(1, y[support], shares)
    return result if trusted is None else torch.where(trusted[:, None], own, result)


@dataclass(kw_only=True, eq=False, repr=False)
class UnionNET(EncodedMethod):
    """Labels of similar labeled nodes say how far a label counts, and which other one is learned beside it.

    Li, Yin & Chen, "Unified Robust Training for Graph Neural Networks against Label Noise", PAKDD 2021. With P(c|i) of
    :func:`compute_label_shares_of_nearest` from detached hidden states and c*_i = argmax P(·|i), the loss is (1 −
    α)·mean P(y_i|i)·CE(y_i) + α·mean P(c*_i|i)·CE(c*_i) + β·KL(prior ‖ mean p), prior the shares of the given classes;
    plain cross-entropy up to ``warm_epochs``. There is none by default: a network has learned wrong labels within some
    tens of epochs, and given validation labels would choose an epoch before that.

    Support sets are labeled nodes, so that no label of a validation or test node is read. Similarities are cosines:
    inner products saturate the softmax. Another port takes the support of the first node for all, gives the correction
    no gradient, and so trains plain cross-entropy with a constant in front.
    """

    correction_weight: float = setting(0.5, Float(max=1), "weight α of the corrected labels; 1 − α of the given ones")
    prior_weight: float = setting(1.0, Float(), "weight β of the class shares")
    support_size: int = setting(10, Int(min=1), "labeled nodes that a label is compared with")
    warm_epochs: int = setting(0, Int(), "epochs of plain training before labels are compared")

    def objective(self, step: Step) -> Tensor:
        if step.epoch < self.warm_epochs or not step.y.numel():
            return super().objective(step)
        classifier = step.networks["classifier"]
        assert isinstance(classifier, EncodedClassifier)
        z, num_classes = classifier.hidden[step.rows].detach(), step.logits.shape[-1]
        support = compute_label_shares_of_nearest(z, step.y, num_classes, self.support_size, step.trusted)
        share, corrected = support.max(1)
        given_share = support.gather(1, step.y[:, None]).view(-1)
        loss = step.weighted_mean(
            (1 - self.correction_weight) * given_share * self.pointwise(step.logits, step.y)
            + self.correction_weight * share * self.pointwise(step.logits, corrected)
        )
        return loss + self.prior_weight * self.compute_class_prior_divergence(step)

    def compute_class_prior_divergence(self, step: Step) -> Tensor:
        """KL(shares of the given classes ‖ mean prediction)."""
        weight = step.weight / step.weight.sum().clamp(min=1e-12)
        prior = torch.zeros_like(step.logits[0]).index_add_(0, step.y, weight)
        mean = (weight[:, None] * step.logits.softmax(-1)).sum(0).clamp(min=1e-12)
        return (torch.xlogy(prior, prior) - prior * mean.log()).sum()
