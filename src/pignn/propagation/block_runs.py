"""Blocks of columns as work: one after the other here or on a Ray cluster, each kept in a file when it is done."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..core.errors import PignnError, is_out_of_memory
from ..core.memory import measure_resident_bytes, return_free_memory
from ..core.progress import track
from ..core.threads import threads_context
from ..io.digests import compute_digest_of_parts
from ..io.files import create_folder_and_prove_writable, output_errors_context
from .blocks import Block, BlockTask, SmoothedBlock, StoredGraph, plan_column_blocks
from .ray_tasks import LACK_OF_MEMORY, RayTasks, Task

NUM_HOPS = 20
Key = TypeVar("Key")
_WORK: ContextVar[BlockWork | None] = ContextVar("block work", default=None)


class StoredColumns:
    """Blocks of columns in files, side by side."""

    def __init__(self, paths: Mapping[Block, Path]) -> None:
        self.blocks = {block: np.load(path, mmap_mode="r") for block, path in paths.items()}

    def read(self, rows: slice = slice(None)) -> np.ndarray:
        """Consecutive rows."""
        return np.hstack([columns[rows] for columns in self.blocks.values()])


@dataclass
class BlockWork:
    """How columns over the nodes of a graph store are computed.

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

        def make_task(block: Block) -> BlockTask:
            return SmoothedBlock(*self.location, block, NUM_HOPS, alpha)

        return self.compute_and_save_blocks(make_task, self.graph.num_features, nodes, "smoothing").read()

    @property
    def location(self) -> tuple[str, str]:
        """Where the store is and what it holds, as tasks take it."""
        return str(self.store.absolute()), self.graph.digest

    def compute_and_save_blocks(
        self, make_task: Callable[[Block], BlockTask], num_columns: int, nodes: np.ndarray | None, stage: str
    ) -> StoredColumns:
        """Some columns of some nodes, or of all. Blocks that are there already are not computed again."""
        resident = measure_resident_bytes() if self.ray is None else 0  # tasks on a cluster start afresh
        blocks = plan_column_blocks(self.graph.num_nodes, num_columns, self.memory, resident)
        parts = [*make_task(blocks[0]).list_digest_parts(), "all" if nodes is None else nodes]
        key = compute_digest_of_parts(*parts, length=16)
        paths = {block: self.folder / f"{key}-{block.start}-{block.stop}.npy" for block in blocks}
        create_folder_and_prove_writable(self.folder)
        missing = {path: (make_task(block), nodes) for block, path in paths.items() if not path.exists()}
        self.reused += len(paths) - len(missing)
        for path, rows in track(self.iter_results(missing), stage, len(missing)):
            _save_array(path, rows)
            self.computed += 1
            return_free_memory()
        return StoredColumns(paths)

    def iter_results(self, tasks: Mapping[Key, tuple[Task, Any]]) -> Iterator[tuple[Key, Any]]:
        """What tasks give for their inputs: one after the other here, side by side on a cluster."""
        if self.ray is None:
            with threads_context(self.graph.num_nodes):
                for key, (task, shared) in tasks.items():
                    yield key, _compute_or_tell_lack_of_memory(task, shared)
        elif tasks:
            before = self.cluster.repeated
            try:
                yield from self.cluster.iter_results(tasks)
            finally:
                self.repeated += self.cluster.repeated - before

    @cached_property
    def cluster(self) -> RayTasks:
        """The connection to the cluster."""
        assert self.ray is not None
        return RayTasks(self.ray)

    def close(self) -> None:
        """Leave the cluster, if it was joined."""
        if "cluster" in self.__dict__:
            self.cluster.close()


@contextlib.contextmanager
def block_work_and_cleanup_context(work: BlockWork, *, reuse_saved_blocks: bool) -> Iterator[BlockWork]:
    """Inside, columns over the nodes are computed by blocks. ``reuse_saved_blocks`` uses those there.

    They are removed when the context ends without an error.
    """
    if not reuse_saved_blocks:
        shutil.rmtree(work.folder, ignore_errors=True)
    token = _WORK.set(work)
    try:
        yield work
    finally:
        _WORK.reset(token)
        work.close()
    shutil.rmtree(work.folder, ignore_errors=True)


def get_block_work_or_none() -> BlockWork | None:
    """The work of the context, None outside of one."""
    return _WORK.get()


def _compute_or_tell_lack_of_memory(task: Task, shared: Any) -> Any:
    try:
        return task.compute(shared)
    except (MemoryError, RuntimeError) as error:
        if is_out_of_memory(error):
            raise PignnError(LACK_OF_MEMORY) from None
        raise


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
