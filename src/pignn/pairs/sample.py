"""Random pairs, drawn anew for every step, in memory and time that grow with the nodes."""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor

from ..sparse import Pattern


class PairSample:
    """m·N random ordered pairs of distinct nodes, each uniform over all N(N − 1).

    The nodes are put in a random order, a circle, and every node is paired with the ones s_1, ..., s_m places further
    on. One gather brings rows into that order; everything else is a sparse product with a banded matrix.
    """

    def __init__(self, num_nodes: int, per_node: int, device: torch.device | str = "cpu") -> None:
        n = self.num_nodes = num_nodes
        m = self.per_node = per_node if n > 1 else 0
        self.order = torch.randperm(n, device=device)
        shifts = torch.randint(1, max(n, 2), (m,), device=device)
        places = torch.arange(n, device=device)[:, None]
        ahead = (places + shifts).remainder_(n)
        self.behind = (places - shifts).remainder_(n)
        index = torch.int32 if 2 * m * n < 2**31 else torch.int64
        steps = torch.arange(n + 1, dtype=index, device=device)
        self.forward = Pattern(steps * m, ahead.view(-1).to(index), (n, n))
        both = torch.cat([ahead, self.behind], dim=1).view(-1).to(index)
        self.both = Pattern(steps * (2 * m), both, (n, n))
        self._last: tuple[int, int, Tensor, Tensor] | None = None

    @property
    def weight(self) -> float:
        """What one pair stands for: Σ over all ordered pairs of distinct nodes ≈ weight · Σ over the sample."""
        return (self.num_nodes - 1) / self.per_node if self.per_node else 0.0

    @cached_property
    def i(self) -> Tensor:
        return self.order.repeat_interleave(self.per_node)

    @cached_property
    def j(self) -> Tensor:
        return self.order[self.forward.col.long()]

    def products(self, h: Tensor) -> Tensor:
        """z_ij = h_i·h_j of every pair. Asked twice for the same embeddings, it answers from memory."""
        key = (h.data_ptr(), h._version)
        if self._last is None or self._last[:2] != key:
            turned = h[self.order]
            self._last = (*key, h, self.forward.products(turned, turned))
        return self._last[3]

    def spread(self, values: Tensor, h: Tensor) -> Tensor:
        """Σ over the pairs of a node of value · embedding of the other one: half of a gradient, as in PairGraph."""
        ahead = values.view(self.num_nodes, self.per_node)
        both = torch.cat([ahead, ahead.gather(0, self.behind)], dim=1).view(-1)
        result = torch.empty_like(h)
        result[self.order] = self.both.matrix(both) @ h[self.order]
        # Each pair was drawn in one direction and pulls at both of its nodes: half for each.
        return result.mul_(0.5)
