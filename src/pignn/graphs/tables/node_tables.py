"""Tables of somebody else's: CSV and its kin, JSON lines and Parquet, looked at before they are parsed."""

from __future__ import annotations

import codecs
import gzip
import hashlib
import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
import pandas as pd

from ...core.errors import DataError
from ...core.text import one_line_text
from .chunked import MOST_LINE, Chunk, PathLike, _Parquet, _reading, _Text, edge_table, node_table
from .chunked import Table as DiskTable
from .formats import find_format

BLOCK = 1 << 20
ROWS = 1 << 18


class JsonLines:
    """One object a line."""

    header = True

    def __init__(self, path: Path) -> None:
        self.path, self.name, self.rows = path, str(path), 0
        first = next(self.chunks(100), None)
        if first is None:
            raise DataError(f"{path} is empty")
        self.columns = [str(name) for name in first.frame.columns]

    def chunks(self, rows: int, text: Sequence[str] = ()) -> Iterator[Chunk]:
        done = 0
        with _reading(self.path), _opened(self.path) as file:
            while lines := list(islice(file, rows)):
                frame = pd.DataFrame(_objects(lines, done, self.name))
                frame.columns = frame.columns.astype(str)
                done += len(lines)
                if len(frame):
                    yield Chunk(frame, done - len(lines), 0.0)


Table: TypeAlias = DiskTable | JsonLines  # name, columns, header, rows (about) and chunks


def open_table(path: PathLike, delimiter: str | None, *, of_nodes: bool) -> tuple[Table, str]:
    """A table, and the SHA-256 of its file if it is text. What no table can be is refused in one line."""
    path = Path(path)
    if not path.is_file():
        raise DataError(f"cannot read {path}: " + ("it is a folder" if path.is_dir() else "no such file"))
    name = find_format(path)
    digest = "" if name in ("parquet", "npy") else _scan(path)
    if name == "jsonl":
        return JsonLines(path), digest
    return node_table(path, delimiter) if of_nodes else edge_table(path, delimiter), digest


def without_header(table: Table) -> None:
    """Take the first line of a text file for a row after all."""
    if isinstance(table, _Text) and table.header:
        table.header, table.empty = False, False
        table.skip -= 1
        table.columns = [str(i) for i in range(len(table.columns))]


def how_read(table: Table) -> str:
    """What was guessed about a table, in words."""
    if isinstance(table, _Text):
        marks = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars", " ": "spaces"}
        mark = marks.get(table.delimiter, repr(table.delimiter))
        return f"columns separated by {mark}, {'with' if table.header else 'without'} a header"
    return "JSON lines" if isinstance(table, JsonLines) else "Parquet" if isinstance(table, _Parquet) else "an array"


def read_dataframe(table: Table, text: Sequence[str] = ()) -> pd.DataFrame:
    """All rows. Columns in `text`, and those that are not numbers throughout, are text."""
    wide = len(table.columns) >= 32
    frames: list[pd.DataFrame] = []
    for chunk in table.chunks(ROWS, text):
        frame = chunk.frame
        if wide:  # features: half the memory
            doubles = [name for name, dtype in frame.dtypes.items() if dtype == np.float64 and name not in text]
            frame = frame.astype(dict.fromkeys(doubles, np.float32))
        frames.append(frame)
    if not frames:
        raise DataError(f"{table.name} has a header and no rows")
    if isinstance(table, _Text):
        mixed = [name for name in table.columns if len({_is_text(frame[name]) for frame in frames}) > 1]
        if mixed:
            return read_dataframe(table, [*text, *mixed])
    return frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)


def _is_text(column: pd.Series[Any]) -> bool:
    return not isinstance(column.dtype, np.dtype) or column.dtype.kind not in "biuf"


def _opened(path: Path) -> IO[bytes] | gzip.GzipFile:
    return gzip.open(path) if path.suffix.lower() == ".gz" else open(path, "rb")


def _scan(path: Path) -> str:
    """Read a text file through, a block at a time: lines of bounded length, UTF-8 throughout, no NUL bytes."""
    decoder, total = codecs.getincrementaldecoder("utf-8")(), hashlib.sha256()
    done = begun = 0  # bytes before the block, and before the line that it begins in
    with _reading(path), _opened(path) as file:
        while block := file.read(BLOCK):
            total.update(block)
            if (at := block.find(b"\0")) >= 0:
                raise _not_text(path, done + at, "a NUL byte")
            pending = decoder.getstate()[0]
            if pending or not block.isascii():
                try:
                    decoder.decode(block)
                except UnicodeDecodeError as error:
                    at = done + error.start - len(pending)
                    raise _not_text(path, at, f"the byte 0x{error.object[error.start]:02x} is not UTF-8") from None
            begun = done + block.rfind(b"\n") + 1 if b"\n" in block else begun
            done += len(block)
            if done - begun > MOST_LINE:
                what = f"is longer than {MOST_LINE >> 20} MiB: not a row of a table"
                raise DataError(f"{path}, line {_line(path, begun):,} {what}")
        if decoder.getstate()[0]:
            raise _not_text(path, done, "it ends within a character")
    return total.hexdigest()


def _line(path: Path, place: int) -> int:
    """In which line, from 1, a byte is."""
    line = 1
    with _opened(path) as file:
        while place > 0 and (block := file.read(min(BLOCK, place))):
            line += block.count(b"\n")
            place -= len(block)
    return line


def _not_text(path: Path, place: int, what: str) -> DataError:
    return DataError(
        f"cannot read {path}, line {_line(path, place):,}: {what}; save the table as CSV in UTF-8, or as Parquet"
    )


def _objects(lines: list[bytes], before: int, name: str) -> list[dict[str, Any]]:
    """Lines of JSON, parsed in one go; only where that fails is the line looked for."""
    lines[0] = lines[0].removeprefix(codecs.BOM_UTF8) if not before else lines[0]
    filled = [line for line in lines if not line.isspace()]
    try:
        found = json.loads(b"[" + b",".join(filled) + b"]")
        if len(found) == len(filled) and all(type(row) is dict for row in found):
            return found
    except (ValueError, RecursionError):
        pass
    for number, line in enumerate(lines, start=before + 1):
        try:
            fits = line.isspace() or isinstance(json.loads(line), dict)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{name}, line {number:,}: not JSON ({one_line_text(error, 80)})") from None
        if not fits:
            break
    raise DataError(f'{name}, line {number:,}: not an object; each line is one, such as {{"id": 1, "label": "a"}}')
