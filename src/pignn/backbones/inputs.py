"""What networks read of a graph: features, adjacency, and normalized adjacency matrices."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import cached_property

import torch
from torch import Tensor
from torch_geometric.data import Data

from ..core.errors import ConfigError
from ..graphs import simplify_edges
from ..graphs.sparse import ChunkedOperator, Operator, SparseFeatures, SparsityPattern

ALL_ROWS = slice(None)
MAX_SPARSE_DENSITY = 0.1  # features with a smaller share of non-zeros are multiplied as a sparse matrix


class GraphInputs:
    """Features and adjacency of a graph. Normalized adjacency matrices are built lazily and cached.

    Row i of ``adj`` has the nodes that send messages to node i. In an undirected graph it is its own transpose, and so
    are symmetric weights.
    """

    def __init__(
        self,
        x: Tensor,
        adj: SparsityPattern,
        edge_weight: Tensor | None = None,
        *,
        directed: bool = False,
        parent_degrees: tuple[Tensor, Tensor] | None = None,
    ) -> None:
        self.x = x
        self.parent_degrees = parent_degrees  # of a sampled subgraph: degrees and numbers of neighbors in its parent
        self.adj = adj
        self.edge_weight = edge_weight
        self.directed = directed
        self.num_nodes = int(x.shape[0])
        self.notes: list[str] = []
        self.chunked = False

    def as_chunked(self) -> GraphInputs:
        """A copy for inference, whose matrices are built a few million entries at a time and not kept."""
        result = copy.copy(self)
        for name in ("gcn_adj", "mean_adj", "adj_with_self_loops"):
            result.__dict__.pop(name, None)
        result.chunked = True
        return result

    def replace(
        self, *, x: Tensor | None = None, edge_index: Tensor | None = None, edge_weight: Tensor | None = None
    ) -> GraphInputs:
        """A copy with other features or other edges. Weights belong to the edges that come with them.

        Edges are made simple, and undirected if these are. In a sampled subgraph nodes keep the degrees of their
        parent graph, so that dropping edges at random leaves the expected messages as they are.
        """
        if edge_index is None:
            result = copy.copy(self)
            result.__dict__.pop("features", None)
            result.x = self.x if x is None else x
            return result
        data = Data(x=self.x if x is None else x, edge_index=edge_index, edge_weight=edge_weight)
        result = GraphInputs.from_data(data, directed=self.directed, device=self.x.device)
        result.parent_degrees = self.parent_degrees
        return result

    @classmethod
    def from_data(cls, data: Data, *, directed: bool = False, device: str | torch.device = "cpu") -> GraphInputs:
        """The inputs of a checked graph with simple edges, undirected by default. ``notes`` say what was changed."""
        shape = (data.x.shape[0], data.x.shape[0])
        weight = data.get("edge_weight")
        if data.get("crow") is not None:  # a graph store: simple, undirected and sorted already
            if directed:
                raise ConfigError("a graph store on disk keeps no edge directions; set directed=False")
            weight = None if weight is None else weight.to(device)
            return cls(data.x.to(device), SparsityPattern(data.crow.to(device), data.col.to(device), shape), weight)
        edges = simplify_edges(data.edge_index, shape[0], weight, directed=directed)
        adj, weight = (
            SparsityPattern.from_row_sorted(edges.edge_index[0], edges.edge_index[1], shape),
            edges.edge_weight,
        )
        if directed:
            adj, order = adj.transposed_with_positions
            weight = None if weight is None else weight[order]
        adj = SparsityPattern(adj.crow.to(device), adj.col.to(device), shape)
        weight = None if weight is None else weight.to(device)
        inputs = cls(data.x.to(device), adj, weight, directed=directed)
        inputs.notes = edges.notes
        return inputs

    @property
    def edge_index(self) -> Tensor:
        """Sources and targets, as PyG has them."""
        return torch.stack([self.adj.col.long(), self.adj.row])

    @cached_property
    def features(self) -> Tensor | SparseFeatures:
        """x, as a sparse matrix where most of it is zero (bags of words)."""
        probe = self.x[:: max(1, self.num_nodes // 1000)]
        if self.x.requires_grad or probe.count_nonzero() >= MAX_SPARSE_DENSITY * probe.numel():
            return self.x
        return SparseFeatures.from_dense(self.x)

    @cached_property
    def degree(self) -> Tensor:
        """The (weighted) in-degree of every node."""
        if self.edge_weight is None:
            return self.adj.entries_per_row.to(self.x.dtype)
        return torch.segment_reduce(self.edge_weight, "sum", lengths=self.adj.entries_per_row, initial=0)

    @cached_property
    def gcn_adj(self) -> Operator | ChunkedOperator:
        """D^{-½}(A + I)D^{-½}, with D the (weighted) in-degrees of A + I."""
        scale = (1 + (self.degree if self.parent_degrees is None else self.parent_degrees[0])).rsqrt()
        target_scale = scale
        if self.parent_degrees is not None:  # each sampled neighbor stands for those that were left out
            target_scale = scale * (self.parent_degrees[1] / self.adj.entries_per_row.clamp(min=1))

        def compute_entries(part: SparsityPattern, rows: slice, entries: slice) -> Tensor:
            values = part.repeat_rows(target_scale[rows]).mul_(scale[part.col])
            return values if self.edge_weight is None else values.mul_(self.edge_weight[entries])

        if self.chunked:
            return ChunkedOperator(self.adj, compute_entries, scale.square())
        values = compute_entries(self.adj, ALL_ROWS, ALL_ROWS)
        if self.directed:
            return Operator.from_values(self.adj, values, scale.square())
        matrix = self.adj.to_csr(values)
        return Operator(matrix, matrix, scale.square())

    @cached_property
    def mean_adj(self) -> Operator | ChunkedOperator:
        """D^{-1}A, the (weighted) mean over the neighbors. Zero for a node without any."""
        share = 1 / self.degree.clamp(min=torch.finfo(self.x.dtype).tiny)

        def compute_entries(part: SparsityPattern, rows: slice, entries: slice) -> Tensor:
            values = part.repeat_rows(share[rows])
            return values if self.edge_weight is None else values.mul_(self.edge_weight[entries])

        if self.chunked:
            return ChunkedOperator(self.adj, compute_entries)
        values = compute_entries(self.adj, ALL_ROWS, ALL_ROWS)
        if self.directed:
            return Operator.from_values(self.adj, values)
        weight = 1 if self.edge_weight is None else self.edge_weight
        return Operator(self.adj.to_csr(values), self.adj.to_csr(share[self.adj.col] * weight))

    @cached_property
    def adj_with_self_loops(self) -> SparsityPattern:
        """``adj`` with every node among its own sources."""
        return _add_self_loops(self.adj, 0)

    def iter_adj_chunks(self) -> Iterator[tuple[slice, SparsityPattern]]:
        """``adj_with_self_loops``, whole or in chunks: (target rows, their sources)."""
        if not self.chunked:
            yield ALL_ROWS, self.adj_with_self_loops
            return
        for rows, _, part in self.adj.iter_row_chunks():
            yield rows, _add_self_loops(part, rows.start)


def _add_self_loops(adj: SparsityPattern, first_node: int) -> SparsityPattern:
    """The pattern with an entry for the node itself at the end of every row. Row 0 is node ``first_node``."""
    targets = torch.arange(adj.shape[0], device=adj.col.device)
    row, col = torch.cat([adj.row, targets]), torch.cat([adj.col.long(), targets + first_node])
    order = torch.argsort(row, stable=True)
    return SparsityPattern.from_row_sorted(row[order], col[order], adj.shape)
