"""The folder and files that a conversion writes, and its progress bar."""

from __future__ import annotations

import contextlib
import os
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from ...core.errors import OutputError
from ...core.progress import ShowProgress, is_progress_visible, make_progress_bar
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
    """Shows how many percent of each step are done, on a terminal only or as ``show`` says."""

    def __init__(self, show: ShowProgress) -> None:
        self._bar: Any = None
        if callable(show):
            self._bar = make_progress_bar(function=show)
        elif is_progress_visible() if show is None else show:
            self._bar = make_progress_bar("%")
        self._task: Any = None

    def __enter__(self) -> ProgressBar:
        if self._bar is not None:
            self._bar.start()
        return self

    def start_step(self, title: str) -> None:
        self.update(1.0)
        if self._bar is not None:
            self._task = self._bar.add_task(title, total=100, note="")

    def update(self, fraction: float) -> None:
        """Tell the share of the step that is done."""
        if self._task is not None:
            self._bar.update(self._task, completed=min(int(100 * fraction), 100))

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._bar is not None:
            if kind is None:
                self.update(1.0)
            self._bar.stop()
