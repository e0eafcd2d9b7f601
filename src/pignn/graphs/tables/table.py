"""What every table offers, and tables that are in memory already."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from ...core.errors import DataError, build_unknown_name_error

CHUNK_ROWS = 1 << 18
MIN_WIDE_COLUMNS = 32  # from so many columns on, most are features


class Chunk(NamedTuple):
    """Consecutive rows of a table."""

    frame: pd.DataFrame
    start: int  # its first row in the table, from 0
    fraction: float  # of the table that has been read, about


class Table(ABC):
    """Rows that are read some at a time.

    ``num_rows`` is an estimate. ``first_row_number`` is what a spreadsheet shows for the first row: 2 below the header
    of a text file, else 1. ``sha256`` is that of a text file.
    """

    name: str
    columns: list[str]
    num_rows: int
    has_header = True
    delimiter: str | None = None
    sha256 = ""

    @abstractmethod
    def iter_chunks(self, max_rows: int, text_columns: Sequence[str] = ()) -> Iterator[Chunk]:
        """Read at most ``max_rows`` rows at a time. ``text_columns`` are not taken for numbers in a text file."""

    @abstractmethod
    def describe_layout(self) -> str:
        """What was detected about the file, for people."""

    @property
    def first_row_number(self) -> int:
        return 2 if self.delimiter is not None and self.has_header else 1

    def treat_header_as_row_in_place(self) -> None:  # noqa: B027
        """Take the header of a text file for a row of values. Other tables stay as they are."""

    def check_column_exists_and_get_name(self, name: str) -> str:
        """The name, or an error if there is no such column."""
        if name not in self.columns:
            raise build_unknown_name_error(f"column of {self.name}", name, self.columns)
        return name

    def read_dataframe(self, text_columns: Sequence[str] = ()) -> pd.DataFrame:
        """Read all rows. ``text_columns``, and columns that are not numbers throughout, are text."""
        frames = [
            self.narrow_wide_features_to_float32(chunk.frame, text_columns)
            for chunk in self.iter_chunks(CHUNK_ROWS, text_columns)
        ]
        if not frames:
            raise DataError(f"{self.name} has a header and no rows")
        return frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)

    def narrow_wide_features_to_float32(self, frame: pd.DataFrame, text_columns: Sequence[str]) -> pd.DataFrame:
        """Rows of this table with the numbers of many features in single precision: half the memory."""
        if len(self.columns) < MIN_WIDE_COLUMNS:
            return frame
        doubles = [name for name, dtype in frame.dtypes.items() if dtype == np.float64]
        return frame.astype(dict.fromkeys((name for name in doubles if name not in text_columns), np.float32))


class FrameTable(Table):
    """A data frame."""

    def __init__(self, name: str, frame: pd.DataFrame) -> None:
        self.name, self.num_rows, self.frame = name, len(frame), frame.reset_index(drop=True)
        self.frame.columns = self.frame.columns.astype(str)
        self.columns = list(self.frame.columns)

    def iter_chunks(self, max_rows: int, text_columns: Sequence[str] = ()) -> Iterator[Chunk]:
        for start in range(0, self.num_rows, max_rows):
            frame = self.frame.iloc[start : start + max_rows].reset_index(drop=True)
            yield Chunk(frame, start, (start + len(frame)) / self.num_rows)

    def read_dataframe(self, text_columns: Sequence[str] = ()) -> pd.DataFrame:
        return self.frame

    def describe_layout(self) -> str:
        return "a data frame"


class ArrayTable(Table):
    """Edges that are arrays of shape [n, 2]."""

    has_header = False

    def __init__(self, name: str, arrays: Iterable[np.ndarray], num_rows: int = 1 << 30) -> None:
        self.name, self.arrays, self.num_rows, self.columns = name, arrays, num_rows, ["0", "1"]

    def iter_chunks(self, max_rows: int, text_columns: Sequence[str] = ()) -> Iterator[Chunk]:
        done = 0
        for array in map(np.asarray, self.arrays):
            if array.ndim != 2 or array.shape[1] != 2:
                raise DataError(f"{self.name}: an array of shape {list(array.shape)}; edges are of shape [n, 2]")
            for start in range(0, len(array), max_rows):
                frame = pd.DataFrame(array[start : start + max_rows], columns=pd.Index(self.columns))
                yield Chunk(frame, done, (done + len(frame)) / self.num_rows)
                done += len(frame)

    def describe_layout(self) -> str:
        return "an array"
