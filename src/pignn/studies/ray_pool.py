"""Runs on several machines, by Ray. Every machine needs the same version of pignn and the raw files of the datasets."""

from __future__ import annotations

from typing import Any

import msgspec

from ..core.ray_cluster import connect_and_tell_if_newly_connected, import_ray
from .pool import THREAD_VARIABLES
from .run_spec import RunResult, RunSpec


class RayPool:
    """A Ray cluster as a place where runs are computed. Every run checks that its code is the planned one.

    Args:
        size: runs at a time; 0 for as many as the cluster has CPUs now.
        threads: CPUs and threads per run.
        address: address of the cluster; ``"auto"`` for RAY_ADDRESS or the one on this machine, a new one if there is
            none.
    """

    def __init__(self, size: int, threads: int = 1, address: str = "auto") -> None:
        ray = import_ray()
        self._ray = ray
        self._owns_connection = connect_and_tell_if_newly_connected(ray, address)
        cpus = int(ray.cluster_resources().get("CPU", 1))
        self.size = size or max(cpus // threads, 1)
        environment = {"env_vars": dict.fromkeys(THREAD_VARIABLES, str(threads))}
        # Ray itself must not repeat a run: the driver counts the attempts.
        self._execute = ray.remote(num_cpus=threads, max_retries=0, runtime_env=environment)(_execute_encoded)
        self._threads = threads
        self._running: dict[Any, str] = {}

    def submit(self, key: str, spec: RunSpec) -> None:
        self._running[self._execute.remote(msgspec.json.encode(spec), self._threads)] = key

    def wait_for_results(self, max_seconds: float) -> list[tuple[str, RunResult]]:
        ready, _ = self._ray.wait(list(self._running), num_returns=1, timeout=max_seconds)
        return [(self._running.pop(reference), self._get_result_or_failure(reference)) for reference in ready]

    def _get_result_or_failure(self, reference: Any) -> RunResult:
        try:
            return msgspec.json.decode(self._ray.get(reference), type=RunResult)
        except self._ray.exceptions.RayTaskError as error:  # what a run does not report itself
            lines = str(error.cause).strip().splitlines()
            return RunResult(error=lines[-1][:400] if lines else "failed")
        except self._ray.exceptions.RayError as error:  # a worker, its memory or its machine was lost
            return RunResult(error=f"the worker died ({type(error).__name__})", died=True)

    def close(self) -> None:
        for reference in self._running:
            self._ray.cancel(reference, force=True)
        self._running.clear()
        if self._owns_connection:
            self._ray.shutdown()


def _execute_encoded(spec: bytes, threads: int) -> bytes:
    """Execute a run on a machine of the cluster, as JSON in and out."""
    import torch

    from pignn.studies.execute import execute_run_and_catch_errors

    torch.set_num_threads(threads)
    return msgspec.json.encode(execute_run_and_catch_errors(msgspec.json.decode(spec, type=RunSpec)))
