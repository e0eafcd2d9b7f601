"""The connected pairs B⁺ of a graph as a fixed sparse pattern, and the constants that weigh them."""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

from ..graphs import simple_edges
from ..sparse import csr, csr_from_coo


class PairGraph:
    """Connected pairs of a simple undirected graph, a node and itself included.

    With N nodes and Q directed edges (self-loops apart), B⁺ has Q + N ordered pairs; the weights of the
    structure loss are w = (N² − Q)/Q and c = N²/(2(N² − Q)), or w = 0 and c = ½ where there is no edge.
    Build it once for a graph and hand it to the losses in place of ``edge_index``.
    """

    def __init__(self, edge_index: Tensor, num_nodes: int) -> None:
        edges = simple_edges(edge_index, num_nodes).edge_index
        self.num_nodes = num_nodes
        self.num_edges = int(edges.shape[1])
        total = num_nodes**2
        self.w = (total - self.num_edges) / self.num_edges if self.num_edges else 0.0
        self.c = total / (2 * (total - self.num_edges)) if self.num_edges else 0.5

        loops = torch.arange(num_nodes, device=edges.device)
        self.row, self.col = torch.cat([edges[0], loops]), torch.cat([edges[1], loops])
        ones = torch.ones(self.row.numel(), device=edges.device)
        pattern = csr_from_coo(self.row, self.col, ones, (num_nodes, num_nodes))
        self.crow, self.csr_col = pattern.crow_indices(), pattern.col_indices()
        # Coordinates in the pattern's own order, so that values, rows and columns line up.
        self.col = self.csr_col.long()
        self.row = torch.repeat_interleave(loops, self.crow.diff().long())

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

    def _matrix(self, values: Tensor) -> Tensor:
        return csr(self.crow, self.csr_col, values, (self.num_nodes, self.num_nodes))

    def products(self, h: Tensor) -> Tensor:
        """z_ij = h_i·h_j of every connected pair, without gathering rows."""
        zeros = torch.zeros(self.col.numel(), dtype=h.dtype, device=h.device)
        return torch.sparse.sampled_addmm(self._matrix(zeros), h, h.t(), beta=0.0).values()

    def spread(self, values: Tensor, h: Tensor) -> Tensor:
        """Σ_j values_ij · h_j for every node i."""
        return self._matrix(values) @ h


def pair_graph(edges: Tensor | PairGraph, num_nodes: int) -> PairGraph:
    """The connected pairs of ``edges``, made now unless they were made before."""
    return edges if isinstance(edges, PairGraph) else PairGraph(edges, num_nodes)
