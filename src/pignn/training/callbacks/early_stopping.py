"""Stop when the training no longer improves."""

from __future__ import annotations

from typing import Any

from ...core.errors import build_unknown_name_error
from ...core.settings import Float, Int
from .base import Callback, Row, TrainingContext


class EarlyStopping(Callback):
    """End the training after ``patience`` epochs without an improvement.

    Args:
        patience: number of epochs to wait for a better one.
        monitor: the column of the history to watch. Columns that end in ``_loss`` should fall, all others rise.
        min_delta: how much better than the best so far an epoch must be.

    Epochs without a value of ``monitor`` do not count.
    """

    def __init__(self, patience: int, monitor: str = "val_accuracy", min_delta: float = 0.0) -> None:
        Int(min=1).raise_unless_valid("patience", patience)
        Float(min=0).raise_unless_valid("min_delta", min_delta)
        self.patience = patience
        self.monitor = monitor
        self.min_delta = min_delta
        self.best: float | None = None
        self.num_waited = 0

    def on_fit_start(self, context: TrainingContext) -> None:
        self.best, self.num_waited = None, 0

    def on_epoch_end(self, context: TrainingContext, row: Row) -> bool:
        if self.monitor not in row and "val_accuracy" in row and not self.monitor.endswith("_loss"):
            raise build_unknown_name_error("column of the history", self.monitor, row)
        value = row.get(self.monitor)
        if value is None:
            return False
        value = -value if self.monitor.endswith("_loss") else value
        if self.best is None or value > self.best + self.min_delta:
            self.best, self.num_waited = value, 0
        else:
            self.num_waited += 1
        return self.num_waited >= self.patience

    def state_dict(self) -> dict[str, Any]:
        return {"best": self.best, "num_waited": self.num_waited}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.best, self.num_waited = state["best"], state["num_waited"]
