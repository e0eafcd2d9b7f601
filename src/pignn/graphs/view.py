"""A typed view of PyG's `Data`, whose own attributes type checkers know nothing about."""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor
from torch_geometric.data import Data

from .checks import has_csr_edges, num_classes, parse_node_ids_or_none
from .edges import simplify_edges
from .stored_ids import StoredIds


@dataclass(frozen=True, eq=False)
class LabeledGraph:
    """The attributes of a graph that this package reads, None where the graph lacks them."""

    data: Data
    x: Tensor | None
    edge_index: Tensor | None
    crow: Tensor | None
    col: Tensor | None
    edge_weight: Tensor | None
    y: Tensor | None  # given labels, -1 where there is none
    y_true: Tensor | None
    train_mask: Tensor | None
    val_mask: Tensor | None
    test_mask: Tensor | None
    trusted_mask: Tensor | None
    label_weight: Tensor | None

    @classmethod
    def from_data(cls, data: Data) -> LabeledGraph:
        """A view of `data`; tensors are shared."""
        return cls(data, *(data.get(field.name) for field in fields(cls) if field.name != "data"))

    @property
    def num_nodes(self) -> int:
        return int(self.data.num_nodes or 0)

    @property
    def num_classes(self) -> int:
        return num_classes(self.data)

    @property
    def class_names(self) -> list[str]:
        """Names of the classes, numbers where they have none."""
        return [str(name) for name in self.data.get("class_names") or range(self.num_classes)]

    @property
    def node_ids(self) -> list[str] | StoredIds | None:
        return parse_node_ids_or_none(self.data)

    def get_mask_or_zeros(self, split: str) -> Tensor:
        """The mask of `train`, `val`, `test` or `trusted` nodes, all False where the graph has none for one split."""
        mask: Tensor | None = getattr(self, f"{split}_mask")
        return torch.zeros(self.num_nodes, dtype=torch.bool) if mask is None or mask.dim() != 1 else mask.bool()

    def get_neighbor_counts_and_neighbors(self) -> tuple[Tensor, Tensor]:
        """The simple undirected graph row by row: numbers of neighbors, and the neighbors."""
        if has_csr_edges(self.data):
            return self.data.crow.diff(), self.data.col
        row, col = simplify_edges(self.data.edge_index, self.num_nodes).edge_index
        return torch.bincount(row, minlength=self.num_nodes), col
