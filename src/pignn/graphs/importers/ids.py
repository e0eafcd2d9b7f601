"""Ids of nodes: whole numbers or texts, each once; edges name nodes by them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd

from ...core.errors import DataError
from ...core.text import pluralize
from ..tables.cells import format_cell

NAMES = ("id", "node", "node_id", "nodeid")
_WHOLE = r"-?(?:0|[1-9][0-9]{0,17})"  # as an integer of 64 bits is written
_MOST_COUNTED = 100_000  # different unknown ids


class Ids:
    """Who the nodes are. `values` holds integers if all ids are written as such, else texts."""

    def __init__(self, values: np.ndarray, title: str) -> None:
        self.values, self.title = values, title
        self.whole = values.dtype.kind == "i"
        counting = self.whole and len(values) > 0 and bool((values == np.arange(len(values))).all())
        self.index = pd.RangeIndex(len(values)) if counting else pd.Index(values)
        if not self.index.is_unique:
            counts = self.index[self.index.duplicated(keep=False)].value_counts()
            raise DataError(
                f"{title}: {pluralize(len(counts), 'id')} given to several nodes: {listed(dict(counts.head(5)))}"
                f"{' and more' if len(counts) > 5 else ''}; every node needs an id of its own"
            )

    @classmethod
    def counting(cls, nodes: int, title: str) -> Ids:
        """Nodes that are numbered by their rows."""
        return cls(np.arange(nodes), title)

    @classmethod
    def of(cls, column: pd.Series[Any], title: str, first: int) -> Ids:
        """Nodes that a column names; `first` is the number of its first row."""
        text = texts(column)
        empty = (column.isna() | (text == "")).to_numpy()
        if empty.any():
            row = first + int(empty.argmax())
            raise DataError(f"{title}: {pluralize(int(empty.sum()), 'row')} without an id, first row {row:,}")
        if column.dtype.kind in "iu" and int(column.max()) < 2**63:
            return cls(column.to_numpy(np.int64), title)
        if text.str.fullmatch(_WHOLE).all():
            return cls(text.astype(np.int64).to_numpy(), title)
        return cls(text.to_numpy(object), title)

    def __len__(self) -> int:
        return len(self.values)

    def positions(self, column: pd.Series[Any]) -> np.ndarray:
        """Which node each value names; -1 where none."""
        if not self.whole:
            found = self.index.get_indexer(pd.Index(texts(column).to_numpy(object)))
            return np.where(column.isna(), -1, found)
        if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iu":
            return self.index.get_indexer(pd.Index(column.to_numpy()))
        text = texts(column)
        known = text.str.fullmatch(_WHOLE).to_numpy(bool, na_value=False) & column.notna().to_numpy()
        found = np.full(len(column), -1)
        found[known] = self.index.get_indexer(pd.Index(text[known].astype(np.int64)))
        return found


class Unknown:
    """Edges whose ends are no nodes, counted as they come."""

    def __init__(self) -> None:
        self.edges, self.names = 0, Counter[str]()

    def add(self, columns: list[pd.Series[Any]], positions: list[np.ndarray]) -> np.ndarray:
        """Which rows are edges between known nodes."""
        keep = (positions[0] >= 0) & (positions[1] >= 0)
        if not keep.all():
            self.edges += int((~keep).sum())
            for column, found in zip(columns, positions, strict=True):
                if len(self.names) < _MOST_COUNTED:
                    missing = column[found < 0].astype(object)
                    counts = missing.map(format_cell).value_counts()
                    self.names.update({str(name): int(count) for name, count in counts.items()})
        return keep

    def message(self, rows: int, edges: str, nodes: str) -> str:
        """In one line: how many, and the most frequent names."""
        more = len(self.names) - 5
        many = "at least " if len(self.names) >= _MOST_COUNTED else ""
        listing = ", ".join(f"{name} ({count:,})" for name, count in self.names.most_common(5))
        return (
            f"{edges}: {self.edges:,} of {pluralize(rows, 'edge')} name {many}{pluralize(len(self.names), 'node')} "
            f"that {nodes} does not have: {listing}{f' and {more:,} more' if more > 0 else ''}"
        )


def texts(column: pd.Series[Any]) -> pd.Series[Any]:
    """A column as text without blanks around it; whole numbers as such, 3.0 as 3."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind == "f":
        values = column.to_numpy()
        if bool((np.isnan(values) | (np.abs(values) < 2**53) & (values == np.trunc(values))).all()):
            return pd.Series(np.nan_to_num(values).astype(np.int64), index=column.index).astype(str)
    return column.astype(str).str.strip()


def listed(counts: dict[Any, int]) -> str:
    """'a' (3), 'b' (2)"""
    return ", ".join(f"{format_cell(name)} ({count:,})" for name, count in counts.items())
