"""Small help for messages of one line."""

from __future__ import annotations

from typing import Any

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


def format_value(value: Any) -> str:
    """A value as people read it: three decimals, thousands separators, yes or no."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, int):
        return f"{value:,}"
    return "" if value is None else str(value)
