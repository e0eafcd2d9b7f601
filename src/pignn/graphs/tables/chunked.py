"""Text, Parquet and arrays, some rows at a time."""

from __future__ import annotations

import contextlib
import csv
import gzip
import importlib
import itertools
import math
import os
import warnings
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from ...core.errors import ConfigError, DataError, PignnError, PignnWarning, unknown
from ...core.text import one_line_text, pluralize
from ..checks import LARGEST

PathLike: TypeAlias = str | os.PathLike[str]
Values: TypeAlias = PathLike | np.ndarray
MOST_LINE = 1 << 24  # bytes; what is longer is no row of a table, and would be held in memory whole


class Chunk(NamedTuple):
    """Rows of a table."""

    frame: pd.DataFrame
    first: int  # its first row in the table, from 0
    share: float  # of the table that has been read


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    """What libraries say about a file that cannot be read, in one line."""
    try:
        yield
    except PignnError:
        raise
    except pd.errors.ParserError as error:
        reason = str(error).strip().rpartition("C error: ")[2]
        raise DataError(f"cannot read {path}: {' '.join(reason.split())}; every row needs the same columns") from None
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or one_line_text(error)}") from None
    except UnicodeDecodeError:
        raise DataError(f"cannot read {path}: not text in UTF-8") from None
    except (ValueError, EOFError, zlib.error, OverflowError, csv.Error) as error:
        raise DataError(f"cannot read {path}: {one_line_text(error)}") from None


_NAMED = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars", " ": "spaces"}


class _Text:
    """A CSV file or one of its kin. Lines with # or % before the first row are skipped."""

    def __init__(self, path: Path, delimiter: str | None, of_nodes: bool) -> None:
        self.path, self.name = path, str(path)
        self.zipped = path.suffix.lower() == ".gz"
        with _reading(path), gzip.open(path) if self.zipped else open(path, "rb") as file:
            self.bom, self.skip, first, second = _head(file)
            if not first:
                raise DataError(f"{path} is empty")
            kind = Path(path.stem if self.zipped else path.name).suffix.lower()
            expected = {".csv": ",", ".tsv": "\t", ".tab": "\t"}.get(kind)
            found = (mark for mark in (expected, *_NAMED) if mark and mark in first.strip())
            self.delimiter = delimiter or next(found, expected or ",")
            if self.delimiter == " ":
                self.columns = first.split()
            else:
                self.columns = [value.strip() for value in next(csv.reader([first], delimiter=self.delimiter))]
        # An edge has numbers only, and a mistake in the first is not to be taken for a header; a feature of a node
        # may have a number for its name.
        self.header = not (all if of_nodes else any)(map(is_number, self.columns))
        self.empty = self.header and not second
        self.skip += self.header
        self.columns = _once(self.columns, path) if self.header else [str(i) for i in range(len(self.columns))]
        self.rows = path.stat().st_size * (4 if self.zipped else 1) // max(len(second or first) + 1, 2)
        if delimiter is None and self.delimiter != expected and len(self.columns) > 1:
            note = f"{path}: read as columns separated by {_NAMED[self.delimiter]}"
            warnings.warn(f"{note}, {'with' if self.header else 'without'} a header", PignnWarning, stacklevel=5)

    def chunks(self, rows: int, text: Sequence[str] = ()) -> Iterator[Chunk]:
        """At most `rows` rows at a time; the columns in `text` are not taken for numbers."""
        if self.empty:
            return
        size, done, whole = max(self.path.stat().st_size, 1), 0, False
        with _reading(self.path), open(self.path, "rb") as raw:
            reader = pd.read_csv(
                gzip.GzipFile(fileobj=raw) if self.zipped else raw,
                sep=r"\s+" if self.delimiter == " " else self.delimiter,
                header=None,
                skiprows=self.skip,
                dtype={self.columns.index(column): str for column in text},
                keep_default_na=False,  # "NA" and "None" may be names of classes
                na_values=[""],
                chunksize=rows,
                low_memory=False,
                skipinitialspace=True,
                encoding="utf-8-sig" if self.bom else "utf-8",
            )
            for frame in self._parsed(reader):
                if frame.shape[1] != len(self.columns):
                    raise self._uneven(first_row(self) + done, frame.shape[1])
                if not whole and frame.shape[1] > 1 and frame.iloc[:, -1].hasnans:  # so pandas fills up short rows
                    self._check_widths()
                    whole = True
                frame.columns = pd.Index(self.columns)
                yield Chunk(frame, done, raw.tell() / size)
                done += len(frame)

    def _parsed(self, reader: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        try:
            yield from reader
        except pd.errors.ParserError as error:
            if " fields in line " in str(error):  # what it expects is what the first row below the header has
                self._check_widths()
            raise

    def _check_widths(self) -> None:
        """Whether every row has as many columns as the first."""
        opened = gzip.open if self.zipped else open
        with opened(self.path, "rt", encoding="utf-8-sig", newline="") as file, _long_fields():
            lines: Iterator[str] = itertools.islice(file, self.skip, None)
            if self.delimiter == " ":
                lines = (" ".join(line.split()) for line in lines)
            rows = csv.reader(lines, delimiter=self.delimiter, skipinitialspace=True)
            filled = (row for row in rows if len(row) > 1 or (row and row[0].strip()))
            for number, row in enumerate(filled, first_row(self)):
                if len(row) != len(self.columns):
                    raise self._uneven(number, len(row))

    def _uneven(self, row: int, columns: int) -> DataError:
        return DataError(
            f"{self.path}, row {row:,}: {pluralize(columns, 'column')}, but {len(self.columns)} in the "
            f"{'header' if self.header else 'first row'}; every row needs the same columns"
        )


@contextlib.contextmanager
def _long_fields() -> Iterator[None]:
    """Let the csv module read fields as long as a line may be; its own limit is 128 KiB."""
    before = csv.field_size_limit(MOST_LINE)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _head(file: IO[bytes] | gzip.GzipFile) -> tuple[bool, int, str, str]:
    """Whether there is a byte order mark, how many lines are before the first row, the first two rows."""
    bom, skip = False, 0
    found: list[str] = []
    while len(found) < 2 and (line := file.readline(MOST_LINE)):
        bom |= line.startswith(b"\xef\xbb\xbf")
        text = line.decode("utf-8-sig").strip("\r\n")
        if text.strip() and (found or not text.startswith(("#", "%"))):
            found.append(text)
        elif not found:
            skip += 1
    first, second, *_ = [*found, "", ""]
    return bom, skip, first, second


class _Parquet:
    header = True

    def __init__(self, path: Path) -> None:
        try:
            parquet = importlib.import_module("pyarrow.parquet")
        except ImportError:
            raise DataError(f"reading {path} needs pyarrow; pip install pyarrow, or save it as CSV") from None
        self.path, self.name = path, str(path)
        with _reading(path):
            self.file = parquet.ParquetFile(path)
            self.rows = int(self.file.metadata.num_rows)
            self.columns = _once([str(name) for name in self.file.schema_arrow.names], path)

    def chunks(self, rows: int, text: Sequence[str] = ()) -> Iterator[Chunk]:
        done = 0
        with _reading(self.path):
            for batch in self.file.iter_batches(batch_size=rows):
                yield Chunk(batch.to_pandas(), done, (done + batch.num_rows) / max(self.rows, 1))
                done += batch.num_rows


class _Arrays:
    """Edges that are arrays already."""

    header = False

    def __init__(self, name: str, arrays: Iterable[np.ndarray], rows: int = 1 << 30) -> None:
        self.name, self.arrays, self.rows, self.columns = name, arrays, rows, ["0", "1"]

    def chunks(self, rows: int, text: Sequence[str] = ()) -> Iterator[Chunk]:
        done = 0
        for array in map(np.asarray, self.arrays):
            if array.ndim != 2 or array.shape[1] != 2:
                raise DataError(f"{self.name}: an array of shape {list(array.shape)}; edges are of shape [n, 2]")
            for start in range(0, len(array), rows):
                frame = pd.DataFrame(array[start : start + rows], columns=pd.Index(self.columns))
                yield Chunk(frame, done, (done + len(frame)) / self.rows)
                done += len(frame)


Table: TypeAlias = _Text | _Parquet | _Arrays  # name, columns, header, rows (about) and chunks


def node_table(path: PathLike, delimiter: str | None) -> Table:
    """One node a row."""
    return _table(Path(path), delimiter, of_nodes=True)


def edge_table(edges: PathLike | Iterable[np.ndarray], delimiter: str | None) -> Table:
    """One edge a row."""
    if not isinstance(edges, str | os.PathLike):
        return _Arrays("edges", edges)
    path = Path(edges)
    if path.suffix.lower() == ".npy":
        array = as_array(path)
        if array.ndim != 2 or 2 not in array.shape:
            raise DataError(f"{path} has shape {list(array.shape)}; edges are of shape [edges, 2] or [2, edges]")
        return _Arrays(str(path), [array if array.shape[1] == 2 else array.T], max(array.shape))
    return _table(path, delimiter, of_nodes=False)


def _table(path: Path, delimiter: str | None, *, of_nodes: bool) -> Table:
    if not path.is_file():
        raise DataError(f"cannot read {path}: " + ("it is a folder" if path.is_dir() else "no such file"))
    return _Parquet(path) if path.suffix.lower() in (".parquet", ".pq") else _Text(path, delimiter, of_nodes)


def first_row(table: Any) -> int:
    """The number of a table's first row, as a spreadsheet shows it: 2 below a header of a text file, else 1."""
    return 2 if isinstance(table, _Text) and table.header else 1


def delimiter_named(name: str | None) -> str | None:
    """A character, from itself or its name."""
    named = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";"}
    found = None if name is None else named.get(name, name)
    if found is not None and (len(found) != 1 or found in '\r\n"#'):
        raise ConfigError(f"a delimiter is one character, tab or space, not '{name}'")
    return found


def _once(columns: list[str], path: Path) -> list[str]:
    for name in columns:
        if columns.count(name) > 1:
            raise DataError(f"{path} has two columns named '{name}'; rename one")
    return columns


def column_of(table: Table, name: str) -> str:
    """The name, if there is such a column."""
    if name not in table.columns:
        raise unknown(f"column of {table.name}", name, table.columns)
    return name


def is_array(value: Values) -> bool:
    """Whether it is an array or the file of one."""
    return isinstance(value, np.ndarray) or str(value).lower().endswith(".npy")


def as_array(value: Values) -> np.ndarray:
    """An array, memory-mapped if it is a file."""
    if isinstance(value, np.ndarray):
        return value
    path = Path(value)
    if path.suffix.lower() != ".npy":
        raise DataError(f"cannot read {path}: expected a .npy file")
    with _reading(path):
        with open(path, "rb") as file:
            if file.read(6) != b"\x93NUMPY":  # anything else would be taken for a pickle
                raise DataError(f"cannot read {path}: not a .npy file")
        try:
            return np.load(path, mmap_mode="r", allow_pickle=False)
        except ValueError as error:
            if "Python objects" in str(error):
                raise DataError(f"{path} holds pickled Python objects, which are refused: save numbers") from None
            raise


def is_number(text: str) -> bool:
    """Whether it can be read as one."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def numbers(column: pd.Series[Any]) -> np.ndarray:
    """A column as numbers, NaN where there is none."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iuf":
        return column.to_numpy()
    return pd.to_numeric(column.astype(str), errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)


def edge_weights(column: pd.Series[Any], title: str, first: int, advice: str) -> np.ndarray:
    """A column of weights, finite and not negative; ``first`` is its first row, ``advice`` how to do without."""
    with np.errstate(over="ignore"):
        values = numbers(column).astype(np.float32)
    bad = ~((values >= 0) & (values < LARGEST))
    if bad.any():
        row = int(bad.argmax())
        wanted = f"below {LARGEST:g}" if np.isfinite(values[row]) and values[row] > 0 else "finite and not negative"
        raise DataError(
            f"{title}, row {first + row:,}: a weight must be {wanted}, not {shown(column.iloc[row])}; {advice}"
        )
    return values


def shown(value: Any) -> str:
    """A value of a table in a message."""
    missing = value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))
    text = repr(str(value))
    return "empty" if missing else text if len(text) < 40 else text[:36] + "...'"
