"""Random pairs, drawn anew for every step, in memory and time that grow with the nodes."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

CHUNK = 2**19  # pairs that are held at once


class PairSample:
    """Random groups of nodes; the pairs are all ordered pairs of distinct nodes of one group.

    The nodes are shuffled and cut into groups of ``partners`` + 1 (the last one has what is left). Every node has
    the same number of partners, so the estimate does not hang on who happened to be drawn, and pairs within a group
    are dense little matrix products, some twenty times cheaper than as many scattered pairs.
    """

    def __init__(self, num_nodes: int, partners: int, device: torch.device | str = "cpu") -> None:
        self.num_nodes = num_nodes
        self.size = min(partners + 1, num_nodes)
        self.order = torch.randperm(num_nodes, device=device)
        rest = num_nodes % self.size
        pairs = (num_nodes - rest) * (self.size - 1) + rest * (rest - 1)
        # All ordered pairs of distinct nodes are equally likely to be in the sample.
        self.weight = num_nodes * (num_nodes - 1) / pairs if pairs else 0.0

    def groups(self) -> Iterator[Tensor]:
        """Node numbers [groups, size], as many groups at once as fit, the smaller rest last."""
        whole = self.num_nodes - self.num_nodes % self.size
        yield from self.order[:whole].view(-1, self.size).split(max(1, CHUNK // self.size**2))
        if self.num_nodes - whole > 1:
            yield self.order[None, whole:]
