"""Tasks on a Ray cluster. Machines exchange nothing but results; each reads the graph store for itself."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, Protocol, TypeVar

from .._version import __version__
from ..core.errors import DataError, PignnError, is_out_of_memory, warn_user
from ..core.ray_cluster import connect_and_tell_if_newly_connected, import_ray

MAX_ATTEMPTS = 4  # of a task whose worker or machine is lost
TASKS_PER_CPU = 2  # that are submitted at a time: one to work on, one to wait, and few results to hold
LACK_OF_MEMORY = "out of memory; give each task less with --memory (memory=), then --resume goes on"
NOT_THE_SAME_CODE = ("No module named", "failed to import")  # how Ray says so
Key = TypeVar("Key")


class Task(Protocol):
    """What a process can compute from an input that several tasks may share."""

    def compute(self, shared: Any, /) -> Any: ...


class RayTasks:
    """A connection to a cluster that computes tasks. ``repeated`` counts those that were lost and computed again."""

    def __init__(self, address: str, cpus_per_task: int = 1) -> None:
        self.cpus_per_task, self.repeated = cpus_per_task, 0
        self.ray = import_ray()
        self.owns_connection = connect_and_tell_if_newly_connected(self.ray, address)
        # Ray itself must not repeat a task: those that are lost are counted here.
        options = {"num_cpus": cpus_per_task, "max_retries": 0, "scheduling_strategy": "SPREAD"}
        self.remote = self.ray.remote(**options)(_check_version_and_compute)

    def close(self) -> None:
        """Leave the cluster, unless somebody else joined it."""
        if self.owns_connection:
            self.ray.shutdown()

    def iter_results(self, tasks: Mapping[Key, tuple[Task, Any]]) -> Iterator[tuple[Key, Any]]:
        """The result of every task, as they are done."""
        shared = {id(each): each for _, each in tasks.values()}
        references = {key: self.ray.put(each) for key, each in shared.items()}

        def submit(key: Key) -> Any:
            task, each = tasks[key]
            return self.remote.remote(task, references[id(each)], __version__, self.cpus_per_task)

        waiting, attempts = iter(tasks), dict.fromkeys(tasks, 1)
        num_cpus = int(self.ray.cluster_resources().get("CPU", 0))
        if tasks and num_cpus < self.cpus_per_task:
            warn_user("the Ray cluster has no CPU for a task yet; ray start --address ... adds a machine")
        limit = max(TASKS_PER_CPU * num_cpus, 2)
        running = {submit(key): key for key in itertools.islice(waiting, limit)}
        try:
            while running:
                (reference,), _ = self.ray.wait(list(running), num_returns=1)
                key = running.pop(reference)
                if self._is_lost_or_raise(reference, attempts[key]):
                    attempts[key] += 1
                    self.repeated += 1
                    running[submit(key)] = key
                    continue
                running |= {submit(next_key): next_key for next_key in itertools.islice(waiting, 1)}
                yield key, self.ray.get(reference)
        finally:
            for reference in running:
                self.ray.cancel(reference, force=True)

    def _is_lost_or_raise(self, reference: Any, attempt: int) -> bool:
        """Whether a finished task has to be computed again; an error of its own is raised in one line."""
        try:
            self.ray.get(reference)
        except self.ray.exceptions.RayTaskError as error:  # the same would happen again
            raise _to_one_line_pignn_error(error.cause) from None
        except self.ray.exceptions.RayError as error:
            if attempt < MAX_ATTEMPTS:
                warn_user(f"a task on the cluster was lost ({type(error).__name__}); it is computed again")
                return True
            raise PignnError(
                f"a task was lost {MAX_ATTEMPTS} times ({type(error).__name__}), perhaps for lack of memory; "
                "give each task less with --memory, then --resume goes on"
            ) from None
        return False


def _to_one_line_pignn_error(cause: BaseException) -> PignnError:
    if isinstance(cause, PignnError):
        return cause
    if is_out_of_memory(cause):
        return PignnError(LACK_OF_MEMORY)
    lines = str(cause).strip().splitlines()
    reason = f"{type(cause).__name__}: {lines[0][:200] if lines else ''}"
    if isinstance(cause, ImportError | AttributeError) or any(text in str(cause) for text in NOT_THE_SAME_CODE):
        reason += "; install the same version of pignn on every machine"
    return PignnError(f"a task on the cluster failed: {reason}")


def _check_version_and_compute(task: Task, shared: Any, version: str, num_threads: int) -> Any:
    """Runs on a machine of the cluster."""
    import platform

    import torch

    from pignn._version import __version__ as here

    if here != version:
        machine = platform.node()
        raise DataError(f"{machine} has pignn {here}, the driver has {version}; install the same version everywhere")
    torch.set_num_threads(num_threads)
    return task.compute(shared)
