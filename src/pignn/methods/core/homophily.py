"""How often edges join nodes of one class, estimated from noisy labels."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ... import backbones
from ...graphs.homophily import compute_homophily, list_labels_at_ends_of_labeled_edges
from .labels import GivenLabels


def estimate_homophily(
    inputs: backbones.GraphInputs, given_labels: GivenLabels, transition: Tensor
) -> tuple[float, float] | None:
    """(share of edges whose ends have one true class, standard error), from how many ends have one given label.

    The effect of the noise on both kinds of edges is removed. None if no edge joins two labeled nodes.
    """
    y = torch.full((inputs.num_nodes,), -1).index_copy_(0, given_labels.nodes, given_labels.y)
    ends = list_labels_at_ends_of_labeled_edges(y, inputs.adj.crow.diff(), inputs.adj.col)
    count, agreement = len(ends[0]), compute_homophily(*ends)
    if agreement is None:
        return None
    meet = transition @ transition.T  # probability that two given labels are equal, for every two true classes
    same = float(meet.diag().mean())
    different = float((meet.sum() - meet.trace()) / max(meet.numel() - len(meet), 1))
    contrast = max(same - different, 1e-6)
    num_edges = count if inputs.directed else count / 2
    error = math.sqrt(max(agreement * (1 - agreement), 0.25 / num_edges) / num_edges) / contrast
    return min(max((agreement - different) / contrast, 0.0), 1.0), error
