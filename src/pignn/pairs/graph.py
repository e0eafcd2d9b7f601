"""The connected pairs B⁺ of a graph as a fixed sparse pattern, and the constants that weight them."""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor

from ..core.errors import DataError
from ..graphs import simplify_edges
from ..graphs.sparse import SparsityPattern


class PairGraph:
    """Connected pairs of a simple undirected graph, a node and itself included.

    With N nodes and Q directed edges (self-loops apart), B⁺ has Q + N ordered pairs; the weights of the
    structure loss are w = (N² − Q)/Q and c = N²/(2(N² − Q)), or w = 0 and c = ½ where there is no edge.
    Build it once for a graph and hand it to the losses in place of ``edge_index``.

    Values of connected pairs stand in one order everywhere: the Q edges row by row, then the N self-pairs.
    """

    max_tile_size: int | None = None  # rows and columns that exact losses hold at once; None suits the device

    def __init__(self, edge_index: Tensor, num_nodes: int) -> None:
        _check_edge_index_fits_nodes(edge_index, num_nodes)
        row, col = simplify_edges(edge_index, num_nodes).edge_index
        self._set_edges_and_weights(SparsityPattern.from_row_sorted(row, col, (num_nodes, num_nodes)))

    @classmethod
    def from_pattern(cls, edges: SparsityPattern) -> PairGraph:
        """The pairs of a simple undirected graph. The pattern is not checked."""
        graph = cls.__new__(cls)
        graph._set_edges_and_weights(edges)
        return graph

    def _set_edges_and_weights(self, edges: SparsityPattern) -> None:
        self.edges = edges
        self.num_nodes, self.num_edges = edges.shape[0], edges.num_entries
        self.num_pairs = float(self.num_nodes) ** 2  # what sums over pairs are divided by
        self.w = self.num_pairs / self.num_edges - 1 if self.num_edges else 0.0
        self.self_pair_w = self.w
        self.edge_fraction = 1.0  # fraction of the edges that is here
        self.c = self.num_pairs / (2 * (self.num_pairs - self.num_edges)) if self.num_edges else 0.5
        self._tiles: dict[int, dict[tuple[int, int], Tensor]] = {}

    def build_reweighted_subgraph(self, nodes: Tensor) -> PairGraph:
        """The pairs among some randomly drawn nodes, weighted so that the expected loss is that of the whole graph.

        Of b nodes, an ordered pair of distinct ones stands for N(N − 1)/(b(b − 1)) pairs, a self-pair for N/b.
        """
        n, b = self.num_nodes, nodes.numel()
        local_ids = torch.full((n,), -1, dtype=torch.int64, device=nodes.device)
        local_ids[nodes] = torch.arange(b, device=nodes.device)
        start, stop = self.edges.crow[nodes].long(), self.edges.crow[nodes + 1].long()
        count = stop - start
        row = torch.repeat_interleave(torch.arange(b, device=nodes.device), count)
        entry = torch.arange(row.numel(), device=nodes.device) + (start - (count.cumsum(0) - count))[row]
        col = local_ids[self.edges.col[entry].long()]
        inside = col >= 0
        graph = PairGraph.from_pattern(SparsityPattern.from_row_sorted(row[inside], col[inside], (b, b)))
        pairs_per_pair = n * (n - 1) / (b * (b - 1)) if b > 1 else float(n)
        graph.num_pairs, graph.w, graph.c = self.num_pairs / pairs_per_pair, self.w, self.c
        graph.self_pair_w = self.w * (n / b) / pairs_per_pair
        return graph

    def copy_with_sampled_edges(self, fraction: float, generator: torch.Generator | None = None) -> PairGraph:
        """A random fraction of the edges, each of which stands for 1/fraction of them. For sampled losses only."""
        kept = torch.rand(self.num_edges, generator=generator).to(self.edges.col.device) < fraction
        part = SparsityPattern.from_row_sorted(self.edges.row[kept], self.edges.col[kept], self.edges.shape)
        graph = PairGraph.from_pattern(part)
        graph.num_pairs, graph.c, graph.w, graph.self_pair_w = (
            self.num_pairs,
            self.c,
            self.w / fraction,
            self.self_pair_w,
        )
        graph.edge_fraction = fraction
        return graph

    def multiply_by_pair_weights_(self, values: Tensor) -> Tensor:
        """Multiply values of connected pairs by w, in place."""
        values[: self.num_edges] *= self.w
        values[self.num_edges :] *= self.self_pair_w
        return values

    @cached_property
    def row(self) -> Tensor:
        """The first node of every connected pair."""
        return torch.cat([self.edges.row, torch.arange(self.num_nodes, device=self.edges.col.device)])

    @cached_property
    def col(self) -> Tensor:
        """The second node of every connected pair."""
        return torch.cat([self.edges.col.long(), torch.arange(self.num_nodes, device=self.edges.col.device)])

    def group_connected_positions_by_tile(self, tile_size: int) -> dict[tuple[int, int], Tensor]:
        """Flat positions of the connected pairs in each square tile on or above the diagonal that has any.

        Tiles are numbered by row and column.
        """
        if tile_size not in self._tiles:
            self._tiles[tile_size] = self._group_flat_positions_by_tile(tile_size)
        return self._tiles[tile_size]

    def _group_flat_positions_by_tile(self, size: int) -> dict[tuple[int, int], Tensor]:
        top, left = self.row // size, self.col // size
        upper = left >= top
        row, col, top, left = self.row[upper], self.col[upper], top[upper], left[upper]
        width = (self.num_nodes - left * size).clamp(max=size)
        position = (row - top * size) * width + col - left * size
        tile = top * self.num_nodes + left
        order = torch.argsort(tile, stable=True)
        ids, counts = torch.unique_consecutive(tile[order], return_counts=True)
        parts = position[order].split(counts.tolist())
        return {divmod(i, self.num_nodes): part for i, part in zip(ids.tolist(), parts, strict=True)}

    def compute_connected_products(self, h: Tensor) -> Tensor:
        """z_ij = h_i·h_j of every connected pair."""
        return torch.cat(
            [self.edges.compute_dot_products_at_entries(h, h), torch.linalg.vector_norm(h, dim=1).square_()]
        )

    def add_weighted_neighbor_sums_into(self, values: Tensor, h: Tensor, out: Tensor) -> Tensor:
        """Add Σ_j values_ij · h_j of every node i to ``out``."""
        edges, loops = values.split([self.num_edges, self.num_nodes])
        if self.num_edges:
            out.addmm_(self.edges.to_csr(edges), h)
        return out.addcmul_(loops[:, None], h)


def _check_edge_index_fits_nodes(edge_index: Tensor, num_nodes: int) -> None:
    if num_nodes < 1:
        raise DataError("pairs need at least one node")
    if not isinstance(edge_index, Tensor):
        raise DataError(f"edge_index must be a tensor, not {type(edge_index).__name__}")
    if edge_index.dim() != 2 or edge_index.shape[0] != 2 or edge_index.dtype not in (torch.int64, torch.int32):
        kind = f"{edge_index.dtype} of shape {list(edge_index.shape)}"
        raise DataError(f"edge_index must be integers of shape [2, edges], not {kind}")
    if edge_index.numel() and not 0 <= int(edge_index.min()) <= int(edge_index.max()) < num_nodes:
        ends = f"{int(edge_index.min())} to {int(edge_index.max())}"
        raise DataError(f"edge_index holds nodes {ends}, and there are {num_nodes} (0 to {num_nodes - 1})")


def check_embeddings_type_and_shape(h: Tensor) -> None:
    """Raise a DataError of one line if these cannot be node embeddings."""
    if not isinstance(h, Tensor):
        raise DataError(f"embeddings must be a tensor, not {type(h).__name__}")
    if h.dim() != 2 or h.dtype not in (torch.float32, torch.float64):
        raise DataError(f"embeddings must be float32 or float64 of shape [nodes, d], not {h.dtype} {list(h.shape)}")
    if not len(h):
        raise DataError("pairs need at least one node")


def to_checked_pair_graph(edges: Tensor | PairGraph, h: Tensor) -> PairGraph:
    """The connected pairs of ``edges``, which are built unless they are a PairGraph, checked against embeddings."""
    check_embeddings_type_and_shape(h)
    graph = edges if isinstance(edges, PairGraph) else PairGraph(edges, h.shape[0])
    if graph.num_nodes != h.shape[0]:
        raise DataError(f"the graph has {graph.num_nodes} nodes and the embeddings {h.shape[0]} rows")
    return graph
