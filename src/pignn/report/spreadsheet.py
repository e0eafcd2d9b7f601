"""Escape text that a spreadsheet would run as a formula."""

from __future__ import annotations

from typing import Any

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


def escape_formula(value: Any) -> Any:
    """Put an apostrophe before a text that a spreadsheet would take for a formula."""
    if isinstance(value, str) and value.startswith((*FORMULA_STARTS, "'")):
        return f"'{value}"
    return value


def unescape_formula(text: str) -> str:
    """The text before `escape_formula`."""
    return text[1:] if text.startswith("'") and text[1:].startswith((*FORMULA_STARTS, "'")) else text
