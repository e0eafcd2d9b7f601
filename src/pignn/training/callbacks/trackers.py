"""The history in people's own tools: TensorBoard, MLflow, Weights & Biases. Each is imported on first use."""

from __future__ import annotations

import importlib
from abc import abstractmethod
from pathlib import Path
from typing import Any

from ...core.errors import ConfigError
from .base import Callback, Row, TrainingContext


class _Tracker(Callback):
    """Numbers of every epoch under their names in the history; a second phase of the training goes on counting.

    A resumed training first sends the rows of the earlier run, so that each run of the tool is whole.
    """

    def on_fit_start(self, context: TrainingContext) -> None:
        self._open_run({"method": context.method} | context.settings)
        for step, row in enumerate(context.history):
            self._log_numbers_of_row(row, step)

    def on_epoch_end(self, context: TrainingContext, row: Row) -> None:
        self._log_numbers_of_row(row, len(context.history) - 1)

    def on_fit_end(self, context: TrainingContext) -> None:
        if context.best_epoch >= 0:
            self._log_numbers({"best_epoch": float(context.best_epoch)}, max(len(context.history) - 1, 0))
        self._close_run(context.error is not None)

    def _log_numbers_of_row(self, row: Row, step: int) -> None:
        numbers = {name: float(value) for name, value in row.items() if _is_number(value) and name != "epoch"}
        self._log_numbers(numbers, step)

    @abstractmethod
    def _open_run(self, settings: dict[str, Any]) -> None:
        """Begin a run with these settings."""

    @abstractmethod
    def _log_numbers(self, numbers: dict[str, float], step: int) -> None:
        """Add numbers to the run."""

    @abstractmethod
    def _close_run(self, has_failed: bool) -> None:
        """End the run."""


class TensorBoardLogger(_Tracker):
    """Write the history for TensorBoard: ``tensorboard --logdir FOLDER`` shows it. Needs the extra ``tensorboard``."""

    def __init__(self, folder: str | Path = "runs/tensorboard") -> None:
        self.folder = Path(folder)
        _import_tracker_module("tensorboard", "tensorboard")

    def _open_run(self, settings: dict[str, Any]) -> None:
        self.writer = _import_tracker_module("torch.utils.tensorboard", "tensorboard").SummaryWriter(str(self.folder))
        lines = [f"    {name}: {value}" for name, value in settings.items()]  # Markdown for text as it is
        self.writer.add_text("settings", "\n".join(lines))

    def _log_numbers(self, numbers: dict[str, float], step: int) -> None:
        for name, value in numbers.items():
            self.writer.add_scalar(name, value, step)

    def _close_run(self, has_failed: bool) -> None:
        self.writer.close()


class MLflowLogger(_Tracker):
    """Log settings and history to MLflow, in the run that is active, else in one of its own. Needs ``mlflow``.

    Args:
        experiment: name of the experiment; MLflow's default if none is given.
        tracking_uri: where MLflow keeps its runs; by default where MLflow itself would.
        run_name: name of the run.
    """

    def __init__(
        self, experiment: str | None = None, tracking_uri: str | None = None, run_name: str | None = None
    ) -> None:
        self.experiment, self.tracking_uri, self.run_name = experiment, tracking_uri, run_name
        self.mlflow = _import_tracker_module("mlflow", "mlflow")

    def _open_run(self, settings: dict[str, Any]) -> None:
        mlflow = self.mlflow
        self.owns_run = mlflow.active_run() is None
        if self.owns_run:
            if self.tracking_uri is not None:
                mlflow.set_tracking_uri(self.tracking_uri)
            if self.experiment is not None:
                mlflow.set_experiment(self.experiment)
            mlflow.start_run(run_name=self.run_name)
        mlflow.log_params({name: str(value)[:500] for name, value in settings.items()})

    def _log_numbers(self, numbers: dict[str, float], step: int) -> None:
        self.mlflow.log_metrics(numbers, step=step)

    def _close_run(self, has_failed: bool) -> None:
        if self.owns_run:  # else whoever started the run ends it
            self.mlflow.end_run("FAILED" if has_failed else "FINISHED")


class WandbLogger(_Tracker):
    """Log settings and history to Weights & Biases. Needs the extra ``wandb``; options are those of ``wandb.init``."""

    def __init__(self, **options: Any) -> None:
        self.options = options
        self.wandb = _import_tracker_module("wandb", "wandb")

    def _open_run(self, settings: dict[str, Any]) -> None:
        self.owns_run = self.wandb.run is None
        self.run = self.wandb.init(config=settings, **self.options) if self.owns_run else self.wandb.run

    def _log_numbers(self, numbers: dict[str, float], step: int) -> None:
        self.run.log(numbers, step=step)

    def _close_run(self, has_failed: bool) -> None:
        if self.owns_run:
            self.run.finish(exit_code=int(has_failed))


def _import_tracker_module(module: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ConfigError(f"{extra} is not installed ({error}): pip install 'pignn[{extra}]'") from None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
