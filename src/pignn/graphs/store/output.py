"""The folder and files that a conversion writes, and its progress bar."""

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
from ...io.files import new_folder_context, output_errors_context
from .store import DTYPES, HEADER_NAME


def check_folder_can_take_store(out: Path, force: bool) -> None:
    """Check that a store may be written there."""
    if not os.path.lexists(out):
        return
    if not out.is_dir():
        raise OutputError(f"cannot write {out}: a file of that name is there; choose another folder")
    names = {entry.name for entry in out.iterdir()}
    others = sorted(names - {HEADER_NAME, *DTYPES})
    if others:
        raise OutputError(f"cannot write {out}: it holds other files ({others[0]}); choose another folder")
    if names and not force:
        raise OutputError(f"{out} is there already; --force (force=True) replaces it")


@contextlib.contextmanager
def new_or_replaced_store_folder_context(out: Path) -> Iterator[Path]:
    """A folder to fill that takes the place of ``out`` when it is whole. Its subfolder ``work`` is removed then."""
    with (
        output_errors_context(out),
        new_folder_context(out, lambda old, _: check_folder_can_take_store(old, force=True)) as new,
    ):
        (new / "work").mkdir()
        yield new
        shutil.rmtree(new / "work")


def write_array_and_get_byte_view(file: IO[bytes], array: np.ndarray) -> memoryview:
    """Write all bytes of an array, although the system may take a part at a time; returns the bytes."""
    rest = block = memoryview(np.ascontiguousarray(array).reshape(-1).view(np.uint8))  # type: ignore[arg-type]
    while rest:
        rest = rest[file.write(rest) :]
    return block


class StoreFile:
    """A file of a store, written from beginning to end, with its size and checksum."""

    def __init__(self, path: Path) -> None:
        self.name, self.bytes, self.crc32 = path.name, 0, 0
        self.file: IO[bytes] = open(path, "wb", buffering=0)  # noqa: SIM115

    def write(self, array: np.ndarray) -> None:
        block = write_array_and_get_byte_view(self.file, np.asarray(array, DTYPES.get(self.name)))
        self.crc32, self.bytes = zlib.crc32(block, self.crc32), self.bytes + len(block)

    def __enter__(self) -> StoreFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self.file:
            if kind is None:
                os.fsync(self.file.fileno())


class ProgressBar:
    """Shows how far each step is. With ``show=None`` on a terminal only."""

    def __init__(self, show: bool | None) -> None:
        self.show = sys.stderr.isatty() if show is None else show

    def __enter__(self) -> ProgressBar:
        if self.show:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

            text, left = TextColumn("{task.description}"), TextColumn("· left")
            columns = (text, BarColumn(), TaskProgressColumn(), left, TimeRemainingColumn())
            self.bar = Progress(*columns, console=Console(stderr=True))
            self.bar.start()
        return self

    def start_step(self, title: str) -> None:
        if self.show:
            self.task = self.bar.add_task(title, total=1.0)

    def update(self, fraction: float) -> None:
        if self.show:
            self.bar.update(self.task, completed=min(fraction, 1.0))

    def __exit__(self, *_: object) -> None:
        if self.show:
            self.bar.stop()
