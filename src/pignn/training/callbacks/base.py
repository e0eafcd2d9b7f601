"""What a callback is, and what it sees of a training."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from torch import nn

from .. import distributed

Row = dict[str, Any]


@dataclass
class TrainingContext:
    """What a callback may read.

    Args:
        method: the name of the method.
        settings: its settings, as JSON can hold them.
        num_epochs: how many epochs are planned, all phases together.
        networks: the networks in training, by name; ``"classifier"`` predicts.
        history: one row per epoch so far; after a resume it begins with the rows of the earlier run.
        best_epoch: the epoch that is selected so far; -1 before there is one.
        error: why the training failed; ``None`` until then, and for a training that ends well.
    """

    method: str
    settings: dict[str, Any]
    num_epochs: int
    networks: dict[str, nn.Module]
    history: list[Row] = field(default_factory=list)
    best_epoch: int = -1
    error: BaseException | None = None


class Callback:
    """Follows a training. Every hook does nothing unless a subclass overrides it.

    Of several processes only the main one runs callbacks, unless ``runs_on_all_processes`` is set. A request to stop is
    agreed upon by all of them in either case.
    """

    runs_on_all_processes: ClassVar[bool] = False

    def on_fit_start(self, context: TrainingContext) -> None:
        """Called before the first epoch; also after a resume, and then before :meth:`load_state_dict`."""

    def on_selection_improved(self, context: TrainingContext, row: Row) -> None:
        """Called when an epoch is the best so far, before :meth:`on_epoch_end`."""

    def on_epoch_end(self, context: TrainingContext, row: Row) -> bool | None:
        """Called after every epoch with its row of the history. ``True`` asks to end the current phase."""

    def on_fit_end(self, context: TrainingContext) -> None:
        """Called however the training ends: done, stopped, interrupted, or by ``context.error``."""

    def state_dict(self) -> dict[str, Any]:
        """What a resumed run must know, as JSON can hold it."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take back what :meth:`state_dict` returned when the checkpoint was written."""


class CallbackList:
    """The callbacks of one training that run in this process."""

    def __init__(self, callbacks: Iterable[Callback], context: TrainingContext) -> None:
        on_main = distributed.is_main_process()
        self.callbacks = [callback for callback in callbacks if on_main or callback.runs_on_all_processes]
        self.context = context

    @contextlib.contextmanager
    def start_and_end_callbacks_context(self, states: list[tuple[str, dict[str, Any]]]) -> Iterator[CallbackList]:
        """Start all callbacks, with the states of a checkpoint if there is one, and end those that were started."""
        waiting = list(states)
        with contextlib.ExitStack() as ends:
            try:
                for callback in self.callbacks:
                    callback.on_fit_start(self.context)
                    ends.callback(callback.on_fit_end, self.context)
                    saved = next((pair for pair in waiting if pair[0] == type(callback).__name__), None)
                    if saved is not None:
                        waiting.remove(saved)
                        callback.load_state_dict(saved[1])
                yield self
            except BaseException as error:
                self.context.error = error
                raise

    def notify_epoch_end_and_ask_to_stop(self, row: Row, *, is_improved: bool) -> bool:
        """Tell all callbacks about an epoch; whether one of them, in any process, asks to end the phase."""
        if is_improved:
            for callback in self.callbacks:
                callback.on_selection_improved(self.context, row)
        requests = [callback.on_epoch_end(self.context, row) for callback in self.callbacks]
        return bool(distributed.max_over_processes_or_none(int(any(requests))))

    def list_named_state_dicts(self) -> list[tuple[str, dict[str, Any]]]:
        """The states of all callbacks by the names of their classes."""
        return [(type(callback).__name__, callback.state_dict()) for callback in self.callbacks]
