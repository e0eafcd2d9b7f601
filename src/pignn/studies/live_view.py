"""A sweep on a terminal: how far it is, how long it will take, and its tables so far."""

from __future__ import annotations

import contextlib
import statistics
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .planning import PlannedRun
from .results import StudyResults
from .run_spec import RunRecord
from .study import Study
from .tables import build_tables

if TYPE_CHECKING:
    from rich.text import Text


@dataclass
class Sweep:
    """A study under way: what a live view shows."""

    study: Study
    runs: list[PlannedRun]
    records: dict[str, RunRecord]
    workers: int
    total: int = 0
    done: int = 0


def open_live_view(sweep: Sweep) -> contextlib.AbstractContextManager[object]:
    """A table on stderr that fills up while runs come in; it is drawn once a second."""
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True)
    room = max(console.height - 3, 5)
    return Live(
        get_renderable=lambda: _build_rich_text(sweep, room), console=console, refresh_per_second=1, transient=True
    )


def _build_rich_text(sweep: Sweep, max_lines: int) -> Text:
    from rich.text import Text

    results = StudyResults(sweep.study, sweep.runs, dict(sweep.records))  # a copy: the sweep goes on meanwhile
    head = f"{sweep.study.name}: {sweep.done} of {sweep.total} runs, {_format_time_left(sweep, results)}"
    if failed := len(results.failed_runs):
        head += f", {failed} failed"
    lines = "\n\n".join(table.to_text() for table in build_tables(results)).splitlines()
    shown = lines if len(lines) <= max_lines else [*lines[: max_lines - 1], "…"]
    return Text("\n".join([head, "", *shown]), no_wrap=True, overflow="ellipsis")


def _format_time_left(sweep: Sweep, results: StudyResults) -> str:
    """An estimate from runs of the same row and dataset, else from all runs."""
    if not sweep.done:
        return "time left not known yet"
    seconds = defaultdict(list)
    for run in sweep.runs:
        if run.key in results.records and (value := results.records[run.key].metrics.get("seconds")) is not None:
            seconds[run.row.label, run.dataset.name].append(value)
    every = [value for values in seconds.values() for value in values] or [0.0]
    waiting = {run.key: run for run in sweep.runs if run.key not in results.records}
    total = sum(statistics.fmean(seconds.get((run.row.label, run.dataset.name), every)) for run in waiting.values())
    return f"about {format_duration(total / max(sweep.workers, 1))} left"


def format_duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
