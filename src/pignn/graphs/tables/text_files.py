"""Text files before DuckDB reads them: layout, encoding, and a plain copy of those that DuckDB refuses."""

from __future__ import annotations

import codecs
import contextlib
import csv
import gzip
import hashlib
import io
import itertools
import json
import re
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

from ...core.errors import ConfigError, DataError, PignnError, warn_user
from ...core.text import format_count, format_error_in_one_line
from .cells import is_number_text
from .formats import get_format_suffix

BLOCK_BYTES = 1 << 20
SAMPLE_LINES = 20  # that tell the delimiter
MAX_LINE_BYTES = 1 << 24  # what is longer is no row of a table, and would be held in memory whole
DELIMITER_NAMES = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars", " ": "spaces"}
_END = "\x1eend-of-file\x1e"  # a row of its own, unless a quote before it is never closed


@contextlib.contextmanager
def read_errors_context(path: Path, title: str = "") -> Iterator[None]:
    """Turn what libraries say about a file that cannot be read into one line. ``title`` is its name for people."""
    import duckdb

    try:
        with read_errors_context(path) if title not in ("", str(path)) else contextlib.nullcontext():
            yield
    except PignnError as error:
        if title in ("", str(path)):
            raise
        raise type(error)(str(error).replace(str(path), title)) from None
    except duckdb.Error as error:
        raise DataError(f"cannot read {path}: {str(error).strip().splitlines()[0]}") from None
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or format_error_in_one_line(error)}") from None
    except UnicodeDecodeError:
        raise DataError(f"cannot read {path}: not text in UTF-8") from None
    except Exception as error:
        if not isinstance(error, ValueError | EOFError | zlib.error | OverflowError | csv.Error) and (
            type(error).__name__ != "ZstdError"
        ):
            raise
        raise DataError(f"cannot read {path}: {format_error_in_one_line(error)}") from None


def open_decompressed(path: Path) -> IO[bytes]:
    """Open a file, decompressed if its suffix says that it is compressed."""
    suffix = path.suffix.lower()
    if suffix == ".gz":
        return gzip.open(path)  # type: ignore[return-value]
    if suffix == ".zst":
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd

        return zstd.open(path)  # type: ignore[return-value]
    return open(path, "rb")


def parse_delimiter(name_or_character: str | None) -> str | None:
    """A delimiter from its character or its name."""
    named = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";"}
    delimiter = None if name_or_character is None else named.get(name_or_character, name_or_character)
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '\r\n"#'):
        raise ConfigError(
            f"a delimiter is one character, tab or space, not '{name_or_character}'; give one such as ';'"
        )
    return delimiter


@dataclass
class TextLayout:
    """How a text file is laid out.

    ``skip_lines`` are before the first row of values: blank lines, comments (# or %) and the header.
    """

    delimiter: str
    has_header: bool
    columns: list[str]
    skip_lines: int
    num_rows: int  # estimated from the size of the file
    is_guess: bool  # whether the delimiter is another than the suffix says

    def treat_header_as_row_in_place(self) -> None:
        """Take the header for a row of values after all."""
        self.has_header, self.skip_lines = False, self.skip_lines - 1
        self.columns = [str(i) for i in range(len(self.columns))]

    def describe_layout(self) -> str:
        mark = DELIMITER_NAMES.get(self.delimiter, repr(self.delimiter))
        return f"columns separated by {mark}, {'with' if self.has_header else 'without'} a header"


def detect_layout(path: Path, delimiter: str | None, kind: Literal["nodes", "edges"]) -> TextLayout:
    """Detect delimiter and header from the first rows of a text file."""
    expected_delimiter = {".csv": ",", ".tsv": "\t", ".tab": "\t"}.get(get_format_suffix(path))
    with read_errors_context(path), open_decompressed(path) as file:
        skip_lines, rows, declared = _read_skip_count_first_rows_and_delimiter(file)
        if not rows:
            raise DataError(f"{path} is empty")
        mark = delimiter or declared or _detect_delimiter(rows, expected_delimiter)
        cells = _split_rows_into_cells(rows[:1], mark)[0]
    # Edges may be numbers only, and a slip in the first one must not make it a header. A feature of nodes may have
    # a number for its name.
    has_header = not (all if kind == "nodes" else any)(map(is_number_text, cells))
    for cell in cells if has_header else ():
        if cells.count(cell) > 1:
            raise DataError(f"{path} has two columns named '{cell}'; rename one")
    size = path.stat().st_size * (1 if path.suffix.lower() == get_format_suffix(path) else 4)  # about, where compressed
    num_rows = size // max(len(rows[min(len(rows) - 1, 1)]) + 1, 2) if len(rows) > 1 or not has_header else 0
    columns = cells if has_header else [str(i) for i in range(len(cells))]
    is_guess = delimiter is None and mark not in (expected_delimiter, declared) and len(columns) > 1
    return TextLayout(mark, has_header, columns, skip_lines + has_header, num_rows, is_guess)


def _detect_delimiter(rows: list[str], expected_delimiter: str | None) -> str:
    """The mark that splits all rows into equally many cells, else one that is in the first row.

    Commas that do so may be decimal commas between semicolons; semicolons are in every row of no other file.
    """
    widths = {mark: {len(row) for row in _split_rows_into_cells(rows, mark)} for mark in ("\t", ";", "|", ",")}
    fitting = [mark for mark, lengths in widths.items() if len(lengths) == 1 and max(lengths) > 1]
    if fitting and (expected_delimiter not in fitting or (expected_delimiter == "," and ";" in fitting)):
        return ";" if expected_delimiter == "," and ";" in fitting else fitting[0]
    return next(
        (mark for mark in (expected_delimiter, *DELIMITER_NAMES) if mark and mark in rows[0].strip()),
        expected_delimiter or ",",
    )


def _split_rows_into_cells(rows: list[str], mark: str) -> list[list[str]]:
    """The cells of the first rows. A quote may go on in the next line, so the last row may be cut and is left out."""
    if mark == " ":
        return [row.split() for row in rows]
    with _long_csv_fields_context():
        split = [[cell.strip() for cell in row] for row in csv.reader(rows, delimiter=mark) if row]
    return split if len(rows) < SAMPLE_LINES or len(split) < 2 else split[:-1]


def _read_skip_count_first_rows_and_delimiter(file: IO[bytes]) -> tuple[int, list[str], str | None]:
    """How many lines are before the first row, the first rows, and the delimiter if a line ``sep=;`` says it."""
    skip_lines, rows, declared = 0, list[str](), None
    while len(rows) < SAMPLE_LINES and (line := file.readline(MAX_LINE_BYTES)):
        text = line.decode("utf-8-sig" if not skip_lines and not rows else "utf-8").strip("\r\n")
        if not rows and len(text) == 5 and text.startswith("sep="):
            declared, text = text[4], ""
        if text.strip() and (rows or not text.startswith(("#", "%"))):
            rows.append(text)
        elif not rows:
            skip_lines += 1
    return skip_lines, rows, declared


def warn_if_layout_is_guess(title: str, layout: TextLayout) -> None:
    if layout.is_guess:
        warn_user(f"{title}: read as {layout.describe_layout()}")


class TextCheck(NamedTuple):
    """What reading a text file through has found."""

    sha256: str
    encoding: str  # utf-8, utf-16 or cp1252


def check_text_and_get_digest_and_encoding(path: Path) -> TextCheck:
    """Check a text file block by block: its encoding, no NUL bytes, lines of bounded length.

    What is not UTF-8 is taken for Windows-1252, the superset of Latin-1, unless parts of it are UTF-8.
    """
    decoder, digest = codecs.getincrementaldecoder("utf-8")(), hashlib.sha256()
    done = line_start = 0  # bytes before the block, and before the line that it begins in
    encoding, is_ascii = "utf-8", True
    with read_errors_context(path), open_decompressed(path) as file:
        while block := file.read(BLOCK_BYTES):
            digest.update(block)
            if not done and block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                encoding = "utf-16"
            if encoding != "utf-16" and (offset := block.find(b"\0")) >= 0:
                raise _build_not_text_error(path, done + offset, "a NUL byte")
            pending = decoder.getstate()[0]
            if encoding == "utf-8" and (pending or not block.isascii()):
                try:
                    decoder.decode(block)
                    is_ascii = False
                except UnicodeDecodeError as error:
                    offset = done + error.start - len(pending)
                    reason = f"the byte 0x{error.object[error.start]:02x} is not UTF-8"
                    is_mixed = not is_ascii or _UTF8_OR_UNDEFINED.search(block) is not None
                    if is_mixed:
                        raise _build_not_text_error(path, offset, reason) from None
                    encoding = "cp1252"
                    decoder.reset()
            elif encoding == "cp1252" and (match := _UTF8_OR_UNDEFINED.search(block)):
                raise _build_not_text_error(path, done + match.start(), "not all of it is in one encoding")
            line_start = done + block.rfind(b"\n") + 1 if b"\n" in block else line_start
            done += len(block)
            if done - line_start > MAX_LINE_BYTES:
                line = _find_line_number(path, line_start)
                raise DataError(
                    f"{path}, line {line:,} is longer than {MAX_LINE_BYTES >> 20} MiB: not a row of a table"
                )
        if decoder.getstate()[0]:
            raise _build_not_text_error(path, done, "it ends within a character")
    return TextCheck(digest.hexdigest(), encoding)


# Characters of several bytes in UTF-8, and bytes that Windows-1252 does not have.
_UTF8_OR_UNDEFINED = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\x81\x8d\x8f\x90\x9d]")


def _find_line_number(path: Path, offset: int) -> int:
    """The line, from 1, in which a byte is."""
    line = 1
    with open_decompressed(path) as file:
        while offset > 0 and (block := file.read(min(BLOCK_BYTES, offset))):
            line += block.count(b"\n")
            offset -= len(block)
    return line


def _build_not_text_error(path: Path, offset: int, reason: str) -> DataError:
    line = _find_line_number(path, offset)
    return DataError(f"cannot read {path}, line {line:,}: {reason}; save the table as CSV in UTF-8, or as Parquet")


def write_plain_csv(path: Path, layout: TextLayout, out_path: Path) -> None:
    """Copy the rows of a text file into a CSV that DuckDB reads; a row of another length is an error with its number.

    DuckDB refuses rows of blanks, line ends of several kinds and text behind a closing quote, and does not take
    several blanks for one delimiter.
    """
    with (
        open_decompressed(path) as raw,
        io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as file,
        open(out_path, "w", encoding="utf-8", newline="") as copy,
        _long_csv_fields_context(),
    ):
        lines: Iterator[str] = itertools.chain(itertools.islice(file, layout.skip_lines, None), ["\n", _END])
        if layout.delimiter == " ":
            lines = (" ".join(line.split()) + "\n" if line is not _END else _END for line in lines)
        rows = csv.reader(lines, delimiter=layout.delimiter, skipinitialspace=True)
        writer = csv.writer(copy, lineterminator="\n")
        filled = (row for row in rows if len(row) > 1 or (row and row[0].strip()))
        for number, row in enumerate(filled, start=2 if layout.has_header else 1):
            if row == [_END]:
                return
            if row[-1].endswith(_END):
                raise DataError(f"cannot read {path}: a quote is opened and never closed")
            if len(row) != len(layout.columns):
                where = "header" if layout.has_header else "first row"
                raise DataError(
                    f"{path}, row {number:,}: {format_count(len(row), 'column')}, but {len(layout.columns)} in the "
                    f"{where}; every row needs the same columns"
                )
            writer.writerow(row)


@contextlib.contextmanager
def _long_csv_fields_context() -> Iterator[None]:
    """Let the csv module read fields as long as a line may be. Its own limit is 128 KiB."""
    before = csv.field_size_limit(MAX_LINE_BYTES)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def write_plain_json_lines(path: Path, out_path: Path) -> None:
    """Copy JSON lines without blank lines, byte order mark and repeated keys; a line that is no object is an error."""
    with open_decompressed(path) as file, open(out_path, "w", encoding="utf-8") as copy:
        for number, line in enumerate(file, start=1):
            line = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
            if line.isspace() or not line:
                continue
            copy.write(json.dumps(_parse_json_object(line, f"{path}, line {number:,}")) + "\n")


def _parse_json_object(line: bytes, title: str) -> dict[str, Any]:
    try:
        content = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{title}: not JSON ({format_error_in_one_line(error, 80)})") from None
    if not isinstance(content, dict):
        raise DataError(f'{title}: not an object; each line is one, such as {{"id": 1, "label": "a"}}')
    return content
