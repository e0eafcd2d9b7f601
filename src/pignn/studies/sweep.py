"""Run what a study lacks. Nothing that is in the results store is computed again; what is computed is in it at once."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..core.errors import ConfigError
from ..io.locks import file_lock_context
from .live_view import Sweep, open_live_view
from .planning import PlannedRun, plan_runs
from .pool import LocalPool, Pool
from .results_store import ResultsStore, open_results
from .run_spec import RunRecord, RunResult
from .study import Study

MAX_ATTEMPTS = 2  # of a run whose worker died under it


@dataclass
class SweepSummary:
    """Counts of a sweep: planned runs, those that were there, those it computed, and those that failed (in all)."""

    planned: int
    cached: int
    computed: int
    failed: int


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
        folder: where the results are, or will be. Studies that share a folder share their runs.
        workers: number of processes. With ``ray``, runs at a time (0 for as many as the cluster has CPUs).
        threads: threads per worker.
        ray: the address of a Ray cluster, or ``"auto"``, or ``"local"`` to start one.
        retry: try runs again that failed by an error of their own. Those whose worker died are always tried again.
        progress: whether to show a live table; ``None`` shows it on a terminal only.

    Interrupted in whatever way, the same call goes on where it was.
    """
    check_worker_and_thread_counts(workers, threads, ray)
    with open_results(folder) as store, sweep_lock_context(Path(folder)):
        runs = plan_runs(study, store)
        records = find_reusable_records(store, runs, study.metric, retry)
        cached = len(records)
        missing = {run.key: run for run in runs if run.key not in records}
        if missing:
            methods = {(run.spec.work, run.spec.method): run.spec.code for run in missing.values()}
            pool = open_local_or_ray_pool(min(workers, len(missing)) if workers else 0, methods, threads, ray)
            sweep = Sweep(study, runs, records, pool.size, total=len(missing))
            is_shown = sys.stderr.isatty() if progress is None else progress
            with contextlib.closing(pool), open_live_view(sweep) if is_shown else contextlib.nullcontext():
                for key, result in iter_results_and_retry_dead_runs(pool, missing):
                    store.save_run(key, missing[key].spec, result)
                    records |= store.get_records([key])
                    sweep.done += 1
        failed = sum(not record.is_done for record in records.values())
        return SweepSummary(len({run.key for run in runs}), cached, len(missing), failed)


def check_worker_and_thread_counts(workers: int, threads: int, ray: str | None) -> None:
    if workers < (0 if ray else 1):
        raise ConfigError(f"workers must be at least {0 if ray else 1}, not {workers}")
    if threads < 1:
        raise ConfigError(f"threads must be at least 1, not {threads}")


def find_reusable_records(
    store: ResultsStore, runs: Iterable[PlannedRun], metric: str, retry: bool = False
) -> dict[str, RunRecord]:
    """The records that need not be computed again: done with the metric, or failed for good."""
    records = store.get_records({run.key for run in runs})
    return {
        key: record
        for key, record in records.items()
        if (metric in record.metrics if record.is_done else not (record.died or retry))
    }


def iter_results_and_retry_dead_runs(
    pool: Pool, missing_runs: dict[str, PlannedRun]
) -> Iterator[tuple[str, RunResult]]:
    """Yield results as they come. A run whose worker died is tried once more, on another worker."""
    waiting = list(missing_runs)
    attempts = dict.fromkeys(missing_runs, 0)
    submitted: set[str] = set()
    # One more than there are workers, so that none waits for the driver.
    while waiting or submitted:
        while waiting and len(submitted) < pool.size + 1:
            key = waiting.pop(0)
            attempts[key] += 1
            submitted.add(key)
            pool.submit(key, missing_runs[key].spec)
        for key, result in pool.wait_for_results(1.0):
            submitted.discard(key)
            if result.died and attempts[key] < MAX_ATTEMPTS:
                waiting.insert(0, key)
            else:
                yield key, result


def open_local_or_ray_pool(size: int, methods: dict[tuple[str, str], str], threads: int, ray: str | None) -> Pool:
    if ray is None:
        return LocalPool(size, methods, threads)
    from .ray_pool import RayPool

    return RayPool(size, threads, ray)


def sweep_lock_context(folder: Path) -> contextlib.AbstractContextManager[None]:
    """Allow one sweep at a time in a folder: two would compute the same runs twice."""
    busy = f"another sweep is running in {folder}; wait for it, or choose another folder"
    return file_lock_context(folder / ".sweep", busy)
