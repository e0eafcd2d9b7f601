"""Stages of a long computation, with the time left: on a terminal, in a notebook, or told to a function."""

from __future__ import annotations

import contextlib
import html
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import Any, NamedTuple, Self, TypeAlias, TypeVar

from .notebook import is_notebook

T = TypeVar("T")
_BAR: ContextVar[Any] = ContextVar("bar", default=None)


SECONDS_BETWEEN_UPDATES = 0.2


class Progress(NamedTuple):
    """How far a stage is. ``seconds_left`` is None while nobody can tell."""

    stage: str
    done: int
    total: int
    seconds_left: float | None


ShowProgress: TypeAlias = bool | Callable[[Progress], object] | None  # None: where somebody looks


class _StageList:
    """Stages that are under way, with those methods of rich's ``Progress`` that are used here."""

    def __init__(self) -> None:
        self._tasks: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Nothing: it has begun."""

    def stop(self) -> None:
        """Nothing: what was told is told."""

    def add_task(self, description: str, *, total: int, note: str = "") -> int:
        start = time.monotonic()
        self._tasks.append({"name": description, "total": total, "done": 0, "note": note, "start": start})
        self._show_task(self._tasks[-1])
        return len(self._tasks) - 1

    def advance(self, task: int) -> None:
        self.update(task, completed=self._tasks[task]["done"] + 1)

    def update(self, task: int, *, completed: int, note: str = "") -> None:
        self._tasks[task] |= {"done": completed, "note": note}
        self._show_task(self._tasks[task])

    def _show_task(self, task: dict[str, Any]) -> None:
        raise NotImplementedError

    @staticmethod
    def _estimate_seconds_left_or_none(task: dict[str, Any]) -> float | None:
        done = task["done"]
        return (time.monotonic() - task["start"]) / done * (task["total"] - done) if done else None


class CallbackBar(_StageList):
    """Tells a function how far each stage is."""

    def __init__(self, function: Callable[[Progress], object]) -> None:
        super().__init__()
        self._function = function

    def _show_task(self, task: dict[str, Any]) -> None:
        left = self._estimate_seconds_left_or_none(task)
        self._function(Progress(task["name"], task["done"], task["total"], left))


class NotebookBar(_StageList):
    """A bar in the output of a notebook's cell."""

    def __init__(self, unit: str = "", transient: bool = False) -> None:
        from IPython.display import display

        super().__init__()
        self._unit, self._transient = unit, transient
        self._last_update = 0.0
        self._output = display(self._make_html_display(""), display_id=True)

    @staticmethod
    def _make_html_display(markup: str) -> Any:
        from IPython.display import HTML

        return HTML(markup)

    def _show_task(self, task: dict[str, Any]) -> None:
        if task["done"] and time.monotonic() - self._last_update > SECONDS_BETWEEN_UPDATES:
            self._show()

    def stop(self) -> None:
        if self._transient:
            self._output.update(self._make_html_display(""))
        else:
            self._show()

    def _show(self) -> None:
        self._last_update = time.monotonic()
        self._output.update(self._make_html_display("".join(map(self._render, self._tasks))))

    def _render(self, task: dict[str, Any]) -> str:
        done, total = task["done"], task["total"]
        seconds = round(self._estimate_seconds_left_or_none(task) or 0)
        left = f" · left {seconds // 60}:{seconds % 60:02d}" if done and done < total else ""
        note = f" · {html.escape(task['note'])}" if task["note"] else ""
        bar = f'<progress value="{done}" max="{total}" style="width:16em"></progress>'
        count = f"{done:,}/{total:,} {self._unit}".strip()
        return f"<div>{html.escape(task['name'])} {bar} {count}{left}{note}</div>"


def is_progress_visible() -> bool:
    """Whether somebody looks: at a terminal or at a notebook."""
    return sys.stderr.isatty() or is_notebook()


def make_progress_bar(
    unit: str = "", *, transient: bool = False, function: Callable[[Progress], object] | None = None
) -> Any:
    """A bar with the time left for tasks with a ``note``, or one that tells a function. A transient one vanishes."""
    if function is not None:
        return CallbackBar(function)
    if is_notebook():
        return NotebookBar(unit, transient)
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    left = (TextColumn(f"{unit} · left".strip()), TimeRemainingColumn(), TextColumn("{task.fields[note]}"))
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), *left)
    return Progress(*columns, console=Console(stderr=True), transient=transient)


@contextlib.contextmanager
def progress_context(show: ShowProgress = None) -> Iterator[None]:
    """Inside, :func:`track` shows its stages, or tells them to a function. ``False`` hides them."""
    if show is False:
        with _current_bar_context(None):
            yield
    elif not callable(show) and (_BAR.get() is not None or not (is_progress_visible() if show is None else show)):
        yield
    else:
        bar = make_progress_bar(transient=True, function=show if callable(show) else None)
        with bar, _current_bar_context(bar):
            yield


@contextlib.contextmanager
def _current_bar_context(bar: Any) -> Iterator[None]:
    token = _BAR.set(bar)
    try:
        yield
    finally:
        _BAR.reset(token)


def track(items: Iterable[T], stage: str, total: int | None = None) -> Iterator[T]:
    """Go through items. Where progress is shown, show how many of ``total`` are done."""
    bar = _BAR.get()
    if bar is None:
        yield from items
        return
    items = list(items) if total is None else items
    if total == 0 or (isinstance(items, list) and not items):
        return
    task = bar.add_task(stage, total=len(items) if isinstance(items, list) else total, note="")
    for item in items:
        yield item
        bar.advance(task)


@contextlib.contextmanager
def stage_context(stage: str) -> Iterator[None]:
    """Show a stage that is one step."""
    for _ in track([None], stage):
        yield
