"""Stages of a long computation, with the time left: on a terminal, and nowhere else."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from typing import Any, TypeVar

T = TypeVar("T")
_BAR: ContextVar[Any] = ContextVar("bar", default=None)


@contextlib.contextmanager
def progress_context(show: bool | None = None) -> Iterator[None]:
    """Inside, :func:`track` shows its stages. ``show=None`` does so if stderr is a terminal; ``False`` hides them."""
    if show is False:
        with _use_bar(None):
            yield
        return
    if _BAR.get() is not None or not (sys.stderr.isatty() if show is None else show):
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    left = (TextColumn("· left"), TimeRemainingColumn())
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), *left)
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar, _use_bar(bar):
        yield


@contextlib.contextmanager
def _use_bar(bar: Any) -> Iterator[None]:
    token = _BAR.set(bar)
    try:
        yield
    finally:
        _BAR.reset(token)


def track(items: Iterable[T], stage: str) -> Iterator[T]:
    """Go through items. Where progress is shown, show how many are done."""
    bar = _BAR.get()
    if bar is None:
        yield from items
        return
    items = list(items)
    task = bar.add_task(stage, total=len(items))
    for item in items:
        yield item
        bar.advance(task)
