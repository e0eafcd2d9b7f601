"""A sweep on a terminal: how far it is, how long it will take, and the table filling up."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from .results import StudyResults
from .sweep import Sweep
from .tables import build_tables

if TYPE_CHECKING:
    from rich.text import Text

EVERY = 1.0  # seconds between two pictures


class Live:
    """Shown on stderr while runs come in."""

    def __init__(self, sweep: Sweep) -> None:
        from rich.console import Console
        from rich.live import Live as Picture

        self._sweep = sweep
        self._shown = 0.0
        self._console = Console(stderr=True)
        self._picture = Picture(console=self._console, auto_refresh=False, transient=True)

    def __enter__(self) -> Self:
        self._picture.__enter__()
        self.update(force=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.update(force=True)
        self._picture.__exit__(kind, error, trace)

    def update(self, *, force: bool = False) -> None:
        now = time.monotonic()
        if force or now - self._shown >= EVERY:
            self._shown = now
            self._picture.update(self._render(), refresh=True)

    def _render(self) -> Text:
        from rich.text import Text

        sweep = self._sweep
        results = StudyResults(sweep.study, sweep.runs, sweep.rows)
        head = f"{sweep.study.name}: {sweep.done} of {sweep.total} runs, {self._left()}"
        failed = len(results.failed)
        if failed:
            head += f", {failed} failed"
        body = "\n\n".join(table.to_text() for table in build_tables(results))
        room = max(self._console.height - 3, 5)
        lines = body.splitlines()
        shown = lines if len(lines) <= room else [*lines[: room - 1], "…"]
        return Text("\n".join([head, "", *shown]), no_wrap=True, overflow="ellipsis")

    def _left(self) -> str:
        """An estimate from what runs of the same row and dataset took, else from all."""
        sweep = self._sweep
        if not sweep.done:
            return "time left not known yet"
        by_kind: dict[tuple[str, str], list[float]] = {}
        every: list[float] = []
        for run in sweep.runs:
            seconds = sweep.rows.get(run.key, {}).get("seconds")
            if seconds is not None:
                by_kind.setdefault((run.row.label, run.dataset.name), []).append(seconds)
                every.append(seconds)
        mean = sum(every) / len(every) if every else 0.0
        waiting = {run.key: run for run in sweep.left}
        total = 0.0
        for run in waiting.values():
            known = by_kind.get((run.row.label, run.dataset.name))
            total += sum(known) / len(known) if known else mean
        return f"about {duration(total / max(sweep.workers, 1))} left"


def duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
