"""DivideMix."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from ..core.settings import Float, Int, Range, setting
from .core.committee import TwoNetworkMethod
from .core.learner import Step
from .core.losses import soft_cross_entropy


def compute_clean_probs_by_loss_mixture(losses: Tensor, iterations: int = 10, min_variance: float = 5e-4) -> Tensor:
    """Probability that each loss belongs to the lower of two Gaussians, fitted by EM to each row of [k, n].

    Losses are scaled to [0, 1] first. If all of a row are equal, the probabilities are 1.
    """
    low, high = losses.amin(-1, keepdim=True), losses.amax(-1, keepdim=True)
    spread = high - low
    x = ((losses - low) / spread.clamp(min=1e-12))[:, None]  # [k, 1, n]
    mean = x.new_tensor([0.0, 1.0]).expand(len(x), 2)[..., None].clone()
    variance = x.var(-1, keepdim=True, correction=0).clamp(min=min_variance).expand(-1, 2, -1)
    share = torch.full_like(mean, 0.5)
    for _ in range(iterations):
        log_densities = share.log() - 0.5 * ((x - mean).square() / variance + variance.log())
        membership = log_densities.softmax(1)
        size = membership.sum(-1, keepdim=True).clamp(min=1e-6)
        mean = (membership * x).sum(-1, keepdim=True) / size
        variance = (membership * (x - mean).square()).sum(-1, keepdim=True) / size + min_variance
        share = size / x.shape[-1]
    lower = mean.argmin(1, keepdim=True).expand(-1, 1, x.shape[-1])
    return torch.where(spread > 1e-6, membership.gather(1, lower).squeeze(1), 1.0)


def sharpen_probs(probs: Tensor, temperature: float) -> Tensor:
    """probs^(1/temperature), normalized to probabilities again."""
    return (probs.clamp(min=1e-12).log() / temperature).softmax(-1)


@dataclass(kw_only=True, eq=False, repr=False)
class DivideMix(TwoNetworkMethod):
    """Two networks divide the nodes into labeled and unlabeled ones for each other, and learn from mixtures of them.

    Li et al., "DivideMix: Learning with Noisy Labels as Semi-supervised Learning", ICLR 2020. After a warm-up by
    cross-entropy in which every class counts the same (unless weights say otherwise), each step: two Gaussians on each
    network's losses give the *other* network the probability w that a label is clean. Above ½ a node is labeled and its
    target is w·ȳ + (1 − w)·p; otherwise its target is the mean of both networks. Targets are sharpened and mixed with
    those of a random other node, ℓ ~ max(β, 1 − β), β ~ Beta(4, 4), and so are the hidden states that the last layer
    has aggregated: that layer is linear, so mixing its logits is the same. The loss is CE on labeled mixtures +
    λ_u·squared error on unlabeled ones + KL(uniform ‖ mean prediction).

    Predictions in evaluation mode take the place of the mean over augmented images.
    """

    warm_epochs: int = setting(50, Int(), "epochs of plain training before labels are divided")
    temperature: float = setting(0.5, Float(), "temperature by which targets are sharpened", search=Range(0.2, 1.0))
    mixup_alpha: float = setting(4.0, Float(), "both parameters of the Beta distribution of mixing shares")
    unlabeled_weight: float = setting(
        25.0, Float(), "final weight λ_u of the loss on unlabeled mixtures", search=Range(1.0, 100.0, log=True)
    )
    ramp: int = setting(16, Int(), "epochs over which that weight grows from 0")
    threshold: float = setting(0.5, Float(max=1, open_max=True), "probability above which a label counts as clean")

    def objective(self, step: Step) -> Tensor:
        if step.epoch < self.warm_epochs or not step.y.numel():
            return self._compute_class_weighted_warmup_loss(step)
        with torch.no_grad():
            logits = step.eval_logits()
            probs = logits.softmax(-1)
            losses = torch.stack([self.pointwise(member, step.y) for member in logits])
            clean = torch.where(step.trusted, 1.0, compute_clean_probs_by_loss_mixture(losses))
        growth = min(1.0, (step.epoch - self.warm_epochs) / self.ramp) if self.ramp else 1.0
        first, second = (self._compute_network_loss(step, k, probs, clean[1 - k], growth) for k in (0, 1))
        return first + second

    def _compute_class_weighted_warmup_loss(self, step: Step) -> Tensor:
        share = step.weight / torch.bincount(step.y, minlength=step.logits.shape[-1])[step.y]
        losses = self.compute_losses_by_network(step)
        return (share * losses).sum() * (step.weight.sum() / share.sum().clamp(min=1e-12))

    def _compute_network_loss(
        self, step: Step, network: int, probs: Tensor, clean_probs: Tensor, growth: float
    ) -> Tensor:
        """The loss of one of the two networks; ``clean_probs`` are the probabilities that the other one gives it."""
        labeled = clean_probs > self.threshold
        w = clean_probs[:, None]
        one_hot = F.one_hot(step.y, probs.shape[-1]).to(probs)
        target = torch.where(labeled[:, None], w * one_hot + (1 - w) * probs[network], probs.mean(0))
        mixed_logits, target = self._mix_with_random_other_nodes(
            step.logits[network], sharpen_probs(target, self.temperature)
        )
        mixed_probs = mixed_logits.softmax(-1)
        mean_probs = (step.weight[:, None] * mixed_probs).sum(0) / step.weight.sum().clamp(min=1e-12)
        divergence = -mean_probs.clamp(min=1e-12).log().mean() - math.log(probs.shape[-1])
        return (
            step.weighted_mean(soft_cross_entropy(mixed_logits, target), labeled)
            + self.unlabeled_weight * growth * step.weighted_mean((mixed_probs - target).square().mean(-1), ~labeled)
            + divergence * step.weight.sum()
        )

    def _mix_with_random_other_nodes(self, logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Logits and targets, mixed with those of random other nodes."""
        other = torch.randperm(len(logits), device=logits.device)
        beta = torch.distributions.Beta(self.mixup_alpha, self.mixup_alpha).sample().item()
        share = max(beta, 1 - beta)
        return torch.lerp(logits[other], logits, share), torch.lerp(target[other], target, share)

    def build_warmup_warning_text_or_empty(self) -> str:
        if self.epochs > self.warm_epochs:
            return super().build_warmup_warning_text_or_empty()
        covered = f"warm_epochs ({self.warm_epochs}) covers all {self.epochs} epochs"
        return f"{covered}, so nothing but plain training is done; lower warm_epochs"
