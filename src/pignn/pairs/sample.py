"""Random pairs, drawn anew for every step, in memory and time that grow with the nodes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import torch
from torch import Tensor

from ..core.errors import ConfigError

MAX_PAIRS_AT_ONCE = 2**18  # so that they stay in the CPU caches
MAX_CACHED_PAIRS = 2**21  # whose labels may be kept for a whole step


class PairSample:
    """Random groups of nodes. The pairs are all ordered pairs of distinct nodes within a group.

    The nodes are shuffled and dealt into groups of ``num_negatives`` + 1. The few that are left over have no pairs this
    time. All others have equally many, which lowers the variance, and the pairs of a group are one small dense matrix
    product, some twenty times cheaper than as many scattered pairs.
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
        """How many of the N(N − 1) ordered pairs a sampled one stands for. All are equally likely."""
        num_sampled = self.num_grouped * (self.group_size - 1)
        return self.num_nodes * (self.num_nodes - 1) / num_sampled if num_sampled else 0.0

    @property
    def do_pair_labels_fit_in_cache(self) -> bool:
        """Whether the labels of all its pairs may be kept."""
        return self.num_grouped * self.group_size <= MAX_CACHED_PAIRS

    @cached_property
    def position_in_order(self) -> Tensor:
        """The position of each node in the order."""
        return torch.empty_like(self.order).index_copy_(
            0, self.order, torch.arange(self.num_nodes, device=self.order.device)
        )

    def iter_grouped_node_numbers(self) -> Iterator[Tensor]:
        """Node numbers [groups, group_size], as many groups at once as stay in the caches."""
        yield from (
            self.order[: self.num_grouped]
            .view(-1, self.group_size)
            .split(max(1, MAX_PAIRS_AT_ONCE // self.group_size**2))
        )
