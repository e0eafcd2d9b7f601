"""Local workers: processes of their own with pinned threads, replaced when they die."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from ..core.errors import PignnError

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


class Outcome(NamedTuple):
    """What became of a run: its numbers or error; ``died`` if it took its worker along, or the worker it."""

    key: str
    result: dict[str, Any]
    died: bool


class Pool(Protocol):
    """Where runs are computed."""

    size: int

    def submit(self, key: str, job: Mapping[str, Any]) -> None: ...

    def wait(self, seconds: float) -> list[Outcome]: ...

    def close(self) -> None: ...


class _Worker:
    def __init__(self, code: Mapping[str, str], threads: int) -> None:
        self.log = tempfile.TemporaryFile()  # noqa: SIM115
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pignn.studies.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            env=os.environ | dict.fromkeys(THREADS, str(threads)),
            start_new_session=True,  # Ctrl-C is the driver's business
        )
        self.key: str | None = None
        self.ready = False
        self.leaving = False
        self.pending = b""
        self.send({"methods": list(code), "threads": threads})

    def send(self, content: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has died: the end of its output says so
            self.process.stdin.write(json.dumps(content).encode() + b"\n")
            self.process.stdin.flush()

    def lines(self) -> tuple[list[bytes], bool]:
        """Whole lines that have come, and whether that was all for ever."""
        assert self.process.stdout is not None
        part = os.read(self.process.stdout.fileno(), 1 << 20)
        *whole, self.pending = (self.pending + part).split(b"\n")
        return whole, not part

    def end(self, patience: float = 0.0) -> str:
        """Make sure it is dead, after a while if it is about to leave by itself; what it died of."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(patience)
        self.process.kill()
        code = self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            with contextlib.suppress(BrokenPipeError):
                stream.close()
        self.log.seek(0)
        last = self.log.read()[-2000:].decode(errors="replace").strip().splitlines()[-1:]
        self.log.close()
        how = f"signal {-code}" + (", perhaps out of memory" if code == -9 else "") if code < 0 else f"exit code {code}"
        return f"the worker died ({how})" + (f": {last[0][:200]}" if last else "")


class LocalPool:
    """``size`` worker processes with ``threads`` threads each.

    ``code`` are the methods of the sweep and the versions they were planned with: a worker that finds another version
    ends the sweep.
    """

    def __init__(self, size: int, code: Mapping[str, str], threads: int = 1) -> None:
        self.size = size
        self._code = dict(code)
        self._threads = threads
        self._waiting: list[tuple[str, Mapping[str, Any]]] = []
        self._selector = selectors.DefaultSelector()
        self._workers: list[_Worker] = []
        for _ in range(size):
            self._start()

    def _start(self) -> None:
        worker = _Worker(self._code, self._threads)
        self._workers.append(worker)
        self._selector.register(worker.process.stdout, selectors.EVENT_READ, worker)  # type: ignore[arg-type]

    @property
    def processes(self) -> list[int]:
        return [worker.process.pid for worker in self._workers]

    def submit(self, key: str, job: Mapping[str, Any]) -> None:
        self._waiting.append((key, job))
        self._assign()

    def _assign(self) -> None:
        for worker in self._workers:
            if worker.ready and not worker.leaving and worker.key is None and self._waiting:
                worker.key, job = self._waiting.pop(0)
                worker.send(job)

    def wait(self, seconds: float) -> list[Outcome]:
        """What has come in, after ``seconds`` at the latest."""
        outcomes = []
        for ready, _ in self._selector.select(seconds):
            worker: _Worker = ready.data
            lines, ended = worker.lines()
            for line in lines:
                outcomes += self._answer(worker, json.loads(line))
            if ended:
                outcomes += self._died(worker)
        self._assign()
        return outcomes

    def _answer(self, worker: _Worker, content: dict[str, Any]) -> list[Outcome]:
        if not worker.ready:
            for method, code in self._code.items():
                if content["code"].get(method) != code:
                    raise PignnError(f"the code of '{method}' has changed since the sweep began; run it again")
            worker.ready = True
            return []
        key, worker.key = worker.key, None
        assert key is not None
        worker.leaving = bool(content.get("died"))
        return [Outcome(key, content, worker.leaving)]

    def _died(self, worker: _Worker) -> list[Outcome]:
        self._selector.unregister(worker.process.stdout)  # type: ignore[arg-type]
        self._workers.remove(worker)
        reason = worker.end(patience=5.0)
        if not worker.ready and worker.process.returncode > 0:  # it cannot even start: a new one could not either
            raise PignnError(reason)
        self._start()
        return [] if worker.key is None else [Outcome(worker.key, {"error": reason}, died=True)]

    def close(self) -> None:
        for worker in self._workers:
            self._selector.unregister(worker.process.stdout)  # type: ignore[arg-type]
            worker.end()
        self._workers.clear()
        self._selector.close()
