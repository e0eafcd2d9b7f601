"""Vectors of some nodes in place of an array of all nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class NodeRows:
    """Rows of an array [N, d], of which those of some nodes are kept. Nodes are asked for by their numbers."""

    nodes: Tensor  # sorted
    rows: Tensor
    num_nodes: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.num_nodes, self.rows.shape[1]

    @property
    def dtype(self) -> torch.dtype:
        return self.rows.dtype

    def __len__(self) -> int:
        return self.num_nodes

    def __getitem__(self, nodes: Tensor) -> Tensor:
        position = torch.searchsorted(self.nodes, nodes)
        assert bool((self.nodes[position.clamp(max=len(self.nodes) - 1)] == nodes).all()), "a node was not kept"
        return self.rows[position]

    def subset(self, nodes: Tensor) -> NodeRows:
        """The same for fewer nodes."""
        nodes = nodes.unique()
        return NodeRows(nodes, self[nodes], self.num_nodes)


NodeVectors: TypeAlias = Tensor | NodeRows  # of all nodes, or of those that are asked for
