"""Replace labels in node tables: in text and JSON lines byte for byte, in Parquet by writing the table anew."""

from __future__ import annotations

import codecs
import contextlib
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from ..core.errors import DataError

# From a node and the current label of its row to the new label; None keeps the current one.
LabelChooser: TypeAlias = Callable[[str, str | None], str | None]


def build_text_table_bytes_with_new_labels(
    path: Path, choose_label: LabelChooser, label_column: str, id_column: str | None
) -> bytes:
    """CSV and the like: only changed cells differ. Without ids, rows are numbered from 0."""
    original = path.read_bytes()
    encoding = _find_encoding(original)
    content = original if encoding == "utf-8" else original.decode(encoding).encode()
    records = _iter_record_spans(content)
    try:
        start, end = next(records)
    except StopIteration:
        raise DataError(f"{path} is empty; it should have a header and one node per row") from None
    delimiter = _guess_delimiter(content[start:end], path)
    names = [_decode_and_unquote_cell(content[a:b]) for a, b in _iter_cell_spans(content, start, end, delimiter)]
    names[0] = names[0].removeprefix("\ufeff")
    columns = {}
    for name in (label_column, id_column or label_column):
        if names.count(name) != 1:
            raise _build_missing_or_repeated_column_error(path, name, names)
        columns[name] = names.index(name)
    parts, kept, row = [], 0, -1
    for start, end in records:
        cells = list(_iter_cell_spans(content, start, end, delimiter))
        if not content[start:end].strip() or (id_column is not None and len(cells) <= columns[id_column]):
            continue  # an empty line
        row += 1
        node = str(row) if id_column is None else _decode_and_unquote_cell(content[slice(*cells[columns[id_column]])])
        if len(cells) <= columns[label_column]:
            if choose_label(node, None) is not None:
                raise DataError(f"{path}: the row of node '{node[:40]}' has no cell for '{label_column}'")
            continue
        a, b = cells[columns[label_column]]
        new = choose_label(node, _decode_and_unquote_cell(content[a:b]))
        if new is not None:
            parts += [content[kept:a], _encode_cell(new, content[a:b], delimiter)]
            kept = b
    rewritten = b"".join([*parts, content[kept:]])
    try:
        return rewritten if encoding == "utf-8" else rewritten.decode().encode(encoding)
    except UnicodeEncodeError as error:
        letter = error.object[error.start]
        raise DataError(
            f"{path} is in {encoding}, which has no '{letter}' for a decided label; save it as UTF-8"
        ) from None


def _find_encoding(content: bytes) -> str:
    """As tables are read: UTF-8, UTF-16 with a byte order mark, else Windows-1252."""
    for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if content.startswith(mark):
            return encoding
    if content.startswith(codecs.BOM_UTF8):
        return "utf-8"
    for encoding in ("utf-8", "cp1252"):
        with contextlib.suppress(UnicodeDecodeError):
            content.decode(encoding)
            return encoding
    return "utf-8"  # its odd bytes are kept


def build_json_lines_bytes_with_new_labels(
    path: Path, choose_label: LabelChooser, label_column: str, id_column: str | None
) -> bytes:
    """One object per line: only the value of the label is replaced."""
    lines = io.BytesIO(path.read_bytes()).readlines()
    has_ids, row = False, -1
    for number, line in enumerate(lines):
        try:
            text = line.decode("utf-8-sig" if number == 0 else "utf-8")
            values = _find_spans_and_values_of_json_members(text) if text.strip() else None
        except (ValueError, RecursionError):
            raise DataError(f"{path}, line {number + 1:,}: not one JSON object in UTF-8") from None
        if values is None or (id_column is not None and id_column not in values):
            continue
        has_ids, row = True, row + 1
        a, b, before = values.get(label_column, (0, 0, None))
        new = choose_label(
            str(row) if id_column is None else _format_value_as_class_name(values[id_column][2]),
            None if before is None else _format_value_as_class_name(before),
        )
        if new is None:
            continue
        if not b:
            raise DataError(
                f"{path}, line {number + 1:,}: the node has no '{label_column}' to correct; give it one, null if empty"
            )
        is_number = not isinstance(before, str) and new.removeprefix("-").isdecimal() and new.isascii()
        value = new if is_number else json.dumps(new, ensure_ascii=False)
        lines[number] = line[: len(line) - len(text.encode())] + f"{text[:a]}{value}{text[b:]}".encode()
    if not has_ids:
        raise DataError(f"{path} has no line with '{id_column}', the ids; give their name with --id")
    return b"".join(lines)


def _find_spans_and_values_of_json_members(text: str) -> dict[str, tuple[int, int, Any]]:
    """Start, end and value of each member of a JSON object; the last one of a repeated name."""
    decoder = json.JSONDecoder()
    whole = decoder.decode(text)  # raises where it is no JSON
    if not isinstance(whole, dict):
        raise ValueError("not an object")
    members: dict[str, tuple[int, int, Any]] = {}
    position = _find_position_of_next_non_blank(text, text.index("{") + 1)
    while text[position] != "}":
        name, position = decoder.raw_decode(text, position)
        start = _find_position_of_next_non_blank(
            text, _find_position_of_next_non_blank(text, position) + 1
        )  # the colon is between
        value, end = decoder.raw_decode(text, start)
        members[name] = (start, end, value)
        position = _find_position_of_next_non_blank(text, end)
        position = _find_position_of_next_non_blank(text, position + 1) if text[position] == "," else position
    return members


def _find_position_of_next_non_blank(text: str, position: int) -> int:
    """The next position that is not blank."""
    while text[position] in " \t\r\n":
        position += 1
    return position


def build_parquet_bytes_with_new_labels(
    path: Path, choose_label: LabelChooser, label_column: str, id_column: str | None
) -> bytes:
    """Parquet: the same columns, types and rows."""
    try:
        import pyarrow as pa  # type: ignore[import-untyped]
        import pyarrow.parquet as pq  # type: ignore[import-untyped]
    except ImportError:
        raise DataError(f"{path}: Parquet needs pyarrow; run: pip install pyarrow") from None
    try:
        table = pq.read_table(path)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise DataError(f"cannot read {path}: {str(error).splitlines()[0][:200]}") from None
    for name in (label_column, id_column or label_column):
        if table.column_names.count(name) != 1:
            raise _build_missing_or_repeated_column_error(path, name, table.column_names)
    position = table.column_names.index(label_column)
    values = table.column(position).to_pylist()
    kind = table.schema.field(position).type
    for row, node in enumerate(range(len(table)) if id_column is None else table.column(id_column).to_pylist()):
        before = values[row]
        new = choose_label(
            _format_value_as_class_name(node), None if before is None else _format_value_as_class_name(before)
        )
        if new is not None:
            values[row] = int(new) if pa.types.is_integer(kind) and new.removeprefix("-").isdecimal() else new
            values[row] = float(new) if pa.types.is_floating(kind) and _is_number(new) else values[row]
    try:
        column = pa.array(values, type=kind)
    except (pa.ArrowException, TypeError):
        raise DataError(
            f"{path}: column '{label_column}' holds {kind}, which a decided label is not; convert the column first"
        ) from None
    sink = pa.BufferOutputStream()
    pq.write_table(table.set_column(position, table.schema.field(position), column), sink)
    return sink.getvalue().to_pybytes()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _format_value_as_class_name(value: Any) -> str:
    """A value as the importer names it: 3 and 3.0 are "3"."""
    text = str(value).strip()
    return text.removesuffix(".0") if isinstance(value, float) else text


def _build_missing_or_repeated_column_error(path: Path, name: str, names: list[str]) -> DataError:
    problem = "has no column" if name not in names else "has several columns"
    return DataError(
        f"{path} {problem} '{name}'; its columns are {', '.join(names[:12])}: name one with --id or --label"
    )


def _iter_record_spans(content: bytes) -> Iterator[tuple[int, int]]:
    """Start and end of every record without its line end. A line end within quotes does not end a record."""
    start = 0
    while start < len(content):
        end = content.find(b"\n", start)
        end = len(content) if end < 0 else end
        while content.count(b'"', start, end) % 2 and end < len(content):
            after = content.find(b"\n", end + 1)
            end = len(content) if after < 0 else after
        stop = end - 1 if end > start and content[end - 1 : end] == b"\r" else end
        yield start, stop
        start = end + 1


def _iter_cell_spans(content: bytes, start: int, end: int, delimiter: bytes) -> Iterator[tuple[int, int]]:
    """Start and end of every cell of a record, quotes included."""
    position = start
    while True:
        if content[position : position + 1] == b'"':
            close = content.find(b'"', position + 1, end)
            while close >= 0 and content[close + 1 : close + 2] == b'"' and close + 1 < end:
                close = content.find(b'"', close + 2, end)
            stop = content.find(delimiter, end if close < 0 else close + 1, end)
        else:
            stop = content.find(delimiter, position, end)
        yield position, end if stop < 0 else stop
        if stop < 0:
            return
        position = stop + 1


def _decode_and_unquote_cell(cell: bytes) -> str:
    text = cell.decode("utf-8", "surrogateescape").strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1].replace('""', '"')
    return text


def _encode_cell(text: str, old_cell: bytes, delimiter: bytes) -> bytes:
    """The bytes of a cell with this text; quoted if it must be, or if it was."""
    cell = text.encode("utf-8", "surrogateescape")
    if old_cell.startswith(b'"') or any(mark in cell for mark in (delimiter, b'"', b"\n", b"\r")):
        return b'"' + cell.replace(b'"', b'""') + b'"'
    return cell


def _guess_delimiter(header: bytes, path: Path) -> bytes:
    if path.suffix.lower() in (".tsv", ".tab"):
        return b"\t"
    return max((b",", b"\t", b";", b"|"), key=header.count)
