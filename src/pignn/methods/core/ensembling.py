"""How candidates are averaged: with weights by how well they predict labels that they were not trained on."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from .labels import GivenLabels

MIN_WEIGHT = 0.01  # smaller weights are left out of the average


def compute_softmax_weights_without_negligible(evidence: Mapping[str, float]) -> dict[str, float]:
    """Weights ∝ exp(evidence), without negligible ones."""
    weight = torch.tensor(list(evidence.values()), dtype=torch.float64).softmax(0)
    weight = torch.where(weight < min(MIN_WEIGHT, float(weight.max())), 0.0, weight)
    return {name: float(w / weight.sum()) for name, w in zip(evidence, weight, strict=True) if w > 0}


def compute_log_mean_probs(scores: Mapping[str, Tensor], weights: Mapping[str, float]) -> Tensor:
    """Logarithm of the weighted mean of softmax(scores), [rows, classes]."""
    terms = [scores[name].log_softmax(1) + math.log(weight) for name, weight in weights.items()]
    return torch.stack(terms).logsumexp(0)


def mix_log_probs_with_uniform(logits: Tensor, uniform_mass: float) -> Tensor:
    """Log-probabilities of which ``uniform_mass`` is spread over all classes: no n labels exclude 1 in n."""
    uniform = torch.full_like(logits, math.log(uniform_mass / logits.shape[1]))
    return torch.logaddexp(logits.log_softmax(1) + math.log1p(-uniform_mass), uniform)


def compute_weighted_agreement(scores: Tensor, labels: GivenLabels) -> float:
    """The weighted share of labels that are the likeliest class."""
    right = (scores.argmax(1) == labels.y).double()
    return float(labels.weight.double() @ right / labels.weight.sum())
