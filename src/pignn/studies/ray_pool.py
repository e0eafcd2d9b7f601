"""Runs on several machines, by Ray. Every machine needs pignn, the same version, and the raw files of the datasets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core.errors import ConfigError, PignnError
from .pool import THREADS, Outcome


class RayPool:
    """A Ray cluster as a place where runs are computed.

    Args:
        size: runs at a time; 0 for as many as the cluster has CPUs now.
        code: methods and the versions they were planned with; every run checks its own.
        threads: CPUs and threads of a run.
        address: of the cluster; ``"auto"`` for RAY_ADDRESS or the one on this machine, a new one if there is none.
    """

    def __init__(self, size: int, code: Mapping[str, str], threads: int = 1, address: str = "auto") -> None:
        try:
            import ray
        except ImportError:
            raise ConfigError("Ray is not installed; pip install 'pignn[ray]', or leave out --ray") from None
        self._ray = ray
        self._mine = not ray.is_initialized()
        if self._mine:
            _connect(ray, address)
        cpus = int(ray.cluster_resources().get("CPU", 1))
        self.size = size or max(cpus // threads, 1)
        environment = {"env_vars": dict.fromkeys(THREADS, str(threads))}
        # Ray itself must not repeat a run: the driver counts the attempts.
        self._execute = ray.remote(num_cpus=threads, max_retries=0, runtime_env=environment)(_execute)
        self._threads = threads
        self._out: dict[Any, str] = {}

    def submit(self, key: str, job: Mapping[str, Any]) -> None:
        self._out[self._execute.remote(dict(job), self._threads)] = key

    def wait(self, seconds: float) -> list[Outcome]:
        ready, _ = self._ray.wait(list(self._out), num_returns=1, timeout=seconds)
        return [self._outcome(reference, self._out.pop(reference)) for reference in ready]

    def _outcome(self, reference: Any, key: str) -> Outcome:
        try:
            result = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:  # what a run does not report itself
            reason = str(error.cause).strip().splitlines()
            return Outcome(key, {"error": reason[-1][:400] if reason else "failed"}, died=False)
        except self._ray.exceptions.RayError as error:  # a worker, its memory or its machine was lost
            return Outcome(key, {"error": f"the worker died ({type(error).__name__})"}, died=True)
        return Outcome(key, result, bool(result.get("died")))

    def close(self) -> None:
        for reference in self._out:
            self._ray.cancel(reference, force=True)
        self._out.clear()
        if self._mine:
            self._ray.shutdown()


def _connect(ray: Any, address: str) -> None:
    try:
        if address == "auto":
            try:
                ray.init(address="auto", log_to_driver=False, logging_level="ERROR")
            except ConnectionError:
                ray.init(include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        else:
            ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except (ConnectionError, ValueError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0][:200]
        raise PignnError(f"no Ray cluster at '{address}': {reason}; start one with ray start --head") from None


def _execute(job: dict[str, Any], threads: int) -> dict[str, Any]:
    import torch

    from pignn.studies.execute import OutOfMemory, execute

    torch.set_num_threads(threads)
    try:
        return execute(job)
    except OutOfMemory:
        return {"error": "out of memory", "died": True}
