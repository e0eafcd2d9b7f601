"""Ids of nodes: integers or texts, each one once. Edges name nodes by them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd

from ...core.errors import DataError
from ...core.text import format_count
from ..tables.cells import quote_cell_for_message

ID_NAMES = ("id", "node", "node_id", "nodeid")
INTEGER_ID = r"-?(?:0|[1-9][0-9]{0,17})"  # as an integer of 64 bits is written
_MAX_COUNTED_IDS = 100_000  # different unknown ids


class NodeIds:
    """The ids of all nodes. ``values`` holds integers if all ids are written as such, else texts."""

    def __init__(self, values: np.ndarray, title: str) -> None:
        self.values, self.title = values, title
        self.are_integers = values.dtype.kind == "i"
        is_range = self.are_integers and len(values) > 0 and bool((values == np.arange(len(values))).all())
        self.index = pd.RangeIndex(len(values)) if is_range else pd.Index(values)
        if not self.index.is_unique:
            counts = self.index[self.index.duplicated(keep=False)].value_counts()
            raise DataError(
                f"{title}: {format_count(len(counts), 'id')} given to several nodes: "
                f"{_format_names_with_counts(dict(counts.head(5)))}{' and more' if len(counts) > 5 else ''}; "
                "every node needs an id of its own"
            )

    @classmethod
    def from_rows(cls, num_nodes: int, title: str) -> NodeIds:
        """Nodes that are numbered by their rows."""
        return cls(np.arange(num_nodes), title)

    @classmethod
    def from_column(cls, column: pd.Series[Any], title: str, first_row_number: int) -> NodeIds:
        """Nodes that a column names. ``first_row_number`` is the number of its first row."""
        text = to_id_texts(column)
        empty = (column.isna() | (text == "")).to_numpy()
        if empty.any():
            row = first_row_number + int(empty.argmax())
            raise DataError(f"{title}: {format_count(int(empty.sum()), 'row')} without an id, first row {row:,}")
        if column.dtype.kind in "iu" and int(column.max()) < 2**63:
            return cls(column.to_numpy(np.int64), title)
        if text.str.fullmatch(INTEGER_ID).all():
            return cls(text.astype(np.int64).to_numpy(), title)
        return cls(text.to_numpy(object), title)

    def __len__(self) -> int:
        return len(self.values)

    def find_positions_or_minus_one(self, column: pd.Series[Any]) -> np.ndarray:
        """The node that each value names, -1 where there is none."""
        if isinstance(column.dtype, pd.StringDtype):  # names come back often: each one is looked up once
            codes, values = pd.factorize(column)
            return np.append(self._look_up_positions(pd.Series(values)), -1)[codes]
        return self._look_up_positions(column)

    def _look_up_positions(self, column: pd.Series[Any]) -> np.ndarray:
        if not self.are_integers:
            positions = self.index.get_indexer(pd.Index(to_id_texts(column).to_numpy(object)))
            return np.where(column.isna(), -1, positions)
        if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iu":
            return self.index.get_indexer(pd.Index(column.to_numpy()))
        text = to_id_texts(column)
        is_integer = text.str.fullmatch(INTEGER_ID).to_numpy(bool, na_value=False) & column.notna().to_numpy()
        positions = np.full(len(column), -1)
        positions[is_integer] = self.index.get_indexer(pd.Index(text[is_integer].astype(np.int64)))
        return positions


class UnknownNodes:
    """Counts edges whose ends are not among the nodes."""

    def __init__(self) -> None:
        self.num_edges, self.counts = 0, Counter[str]()

    def count_unknown_and_mark_known_edges(
        self, end_columns: list[pd.Series[Any]], end_positions: list[np.ndarray]
    ) -> np.ndarray:
        """Count the unknown ends of some edges; returns which edges join known nodes."""
        keep = (end_positions[0] >= 0) & (end_positions[1] >= 0)
        if not keep.all():
            self.num_edges += int((~keep).sum())
            for column, rows in zip(end_columns, end_positions, strict=True):
                if len(self.counts) < _MAX_COUNTED_IDS:
                    missing = column[rows < 0].astype(object)
                    counts = missing.map(quote_cell_for_message).value_counts()
                    self.counts.update({str(name): int(count) for name, count in counts.items()})
        return keep

    def build_message(self, num_rows: int, edges_title: str, nodes_title: str) -> str:
        """One line: how many edges, and the unknown ids that are named most often."""
        rest = len(self.counts) - 5
        limit = "at least " if len(self.counts) >= _MAX_COUNTED_IDS else ""
        listing = ", ".join(f"{name} ({count:,})" for name, count in self.counts.most_common(5))
        more = f" and {rest:,} more" if rest > 0 else ""
        edges, nodes = format_count(num_rows, "edge"), format_count(len(self.counts), "node")
        return (
            f"{edges_title}: {self.num_edges:,} of {edges} name {limit}{nodes} that {nodes_title} does not have: "
            f"{listing}{more}"
        )


def to_id_texts(column: pd.Series[Any]) -> pd.Series[Any]:
    """A column as texts without blanks around them; 3.0 becomes 3 where all are whole numbers."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind == "f":
        values = column.to_numpy()
        if bool((np.isnan(values) | (np.abs(values) < 2**53) & (values == np.trunc(values))).all()):
            return pd.Series(np.nan_to_num(values).astype(np.int64), index=column.index).astype(str)
    return column.astype(str).str.strip()


def _format_names_with_counts(counts: dict[Any, int]) -> str:
    """'a' (3), 'b' (2)"""
    return ", ".join(f"{quote_cell_for_message(name)} ({count:,})" for name, count in counts.items())
