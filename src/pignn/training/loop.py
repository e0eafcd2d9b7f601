"""The training loop. It asks a learner for losses and does all the rest."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from ..core.errors import PignnError
from . import distributed
from .callbacks.base import Callback, CallbackList, TrainingContext
from .checkpoint import Checkpointer, restore_checkpoint_and_get_selected_weights
from .interrupt import DeferredInterrupt
from .selection import Selection

VALUE_EVERY_EPOCHS = 10  # how often losses are computed whose value costs extra


@dataclass(frozen=True)
class Phase:
    """Some epochs with one kind of loss. Only a phase that ``selects`` trains the classifier that is kept."""

    name: str
    epochs: int
    selects: bool = True


class DivergedError(PignnError):
    """A loss is not a finite number. A method may begin anew."""


class Learner(Protocol):
    """What the loop asks of a method. Networks without a gradient in an epoch do not change."""

    networks: dict[str, nn.Module]
    optimizers: dict[str, Optimizer]

    def start_phase(self, phase: Phase) -> None:
        """Called before the first epoch of a phase, and again when a run is resumed inside it."""

    def iter_batches(self, phase: Phase, epoch: int) -> Iterator[Any]:
        """The batch of each step of an epoch; one step for the whole graph."""

    def compute_losses(self, phase: Phase, epoch: int, batch: Any, *, needs_value: bool) -> dict[str, Tensor]:
        """The terms whose sum is minimized. Without ``needs_value`` a term may be NaN if its gradient is right."""

    def compute_logits(self) -> Tensor:
        """The classifier's logits of all nodes. Called in evaluation mode, without gradient."""


@dataclass
class TrainingLoop:
    """Configuration and state of one training run.

    Args:
        phases: what is trained, in order.
        selection: which epoch is kept.
        method: the method's name, for callbacks.
        settings: the method's settings, for callbacks.
        scored: columns of the history besides the losses: name → (nodes, labels).
        callbacks: what follows the training.
        checkpointer: where checkpoints go; none is written without it.
        history: one row per epoch.
        stopped_by: the signal that ended the training, if one did.
        position: (index of the phase, epoch) of the epoch that comes next.
        attempt: how often the training began anew before, with other weights.
    """

    phases: list[Phase]
    selection: Selection
    method: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    scored: dict[str, tuple[Tensor, Tensor]] = field(default_factory=dict)
    callbacks: list[Callback] = field(default_factory=list)
    checkpointer: Checkpointer | None = None
    history: list[dict[str, Any]] = field(default_factory=list)
    stopped_by: int | None = None
    position: tuple[int, int] = (0, 0)
    attempt: int = 0

    def copy_for_next_attempt(self) -> TrainingLoop:
        """The same configuration at the beginning of another attempt."""
        selection = self.selection.copy_as_before_first_epoch()
        return replace(
            self, selection=selection, history=[], stopped_by=None, position=(0, 0), attempt=self.attempt + 1
        )

    def train_and_restore_best(self, learner: Learner, *, resume: bool = False) -> None:
        """Train, and leave the selected classifier in the learner.

        After Ctrl-C or SIGTERM the current epoch is finished, a checkpoint is written, the best classifier so far
        is restored and ``stopped_by`` holds the signal.
        """
        states = self._resume_and_get_callback_states(learner) if resume else []
        num_epochs = sum(phase.epochs for phase in self.phases)
        context = TrainingContext(self.method, self.settings, num_epochs, learner.networks, self.history)
        callbacks = CallbackList(self.callbacks, context)
        with DeferredInterrupt() as interrupt, callbacks.start_and_end_callbacks_context(states):
            for index, phase in enumerate(self.phases):
                if not self.stopped_by:
                    self._run_rest_of_phase(learner, index, phase, callbacks, interrupt)
        if self.checkpointer is not None and not self.stopped_by:
            self.checkpointer.delete_previous_checkpoint()
        self.selection.restore_selected_weights(learner.networks["classifier"])

    def _run_rest_of_phase(
        self, learner: Learner, index: int, phase: Phase, callbacks: CallbackList, interrupt: DeferredInterrupt
    ) -> None:
        done = self.position[1] if index == self.position[0] else phase.epochs if index < self.position[0] else 0
        is_last_phase = index == len(self.phases) - 1
        if done >= phase.epochs and not is_last_phase:  # what the last one prepares is needed in any case
            return
        learner.start_phase(phase)
        for epoch in range(done, phase.epochs):
            row, is_improved = self._run_epoch_and_get_row_and_is_best(learner, phase, epoch)
            self.history.append(row)
            callbacks.context.best_epoch = self.selection.epoch
            is_over = callbacks.notify_epoch_end_and_ask_to_stop(row, is_improved=is_improved)
            self.stopped_by = distributed.max_over_processes_or_none(interrupt.signal)
            self.position = (index + 1, 0) if is_over else (index, epoch + 1)
            is_end = is_last_phase and (is_over or epoch + 1 == phase.epochs)
            self._save_checkpoint_if_due(learner, callbacks, is_forced=bool(self.stopped_by) or is_end)
            if is_over or self.stopped_by:
                return

    def _run_epoch_and_get_row_and_is_best(
        self, learner: Learner, phase: Phase, epoch: int
    ) -> tuple[dict[str, Any], bool]:
        """The row of one epoch, and whether its classifier is the best so far."""
        start = time.perf_counter()
        needs_value = epoch % VALUE_EVERY_EPOCHS == 0 or epoch == phase.epochs - 1
        for network in learner.networks.values():
            network.train()
        sums: dict[str, float] = {}
        num_steps = 0
        for batch in learner.iter_batches(phase, epoch):
            for name, loss in self._run_step_and_get_losses(learner, phase, epoch, batch, needs_value).items():
                sums[name] = sums.get(name, 0.0) + loss
            num_steps += 1

        row: dict[str, Any] = {"phase": phase.name, "epoch": epoch}
        for name, loss in sums.items():
            is_unread = math.isnan(loss) and not needs_value
            row[f"{name}_loss"] = None if is_unread else loss / num_steps
            if not is_unread and not math.isfinite(loss):
                hint = "try a smaller learning rate" if epoch else "scale the features, or try a smaller learning rate"
                raise DivergedError(f"the {name} loss is {loss} at epoch {epoch}; {hint}")
        best = self.selection.best
        if phase.selects:
            row |= self._score_epoch_and_update_selection(learner, epoch)
        row["seconds"] = time.perf_counter() - start
        return row, self.selection.best > best

    def _run_step_and_get_losses(
        self, learner: Learner, phase: Phase, epoch: int, batch: Any, needs_value: bool
    ) -> dict[str, float]:
        for optimizer in learner.optimizers.values():
            optimizer.zero_grad(set_to_none=True)
        losses = learner.compute_losses(phase, epoch, batch, needs_value=needs_value)
        if losses:
            sum(losses.values(), start=torch.zeros(())).backward()
        distributed.average_gradients_over_processes(learner.networks.values())
        for optimizer in learner.optimizers.values():
            optimizer.step()
        return {name: float(loss.detach()) for name, loss in losses.items()}

    @torch.no_grad()
    def _score_epoch_and_update_selection(self, learner: Learner, epoch: int) -> dict[str, float | None]:
        for network in learner.networks.values():
            network.eval()
        predicted = learner.compute_logits().argmax(dim=1)
        row: dict[str, float | None] = {
            name: float((predicted[nodes] == labels).float().mean()) if nodes.numel() else None
            for name, (nodes, labels) in self.scored.items()
        }
        row["val_accuracy"] = self.selection.update_and_get_accuracy(epoch, predicted, learner.networks["classifier"])
        return row

    def _save_checkpoint_if_due(self, learner: Learner, callbacks: CallbackList, *, is_forced: bool) -> None:
        if self.checkpointer is None or not (
            is_forced or self.checkpointer.is_due_by_epochs_or_time(len(self.history))
        ):
            return
        header = {
            "selection": self.selection.state_dict(),
            "history": self.history,
            "position": self.position,
            "attempt": self.attempt,
            "callbacks": callbacks.list_named_state_dicts(),
        }
        self.checkpointer.save_and_keep_previous(learner.networks, learner.optimizers, self.selection.weights, header)

    def _resume_and_get_callback_states(self, learner: Learner) -> list[tuple[str, dict[str, Any]]]:
        """Continue from the checkpoint, if there is one. Returns the states of the callbacks."""
        saved = None if self.checkpointer is None else self.checkpointer.load_checkpoint_or_none()
        if saved is None or self.checkpointer is None:
            return []
        tensors, header = saved
        num_done, num_epochs = len(header["history"]), sum(phase.epochs for phase in self.phases)
        if num_done > num_epochs:
            raise self.checkpointer.build_resume_error(f"{num_done} epochs are done, and only {num_epochs} asked for")
        best = restore_checkpoint_and_get_selected_weights(tensors, header, learner.networks, learner.optimizers)
        self.selection.load_state_dict(best, header["selection"])
        self.attempt = header.get("attempt", 0)
        self.history, self.position = header["history"], (header["position"][0], header["position"][1])
        return [(name, state) for name, state in header["callbacks"]]


@contextlib.contextmanager
def seed_context(seed: int, device: torch.device) -> Iterator[None]:
    """Seed torch's random numbers inside, and restore the caller's afterwards."""
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield
