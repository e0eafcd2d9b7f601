"""How much memory this process has."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

_STATM = Path("/proc/self/statm")


def ask_for_huge_pages() -> None:
    """Let torch put large arrays on huge pages, unless the user decided otherwise.

    Rows that are gathered from all over an array are then found about twice as fast. torch reads the variable at its
    first array.
    """
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")


def return_free_memory() -> None:
    """Give freed memory back to the system, which GNU's library would keep; others have no such function."""
    import ctypes

    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def measure_resident_bytes() -> int:
    """Memory that the process occupies just now; 0 where the system does not tell."""
    return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if _STATM.exists() else 0
