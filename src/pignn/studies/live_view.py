"""A sweep on a terminal: how far it is, how long it will take, and its tables so far."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

from .planning import PlannedRun
from .results import StudyResults
from .run_spec import RunRecord
from .study import Study
from .tables import build_tables

if TYPE_CHECKING:
    from rich.text import Text

REFRESH_SECONDS = 1.0


@dataclass
class Sweep:
    """A study under way: what a live view shows."""

    study: Study
    runs: list[PlannedRun]
    records: dict[str, RunRecord]
    workers: int
    total: int = 0
    done: int = 0


class LiveView:
    """A table on stderr that fills up while runs come in."""

    def __init__(self, sweep: Sweep) -> None:
        from rich.console import Console
        from rich.live import Live

        self._sweep = sweep
        self._shown = 0.0
        self._console = Console(stderr=True)
        self._display = Live(console=self._console, auto_refresh=False, transient=True)

    def __enter__(self) -> Self:
        self._display.__enter__()
        self.update(force=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.update(force=True)
        self._display.__exit__(kind, error, trace)

    def update(self, *, force: bool = False) -> None:
        now = time.monotonic()
        if force or now - self._shown >= REFRESH_SECONDS:
            self._shown = now
            self._display.update(self._render_text(), refresh=True)

    def _render_text(self) -> Text:
        from rich.text import Text

        sweep = self._sweep
        results = StudyResults(sweep.study, sweep.runs, sweep.records)
        head = f"{sweep.study.name}: {sweep.done} of {sweep.total} runs, {self._time_left_text()}"
        failed = len(results.failed)
        if failed:
            head += f", {failed} failed"
        body = "\n\n".join(table.to_text() for table in build_tables(results))
        room = max(self._console.height - 3, 5)
        lines = body.splitlines()
        shown = lines if len(lines) <= room else [*lines[: room - 1], "…"]
        return Text("\n".join([head, "", *shown]), no_wrap=True, overflow="ellipsis")

    def _time_left_text(self) -> str:
        """An estimate from runs of the same row and dataset, else from all runs."""
        sweep = self._sweep
        if not sweep.done:
            return "time left not known yet"
        seconds: dict[tuple[str, str], list[float]] = {}
        for run in sweep.runs:
            record = sweep.records.get(run.key)
            value = record.metrics.get("seconds") if record is not None else None
            if value is not None:
                seconds.setdefault((run.row.label, run.dataset.name), []).append(value)
        every = [value for values in seconds.values() for value in values] or [0.0]
        waiting = {run.key: run for run in sweep.runs if run.key not in sweep.records}
        total = sum(statistics.fmean(seconds.get((run.row.label, run.dataset.name), every)) for run in waiting.values())
        return f"about {format_duration(total / max(sweep.workers, 1))} left"


def format_duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
