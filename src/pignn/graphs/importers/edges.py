"""Edges of a table, as positions of their ends among the nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...core.errors import ConfigError, DataError, warn_user
from ...core.text import format_count
from ..tables.arrays import PathLike
from ..tables.cells import parse_edge_weights, quote_cell_for_message
from ..tables.edge_columns import EdgeColumns, choose_edge_columns
from ..tables.reader import open_edge_table
from ..tables.table import FrameTable, Table
from .edge_types import EdgeTypes, parse_or_find_edge_types_or_none
from .import_spec import ImportSpec
from .node_ids import NodeIds, UnknownNodes

CHUNK_ROWS = 1 << 20
WITHOUT_WEIGHTS = "name two --edge-columns (edge_columns=) to leave weights out"
NAME_WEIGHTS = "name it third in --edge-columns (edge_columns=)"


class ImportedEdges(NamedTuple):
    """Ends [2, E] as positions, weights if there are any, and notes about what was detected or left out."""

    ends: np.ndarray
    weight: np.ndarray | None
    notes: list[str]


def read_edges(
    edges: PathLike | pd.DataFrame | Iterable[np.ndarray], ids: NodeIds, frame: pd.DataFrame, spec: ImportSpec
) -> ImportedEdges:
    """Read all edges whose ends are nodes. Others are an error unless the spec drops them."""
    table = open_edge_table(edges, spec.delimiter)
    notes = []
    if not isinstance(table, FrameTable):
        _turn_header_of_known_nodes_into_edge_in_place(table, ids)
        notes.append(f"edges: {table.describe_layout()}")
    types = parse_or_find_edge_types_or_none(spec.edge_types, table.columns if table.has_header else [])
    chosen = _choose_edge_columns(table, spec.edge_columns, types)
    if types is not None and types.column in chosen:
        types = None
    weight_text = "" if chosen.weight is None else f", weight '{chosen.weight}'"
    notes.append(f"edges: from column '{chosen.source}' to '{chosen.target}'{weight_text}")
    unknown, num_rows = UnknownNodes(), 0
    ends: list[np.ndarray] = [np.empty((2, 0), np.int64)]
    weights: list[np.ndarray] = []
    for chunk in table.iter_chunks(CHUNK_ROWS, () if ids.are_integers else chosen[:2]):
        columns = [_get_column_or_raise(chunk.frame, name, table, chunk.start) for name in chosen[:2]]
        positions = [ids.find_positions_or_minus_one(column) for column in columns]
        keep = unknown.count_unknown_and_mark_known_edges(columns, positions)
        by_type = np.ones(len(keep), np.float32)
        if types is not None:
            by_type = types.count_types_and_get_weights(
                _get_column_or_raise(chunk.frame, types.column, table, chunk.start)
            )
            keep &= by_type > 0
        num_rows += len(chunk.frame)
        ends.append(np.stack([position[keep] for position in positions]))
        if chosen.weight is not None:
            column = _get_column_or_raise(chunk.frame, chosen.weight, table, chunk.start)
            first_row_number = table.first_row_number + chunk.start
            parsed = parse_edge_weights(column, table.name, first_row_number, WITHOUT_WEIGHTS)
            weights.append(parsed[keep] * by_type[keep])
        elif types is not None and types.weights is not None:
            weights.append(by_type[keep])
    if types is not None and num_rows:
        notes.append(types.check_named_types_occur_and_describe())
    if unknown.num_edges:
        message = unknown.build_message(num_rows, table.name, ids.title)
        advice = _format_unknown_nodes_advice(unknown, num_rows, ids, frame, is_prediction=spec.encoder is not None)
        if not spec.drop_unknown:
            raise DataError(f"{message}; {advice}")
        if 2 * unknown.num_edges > num_rows:
            warn_user(f"{message}; they are left out, which is most of them; {advice}")
        notes.append(f"edges: left out {format_count(unknown.num_edges, 'edge')} to unknown nodes; {message}")
    if not num_rows and spec.encoder is None:
        warn_user(f"{table.name} has no edges, so that no node has a neighbor; is it the right file?")
    return ImportedEdges(np.concatenate(ends, axis=1), np.concatenate(weights) if weights else None, notes)


def _turn_header_of_known_nodes_into_edge_in_place(table: Table, ids: NodeIds) -> None:
    """Take a header of two known nodes for an edge."""
    names = table.columns[:2]
    if not ids.are_integers and table.has_header and int(ids.index.isin(names).sum()) == len({*names}):
        table.treat_header_as_row_in_place()


def _choose_edge_columns(table: Table, columns: str | Sequence[str] | None, types: EdgeTypes | None) -> EdgeColumns:
    if types is not None:
        table.check_column_exists_and_get_name(types.column)
    if columns is None:
        return choose_edge_columns(table, None, None, None, NAME_WEIGHTS, None if types is None else types.column)
    if len(columns) not in (2, 3):
        raise ConfigError(f"edge columns are two, or three with a weight, not {len(columns)}")
    source, target, weight = [*columns, "none"][:3]
    return choose_edge_columns(table, source, target, weight, NAME_WEIGHTS)


def _get_column_or_raise(frame: pd.DataFrame, name: str, table: Table, first_row: int) -> pd.Series[Any]:
    if name not in frame.columns:
        raise DataError(f"{table.name}: no '{name}' in the rows from {first_row + 1:,} on")
    return frame[name]


def _format_unknown_nodes_advice(
    unknown: UnknownNodes, num_rows: int, ids: NodeIds, frame: pd.DataFrame, *, is_prediction: bool
) -> str:
    """What to do about unknown nodes: another column may have their ids."""
    sample = {name.strip("'") for name, _ in unknown.counts.most_common(5)}
    for name in frame.columns:
        column = frame[name]
        if not sample or not column.is_unique:
            continue
        texts = set(column.dropna().astype(str).str.strip())
        # Rows are numbered where there is no column of ids, and 00600 was read as 600.
        if sample <= texts or (texts != set(map(str, ids.values)) and sample <= {text.lstrip("0") for text in texts}):
            return f"column '{name}' has them: give it as --id (id=)"
    known = {text.lstrip("0"): text for text in map(str, ids.values)}
    if sample and all(name.lstrip("0") in known for name in sample):
        name = min(sample)
        return (
            f"leading zeros were lost in one of the tables ('{name}' is '{known[name.lstrip('0')]}' in the other), as "
            "spreadsheets do; save it again with the ids as text"
        )
    if is_prediction:
        return (
            "give the table that has them with --known (known=), or leave such edges out with --drop-unknown "
            "(drop_unknown=True)"
        )
    if unknown.num_edges > num_rows / 2:
        examples = ", ".join(map(quote_cell_for_message, ids.values[:3].tolist()))
        return f"ids of nodes are such as {examples}: is --id (id=) right?"
    return "add them, or leave such edges out with --drop-unknown (drop_unknown=True)"
