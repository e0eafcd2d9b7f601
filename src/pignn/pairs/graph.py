"""The connected pairs B⁺ of a graph as a fixed sparse pattern, and the constants that weigh them."""

from __future__ import annotations

from functools import cached_property, lru_cache

import torch
from torch import Tensor

from ..graphs import simple_edges
from ..sparse import Pattern


class PairGraph:
    """Connected pairs of a simple undirected graph, a node and itself included.

    With N nodes and Q directed edges (self-loops apart), B⁺ has Q + N ordered pairs; the weights of the
    structure loss are w = (N² − Q)/Q and c = N²/(2(N² − Q)), or w = 0 and c = ½ where there is no edge.
    Build it once for a graph and hand it to the losses in place of ``edge_index``.

    Values of connected pairs stand in one order everywhere: the Q edges row by row, then the N self-pairs.
    """

    def __init__(self, edge_index: Tensor, num_nodes: int) -> None:
        row, col = simple_edges(edge_index, num_nodes).edge_index
        self._set(Pattern.from_sorted(row, col, (num_nodes, num_nodes)))

    @classmethod
    def from_pattern(cls, edges: Pattern) -> PairGraph:
        """From the pattern of a simple undirected graph, which is not looked at again."""
        graph = cls.__new__(cls)
        graph._set(edges)
        return graph

    def _set(self, edges: Pattern) -> None:
        self.edges = edges
        self.num_nodes, self.num_edges = edges.shape[0], edges.size
        total = self.num_nodes**2
        self.w = (total - self.num_edges) / self.num_edges if self.num_edges else 0.0
        self.c = total / (2 * (total - self.num_edges)) if self.num_edges else 0.5

    @cached_property
    def row(self) -> Tensor:
        return torch.cat([self.edges.row, torch.arange(self.num_nodes, device=self.edges.col.device)])

    @cached_property
    def col(self) -> Tensor:
        return torch.cat([self.edges.col.long(), torch.arange(self.num_nodes, device=self.edges.col.device)])

    @lru_cache(maxsize=2)  # noqa: B019  one tile size a device, for as long as the graph lives
    def in_tiles(self, size: int) -> dict[tuple[int, int], Tensor]:
        """Flat positions of the connected pairs inside each tile on or above the diagonal that has any."""
        upper = self.row // size <= self.col // size
        row, col = self.row[upper], self.col[upper]
        width = (self.num_nodes - col // size * size).clamp(max=size)
        count = -(-self.num_nodes // size)
        tile = row // size * count + col // size
        order = torch.argsort(tile, stable=True)
        ids, sizes = torch.unique_consecutive(tile[order], return_counts=True)
        positions = (row % size * width + col % size)[order].split(sizes.tolist())
        return {(i // count, i % count): place for i, place in zip(ids.tolist(), positions, strict=True)}

    def products(self, h: Tensor) -> Tensor:
        """z_ij = h_i·h_j of every connected pair."""
        return torch.cat([self.edges.products(h, h), h.square().sum(dim=1)])

    def spread(self, values: Tensor, h: Tensor) -> Tensor:
        """Σ_j values_ij · h_j for every node i."""
        edges, loops = values.split([self.num_edges, self.num_nodes])
        return (self.edges.matrix(edges) @ h).addcmul_(loops[:, None], h)


def pair_graph(edges: Tensor | PairGraph, num_nodes: int) -> PairGraph:
    """The connected pairs of ``edges``, made now unless they were made before."""
    return edges if isinstance(edges, PairGraph) else PairGraph(edges, num_nodes)
