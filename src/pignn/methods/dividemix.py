"""DivideMix."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from ..core import validation as settings
from .core.committee import TwoNetworks
from .core.learner import Step
from .core.losses import soft_cross_entropy


def clean_probability(losses: Tensor, iterations: int = 10, least_variance: float = 5e-4) -> Tensor:
    """How probably each loss is of the lower of two Gaussians that are fitted to them by EM; [k, n], row by row.

    Losses are scaled to [0, 1] first. Where all are equal there is nothing to divide: 1 for all.
    """
    low, high = losses.amin(-1, keepdim=True), losses.amax(-1, keepdim=True)
    spread = high - low
    x = ((losses - low) / spread.clamp(min=1e-12))[:, None]  # [k, 1, n]
    mean = x.new_tensor([0.0, 1.0]).expand(len(x), 2)[..., None].clone()
    variance = x.var(-1, keepdim=True, correction=0).clamp(min=least_variance).expand(-1, 2, -1)
    share = torch.full_like(mean, 0.5)
    for _ in range(iterations):
        logs = share.log() - 0.5 * ((x - mean).square() / variance + variance.log())
        part = logs.softmax(1)
        size = part.sum(-1, keepdim=True).clamp(min=1e-6)
        mean = (part * x).sum(-1, keepdim=True) / size
        variance = (part * (x - mean).square()).sum(-1, keepdim=True) / size + least_variance
        share = size / x.shape[-1]
    lower = mean.argmin(1, keepdim=True).expand(-1, 1, x.shape[-1])
    return torch.where(spread > 1e-6, part.gather(1, lower).squeeze(1), 1.0)


def sharpen(p: Tensor, temperature: float) -> Tensor:
    """p^(1/temperature), made a probability again."""
    return (p.clamp(min=1e-12).log() / temperature).softmax(-1)


@dataclass(kw_only=True, eq=False, repr=False)
class DivideMix(TwoNetworks):
    """Two networks divide the nodes into labelled and unlabelled ones for each other, and learn from mixtures of them.

    Li et al., "DivideMix: Learning with Noisy Labels as Semi-supervised Learning", ICLR 2020. After a warm-up by
    cross-entropy in which every class counts the same (unless weights say otherwise), each step: two Gaussians on each
    network's losses say for the *other* one how probably a label is clean, w. Above ½ a node is labelled: its target is
    w·ȳ + (1 − w)·p; else it is not: its target is the two networks' mean. Targets are sharpened and mixed with those of
    a random other node, ℓ ~ max(β, 1 − β), β ~ Beta(4, 4), and so are the hidden states that the last layer has
    gathered: that layer maps them linearly, so that mixing its logits is the same. The loss is CE on labelled mixtures
    + λ_u·squared error on unlabelled ones + KL(uniform ‖ mean prediction).

    Predictions in evaluation mode take the place of the mean over augmented images.

    Args:
        warm_epochs: of plain training before.
        temperature: of sharpening.
        mix: both parameters of Beta.
        unlabelled: λ_u in the end.
        ramp: epochs over which λ_u grows to that.
        threshold: of w.
    """

    warm_epochs: int = 50
    temperature: float = 0.5
    mix: float = 4.0
    unlabelled: float = 25.0
    ramp: int = 16
    threshold: float = 0.5

    def objective(self, step: Step) -> Tensor:
        if step.epoch < self.warm_epochs or not step.y.numel():
            return self._warm(step)
        with torch.no_grad():
            h = step.eval_logits()
            p = h.softmax(-1)
            losses = torch.stack([self.pointwise(member, step.y) for member in h])
            clean = torch.where(step.trusted, 1.0, clean_probability(losses))
            given = F.one_hot(step.y, p.shape[-1]).to(p)
        growth = min(1.0, (step.epoch - self.warm_epochs) / self.ramp) if self.ramp else 1.0
        terms = [self._member(step, step.logits[k], p[k], p.mean(0), given, clean[1 - k], growth) for k in (0, 1)]
        return terms[0] + terms[1]

    def _warm(self, step: Step) -> Tensor:
        share = step.weight / torch.bincount(step.y, minlength=step.logits.shape[-1])[step.y]
        return (share * self.both(step)).sum() * (step.weight.sum() / share.sum().clamp(min=1e-12))

    def _member(
        self, step: Step, h: Tensor, own: Tensor, mean: Tensor, given: Tensor, clean: Tensor, growth: float
    ) -> Tensor:
        labelled = clean > self.threshold
        w = clean[:, None]
        target = sharpen(torch.where(labelled[:, None], w * given + (1 - w) * own, mean), self.temperature)
        other = torch.randperm(len(h), device=h.device)
        beta = torch.distributions.Beta(self.mix, self.mix).sample().item()
        share = max(beta, 1 - beta)
        h_mixed = torch.lerp(h[other], h, share)
        target = torch.lerp(target[other], target, share)
        p = h_mixed.softmax(-1)
        mean_p = (step.weight[:, None] * p).sum(0) / step.weight.sum().clamp(min=1e-12)
        uniform = -mean_p.clamp(min=1e-12).log().mean() - math.log(p.shape[-1])
        return (
            step.weighted_mean(soft_cross_entropy(h_mixed, target), labelled)
            + self.unlabelled * growth * step.weighted_mean((p - target).square().mean(-1), ~labelled)
            + uniform * step.weight.sum()
        )

    def warmup_warning_text(self) -> str:
        if self.epochs > self.warm_epochs:
            return super().warmup_warning_text()
        covered = f"warm_epochs ({self.warm_epochs}) covers all {self.epochs} epochs"
        return f"{covered}, so nothing but plain training is done; lower warm_epochs"

    def check_settings(self) -> None:
        super().check_settings()
        settings.whole("warm_epochs", self.warm_epochs, 0)
        settings.whole("ramp", self.ramp, 0)
        for name in ("temperature", "mix", "unlabelled"):
            settings.number(name, getattr(self, name))
        settings.number("threshold", self.threshold, below=1)
