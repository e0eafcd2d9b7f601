"""The one reader of tables: a file, many files as one table, a data frame, or arrays of edges."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from ...core.errors import DataError
from .arrays import PathLike, load_or_map_array
from .file_tables import JsonTable, TextTable
from .formats import FORMATS, find_format_name_or_none, get_format_suffix
from .local_copies import copy_as_utf8_and_warn_of_guess, find_web_address_or_none, get_path_or_local_copy
from .table import ArrayTable, FrameTable, Table
from .text_files import check_text_and_get_digest_and_encoding, read_errors_context, warn_if_layout_is_guess

STANDARD_INPUT = "standard input"  # which - stands for


def open_table(
    path: PathLike,
    delimiter: str | None = None,
    *,
    kind: Literal["nodes", "edges"] = "nodes",
    with_encoding_check: bool = True,
) -> Table:
    """Open a table file of nodes or edges, one per row. What cannot be a table is refused in one line.

    Args:
        path: CSV, TSV, JSON lines or Parquet, or any other table in ``FORMATS``; for edges also .npy.
        delimiter: between the columns of a text file. Detected if None.
        kind: what the rows are. A first row with a number in it is an edge; only one of numbers alone is a node.
        with_encoding_check: read a text file through before anything else, for its checksum and for errors with line
            numbers.
    """
    title = find_web_address_or_none(path) or (STANDARD_INPUT if str(path) == "-" else str(path))
    path = get_path_or_local_copy(path)
    paths = list_table_files(path)
    name = find_format_name_or_none(paths[0])
    if name == "npy":
        return _open_npy_edge_table(path)
    reader = FORMATS.get(name if name is not None and FORMATS.get(name).content == "table" else "text").import_reader()
    sha256 = ""
    if with_encoding_check and reader in (TextTable, JsonTable):
        for i, part in enumerate(paths):
            part_title = title if len(paths) == 1 else str(part)
            with read_errors_context(part, part_title):
                sha256, encoding = check_text_and_get_digest_and_encoding(part)
                paths[i] = part if encoding == "utf-8" else copy_as_utf8_and_warn_of_guess(part, encoding, part_title)
    with read_errors_context(paths[0], title if len(paths) == 1 else ""):
        table = TextTable(*paths, delimiter=delimiter, kind=kind) if reader is TextTable else reader(*paths)
    if not isinstance(table, Table):
        table = FrameTable(title, table)
    if isinstance(table, TextTable):
        warn_if_layout_is_guess(title, table.layout)
    table.name, table.sha256 = title, sha256 if len(paths) == 1 else ""
    return table


def list_table_files(path: Path) -> list[Path]:
    """The files of a table: the one of this name, those that a pattern with * names, or all in a folder, in order.

    Files whose names begin with a dot or an underscore are not part of a table. All have the same format.
    """
    if path.is_file():
        return [path]
    names = path.rglob("*") if path.is_dir() else map(Path, glob.glob(str(path), recursive=True))
    paths = sorted(name for name in names if name.is_file() and name.name[0] not in "._")
    suffixes = sorted({get_format_suffix(each) + each.suffix.lower() for each in paths})
    if len(suffixes) == 1:
        return paths
    reason = "it is a folder" if path.is_dir() else "no such file; check the path"
    if paths:
        reason = f"{reason if path.is_dir() else 'it names files'} of several kinds: {paths[0].name}, {paths[-1].name}"
    raise DataError(f"cannot read {path}: " + ("download it first" if re.match(r"\w+:/", str(path)) else reason))


def open_edge_table(
    edges: PathLike | pd.DataFrame | Iterable[np.ndarray], delimiter: str | None, *, with_encoding_check: bool = True
) -> Table:
    """Open a table of edges: a file, a data frame, or arrays of shape [n, 2] that come one after the other."""
    if isinstance(edges, str | os.PathLike):
        return open_table(edges, delimiter, kind="edges", with_encoding_check=with_encoding_check)
    return FrameTable("edges", edges) if isinstance(edges, pd.DataFrame) else ArrayTable("edges", edges)


def _open_npy_edge_table(path: Path) -> ArrayTable:
    array = load_or_map_array(path)
    if array.ndim != 2 or 2 not in array.shape:
        raise DataError(f"{path} has shape {list(array.shape)}; edges are of shape [edges, 2] or [2, edges]")
    return ArrayTable(str(path), [array if array.shape[1] == 2 else array.T], max(array.shape))
