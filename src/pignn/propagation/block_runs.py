"""Blocks of columns as work: one after the other here or on a Ray cluster, each kept in a file when it is done."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..core.progress import track
from ..core.threads import threads_context
from ..io.digests import compute_digest_of_parts
from ..io.files import create_folder_and_prove_writable, output_errors_context
from .blocks import BlockTask, StoredGraph, plan_column_blocks

NUM_HOPS = 20
_WORK: ContextVar[BlockWork | None] = ContextVar("block work", default=None)


@dataclass
class BlockWork:
    """How the features of a graph store are smoothed.

    Args:
        store: folder of the graph store.
        folder: where finished blocks are kept until the end.
        memory: bytes to stay within, about; on a cluster, those of one task.
        ray: address of a Ray cluster, None for this process.
    """

    store: Path
    folder: Path
    memory: int
    ray: str | None = None
    computed: int = 0
    reused: int = 0
    repeated: int = 0  # after a worker or a machine was lost
    graph: StoredGraph = field(init=False)

    def __post_init__(self) -> None:
        self.graph = StoredGraph(self.store)

    def smooth_rows_and_save_blocks(self, nodes: np.ndarray, alpha: float) -> np.ndarray:
        """The rows of some nodes of the smoothed features, every feature scaled as :class:`Embedding` does."""
        tasks, key = {}, compute_digest_of_parts(self.graph.digest, nodes, str(alpha), length=16)
        for block in plan_column_blocks(self.graph.num_nodes, self.graph.num_features, self.memory):
            path = self.folder / f"{key}-{block.start}-{block.stop}.npy"
            tasks[path] = BlockTask(str(self.store.absolute()), self.graph.digest, block, alpha, NUM_HOPS)
        create_folder_and_prove_writable(self.folder)
        missing = {path: task for path, task in tasks.items() if not path.exists()}
        self.reused += len(tasks) - len(missing)
        for path, rows in track(self._iter_computed_blocks(missing, nodes), "audit: smoothing", len(missing)):
            _save_array(path, rows)
            self.computed += 1
        result = np.empty((len(nodes), self.graph.num_features), np.float32)
        for path, task in tasks.items():
            result[:, slice(*task.block)] = np.load(path, mmap_mode="r")
        return result

    def _iter_computed_blocks(
        self, tasks: dict[Path, BlockTask], nodes: np.ndarray
    ) -> Iterator[tuple[Path, np.ndarray]]:
        if self.ray is not None:
            from .ray_blocks import RayBlocks

            with RayBlocks(self.ray, nodes) as cluster:
                yield from cluster.iter_computed_blocks(tasks)
                self.repeated += cluster.repeated
            return
        with threads_context(self.graph.num_nodes):
            for path, task in tasks.items():
                yield path, task.compute_smoothed_rows(nodes)


@contextlib.contextmanager
def block_work_and_cleanup_context(work: BlockWork, *, reuse_saved_blocks: bool) -> Iterator[BlockWork]:
    """Inside, the features of the store are smoothed by blocks. ``reuse_saved_blocks`` uses those there.

    They are removed when the context ends without an error.
    """
    if not reuse_saved_blocks:
        shutil.rmtree(work.folder, ignore_errors=True)
    token = _WORK.set(work)
    try:
        yield work
    finally:
        _WORK.reset(token)
    shutil.rmtree(work.folder, ignore_errors=True)


def get_block_work_or_none() -> BlockWork | None:
    """The work of the context, None outside of one."""
    return _WORK.get()


def _save_array(path: Path, array: np.ndarray) -> None:
    """Write a .npy file, whole or not at all."""
    part = path.with_suffix(f".{os.getpid()}.part")
    with output_errors_context(path):
        try:
            with open(part, "wb") as file:
                np.save(file, array)
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)
