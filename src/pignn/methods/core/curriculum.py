"""Curricula: easy labels first, all of them in the end."""

from __future__ import annotations

import math

import torch
from torch import Tensor

PACES = ("linear", "root", "geometric")


def compute_easy_share(pace: str, start: float, epoch: int, num_epochs: int) -> float:
    """The share of labels that an epoch learns from: from ``start`` to 1 over ``num_epochs``.

    linear λ + (1 − λ)t/T · root √(λ² + (1 − λ²)t/T) · geometric λ^(1 − t/T), at most 1.
    """
    progress = min(1.0, epoch / num_epochs) if num_epochs else 1.0
    if pace == "linear":
        return start + (1 - start) * progress
    if pace == "root":
        return math.sqrt(start**2 + (1 - start**2) * progress)
    return start ** (1 - progress)


def compute_difficulty_rank_shares(difficulty: Tensor) -> Tensor:
    """The position of each value in ascending order as a share in (0, 1]: the easiest of n has 1/n."""
    rank = torch.empty_like(difficulty)
    order = difficulty.argsort(stable=True)
    rank[order] = torch.arange(1, len(order) + 1, dtype=rank.dtype, device=rank.device)
    return rank / max(len(order), 1)
