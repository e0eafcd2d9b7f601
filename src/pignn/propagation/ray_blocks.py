"""Blocks of columns as Ray tasks. Machines exchange nothing but results; each reads the store for itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self, TypeVar

import numpy as np

from .._version import __version__
from ..core.errors import DataError, PignnError
from ..core.ray_cluster import connect_and_tell_if_newly_connected, import_ray
from .blocks import BlockTask

MAX_ATTEMPTS = 4  # of a block whose worker or machine is lost
Key = TypeVar("Key")


class RayBlocks:
    """A cluster that computes blocks. ``repeated`` counts those that were lost and computed again."""

    def __init__(self, address: str, nodes: np.ndarray, cpus_per_block: int = 1) -> None:
        self.address, self.nodes, self.cpus_per_block, self.repeated = address, nodes, cpus_per_block, 0

    def __enter__(self) -> Self:
        self.ray = import_ray()
        self.owns_connection = connect_and_tell_if_newly_connected(self.ray, self.address)
        # Ray itself must not repeat a block: blocks that are lost are counted here.
        options = {"num_cpus": self.cpus_per_block, "max_retries": 0, "scheduling_strategy": "SPREAD"}
        self.remote = self.ray.remote(**options)(_check_machine_and_compute_rows)
        self.nodes_reference = self.ray.put(self.nodes)
        return self

    def __exit__(self, *_: object) -> None:
        if self.owns_connection:
            self.ray.shutdown()

    def iter_computed_blocks(self, tasks: Mapping[Key, BlockTask]) -> Iterator[tuple[Key, np.ndarray]]:
        """The rows of every block, as they are done."""
        running = {self._submit(task): key for key, task in tasks.items()}
        attempts = dict.fromkeys(tasks, 1)
        while running:
            (reference,), _ = self.ray.wait(list(running), num_returns=1)
            key = running.pop(reference)
            try:
                rows = self.ray.get(reference)
            except self.ray.exceptions.RayTaskError as error:  # the same would happen again
                raise _to_one_line_pignn_error(error.cause) from None
            except self.ray.exceptions.RayError as error:
                if attempts[key] == MAX_ATTEMPTS:
                    kind = type(error).__name__
                    raise PignnError(
                        f"a block of columns was lost {MAX_ATTEMPTS} times ({kind}), perhaps for lack of memory; "
                        "give each task less with --memory, then --resume goes on"
                    ) from None
                attempts[key] += 1
                self.repeated += 1
                running[self._submit(tasks[key])] = key
                continue
            yield key, rows

    def _submit(self, task: BlockTask) -> Any:
        return self.remote.remote(task, self.nodes_reference, __version__, self.cpus_per_block)


def _to_one_line_pignn_error(cause: BaseException) -> PignnError:
    if isinstance(cause, PignnError):
        return cause
    lines = str(cause).strip().splitlines()
    return PignnError(f"a block of columns failed: {type(cause).__name__}: {lines[0][:300] if lines else ''}")


def _check_machine_and_compute_rows(task: BlockTask, nodes: np.ndarray, version: str, num_threads: int) -> np.ndarray:
    """Runs on a machine of the cluster."""
    import platform
    from pathlib import Path

    import torch

    from pignn._version import __version__ as here

    machine = platform.node()
    if here != version:
        raise DataError(f"{machine} has pignn {here}, the driver has {version}; install the same version everywhere")
    if not (Path(task.folder) / "store.json").is_file():
        raise DataError(f"{machine} has no store at {task.folder}; put it on a shared file system, or copy it there")
    torch.set_num_threads(num_threads)
    return task.compute_smoothed_rows(nodes)
