"""How often edges join nodes of one class.

Edge homophily is the share of edges whose ends have the same label, among the edges whose ends both have one. The
adjusted value corrects it for the chance that two random ends agree: 0 is chance, 1 is perfect. What wrong labels do to
it is taken out in `pignn.methods`, which knows an estimate of the noise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor


def list_labeled_edge_end_labels(labels: Tensor, num_neighbors: Tensor, neighbors: Tensor) -> tuple[Tensor, Tensor]:
    """The labels at both ends of every edge whose ends both have one (are not -1), from lists of neighbors."""
    starts, ends = torch.repeat_interleave(labels, num_neighbors), labels[neighbors]
    labeled = (starts >= 0) & (ends >= 0)
    return starts[labeled], ends[labeled]


def compute_homophily_or_none(start_labels: Any, end_labels: Any) -> float | None:
    """The share of edges whose two labels (arrays or tensors) are equal. None where there is no edge."""
    return int((start_labels == end_labels).sum()) / len(start_labels) if len(start_labels) else None


def compute_adjusted_homophily_or_none(start_labels: Any, end_labels: Any, num_classes: int) -> float | None:
    """Homophily with chance at 0 and perfection at 1. None where all ends have one label, or there is no edge."""
    homophily = compute_homophily_or_none(start_labels, end_labels)
    if homophily is None:
        return None
    shares = np.bincount(start_labels, minlength=num_classes) / len(start_labels)
    chance = float((shares**2).sum())
    return (homophily - chance) / (1 - chance) if chance < 1 else None
