"""Ctrl-C and termination wait for the end of an epoch, so that what was learned can be saved."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any


class DeferredInterrupt:
    """While this is entered, the first SIGINT or SIGTERM only sets ``signal``; a second one acts as usual."""

    def __init__(self) -> None:
        self.signal: int | None = None
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> DeferredInterrupt:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                if signal.getsignal(number) is signal.SIG_IGN:  # nohup, or a script's background job
                    continue
                self._handlers[number] = signal.signal(number, self._record_signal_and_restore_handlers)
        return self

    def _record_signal_and_restore_handlers(self, number: int, frame: FrameType | None) -> None:
        self.signal = number
        self._restore_handlers()

    def _restore_handlers(self) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self._handlers = {}

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._restore_handlers()
