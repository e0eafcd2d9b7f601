"""How candidates are averaged: weights by what they say of labels that they have not seen."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

BELIEF = 0.3  # of a held-out label: fewer than one, for labels of near nodes are judged by the same neighbours
LEAST = 0.01  # weight in the average; what has less is left out


def likely(evidence: Mapping[str, float]) -> dict[str, float]:
    """Weights ∝ exp(``BELIEF``·evidence), without those that hardly count."""
    weight = (BELIEF * torch.tensor(list(evidence.values()), dtype=torch.float64)).softmax(0)
    weight = torch.where(weight < min(LEAST, float(weight.max())), 0.0, weight)
    return {name: float(w / weight.sum()) for name, w in zip(evidence, weight, strict=True) if w > 0}


def average(scores: Mapping[str, Tensor], weights: Mapping[str, float]) -> Tensor:
    """Logarithm of the weighted mean of probabilities whose logits are ``scores``, [rows, classes]."""
    parts = [scores[name].log_softmax(1) + math.log(weight) for name, weight in weights.items()]
    return torch.stack(parts).logsumexp(0)


def not_surer(scores: Tensor, share: float) -> Tensor:
    """Logarithms of probabilities of which ``share`` is spread over all classes: no n labels exclude 1 in n."""
    even = torch.full_like(scores, math.log(share / scores.shape[1]))
    return torch.logaddexp(scores.log_softmax(1) + math.log1p(-share), even)


def surely_better(value: Tensor, other: Tensor, weight: Tensor) -> bool:
    """By more than a standard error of the mean difference."""
    difference = value - other
    gain = float(weight @ difference)
    return gain > float((weight.square() @ (difference - gain).square()).sqrt())
