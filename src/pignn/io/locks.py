"""Locks between processes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from ..core.errors import OutputError
from .files import output_errors_context


@contextlib.contextmanager
def file_lock_context(path: Path, busy_message: str) -> Iterator[None]:
    """Hold a lock file that one process at a time can hold. A second process gets `busy_message` as its error."""
    lock = FileLock(path)
    with output_errors_context(path):
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise OutputError(busy_message) from None
    try:
        yield
    finally:
        lock.release()
