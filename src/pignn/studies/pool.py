"""Local workers: processes of their own with a fixed number of threads, replaced when they die."""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from concurrent import futures
from typing import Any, Protocol

import msgspec

from ..core.errors import PignnError
from .run_spec import RunResult, RunSpec
from .worker import ABSENT, Greeting

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")
EXIT_SECONDS = 5.0  # for a worker that is about to leave by itself


class Pool(Protocol):
    """Where runs are computed."""

    size: int

    def submit(self, key: str, spec: RunSpec) -> None: ...

    def wait_for_results(self, max_seconds: float) -> list[tuple[str, RunResult]]:
        """The results that have come in, after ``max_seconds`` at the latest, with the keys of their runs."""

    def close(self) -> None: ...


class _Worker:
    def __init__(self, threads: int) -> None:
        self.log = tempfile.TemporaryFile()  # noqa: SIM115
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pignn.studies.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            env=os.environ | dict.fromkeys(THREAD_VARIABLES, str(threads)),
            start_new_session=True,  # Ctrl-C is the driver's business
        )

    def ask_and_wait_for_answer_or_none(self, question: Any, answer_type: Any) -> Any:
        """The answer to a question, or ``None`` if the worker died over it."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # it has died: the end of its output says so
            self.process.stdin.write(msgspec.json.encode(question) + b"\n")
            self.process.stdin.flush()
        line = self.process.stdout.readline()
        return msgspec.json.decode(line, type=answer_type) if line.endswith(b"\n") else None

    def stop_and_get_cause_of_death(self, wait_seconds: float = 0.0) -> str:
        """End the process, after a while if it is about to leave by itself; returns what it died of."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(wait_seconds)
        self.process.kill()
        code = self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            with contextlib.suppress(BrokenPipeError):
                stream.close()
        self.log.seek(0)
        last_line = self.log.read()[-2000:].decode(errors="replace").strip().splitlines()[-1:]
        self.log.close()
        how = f"signal {-code}" + (", perhaps out of memory" if code == -9 else "") if code < 0 else f"exit code {code}"
        return f"the worker died ({how})" + (f": {last_line[0][:200]}" if last_line else "")


class LocalPool:
    """``size`` worker processes with ``threads`` threads each. A thread of this process waits for each of them.

    ``methods`` are those of the sweep, as (kind of work, method), with the versions they were planned with. A worker
    that has another version ends the sweep.
    """

    def __init__(self, size: int, methods: Mapping[tuple[str, str], str], threads: int = 1) -> None:
        self.size = size
        self._methods = dict(methods)
        self._threads = threads
        self._is_closing = False
        self._workers: set[_Worker] = set()
        self._idle: queue.SimpleQueue[_Worker | None] = queue.SimpleQueue()  # None is one that has yet to start
        self._executor = futures.ThreadPoolExecutor(size)
        starts = [self._executor.submit(lambda: self._idle.put(self._start_checked_worker())) for _ in range(size)]
        self._pending: dict[futures.Future[Any], str | None] = dict.fromkeys(starts)  # keys of runs

    @property
    def are_all_workers_started(self) -> bool:
        return None not in self._pending.values()

    def submit(self, key: str, spec: RunSpec) -> None:
        self._pending[self._executor.submit(self._compute_in_free_worker, spec)] = key

    def wait_for_results(self, max_seconds: float) -> list[tuple[str, RunResult]]:
        done, _ = futures.wait(self._pending, max_seconds, futures.FIRST_COMPLETED)
        results = [(self._pending.pop(future), future.result()) for future in done]
        return [(key, result) for key, result in results if key is not None]

    def _compute_in_free_worker(self, spec: RunSpec) -> RunResult:
        worker = self._idle.get() or self._start_checked_worker()
        result = worker.ask_and_wait_for_answer_or_none(spec, RunResult)
        if result is not None and not result.died:
            self._idle.put(worker)
            return result
        self._idle.put(None)
        reason = self._remove_worker_and_get_cause_of_death(worker)
        return result or RunResult(error=reason, died=True)

    def _start_checked_worker(self) -> _Worker:
        while not self._is_closing:
            worker = _Worker(self._threads)
            self._workers.add(worker)
            if self._is_closing:
                worker.process.kill()
            versions = worker.ask_and_wait_for_answer_or_none(Greeting(list(self._methods), self._threads), list[str])
            if versions is not None:
                for ((_, method), planned), version in zip(self._methods.items(), versions, strict=True):
                    if version == ABSENT:
                        raise PignnError(
                            f"the workers do not know '{method}', which only this program has registered; install its "
                            "package with an entry point 'pignn.methods'"
                        )
                    if version != planned:
                        raise PignnError(f"the code of '{method}' has changed since the sweep began; run it again")
                return worker
            reason = self._remove_worker_and_get_cause_of_death(worker)
            if worker.process.returncode > 0:  # it cannot even start: a new one could not either
                raise PignnError(reason)
        raise PignnError("the pool is closed")

    def _remove_worker_and_get_cause_of_death(self, worker: _Worker) -> str:
        self._workers.remove(worker)
        return worker.stop_and_get_cause_of_death(EXIT_SECONDS)

    def close(self) -> None:
        self._is_closing = True
        for worker in list(self._workers):
            worker.process.kill()
        for _ in range(self.size):
            self._idle.put(None)  # a run that waits for a worker that could not start waits no longer
        self._executor.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.stop_and_get_cause_of_death()
