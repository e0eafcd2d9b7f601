"""Random views of a graph: some edges dropped, some features set to zero."""

from __future__ import annotations

import torch
from torch import Tensor

from ...backbones import GraphInputs
from ...graphs.sparse import SparseFeatures, SparsityPattern


def copy_with_random_edges_dropped(inputs: GraphInputs, p: float) -> GraphInputs:
    """A copy without a random share ``p`` of the edges. Both directions of an undirected edge go together."""
    adj = inputs.adj
    draw = torch.rand(adj.num_entries, device=adj.col.device)
    if not inputs.directed:
        _, reverse = adj.transpose_and_entry_order  # an undirected pattern is its own transpose
        draw = draw.where(adj.row < adj.col, draw[reverse])
    return copy_with_kept_edges(inputs, draw >= p)


def copy_with_kept_edges(inputs: GraphInputs, kept: Tensor) -> GraphInputs:
    """A copy with some of the edges: a mask of the entries of ``inputs.adj``."""
    adj = inputs.adj
    pattern = SparsityPattern.from_row_sorted(adj.row[kept], adj.col[kept], adj.shape)
    return copy_with_replaced_edges(inputs, pattern, None if inputs.edge_weight is None else inputs.edge_weight[kept])


def copy_with_replaced_edges(inputs: GraphInputs, adj: SparsityPattern, edge_weight: Tensor | None) -> GraphInputs:
    """A copy with other edges and the same features, which are not computed again."""
    result = GraphInputs(
        inputs.raw_x, adj, edge_weight, directed=inputs.directed, parent_degrees=inputs.parent_degrees
    ).copy_with_scaling(inputs.scaling)
    result.__dict__["features"] = inputs.features
    if "x" in inputs.__dict__:
        result.__dict__["x"] = inputs.x
    return result


def copy_with_random_features_masked(inputs: GraphInputs, p: float, *, whole_columns: bool) -> GraphInputs:
    """A copy in which a random share ``p`` of the features is 0: single entries, or the same columns for all nodes."""
    features, width = inputs.features, inputs.raw_x.shape[1]
    if isinstance(features, SparseFeatures):  # zeros stay zeros
        column = (torch.rand(width, device=inputs.device) >= p).float()[features.pattern.col.long()]
        entry = column if whole_columns else (torch.rand_like(features.values) >= p).float()
        masked = SparseFeatures(features.pattern, features.values * entry)
        row, col = features.pattern.row, features.pattern.col.long()
        x = torch.zeros_like(inputs.raw_x).index_put_((row, col), masked.values.to(inputs.raw_x))
        result = inputs.replace(x=x)
        result.__dict__["features"] = masked
        return result
    shape = (1, width) if whole_columns else inputs.x.shape
    return inputs.replace(x=inputs.x * (torch.rand(shape, device=inputs.device) >= p))
