"""Features of a graph store smoothed by blocks of columns, in a memory that does not depend on their number.

S·X is what :func:`~pignn.propagation.smooth` gives. Its columns never talk to each other: a block of w columns needs
3·N·w numbers and one pass over the edges per step. With s = (1 + degree)^-½, g = s·h and a = α·s·(source), one step is

    g ← (1 − α)·s²·(A·g + g) + a,

row by row, so that no weight of an edge is ever stored. Files are read, not mapped: the memory is what is counted here.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..core.errors import ConfigError, DataError
from ..graphs.sparse import build_csr, spmm
from ..graphs.store import open_graph_store

MAX_BLOCK_COLUMNS = 64
CHUNK_ENTRIES = 1 << 21  # of edges that are read at a time
CHUNK_VALUES = 1 << 23  # of features that are read at a time
SHARE_OF_MEMORY = 0.5  # for the block itself; labels, models and libraries need the rest
NUM_ARRAYS = 3  # of the size of a block


class Block(NamedTuple):
    """Some columns of the features."""

    start: int
    stop: int


class StoredGraph:
    """The arrays of a graph store, read from their files some rows at a time."""

    def __init__(self, folder: str | Path, digest: str | None = None) -> None:
        self.folder = Path(folder)
        data = open_graph_store(folder)
        if digest is not None and data.digest != digest:
            raise DataError(f"store {folder} was changed while it was read; start again")
        self.digest, (self.num_nodes, self.num_features) = data.digest, data.x.shape
        self.is_weighted = data.get("edge_weight") is not None
        self.crow = np.fromfile(self.folder / "crow.i64", "<i8")

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
            stop = min(start + size, self.num_nodes)
            count = (stop - start) * self.num_features
            x = self._read_array_part("x.f32", "<f4", count, start * self.num_features)
            yield slice(start, stop), x.reshape(stop - start, self.num_features)

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

    def _read_array_part(self, name: str, dtype: str, count: int, first: int) -> np.ndarray:
        array = np.fromfile(self.folder / name, dtype, count, offset=first * np.dtype(dtype).itemsize)
        if len(array) < count:
            raise DataError(f"store {self.folder} was changed while it was read; start again")
        return array


@dataclass(frozen=True)
class BlockTask:
    """A block of columns to smooth, and all that another process needs for it."""

    folder: str
    digest: str
    block: Block
    alpha: float
    num_hops: int

    def compute_smoothed_rows(self, nodes: np.ndarray) -> np.ndarray:
        """The rows of some nodes of S·R·X, R scaling each row of X to sum 1, for the columns of the block."""
        graph = StoredGraph(self.folder, self.digest)
        scale = (1 + graph.compute_degree()).rsqrt_()[:, None]
        added = self._read_scaled_columns(graph).mul_(scale)
        g = added.clone()
        added.mul_(self.alpha)
        factor = scale.square().mul_(1 - self.alpha)
        result = torch.empty_like(g)
        for _ in range(self.num_hops):
            for rows, matrix in graph.iter_rows_and_edge_matrices():
                result[rows] = spmm(matrix, g).add_(g[rows]).mul_(factor[rows]).add_(added[rows])
            g, result = result, g
        chosen = torch.from_numpy(nodes)
        return (g[chosen] / scale[chosen]).numpy()

    def _read_scaled_columns(self, graph: StoredGraph) -> Tensor:
        columns = slice(*self.block)
        x = torch.empty(graph.num_nodes, columns.stop - columns.start)
        for rows, chunk in graph.iter_rows_and_features():
            values = torch.from_numpy(chunk)
            total = values.abs().sum(dim=1, keepdim=True)
            x[rows] = values[:, columns] * torch.where(total > 0, 1 / total, 0.0)
        return x


def plan_column_blocks(num_nodes: int, num_features: int, memory: int) -> list[Block]:
    """Blocks of equal width, as wide as the memory allows; less memory than one column needs is an error."""
    per_column = 4 * NUM_ARRAYS * num_nodes
    fixed = 24 * num_nodes  # offsets and degrees
    width = min(int((SHARE_OF_MEMORY * memory - fixed) // max(per_column, 1)), MAX_BLOCK_COLUMNS, num_features)
    if width < 1:
        needed = (per_column + fixed) / SHARE_OF_MEMORY
        raise ConfigError(
            f"one column of {num_nodes:,} nodes needs {needed / 1e9:.3g} GB of memory, and --memory (memory=) is "
            f"{memory / 1e9:.3g} GB; give more, or take a machine that has it"
        )
    count = -(-num_features // width)
    bounds = [round(i * num_features / count) for i in range(count + 1)]
    return [Block(*pair) for pair in itertools.pairwise(bounds)]
