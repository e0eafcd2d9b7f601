"""Run what a study lacks. Nothing that is in the store is computed again, and what is computed is in it at once."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core.errors import ConfigError, OutputError
from .pool import LocalPool, Outcome, Pool
from .results_store import ResultsStore
from .run_spec import PlannedRun, plan_runs
from .study import Study

STORE = "runs.sqlite"
ATTEMPTS = 2  # of a run whose worker died under it


@dataclass
class SweepSummary:
    """What a sweep did: planned runs, those that were there, those it added, and those that failed (in all)."""

    planned: int
    cached: int
    computed: int
    failed: int


@dataclass
class Sweep:
    """A study on its way: what a live view shows."""

    study: Study
    runs: list[PlannedRun]
    rows: dict[str, dict[str, Any]]
    workers: int
    total: int = 0
    done: int = 0

    @property
    def left(self) -> list[PlannedRun]:
        return [run for run in self.runs if run.key not in self.rows]


def open_results(folder: str | Path, *, create: bool = True) -> ResultsStore:
    """The store in a folder of studies."""
    return ResultsStore(Path(folder) / STORE, create=create)


def run_study(
    study: Study,
    folder: str | Path,
    *,
    workers: int = 1,
    threads: int = 1,
    ray: str | None = None,
    retry: bool = False,
    progress: bool | None = None,
) -> SweepSummary:
    """Compute the runs of a study that its folder lacks.

    Args:
        study: the plan.
        folder: where the store is, or will be; several studies may share one, and then share their runs.
        workers: processes; with ``ray``, runs at a time (0 for as many as the cluster has CPUs).
        threads: of each.
        ray: the address of a Ray cluster, or ``"auto"``, or ``"local"`` to start one.
        retry: try runs again that failed by an error of their own; those whose worker died are always tried again.
        progress: a live table; ``None`` shows it on a terminal only.

    Interrupted in whatever way, the same call goes on where it was.
    """
    check_processes(workers, threads, ray)
    with open_results(folder) as store, _alone(Path(folder)):
        runs = plan_runs(study, store)
        rows = reusable_rows(store, runs, retry)
        cached = len(rows)
        missing = {run.key: run for run in runs if run.key not in rows}
        if missing:
            code = {run.row.method: run.job["code"] for run in missing.values()}
            size = min(workers, len(missing)) if workers else 0
            pool = _pool(size, code, threads, ray)
            sweep = Sweep(study, runs, rows, pool.size, total=len(missing))
            with contextlib.closing(pool), _view(sweep, progress) as view:
                for key, result in _outcomes(pool, missing):
                    store.put(key, missing[key].job, result)
                    rows[key] = store.rows([key])[key]
                    sweep.done += 1
                    view.update()
        failed = sum(row["status"] == "failed" for row in rows.values())
        return SweepSummary(len({run.key for run in runs}), cached, len(missing), failed)


def check_processes(workers: int, threads: int, ray: str | None) -> None:
    if workers < (0 if ray else 1):
        raise ConfigError(f"workers must be at least {0 if ray else 1}, not {workers}")
    if threads < 1:
        raise ConfigError(f"threads must be at least 1, not {threads}")


def reusable_rows(store: ResultsStore, runs: Iterable[PlannedRun], retry: bool = False) -> dict[str, dict[str, Any]]:
    """The rows of a store that are not computed again."""
    rows = store.rows({run.key for run in runs})
    return {key: row for key, row in rows.items() if row["status"] == "done" or not (row["died"] or retry)}


def _outcomes(pool: Pool, missing: dict[str, PlannedRun]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Results as they come. A run whose worker died is tried once more, on another one."""
    waiting = list(missing)
    attempts = dict.fromkeys(missing, 0)
    out: set[str] = set()
    # One more than there are workers, so that none waits for the driver.
    while waiting or out:
        while waiting and len(out) < pool.size + 1:
            key = waiting.pop(0)
            attempts[key] += 1
            out.add(key)
            pool.submit(key, missing[key].job)
        for outcome in pool.wait(1.0):
            out.discard(outcome.key)
            if outcome.died and attempts[outcome.key] < ATTEMPTS:
                waiting.insert(0, outcome.key)
            else:
                yield outcome.key, outcome.result | {"died": outcome.died}


def _pool(size: int, code: dict[str, str], threads: int, ray: str | None) -> Pool:
    if ray is None:
        return LocalPool(size, code, threads)
    from .ray_pool import RayPool

    return RayPool(size, code, threads, ray)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One sweep at a time in a folder: two would compute the same runs twice. The lock dies with its process."""
    handle = os.open(folder / ".sweep", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise OutputError(f"another sweep is running in {folder}; wait for it, or choose another folder") from None
        yield
    finally:
        os.close(handle)


class _Silence:
    def update(self) -> None:
        pass


@contextlib.contextmanager
def _view(sweep: Sweep, progress: bool | None) -> Iterator[Any]:
    if not (sys.stderr.isatty() if progress is None else progress):
        yield _Silence()
        return
    from .live_view import Live

    with Live(sweep) as live:
        yield live


__all__ = ["Outcome", "Sweep", "SweepSummary", "open_results", "run_study"]
