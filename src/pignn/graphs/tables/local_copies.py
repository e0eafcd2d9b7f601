"""Temporary files in place of what cannot be read twice or by DuckDB: pipes, and texts in other encodings."""

from __future__ import annotations

import codecs
import functools
import os
import shutil
import tempfile
from pathlib import Path

from ...core.errors import warn_user
from .text_files import BLOCK_BYTES, open_decompressed

_SUFFIXES = {b"PAR1": ".parquet", b"\x1f\x8b": ".csv.gz", b"\x28\xb5\x2f\xfd": ".csv.zst", b"{": ".jsonl"}


def is_pipe(path: Path) -> bool:
    """Whether it can be read only once: ``-`` for standard input, a named pipe, or ``<(command)`` of a shell."""
    return str(path) == "-" or path.is_fifo() or path.is_char_device()


@functools.cache
def copy_pipe_to_file(path: str) -> Path:
    """Read a pipe into a file, once per process. The first bytes tell the format."""
    copy = Path(_get_temporary_folder().name) / f"pipe-{abs(hash(path))}"
    with open(os.dup(0) if path == "-" else path, "rb") as pipe, open(copy, "wb") as file:
        head = pipe.read(BLOCK_BYTES)
        file.write(head)
        shutil.copyfileobj(pipe, file, BLOCK_BYTES)
    suffix = next((suffix for mark, suffix in _SUFFIXES.items() if head.lstrip().startswith(mark)), "")
    return copy.rename(copy.with_name(copy.name + suffix))


def copy_as_utf8(path: Path, encoding: str, title: str) -> Path:
    """Write a copy of a text in another encoding."""
    copy = Path(tempfile.mkdtemp(dir=_get_temporary_folder().name)) / path.name.removesuffix(".gz").removesuffix(".zst")
    with open_decompressed(path) as raw, open(copy, "w", encoding="utf-8", newline="") as file:
        for text in codecs.iterdecode(iter(functools.partial(raw.read, BLOCK_BYTES), b""), encoding):
            file.write(text)
    if encoding == "cp1252":  # which is a guess
        message = f"{title}: not UTF-8, so read as Windows-1252; if letters look wrong, save it as UTF-8"
        warn_user(message)
    return copy


@functools.cache
def _get_temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder that is removed when the program ends."""
    return tempfile.TemporaryDirectory(prefix="pignn-")
