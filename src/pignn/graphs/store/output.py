"""Where a conversion writes: a folder that is there when it is whole, its files, and a bar."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np

from ...core.errors import OutputError
from ...io.files import open_new_folder, output_errors_context
from .store import DTYPES, HEADER


def check_out(out: Path, force: bool) -> None:
    """Whether a store may be put there."""
    if not os.path.lexists(out):
        return
    if not out.is_dir():
        raise OutputError(f"cannot write {out}: a file of that name is there; choose another folder")
    there = {entry.name for entry in out.iterdir()}
    others = sorted(there - {HEADER, *DTYPES})
    if others:
        raise OutputError(f"cannot write {out}: it holds other files ({others[0]}); choose another folder")
    if there and not force:
        raise OutputError(f"{out} is there already; --force (force=True) replaces it")


@contextlib.contextmanager
def unfinished(out: Path) -> Iterator[Path]:
    """A hidden folder beside `out` that takes its place when it is whole; in it, `work` for what is not to stay."""
    with output_errors_context(out), open_new_folder(out, lambda old, _: check_out(old, force=True)) as new:
        (new / "work").mkdir()
        yield new
        shutil.rmtree(new / "work")


def write(file: IO[bytes], array: np.ndarray) -> memoryview:
    """All of it, since the system may take a part at a time; returns the bytes, not copied if they were in order."""
    rest = block = memoryview(np.ascontiguousarray(array).reshape(-1).view(np.uint8))  # type: ignore[arg-type]
    while rest:
        rest = rest[file.write(rest) :]
    return block


class File:
    """A file of a store, written from beginning to end, and what there is to know of it afterwards."""

    def __init__(self, path: Path) -> None:
        self.name, self.bytes, self.crc = path.name, 0, 0
        self.file: IO[bytes] = open(path, "wb", buffering=0)  # noqa: SIM115

    def write(self, array: np.ndarray) -> None:
        block = write(self.file, np.asarray(array, DTYPES.get(self.name)))
        self.crc, self.bytes = zlib.crc32(block, self.crc), self.bytes + len(block)

    def __enter__(self) -> File:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self.file:
            if kind is None:
                os.fsync(self.file.fileno())


class Bar:
    """How far each step is; `None` shows it on a terminal only."""

    def __init__(self, show: bool | None) -> None:
        self.show = sys.stderr.isatty() if show is None else show

    def __enter__(self) -> Bar:
        if self.show:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

            text, left = TextColumn("{task.description}"), TextColumn("· left")
            shown = (text, BarColumn(), TaskProgressColumn(), left, TimeRemainingColumn())
            self.bar = Progress(*shown, console=Console(stderr=True))
            self.bar.start()
        return self

    def step(self, title: str) -> None:
        if self.show:
            self.task = self.bar.add_task(title, total=1.0)

    def at(self, share: float) -> None:
        if self.show:
            self.bar.update(self.task, completed=min(share, 1.0))

    def __exit__(self, *_: object) -> None:
        if self.show:
            self.bar.stop()
