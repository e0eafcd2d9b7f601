"""Small help for messages of one line."""

from __future__ import annotations

from .errors import PignnError


def format_count(number: int, noun: str) -> str:
    """ "1 edge", "2,000 edges"."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def format_error_in_one_line(error: BaseException, max_length: int = 160) -> str:
    """An exception in one line of bounded length."""
    text = " ".join(str(error).split())
    if not isinstance(error, PignnError):
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return text if len(text) <= max_length else text[: max_length - 1] + "…"
