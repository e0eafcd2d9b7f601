"""Columns over the nodes of a graph store, computed block by block in a memory that does not depend on their number.

S·X is what :func:`~pignn.propagation.smooth` gives. Its columns never talk to each other: a block of w columns needs
3·N·w numbers and one pass over the edges per step. With s = (1 + degree)^-½, g = s·h and a = α·s·(source), one step is

    g ← (1 − α)·s²·(A·g + g) + a,

row by row, so that no weight of an edge is ever stored. Files are read, not mapped: the memory is what is counted here.
"""

from __future__ import annotations

import platform
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..backbones import FeatureScaling
from ..core.errors import ConfigError, DataError
from ..graphs.sparse import build_csr, spmm
from ..graphs.store import HEADER_NAME, open_graph_store

MAX_BLOCK_COLUMNS = 64
CACHE_LINE_COLUMNS = 16  # whole cache lines: a row of fewer columns costs as much
CHUNK_ENTRIES = 1 << 21  # of edges that are read at a time
CHUNK_VALUES = 1 << 21  # of features that are read at a time
SHARE_OF_MEMORY = 0.5  # for the block itself; labels, models and libraries need the rest
SHARE_OF_REST = 0.7  # of what libraries and arrays leave; chunks and results need some
NUM_ARRAYS = 3  # of the size of a block


class Block(NamedTuple):
    """Some columns."""

    start: int
    stop: int


class StoredGraph:
    """The arrays of a graph store, read from their files some rows at a time."""

    def __init__(self, folder: str | Path, digest: str | None = None) -> None:
        self.folder = Path(folder)
        if not (self.folder / HEADER_NAME).is_file():
            machine = platform.node()
            raise DataError(f"{machine} has no store at {folder}; put it on a shared file system, or copy it there")
        self._header = (self.folder / HEADER_NAME).read_bytes()
        data = open_graph_store(folder)
        if digest is not None and data.digest != digest:
            raise self._build_change_error()
        self.digest, (self.num_nodes, self.num_features) = data.digest, data.x.shape
        self.is_weighted = data.get("edge_weight") is not None
        self.crow = self._read_array_part("crow.i64", "<i8", self.num_nodes + 1, 0)

    def iter_rows_and_edge_matrices(self) -> Iterator[tuple[slice, Tensor]]:
        """Rows, and the matrix of their edges."""
        stop, ones = 0, torch.ones(CHUNK_ENTRIES)
        while stop < self.num_nodes:
            start, first = stop, int(self.crow[stop])
            stop = max(int(np.searchsorted(self.crow, first + CHUNK_ENTRIES, side="right")) - 1, start + 1)
            stop = min(stop, self.num_nodes)
            count = int(self.crow[stop]) - first
            col = torch.from_numpy(self._read_array_part("col.i32", "<i4", count, first))
            crow = torch.from_numpy((self.crow[start : stop + 1] - first).astype(np.int32))
            if self.is_weighted:
                values = torch.from_numpy(self._read_array_part("weight.f32", "<f4", count, first))
            else:
                values = ones[:count] if count <= len(ones) else torch.ones(count)
            yield slice(start, stop), build_csr(crow, col, values, (stop - start, self.num_nodes))

    def iter_rows_and_features(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Rows, and their features."""
        size = max(1, CHUNK_VALUES // self.num_features)
        for start in range(0, self.num_nodes, size):
            rows = slice(start, min(start + size, self.num_nodes))
            yield rows, self.read_feature_rows(rows)

    def read_feature_rows(self, rows: slice) -> np.ndarray:
        """The features of consecutive nodes."""
        width = self.num_features
        x = self._read_array_part("x.f32", "<f4", (rows.stop - rows.start) * width, rows.start * width)
        return x.reshape(rows.stop - rows.start, width)

    def read_features(self, nodes: np.ndarray) -> np.ndarray:
        """The features of some nodes, which are sorted."""
        x = np.empty((len(nodes), self.num_features), np.float32)
        for rows, chunk in self.iter_rows_and_features():
            first, last = np.searchsorted(nodes, [rows.start, rows.stop])
            x[first:last] = chunk[nodes[first:last] - rows.start]
        return x

    def compute_degree(self) -> Tensor:
        """The (weighted) degree of every node."""
        if not self.is_weighted:
            return torch.from_numpy(np.diff(self.crow).astype(np.float32))
        degree = torch.empty(self.num_nodes)
        for rows, matrix in self.iter_rows_and_edge_matrices():
            degree[rows] = torch.segment_reduce(matrix.values(), "sum", lengths=matrix.crow_indices().diff(), initial=0)
        return degree

    def check_unchanged(self) -> None:
        """Raise an error if the store was replaced since it was opened."""
        try:
            if (self.folder / HEADER_NAME).read_bytes() == self._header:
                return
        except OSError:
            pass
        raise self._build_change_error()

    def _read_array_part(self, name: str, dtype: str, count: int, first: int) -> np.ndarray:
        try:
            array = np.fromfile(self.folder / name, dtype, count, offset=first * np.dtype(dtype).itemsize)
        except OSError as error:
            reason = error.strerror or error
            raise DataError(f"cannot read {self.folder / name} any more: {reason}; then --resume goes on") from None
        if len(array) < count:
            raise self._build_change_error()
        return array

    def _build_change_error(self) -> DataError:
        return DataError(f"store {self.folder} was changed while it was read; start again")


def normalize_features(x: np.ndarray, scaling: FeatureScaling | None) -> Tensor:
    """Rows of R·X as :class:`Embedding` has them: scaled, then divided by the sum of their absolute values."""
    values = torch.from_numpy(x)
    values = values if scaling is None else scaling.apply(values)
    total = values.abs().sum(dim=1, keepdim=True)
    return values * torch.where(total > 0, 1 / total, 0.0)


@dataclass(frozen=True, eq=False)
class BlockTask(ABC):
    """A block of columns to compute, and all that another process needs for it.

    It begins with columns of R·X·V. V are ``components``; without them the columns are those of R·X.
    """

    folder: str
    digest: str
    block: Block
    num_hops: int
    alpha: float = 1.0
    scaling: FeatureScaling | None = None
    components: Tensor | None = None

    def compute(self, nodes: np.ndarray | None) -> np.ndarray:
        """The rows of some nodes, or of all."""
        graph = StoredGraph(self.folder, self.digest)
        columns = self.compute_columns(graph)
        graph.check_unchanged()
        return (columns if nodes is None else columns[torch.from_numpy(nodes)]).numpy()

    @abstractmethod
    def compute_columns(self, graph: StoredGraph) -> Tensor:
        """The columns of the block."""

    def list_digest_parts(self) -> list[Any]:
        """What the columns depend on, apart from the block."""
        scaling = [] if self.scaling is None else [self.scaling.kind, *self.scaling.tensors().values()]
        components = [] if self.components is None else [self.components]
        return [type(self).__name__, self.digest, str(self.num_hops), str(self.alpha), *scaling, *components]

    def read_start(self, graph: StoredGraph) -> Tensor:
        """The columns of R·X·V."""
        columns = slice(*self.block)
        v = None if self.components is None else self.components[:, columns].contiguous()
        start = torch.empty(graph.num_nodes, columns.stop - columns.start)
        for rows, chunk in graph.iter_rows_and_features():
            x = normalize_features(chunk, self.scaling)
            start[rows] = x[:, columns] if v is None else x @ v
        return start


class SmoothedBlock(BlockTask):
    """S·R·X·V."""

    def compute_columns(self, graph: StoredGraph) -> Tensor:
        start = self.read_start(graph)
        return _smooth_in_place(graph, graph.compute_degree(), start, self.alpha, self.num_hops)


class GramBlock(BlockTask):
    """(S·R·X)ᵀ·S·R·X·V: one row per feature, by which subspace iteration finds the leading directions."""

    def compute(self, nodes: np.ndarray | None) -> np.ndarray:
        return super().compute(None)

    def compute_columns(self, graph: StoredGraph) -> Tensor:
        degree, h = graph.compute_degree(), self.read_start(graph)
        for _ in range(2):  # S is symmetric
            h = _smooth_in_place(graph, degree, h, self.alpha, self.num_hops)
        total = torch.zeros(graph.num_features, h.shape[1])
        for rows, chunk in graph.iter_rows_and_features():
            total += normalize_features(chunk, self.scaling).T @ h[rows]
        return total


class NeighborBlock(BlockTask):
    """Rows of R·X·V of length 1, averaged over the neighbors ``num_hops`` times."""

    def compute_columns(self, graph: StoredGraph) -> Tensor:
        share = 1 / graph.compute_degree().clamp_(min=torch.finfo(torch.float32).tiny)[:, None]
        h = self.read_start(graph)
        result = torch.empty_like(h)
        for _ in range(self.num_hops):
            for rows, matrix in graph.iter_rows_and_edge_matrices():
                result[rows] = spmm(matrix, h).mul_(share[rows])
            h, result = result, h
        return h

    def read_start(self, graph: StoredGraph) -> Tensor:
        assert self.components is not None
        columns = slice(*self.block)
        start = torch.empty(graph.num_nodes, columns.stop - columns.start)
        for rows, chunk in graph.iter_rows_and_features():
            h = normalize_features(chunk, self.scaling) @ self.components
            length = h.norm(dim=1, keepdim=True)
            start[rows] = torch.where(length > 0, h[:, columns] / length, 0.0)
        return start


def _smooth_in_place(graph: StoredGraph, degree: Tensor, x: Tensor, alpha: float, num_hops: int) -> Tensor:
    """S·x. ``x`` is overwritten, and its memory used."""
    if num_hops == 0:
        return x
    scale = (1 + degree).rsqrt_()[:, None]
    added = x.mul_(scale)
    g = added.clone()
    added.mul_(alpha)
    factor = scale.square().mul_(1 - alpha)
    result = torch.empty_like(g)
    for _ in range(num_hops):
        for rows, matrix in graph.iter_rows_and_edge_matrices():
            result[rows] = spmm(matrix, g).add_(g[rows]).mul_(factor[rows]).add_(added[rows])
        g, result = result, g
    return g.div_(scale)


def plan_column_blocks(num_nodes: int, num_columns: int, memory: int, resident: int = 0) -> list[Block]:
    """Blocks as wide as the memory allows, in whole cache lines; less memory than one column needs is an error.

    ``resident`` is what the process has already. If that is more than the limit, the limit is too small for anything.
    """
    per_column = 4 * NUM_ARRAYS * num_nodes
    fixed = 24 * num_nodes  # offsets and degrees
    rest = memory - resident if resident < memory else memory
    of_block = min(SHARE_OF_MEMORY * memory, SHARE_OF_REST * rest)
    width = min(int((of_block - fixed) // max(per_column, 1)), MAX_BLOCK_COLUMNS, num_columns)
    if width < 1:
        needed = max((per_column + fixed) / SHARE_OF_MEMORY, resident + (per_column + fixed) / SHARE_OF_REST)
        raise ConfigError(
            f"one column of {num_nodes:,} nodes needs {needed / 1e9:.3g} GB of memory, and --memory (memory=) is "
            f"{memory / 1e9:.3g} GB; give more, or take a machine that has it"
        )
    if width > CACHE_LINE_COLUMNS:
        width -= width % CACHE_LINE_COLUMNS
    return [Block(start, min(start + width, num_columns)) for start in range(0, num_columns, width)]
