"""Text that a spreadsheet opens: what would run as a formula stays text."""

from __future__ import annotations

from typing import Any

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def neutral(value: Any) -> Any:
    """A text that a spreadsheet would take for a formula, with an apostrophe before it."""
    if isinstance(value, str) and value.startswith((*FORMULA, "'")):
        return f"'{value}"
    return value


def plain(text: str) -> str:
    """What `neutral` was given."""
    return text[1:] if text.startswith("'") and text[1:].startswith((*FORMULA, "'")) else text
