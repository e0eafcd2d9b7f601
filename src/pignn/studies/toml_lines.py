"""Where a key stands in a TOML file."""

from __future__ import annotations

import re
from typing import TypeAlias

Key: TypeAlias = str | int  # a name, or a position in a list


def find_line_number_of_key(text: str, keys: tuple[Key, ...]) -> int:
    """The line of a key, or of the nearest thing around it; 0 where there is none.

    ``keys`` is a path of keys and positions in lists. Reads what is common in TOML line by line: headers of tables, and
    keys at the beginning of a line.
    """
    best, depth = 0, 0
    prefix: tuple[Key, ...] = ()
    counts: dict[tuple[Key, ...], int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if header := re.match(r"\s*(\[\[?)\s*([^\]]+?)\s*\]\]?\s*(#.*)?$", line):
            names = _split_dotted_key(header[2])
            if header[1] == "[[":
                index = counts.get(names, -1) + 1
                counts[names] = index
                prefix = (*_insert_list_positions(names[:-1], counts), names[-1], index)
            else:
                prefix = _insert_list_positions(names, counts)
            path = prefix
        elif assignment := re.match(r"\s*([\w\"'.-]+)\s*=", line):
            path = (*prefix, *_split_dotted_key(assignment[1]))
        else:
            continue
        if len(path) > depth and path == keys[: len(path)]:
            best, depth = number, len(path)
    return best


def _split_dotted_key(text: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in text.split("."))


def _insert_list_positions(names: tuple[str, ...], counts: dict[tuple[Key, ...], int]) -> tuple[Key, ...]:
    """Names, each followed by the position of its last entry where it is a list of tables."""
    path: tuple[Key, ...] = ()
    for i, name in enumerate(names):
        path = (*path, name)
        if names[: i + 1] in counts:
            path = (*path, counts[names[: i + 1]])
    return path
