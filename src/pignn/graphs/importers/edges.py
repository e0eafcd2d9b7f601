"""Edges of a file, as positions of their ends among the nodes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...core.errors import ConfigError, DataError
from ...core.text import pluralize
from ..tables.arrays import PathLike
from ..tables.cells import format_cell, parse_edge_weights
from ..tables.edge_columns import choose_edge_columns
from ..tables.reader import open_edges
from ..tables.table import Table
from .ids import Ids, Unknown

ROWS = 1 << 20

LEAVE_OUT = "name two --edge-columns (edge_columns=) to leave weights out"
NAME_IT = "name it third in --edge-columns (edge_columns=)"


class Edges(NamedTuple):
    """Ends [2, E] as positions, weights if there are any, and what was guessed or left out, in words."""

    ends: np.ndarray
    weight: np.ndarray | None
    notes: list[str]


def read_edges(
    edges: PathLike | pd.DataFrame,
    ids: Ids,
    frame: pd.DataFrame,
    *,
    columns: Sequence[str] | None = None,
    delimiter: str | None = None,
    drop_unknown: bool = False,
) -> Edges:
    """All edges whose ends are nodes; the others are an error unless they are to be dropped."""
    notes: list[str] = []
    table = open_edges(edges, delimiter)
    if isinstance(edges, str | os.PathLike):
        if (
            not ids.whole
            and table.has_header
            and bool((ids.index.isin(table.columns[:2])).sum() == len({*table.columns[:2]}))
        ):
            table.drop_header()
        notes.append(f"edges: {table.describe()}")
    chosen = _chosen(table, columns)
    weighed = chosen[2]
    notes.append(f"edges: from column '{chosen[0]}' to '{chosen[1]}'" + (f", weight '{weighed}'" if weighed else ""))
    unknown, rows = Unknown(), 0
    parts: list[np.ndarray] = []
    weights: list[np.ndarray] = []
    for part, start, _ in table.iter_chunks(ROWS, () if ids.whole else chosen[:2]):
        ends = [_column(part, name, table, start) for name in chosen[:2]]
        found = [ids.positions(column) for column in ends]
        keep = unknown.add(ends, found)
        rows += len(part)
        parts.append(np.stack([place[keep] for place in found]))
        if weighed is not None:
            column = _column(part, weighed, table, start)
            weights.append(parse_edge_weights(column, table.name, table.first_row + start, LEAVE_OUT)[keep])
    if unknown.edges:
        message = unknown.message(rows, table.name, ids.title)
        if not drop_unknown:
            raise DataError(f"{message}; {_advice(unknown, rows, ids, frame)}")
        notes.append(f"edges: left out {pluralize(unknown.edges, 'edge')} to unknown nodes; {message}")
    whole = np.concatenate([np.empty((2, 0), np.int64), *parts], axis=1)
    return Edges(whole, np.concatenate(weights) if weights else None, notes)


def _chosen(table: Table, columns: Sequence[str] | None) -> tuple[str, str, str | None]:
    if columns is not None and len(columns) not in (2, 3):
        raise ConfigError(f"edge columns are two, or three with a weight, not {len(columns)}")
    source, target, weight = [*(columns or (None, None)), None][:3]
    if columns is not None and weight is None:
        weight = "none"
    found = choose_edge_columns(table, source, target, weight, NAME_IT)
    return found.source, found.target, found.weight


def _column(frame: pd.DataFrame, name: str, table: Table, start: int) -> pd.Series[Any]:
    if name not in frame.columns:
        raise DataError(f"{table.name}: no '{name}' in the rows from {start + 1:,} on")
    return frame[name]


def _advice(unknown: Unknown, rows: int, ids: Ids, frame: pd.DataFrame) -> str:
    """What could be meant: another column of ids, if one has them."""
    sample = [name.strip("'") for name, _ in unknown.names.most_common(5)]
    for name in frame.columns:
        column = frame[name]
        if sample and column.is_unique and set(sample) <= set(column.astype(str).str.strip()):
            return f"column '{name}' has them: give it as --id (id=)"
    if unknown.edges > rows / 2:
        return f"ids of nodes are such as {', '.join(map(format_cell, ids.values[:3].tolist()))}: is --id (id=) right?"
    return "add them, or leave such edges out with --drop-unknown (drop_unknown=True)"
