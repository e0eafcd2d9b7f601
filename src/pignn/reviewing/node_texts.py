"""nodes.sqlite: what the user's files say of each node, for the page. It is written once, when a project is made."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd
from torch_geometric.data import Data

from ..graphs.checks import parse_node_ids_or_none
from ..noise.kinds import Ints
from ..report.rendering import clip_text, format_number

MAX_CELL_CHARS, MAX_COLUMNS, MAX_FEATURES = 4_000, 50, 12
ROWS_AT_ONCE = 10_000


def write_node_texts(path: Path, data: Data, table: pd.DataFrame | None) -> None:
    """Write ids, names and columns of all nodes. Without a table, the largest features stand for columns."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode=OFF")
        connection.execute("DROP TABLE IF EXISTS nodes")
        connection.execute("CREATE TABLE nodes (node INTEGER PRIMARY KEY, id TEXT, name TEXT, cells TEXT, search TEXT)")
        connection.execute("BEGIN")
        connection.executemany("INSERT INTO nodes VALUES (?, ?, ?, ?, ?)", _iter_rows(data, table))
        connection.execute("COMMIT")
    finally:
        connection.close()


def _iter_rows(data: Data, table: pd.DataFrame | None) -> Iterator[tuple[int, str, str, str, str]]:
    ids, names = parse_node_ids_or_none(data), data.get("node_name")
    rows = _iter_largest_features(data) if table is None else _iter_cells(table.iloc[:, :MAX_COLUMNS])
    for node, cells in enumerate(rows):
        id, name = str(node if ids is None else ids[node]), "" if names is None else str(names[node])
        search = "\n".join([id, name, *(str(text) for _, text in cells)]).lower()
        texts = (id, name, json.dumps(cells, ensure_ascii=False), search)
        yield (node, *map(_replace_half_characters, texts))


def _iter_cells(table: pd.DataFrame) -> Iterator[list[tuple[str, str]]]:
    names = [str(name)[:200] for name in table.columns]
    for values in table.itertuples(index=False, name=None):
        filled = ((name, value) for name, value in zip(names, values, strict=True) if not _is_missing(value))
        yield [(name, clip_text(_format_cell(value), MAX_CELL_CHARS)) for name, value in filled]


def _format_cell(value: Any) -> str:
    return format_number(float(value), 6) if isinstance(value, float | np.floating) else str(value)


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and np.isnan(value)) or value == ""


def _iter_largest_features(data: Data) -> Iterator[list[tuple[str, str]]]:
    """The largest features of each node."""
    for block in data.x.split(ROWS_AT_ONCE):
        size = block.abs().numpy()
        width = min(MAX_FEATURES, size.shape[1])
        best = np.argpartition(-size, width - 1, axis=1)[:, :width]
        for values, columns in zip(block.numpy(), np.sort(best, axis=1), strict=True):
            texts = ", ".join(f"{c}: {values[c]:.4g}" for c in columns if values[c])
            yield [(f"largest of {size.shape[1]:,} features", texts)] if texts else []


def _replace_half_characters(text: Any) -> Any:
    """Half a character, as in broken UTF-16, cannot be written as UTF-8."""
    return text.encode("utf-8", "replace").decode() if isinstance(text, str) else text


class NodeTexts:
    """Reads what `write_node_texts` wrote."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, check_same_thread=False)
        self._lock = threading.Lock()

    def close(self) -> None:
        self._connection.close()

    def find_names_or_ids(self, nodes: Iterable[int]) -> dict[int, str]:
        """The name of each node, or its id where it has none."""
        return {node: name or id for node, id, name in self._fetch_columns_of_nodes("node, id, name", list(nodes))}

    def find_ids(self, nodes: Iterable[int]) -> dict[int, str]:
        return dict(self._fetch_columns_of_nodes("node, id", list(nodes)))

    def find_columns_and_texts(self, nodes: Iterable[int]) -> dict[int, list[tuple[str, str]]]:
        """(column, text) of each node."""
        rows = self._fetch_columns_of_nodes("node, cells", list(nodes))
        return {node: [(name, text) for name, text in json.loads(cells)] for node, cells in rows}

    def find_nodes_with_text(self, text: str) -> Ints:
        """The numbers of the nodes with this text in their id, name or a column."""
        with self._lock:
            rows = self._connection.execute("SELECT node FROM nodes WHERE instr(search, ?)", (text.lower(),)).fetchall()
        return np.array([row[0] for row in rows], dtype=np.int64)

    def find_node_numbers_by_id(self, ids: Sequence[str]) -> dict[str, int]:
        """The number of each node that exists, by its id."""
        wanted = set(ids)
        with self._lock:
            rows = self._connection.execute("SELECT id, node FROM nodes").fetchall()
        return {id: node for id, node in rows if id in wanted}

    def _fetch_columns_of_nodes(self, columns: str, nodes: list[int]) -> list[Any]:
        rows: list[Any] = []
        left = iter(nodes)
        with self._lock:
            while part := list(islice(left, ROWS_AT_ONCE)):
                marks = ",".join("?" * len(part))
                rows += self._connection.execute(
                    f"SELECT {columns} FROM nodes WHERE node IN ({marks})", part
                ).fetchall()
        return rows
