"""Random pairs, drawn anew for every step, in memory and time that grow with the nodes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import torch
from torch import Tensor

from ..errors import ConfigError

CHUNK = 2**19  # pairs that are held at once


class PairSample:
    """Random groups of nodes; the pairs are all ordered pairs of distinct nodes of one group.

    The nodes are shuffled and dealt into groups of at least ``partners`` + 1, as equal as can be. Every node has as
    many partners as any other (or one more), so an estimate does not hang on who happened to be drawn, and pairs
    within a group are dense little matrix products, some twenty times cheaper than as many scattered pairs.
    """

    def __init__(
        self,
        num_nodes: int,
        partners: int,
        device: torch.device | str = "cpu",
        generator: torch.Generator | None = None,
    ) -> None:
        if partners < 1:
            raise ConfigError(f"a node needs at least one partner, not {partners}")
        self.num_nodes = num_nodes
        self.count = max(1, num_nodes // (partners + 1))
        self.order = torch.randperm(num_nodes, generator=generator).to(device)

    @cached_property
    def place(self) -> Tensor:
        """Where in the order each node stands."""
        return torch.empty_like(self.order).index_copy_(
            0, self.order, torch.arange(self.num_nodes, device=self.order.device)
        )

    def groups(self) -> Iterator[tuple[Tensor, float]]:
        """Node numbers [groups, size], as many groups at once as fit, and what one pair of them stands for.

        In a group of s nodes each has s − 1 of its N − 1 possible partners, so a pair stands for (N − 1)/(s − 1).
        """
        size, larger = divmod(self.num_nodes, self.count)
        cut = larger * (size + 1)
        for part, width in ((self.order[:cut], size + 1), (self.order[cut:], size)):
            if part.numel() and width > 1:
                for groups in part.view(-1, width).split(max(1, CHUNK // width**2)):
                    yield groups, (self.num_nodes - 1) / (width - 1)
