"""A progress bar with the time left: on a terminal, and nowhere else."""

from __future__ import annotations

import sys

from .base import Callback, Row, TrainingContext


class ProgressBar(Callback):
    """A bar on stderr. ``show=None`` shows it if stderr is a terminal."""

    def __init__(self, show: bool | None = None) -> None:
        self.show = sys.stderr.isatty() if show is None else show

    def on_fit_start(self, context: TrainingContext) -> None:
        if not self.show:
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("epochs · left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            console=Console(stderr=True),
        )
        self.bar.start()
        self.task = self.bar.add_task(context.method, total=context.num_epochs, note="")

    def on_epoch_end(self, context: TrainingContext, row: Row) -> None:
        if self.show:
            accuracy = row.get("val_accuracy")
            note = "" if accuracy is None else f"val {accuracy:.3f}"
            self.bar.update(self.task, completed=len(context.history), note=note)

    def on_fit_end(self, context: TrainingContext) -> None:
        if self.show:
            self.bar.stop()
