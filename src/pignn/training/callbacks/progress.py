"""A progress bar with the time left: on a terminal or in a notebook, and nowhere else."""

from __future__ import annotations

from ...core.progress import ShowProgress, is_progress_visible, make_progress_bar
from .base import Callback, Row, TrainingContext


class ProgressBar(Callback):
    """A bar on stderr, or in the output of a notebook. ``show=None`` shows it where somebody looks."""

    def __init__(self, show: ShowProgress = None) -> None:
        self.show = is_progress_visible() if show is None else bool(show)
        self.function = show if callable(show) else None

    def on_fit_start(self, context: TrainingContext) -> None:
        if not self.show:
            return
        self.bar = make_progress_bar("epochs", function=self.function)
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
