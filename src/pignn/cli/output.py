"""What commands print: a table for people, JSON for machines."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any


def show_json(content: Any) -> None:
    print(json.dumps(content, indent=1, ensure_ascii=False, default=str))


def show_table(rows: Sequence[Mapping[str, Any]], *, title: str | None = None) -> None:
    """Rows of equal keys, in columns as wide as they need to be; numbers to the right."""
    if title:
        print(title)
    if not rows:
        return
    names = list(rows[0])
    cells = [[_text(row[name]) for name in names] for row in rows]
    widths = [max(len(name), *(len(line[i]) for line in cells)) for i, name in enumerate(names)]
    right = [all(isinstance(row[name], int | float) for row in rows) for name in names]

    def line(values: Sequence[str]) -> str:
        parts = [v.rjust(w) if r else v.ljust(w) for v, w, r in zip(values, widths, right, strict=True)]
        return "  ".join(parts).rstrip()

    print(line(names))
    print(line(["─" * width for width in widths]))
    for values in cells:
        print(line(values))


def show_facts(facts: Mapping[str, Any]) -> None:
    """One fact a line."""
    width = max(len(name) for name in facts)
    for name, value in facts.items():
        print(f"{name.ljust(width)}  {_text(value)}")


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, int):
        return f"{value:,}"
    return "" if value is None else str(value)


def say(text: str) -> None:
    """A line for people, out of the way of what a pipe reads."""
    print(text, file=sys.stderr, flush=True)
