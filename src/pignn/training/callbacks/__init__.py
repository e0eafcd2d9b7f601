"""Callbacks follow a training: progress, early stopping, logs, and those of other packages.

A callback is a class in the registry ``CALLBACKS``; another package adds one through the entry-point group
``pignn.callbacks``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ...core.errors import ConfigError
from ...core.lazy import make_lazy_getattr_and_dir
from ...core.registry import Entry, Registry

if TYPE_CHECKING:
    from .base import Callback, TrainingContext
    from .early_stopping import EarlyStopping
    from .loggers import CSVLogger, JSONLinesLogger
    from .progress import ProgressBar
    from .trackers import MLflowLogger, TensorBoardLogger, WandbLogger

CALLBACKS: Registry[type[Callback]] = Registry(
    "callback",
    "pignn.callbacks",
    [
        Entry("csv", "pignn.training.callbacks.loggers:CSVLogger", "append each epoch to a CSV file"),
        Entry(
            "early-stopping",
            "pignn.training.callbacks.early_stopping:EarlyStopping",
            "stop when a column of the history no longer improves",
        ),
        Entry("jsonl", "pignn.training.callbacks.loggers:JSONLinesLogger", "append each epoch to a JSON lines file"),
        Entry("mlflow", "pignn.training.callbacks.trackers:MLflowLogger", "log to MLflow"),
        Entry("progress", "pignn.training.callbacks.progress:ProgressBar", "a progress bar on the terminal"),
        Entry("tensorboard", "pignn.training.callbacks.trackers:TensorBoardLogger", "log to TensorBoard"),
        Entry("wandb", "pignn.training.callbacks.trackers:WandbLogger", "log to Weights & Biases"),
    ],
)


def make_callback(name: str, **settings: Any) -> Callback:
    """Build the callback called ``name``: ``make_callback("csv", path="history.csv")``."""
    kind = CALLBACKS.get(name)
    try:
        return kind(**settings)
    except TypeError as error:
        raise ConfigError(f"callback '{name}' cannot be built ({error}); pass an object of {kind.__name__}") from None


def resolve_callbacks(callbacks: Iterable[str | Callback]) -> list[Callback]:
    """Objects as they are, names as the callbacks they stand for."""
    if isinstance(callbacks, str):
        raise ConfigError(f"callbacks must be a list, such as [{callbacks!r}]")
    made = [make_callback(callback) if isinstance(callback, str) else callback for callback in callbacks]
    for callback in made:
        if isinstance(callback, type) or not hasattr(callback, "on_epoch_end"):
            name = getattr(callback, "__name__", type(callback).__name__)
            raise ConfigError(
                f"{name} is not a callback: give a name, or an object such as CSVLogger('history.csv'), of a class "
                "that extends pignn.training.callbacks.Callback"
            )
    return made


__all__ = [
    "CALLBACKS",
    "CSVLogger",
    "Callback",
    "EarlyStopping",
    "JSONLinesLogger",
    "MLflowLogger",
    "ProgressBar",
    "TensorBoardLogger",
    "TrainingContext",
    "WandbLogger",
    "make_callback",
    "resolve_callbacks",
]

# Imported on first use, so that listing things does not wait for torch.
__getattr__, __dir__ = make_lazy_getattr_and_dir(__name__, __file__)
