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
from ..graphs.sparse import ChunkedOperator, Operator, SparseFeatures, SparsityPattern, WeightedOperator
from .scaling import MAX_SPARSE_DENSITY, ChunkedFeatures, FeatureScaling

ALL_ROWS = slice(None)
MAX_STRIDED_ROWS = 100_000


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
        self.raw_x = x  # as the graph has them
        self.scaling: FeatureScaling | None = None
        self.parent_degrees = parent_degrees  # of a sampled subgraph: degrees and numbers of neighbors in its parent
        self.adj = adj
        self.edge_weight = edge_weight
        self.directed = directed
        self.num_nodes = int(x.shape[0])
        self.notes: list[str] = []
        self.chunked = False

    @cached_property
    def x(self) -> Tensor:
        """The features as networks read them: scaled, if there is a scaling."""
        return self.raw_x if self.scaling is None else self.scaling.apply(self.raw_x)

    @property
    def device(self) -> torch.device:
        return self.raw_x.device

    def copy_with_scaling(self, scaling: FeatureScaling | None) -> GraphInputs:
        """A copy whose features are scaled when they are read, so that a graph on disk stays there."""
        result = copy.copy(self)
        for name in ("x", "features", "row_variance_and_mean"):
            result.__dict__.pop(name, None)
        result.scaling = None if scaling is None else scaling.to(self.device)
        return result

    def select_features(self, nodes: Tensor) -> Tensor:
        """The rows of ``x`` of some nodes, without making the others."""
        if self.scaling is None or "x" in self.__dict__:
            return self.x[nodes]
        return self.scaling.apply(self.raw_x[nodes])

    def copy_for_chunked_inference(self) -> GraphInputs:
        """A copy for inference, whose matrices are built a few million entries at a time and not kept."""
        result = copy.copy(self)
        for name in ("gcn_adj", "mean_adj", "sum_adj", "adj_with_self_loops"):
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
            if x is not None:
                result = result.copy_with_scaling(None)
                result.raw_x = x
            return result
        data = Data(x=self.x if x is None else x, edge_index=edge_index, edge_weight=edge_weight)
        result = GraphInputs.from_data(data, directed=self.directed, device=self.device)
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
            adj, order = adj.transpose_and_entry_order
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
    def features(self) -> Tensor | SparseFeatures | ChunkedFeatures:
        """x, as a sparse matrix where most of it is zero (bags of words)."""
        probe = _take_some_rows(self.raw_x)
        if self.raw_x.requires_grad or probe.count_nonzero() >= MAX_SPARSE_DENSITY * probe.numel():
            return ChunkedFeatures(self.raw_x, self.scaling) if self.chunked and self.scaling is not None else self.x
        if self.scaling is not None and self.scaling.center is not None:  # fitted on a graph that was not sparse
            return self.x
        sparse = SparseFeatures.from_dense(self.raw_x)
        return sparse if self.scaling is None else self.scaling.apply_sparse(sparse)

    @cached_property
    def row_variance_and_mean(self) -> tuple[Tensor, Tensor]:
        """Variance and mean of every node's features, [N, 1] each."""
        variance, mean = torch.var_mean(self.x, dim=1, keepdim=True, correction=0)
        return variance, mean

    @cached_property
    def degree(self) -> Tensor:
        """The (weighted) in-degree of every node."""
        if self.edge_weight is None:
            return self.adj.entries_per_row.to(self.raw_x.dtype)
        return torch.segment_reduce(self.edge_weight, "sum", lengths=self.adj.entries_per_row, initial=0)

    @cached_property
    def gcn_adj(self) -> Operator | ChunkedOperator | WeightedOperator:
        """D^{-½}(A + I)D^{-½}, with D the (weighted) in-degrees of A + I."""
        scale = (1 + (self.degree if self.parent_degrees is None else self.parent_degrees[0])).rsqrt()
        target_scale = scale
        if self.parent_degrees is not None:  # each sampled neighbor stands for those that were left out
            target_scale = scale * (self.parent_degrees[1] / self.adj.entries_per_row.clamp(min=1))

        if self.edge_weight is not None and self.edge_weight.requires_grad:
            return WeightedOperator(self.adj, scale[self.adj.row] * scale[self.adj.col] * self.edge_weight, scale**2)

        def compute_entries(part: SparsityPattern, rows: slice, entries: slice) -> Tensor:
            values = part.repeat_for_entries(target_scale[rows]).mul_(scale[part.col])
            return values if self.edge_weight is None else values.mul_(self.edge_weight[entries])

        if self.chunked:
            return ChunkedOperator(self.adj, compute_entries, scale.square())
        values = compute_entries(self.adj, ALL_ROWS, ALL_ROWS)
        if self.directed:
            return Operator.from_values(self.adj, values, scale.square())
        matrix = self.adj.to_csr(values)
        return Operator(matrix, matrix, scale.square())

    @cached_property
    def mean_adj(self) -> Operator | ChunkedOperator | WeightedOperator:
        """D^{-1}A, the (weighted) mean over the neighbors. Zero for a node without any."""
        share = 1 / self.degree.clamp(min=torch.finfo(self.raw_x.dtype).tiny)
        if self.edge_weight is not None and self.edge_weight.requires_grad:
            share = 1 / self.degree.clamp(min=1e-6)  # links of weight 0 alone have no finite gradient otherwise
            return WeightedOperator(self.adj, share[self.adj.row] * self.edge_weight)

        def compute_entries(part: SparsityPattern, rows: slice, entries: slice) -> Tensor:
            values = part.repeat_for_entries(share[rows])
            return values if self.edge_weight is None else values.mul_(self.edge_weight[entries])

        if self.chunked:
            return ChunkedOperator(self.adj, compute_entries)
        values = compute_entries(self.adj, ALL_ROWS, ALL_ROWS)
        if self.directed:
            return Operator.from_values(self.adj, values)
        weight = 1 if self.edge_weight is None else self.edge_weight
        return Operator(self.adj.to_csr(values), self.adj.to_csr(share[self.adj.col] * weight))

    @cached_property
    def sum_adj(self) -> Operator | ChunkedOperator | WeightedOperator:
        """A, the (weighted) sum over the neighbors. Each sampled neighbor stands for those that were left out."""
        scale = torch.ones(self.num_nodes, dtype=self.raw_x.dtype, device=self.device)
        if self.parent_degrees is not None:
            scale = self.parent_degrees[1] / self.adj.entries_per_row.clamp(min=1)
        if self.edge_weight is not None and self.edge_weight.requires_grad:
            return WeightedOperator(self.adj, scale[self.adj.row] * self.edge_weight)

        def compute_entries(part: SparsityPattern, rows: slice, entries: slice) -> Tensor:
            values = part.repeat_for_entries(scale[rows])
            return values if self.edge_weight is None else values.mul_(self.edge_weight[entries])

        if self.chunked:
            return ChunkedOperator(self.adj, compute_entries)
        return Operator.from_values(self.adj, compute_entries(self.adj, ALL_ROWS, ALL_ROWS))

    @cached_property
    def adj_with_self_loops(self) -> SparsityPattern:
        """``adj`` with every node among its own sources."""
        return _add_self_loops(self.adj, 0)

    def iter_rows_and_adj_with_self_loops(self) -> Iterator[tuple[slice, SparsityPattern]]:
        """``adj_with_self_loops``, whole or in chunks: (target rows, their sources)."""
        if not self.chunked:
            yield ALL_ROWS, self.adj_with_self_loops
            return
        for rows, _, part in self.adj.iter_row_and_entry_slices_with_patterns():
            yield rows, _add_self_loops(part, rows.start)


def _take_some_rows(x: Tensor) -> Tensor:
    """A thousand rows or so. Of very many, which may lie in a file, they are groups: few places of it are read."""
    if len(x) <= MAX_STRIDED_ROWS:
        return x[:: max(1, len(x) // 1000)]
    return torch.cat([x[start : start + 50] for start in range(0, len(x) - 50, len(x) // 20)])


def _add_self_loops(adj: SparsityPattern, first_node: int) -> SparsityPattern:
    """The pattern with an entry for the node itself at the end of every row. Row 0 is node ``first_node``."""
    targets = torch.arange(adj.shape[0], device=adj.col.device)
    row, col = torch.cat([adj.row, targets]), torch.cat([adj.col.long(), targets + first_node])
    order = torch.argsort(row, stable=True)
    return SparsityPattern.from_row_sorted(row[order], col[order], adj.shape)
