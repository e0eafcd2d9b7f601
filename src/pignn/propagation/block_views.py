"""Parts of views of the nodes of a graph store, computed by blocks of columns and read some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from ..backbones import FeatureScaling
from ..core.progress import track
from .block_runs import NUM_HOPS, BlockWork, StoredColumns
from .blocks import Block, BlockTask, GramBlock, NeighborBlock, SmoothedBlock, normalize_features
from .node_rows import NodeRows
from .smoothing import draw_start_directions, find_leading_directions, scale_rows_to_unit_length

CHUNK_VALUES = 1 << 24  # of a view that is put together


class ViewPart(Protocol):
    """Vectors of nodes that views are put together from."""

    def read(self, rows: slice) -> Tensor: ...


@dataclass(frozen=True, eq=False)
class ArrayPart:
    """One that is in memory."""

    array: Tensor

    def read(self, rows: slice) -> Tensor:
        return self.array[rows]


@dataclass(frozen=True, eq=False)
class ColumnsPart:
    """One whose columns are in files."""

    columns: StoredColumns

    def read(self, rows: slice) -> Tensor:
        return scale_rows_to_unit_length(torch.from_numpy(self.columns.read(rows)))


@dataclass(frozen=True, eq=False)
class FeaturesPart:
    """R·X·V of all nodes: nothing is smoothed, so that rows of the store give them at once."""

    work: BlockWork
    scaling: FeatureScaling
    components: Tensor

    def read(self, rows: slice) -> Tensor:
        graph = self.work.graph
        start, stop, _ = rows.indices(graph.num_nodes)
        x = normalize_features(graph.read_feature_rows(slice(start, stop)), self.scaling)
        return scale_rows_to_unit_length(x @ self.components)


class StoredViews(Mapping[str, NodeRows]):
    """Views of some nodes, or of all, put together from parts when they are asked for. The last one is kept."""

    def __init__(
        self, parts_by_view: Mapping[str, Sequence[ViewPart]], nodes: np.ndarray | None, num_nodes: int
    ) -> None:
        self._parts, self._num_nodes = parts_by_view, num_nodes
        self._nodes = np.arange(num_nodes) if nodes is None else nodes
        self._last: tuple[str, NodeRows] | None = None

    def __getitem__(self, name: str) -> NodeRows:
        if self._last is None or self._last[0] != name:
            rows = self._read(name, slice(0, len(self._nodes)))
            self._last = name, NodeRows(torch.from_numpy(self._nodes), rows, self._num_nodes)
        return self._last[1]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def iter_rows(self) -> Iterator[tuple[slice, dict[str, Tensor]]]:
        """All views, some rows at a time."""
        width = max((part.read(slice(0, 1)).shape[1] for parts in self._parts.values() for part in parts), default=1)
        size = max(1, CHUNK_VALUES // width)
        starts = range(0, len(self._nodes), size)
        for start in track(starts, "predicting"):
            rows = slice(start, min(start + size, len(self._nodes)))
            yield rows, {name: self._read(name, rows) for name in self._parts}

    def _read(self, name: str, rows: slice) -> Tensor:
        blocks = [part.read(rows) for part in self._parts[name]]
        return blocks[0] if len(blocks) == 1 else torch.cat(blocks, 1) / len(blocks) ** 0.5


def find_components_by_blocks(
    work: BlockWork, scaling: FeatureScaling, dimensions: int, alpha: float, seed: int, name: str
) -> Tensor:
    """The components of an :class:`Embedding` of scaled features."""
    graph = work.graph
    limit = min(graph.num_nodes, graph.num_features)
    size = min(dimensions, limit)
    rounds = iter(range(1, 100))

    def multiply_gram(v: Tensor) -> Tensor:
        if alpha == 1:
            total = torch.zeros_like(v)
            for _, chunk in graph.iter_rows_and_features():
                x = normalize_features(chunk, scaling)
                total += x.T @ (x @ v)
            return total

        def make_task(block: Block) -> BlockTask:
            return GramBlock(*work.location, block, NUM_HOPS, alpha, scaling, v)

        stage = f"{name}: directions, round {next(rounds)}"
        return torch.from_numpy(work.compute_and_save_blocks(make_task, v.shape[1], None, stage).read())

    start = draw_start_directions(graph.num_features, size, limit, seed)
    with torch.no_grad():
        return find_leading_directions(start, size, multiply_gram, lambda v: v.T @ multiply_gram(v))


def compute_smoothed_part(
    work: BlockWork, scaling: FeatureScaling, v: Tensor, alpha: float, nodes: np.ndarray | None, name: str
) -> ViewPart:
    """Smoothed features along directions ``v``; with ``alpha=1`` the features themselves."""
    if alpha == 1 and nodes is None:
        return FeaturesPart(work, scaling, v)

    def make_task(block: Block) -> BlockTask:
        return SmoothedBlock(*work.location, block, 0 if alpha == 1 else NUM_HOPS, alpha, scaling, v)

    return ColumnsPart(work.compute_and_save_blocks(make_task, v.shape[1], nodes, name))


def compute_neighbor_part(
    work: BlockWork, scaling: FeatureScaling, v: Tensor, num_hops: int, nodes: np.ndarray | None, name: str
) -> ViewPart:
    """Features along directions ``v``, averaged over the neighbors ``num_hops`` times."""

    def make_task(block: Block) -> BlockTask:
        return NeighborBlock(*work.location, block, num_hops, 1.0, scaling, v)

    return ColumnsPart(work.compute_and_save_blocks(make_task, v.shape[1], nodes, name))
