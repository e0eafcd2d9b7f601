"""Progress with an estimate of the time left: on a terminal, and nowhere else."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import TracebackType
from typing import Any


class Progress:
    """A bar on stderr. ``show=None`` means: if stderr is a terminal."""

    def __init__(self, title: str, total: int, show: bool | None = None) -> None:
        self.show = sys.stderr.isatty() if show is None else show
        self.title = title
        self.total = total

    def __enter__(self) -> Progress:
        if self.show:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            self.bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("epochs · left"),
                TimeRemainingColumn(),
                TextColumn("{task.fields[note]}"),
                console=Console(stderr=True),
            )
            self.bar.start()
            self.task = self.bar.add_task(self.title, total=self.total, note="")
        return self

    def update(self, done: int, row: Mapping[str, Any]) -> None:
        if self.show:
            score = row.get("val_accuracy")
            self.bar.update(self.task, completed=done, note="" if score is None else f"val {score:.3f}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.show:
            self.bar.stop()
