"""Local workers: processes of their own with a fixed number of threads, replaced when they die."""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from ..core.errors import PignnError
from .run_spec import RunResult, RunSpec
from .worker import Greeting

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")
EXIT_SECONDS = 5.0  # for a worker that is about to leave by itself


class Pool(Protocol):
    """Where runs are computed."""

    size: int

    def submit(self, key: str, spec: RunSpec) -> None: ...

    def wait(self, seconds: float) -> list[tuple[str, RunResult]]:
        """The results that have come in, after ``seconds`` at the latest, with the keys of their runs."""

    def close(self) -> None: ...


class _Worker:
    def __init__(self, methods: list[tuple[str, str]], threads: int) -> None:
        self.log = tempfile.TemporaryFile()  # noqa: SIM115
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pignn.studies.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            env=os.environ | dict.fromkeys(THREAD_VARIABLES, str(threads)),
            start_new_session=True,  # Ctrl-C is the driver's business
        )
        self.key: str | None = None
        self.is_ready = False
        self.is_leaving = False
        self.unread = b""
        self.send_if_alive(Greeting(methods, threads))

    def send_if_alive(self, content: Any) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has died: the end of its output says so
            self.process.stdin.write(msgspec.json.encode(content) + b"\n")
            self.process.stdin.flush()

    def read_lines(self) -> tuple[list[bytes], bool]:
        """Whole lines that have come, and whether the output has ended."""
        assert self.process.stdout is not None
        part = os.read(self.process.stdout.fileno(), 1 << 20)
        *lines, self.unread = (self.unread + part).split(b"\n")
        return lines, not part

    def stop(self, wait_seconds: float = 0.0) -> str:
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
    """``size`` worker processes with ``threads`` threads each.

    ``methods`` are those of the sweep, as (kind of work, method), with the versions they were planned with. A worker
    that has another version ends the sweep.
    """

    def __init__(self, size: int, methods: Mapping[tuple[str, str], str], threads: int = 1) -> None:
        self.size = size
        self._methods = dict(methods)
        self._threads = threads
        self._waiting: list[tuple[str, RunSpec]] = []
        self._selector = selectors.DefaultSelector()
        self._workers: list[_Worker] = []
        for _ in range(size):
            self._start_worker()

    def _start_worker(self) -> None:
        worker = _Worker(list(self._methods), self._threads)
        self._workers.append(worker)
        self._selector.register(worker.process.stdout, selectors.EVENT_READ, worker)  # type: ignore[arg-type]

    @property
    def process_ids(self) -> list[int]:
        return [worker.process.pid for worker in self._workers]

    @property
    def is_ready(self) -> bool:
        return all(worker.is_ready for worker in self._workers)

    def submit(self, key: str, spec: RunSpec) -> None:
        self._waiting.append((key, spec))
        self._assign_waiting_runs()

    def _assign_waiting_runs(self) -> None:
        for worker in self._workers:
            if worker.is_ready and not worker.is_leaving and worker.key is None and self._waiting:
                worker.key, spec = self._waiting.pop(0)
                worker.send_if_alive(spec)

    def wait(self, seconds: float) -> list[tuple[str, RunResult]]:
        results = []
        for ready, _ in self._selector.select(seconds):
            worker: _Worker = ready.data
            lines, has_ended = worker.read_lines()
            for line in lines:
                results += self._take_answer(worker, line)
            if has_ended:
                results += self._replace_worker(worker)
        self._assign_waiting_runs()
        return results

    def _take_answer(self, worker: _Worker, line: bytes) -> list[tuple[str, RunResult]]:
        if not worker.is_ready:
            versions = msgspec.json.decode(line, type=list[str])
            for ((_, method), planned), version in zip(self._methods.items(), versions, strict=True):
                if version != planned:
                    raise PignnError(f"the code of '{method}' has changed since the sweep began; run it again")
            worker.is_ready = True
            return []
        key, worker.key = worker.key, None
        assert key is not None
        result = msgspec.json.decode(line, type=RunResult)
        worker.is_leaving = result.died
        return [(key, result)]

    def _replace_worker(self, worker: _Worker) -> list[tuple[str, RunResult]]:
        self._selector.unregister(worker.process.stdout)  # type: ignore[arg-type]
        self._workers.remove(worker)
        reason = worker.stop(EXIT_SECONDS)
        if not worker.is_ready and worker.process.returncode > 0:  # it cannot even start: a new one could not either
            raise PignnError(reason)
        self._start_worker()
        return [] if worker.key is None else [(worker.key, RunResult(error=reason, died=True))]

    def close(self) -> None:
        for worker in self._workers:
            self._selector.unregister(worker.process.stdout)  # type: ignore[arg-type]
            worker.stop()
        self._workers.clear()
        self._selector.close()
