"""Random pairs, drawn anew for every step, in memory and time that grow with the nodes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import torch
from torch import Tensor

from ..core.errors import ConfigError

CHUNK = 2**18  # pairs that are held at once: they stay in the caches
KEPT = 2**21  # pairs whose labels may be held for a whole step: they should stay in the caches


class PairSample:
    """Random groups of nodes; the pairs are all ordered pairs of distinct nodes of one group.

    The nodes are shuffled and dealt into groups of ``num_negatives`` + 1; the few that are left over have no pairs this
    time. Every other node has as many as any, so an estimate does not hang on who happened to be drawn, and pairs
    within a group are dense little matrix products, some twenty times cheaper than as many scattered pairs.
    """

    def __init__(
        self,
        num_nodes: int,
        num_negatives: int,
        device: torch.device | str = "cpu",
        generator: torch.Generator | None = None,
    ) -> None:
        if num_negatives < 1:
            raise ConfigError(f"num_negatives must be at least 1, not {num_negatives}")
        self.num_nodes = num_nodes
        self.group_size = min(num_negatives + 1, num_nodes)
        self.num_grouped = num_nodes // self.group_size * self.group_size  # nodes in groups
        self.order = torch.randperm(num_nodes, generator=generator).to(device)

    @property
    def weight(self) -> float:
        """How many of the N(N − 1) ordered pairs one that was drawn stands for; all are equally likely."""
        drawn = self.num_grouped * (self.group_size - 1)
        return self.num_nodes * (self.num_nodes - 1) / drawn if drawn else 0.0

    @property
    def is_small(self) -> bool:
        """Whether something may be kept of every pair."""
        return self.num_grouped * self.group_size <= KEPT

    @cached_property
    def position(self) -> Tensor:
        """Where in the order each node stands."""
        return torch.empty_like(self.order).index_copy_(
            0, self.order, torch.arange(self.num_nodes, device=self.order.device)
        )

    def iter_groups(self) -> Iterator[Tensor]:
        """Node numbers [groups, group_size], as many groups at once as fit."""
        yield from self.order[: self.num_grouped].view(-1, self.group_size).split(max(1, CHUNK // self.group_size**2))
