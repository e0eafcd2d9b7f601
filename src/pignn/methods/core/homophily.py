"""Whether links join nodes of one class, as noisy labels tell it."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ... import backbones
from .labels import GivenLabels


def homophily(inputs: backbones.GraphInputs, given: GivenLabels, transition: Tensor) -> tuple[float, float] | None:
    """(share of links whose ends have one true class, standard error), by how many have one given label.

    What the noise makes of both kinds of links is taken out. None where no link joins two labelled nodes.
    """
    y = torch.full((inputs.num_nodes,), -1).index_copy_(0, given.nodes, given.y)
    one, other = torch.repeat_interleave(y, inputs.adj.crow.diff()), y[inputs.adj.col]
    both = (one >= 0) & (other >= 0)
    count = int(both.sum())
    if not count:
        return None
    seen = float((one[both] == other[both]).double().mean())
    meet = transition @ transition.T  # that the given labels are one, for every two true classes
    same = float(meet.diag().mean())
    differ = float((meet.sum() - meet.trace()) / max(meet.numel() - len(meet), 1))
    told = max(same - differ, 1e-6)
    links = count if inputs.directed else count / 2
    error = math.sqrt(max(seen * (1 - seen), 0.25 / links) / links) / told
    return min(max((seen - differ) / told, 0.0), 1.0), error
