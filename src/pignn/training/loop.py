"""The one training loop. It asks a learner for losses and takes care of all the rest."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from ..core.errors import ModelFileError, PignnError
from . import checkpoint, distributed
from .interrupt import DeferredInterrupt
from .progress import Progress
from .selection import Selection

VALUE_EVERY = 10  # epochs between two looks at losses that cost something to look at


@dataclass(frozen=True)
class Phase:
    """A stretch of epochs with one kind of loss; only one that ``selects`` trains the classifier."""

    name: str
    epochs: int
    selects: bool = True


class Learner(Protocol):
    """What the loop asks of a method. Networks that get no gradient in an epoch stay as they are."""

    networks: dict[str, nn.Module]
    optimizers: dict[str, Optimizer]

    def start_phase(self, phase: Phase) -> None:
        """Called before the first epoch of a phase, and again when a run is resumed inside it."""

    def iter_batches(self, phase: Phase, epoch: int) -> Iterator[Any]:
        """What each step of an epoch looks at; one step for the whole graph."""

    def compute_losses(self, phase: Phase, epoch: int, batch: Any, *, compute_value: bool) -> dict[str, Tensor]:
        """The terms whose sum is minimized; without ``compute_value`` a term may be NaN if its gradient is right."""

    def predict_logits(self) -> Tensor:
        """The classifier's logits of all nodes; called in evaluation mode, without gradient."""


@dataclass
class TrainingLoop:
    """Everything one training needs besides the learner.

    Args:
        phases: what is trained, in order.
        selection: which epoch is kept.
        scored: for the history only: name → (nodes, labels).
        identity: what a checkpoint must agree with before it is continued.
        folder: where the checkpoint goes; none is written without it.
        every, minutes: a checkpoint is written after so many epochs, or when so much time has passed.
    """

    phases: list[Phase]
    selection: Selection
    scored: dict[str, tuple[Tensor, Tensor]] = field(default_factory=dict)
    identity: dict[str, Any] = field(default_factory=dict)
    folder: Path | None = None
    every: int = 50
    minutes: float = 5.0
    resume: bool = False
    progress: bool | None = None
    title: str = "training"
    history: list[dict[str, Any]] = field(default_factory=list)
    stopped_by: int | None = None

    def __call__(self, learner: Learner) -> list[dict[str, Any]]:
        """Train; leave the selected classifier in the learner; return the history, one row an epoch.

        After Ctrl-C or SIGTERM the epoch under way is finished, a checkpoint is written, the best classifier so far
        is put in place and ``stopped_by`` holds the signal.
        """
        done = self._restore(learner) if self.resume else 0
        self._saved = time.monotonic()
        total = sum(phase.epochs for phase in self.phases)
        show = self.progress if distributed.is_main_process() else False
        with DeferredInterrupt() as interrupt, Progress(self.title, total, show) as progress:
            position = 0
            for phase in self.phases:
                first, position = max(done - position, 0), position + phase.epochs
                if first >= phase.epochs and phase is not self.phases[-1]:  # what the last one prepares is kept
                    continue
                learner.start_phase(phase)
                for epoch in range(first, phase.epochs):
                    row = self._epoch(learner, phase, epoch)
                    self.history.append(row)
                    progress.update(len(self.history), row)
                    self.stopped_by = distributed.max_over_processes(interrupt.signal)
                    if self.stopped_by or self._is_due(len(self.history), total):
                        self._save(learner)
                    if self.stopped_by:
                        break
                if self.stopped_by:
                    break
        if not self.stopped_by and self.folder is not None and distributed.is_main_process():
            (self.folder / checkpoint.PREVIOUS_FILE).unlink(missing_ok=True)
        self.selection.restore_weights(learner.networks["classifier"])
        return self.history

    def _epoch(self, learner: Learner, phase: Phase, epoch: int) -> dict[str, Any]:
        start = time.perf_counter()
        compute_value = epoch % VALUE_EVERY == 0 or epoch == phase.epochs - 1
        for network in learner.networks.values():
            network.train()
        sums: dict[str, float] = {}
        steps = 0
        for batch in learner.iter_batches(phase, epoch):
            losses = self._step(learner, phase, epoch, batch, compute_value)
            for name, number in losses.items():
                sums[name] = sums.get(name, 0.0) + number
            steps += 1

        row: dict[str, Any] = {"phase": phase.name, "epoch": epoch}
        for name, number in sums.items():
            unread = math.isnan(number) and not compute_value
            row[f"{name}_loss"] = None if unread else number / steps
            if not unread and not math.isfinite(number):
                hint = "try a smaller learning rate" if epoch else "scale the features, or try a smaller learning rate"
                raise PignnError(f"the {name} loss is {number} at epoch {epoch}; {hint}")
        if phase.selects:
            row |= self._score(learner, epoch)
        row["seconds"] = time.perf_counter() - start
        return row

    def _step(self, learner: Learner, phase: Phase, epoch: int, batch: Any, compute_value: bool) -> dict[str, float]:
        for optimizer in learner.optimizers.values():
            optimizer.zero_grad(set_to_none=True)
        losses = learner.compute_losses(phase, epoch, batch, compute_value=compute_value)
        if losses:
            sum(losses.values(), start=torch.zeros(())).backward()
        distributed.average_gradients(learner.networks.values())
        for optimizer in learner.optimizers.values():
            optimizer.step()
        return {name: float(loss.detach()) for name, loss in losses.items()}

    @torch.no_grad()
    def _score(self, learner: Learner, epoch: int) -> dict[str, float | None]:
        for network in learner.networks.values():
            network.eval()
        predicted = learner.predict_logits().argmax(dim=1)
        row: dict[str, float | None] = {
            name: float((predicted[nodes] == labels).float().mean()) if nodes.numel() else None
            for name, (nodes, labels) in self.scored.items()
        }
        row["val_accuracy"] = self.selection.update(epoch, predicted, learner.networks["classifier"])
        return row

    def _is_due(self, done: int, total: int) -> bool:
        """Is it time for a checkpoint? The first process looks at the clock for all."""
        late = distributed.is_main_process() and time.monotonic() - self._saved > 60 * self.minutes
        return bool(distributed.max_over_processes(late or done % self.every == 0 or done == total))

    def _save(self, learner: Learner) -> None:
        self._saved = time.monotonic()
        if self.folder is None:
            return
        best = self.selection.weights
        about = {"identity": self.identity, "selection": self.selection.state_dict(), "history": self.history}
        checkpoint.write_checkpoint(
            self.folder / checkpoint.CHECKPOINT_FILE, learner.networks, learner.optimizers, best, about
        )

    def _restore(self, learner: Learner) -> int:
        """Continue from the checkpoint, if there is one; returns the number of epochs that are done."""
        if self.folder is None or not checkpoint.has_checkpoint(self.folder):
            return 0
        path = self.folder / checkpoint.CHECKPOINT_FILE
        tensors, about = checkpoint.read_newest_checkpoint(self.folder)
        for key, mine in self.identity.items():
            theirs = about["identity"].get(key)
            if theirs != mine:
                raise ModelFileError(f"cannot resume from {path}: {key} was {theirs!r} and is now {mine!r}")
        done, total = len(about["history"]), sum(phase.epochs for phase in self.phases)
        if done > total:
            raise ModelFileError(f"cannot resume from {path}: {done} epochs are done, and only {total} asked for")
        best = checkpoint.restore_checkpoint(tensors, about, learner.networks, learner.optimizers)
        self.selection.load_state_dict(best, about["selection"])
        self.history = about["history"]
        return len(self.history)


@contextlib.contextmanager
def seed_context(seed: int, device: torch.device) -> Iterator[None]:
    """Torch's random numbers from ``seed``, and the caller's own as they were afterwards."""
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield
