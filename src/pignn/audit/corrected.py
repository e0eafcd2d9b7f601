"""A label file with the decided labels put in and every other byte as it was."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from ..errors import ConfigError, DataError, OutputError, unknown
from ..training import files

NO_CLASS = ("", "-1")  # cells of nodes without a label


def corrected(path: Path, out: Path, labels: Mapping[str, str], *, label: str, id: str, new_class: bool = True) -> int:
    """Write a copy of a CSV or TSV in which the nodes of `labels` have these; gives how many cells changed.

    The original is never written to. A label that stays what it was keeps its bytes. Without `new_class` a label that
    no row of the original has is an error: it is more likely misspelt than meant.
    """
    if out.exists() and out.resolve() == path.resolve():
        raise OutputError(f"{out} is the original, which stays as it is; choose another --out")
    if path.suffix.lower() not in (".csv", ".tsv", ".txt"):
        raise DataError(f"{path}: labels are corrected in CSV and TSV files; save it as one of them")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None
    records = _records(content)
    try:
        start, end = next(records)
    except StopIteration:
        raise DataError(f"{path} is empty; it should have a header and one node a row") from None
    delimiter = _delimiter(content[start:end], path)
    names = [_text(content[a:b]) for a, b in _cells(content, start, end, delimiter)]
    names[0] = names[0].removeprefix("\ufeff")
    columns = {}
    for name in (label, id):
        if names.count(name) != 1:
            many = "has no column" if name not in names else "has several columns"
            raise DataError(f"{path} {many} '{name}'; its columns are {', '.join(names[:12])}")
        columns[name] = names.index(name)
    parts, kept, changed, seen, classes = [], 0, 0, set(), set()
    for start, end in records:
        cells = list(_cells(content, start, end, delimiter))
        if len(cells) <= columns[id]:
            continue  # an empty line
        if len(cells) > columns[label]:
            classes.add(_text(content[slice(*cells[columns[label]])]).strip())
        node = _text(content[slice(*cells[columns[id]])])
        if node not in labels:
            continue
        if node in seen:
            raise DataError(f"{path}: node '{node[:40]}' is there twice; which row is meant?")
        seen.add(node)
        if len(cells) <= columns[label]:
            raise DataError(f"{path}: the row of node '{node[:40]}' has no cell for '{label}'")
        a, b = cells[columns[label]]
        if _text(content[a:b]) != labels[node]:
            parts += [content[kept:a], _cell(labels[node], content[a:b], delimiter)]
            kept, changed = b, changed + 1
    missing = [node for node in labels if node not in seen]
    if missing:
        raise DataError(
            f"{path} has no row for {len(missing)} of {len(labels)} decided nodes, first '{missing[0][:40]}'; "
            "is it the file that was audited, and --id its column of ids?"
        )
    if not new_class:
        _check_classes(labels, classes)
    files.write_bytes(out, b"".join([*parts, content[kept:]]))
    return changed


def _check_classes(labels: Mapping[str, str], found: set[str]) -> None:
    """Whether every decided label is a class of the original; 3.0 is read as 3 where classes are numbers."""
    known = {name for text in found for name in (text, text.removesuffix(".0"))}.difference(NO_CLASS)
    for node, name in labels.items():
        if name not in known:
            near = str(unknown("class", name[:40], found.difference(NO_CLASS)))[:300]
            raise ConfigError(f"{near} (node '{node[:40]}'; if a new class is meant, --new-class)")


def _records(content: bytes) -> Iterator[tuple[int, int]]:
    """Start and end of every record, without its line end; a line end within quotes does not end it."""
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


def _cells(content: bytes, start: int, end: int, delimiter: bytes) -> Iterator[tuple[int, int]]:
    """Start and end of every cell of a record, quotes included."""
    at = start
    while True:
        if content[at : at + 1] == b'"':
            close = content.find(b'"', at + 1, end)
            while close >= 0 and content[close + 1 : close + 2] == b'"' and close + 1 < end:
                close = content.find(b'"', close + 2, end)
            stop = content.find(delimiter, end if close < 0 else close + 1, end)
        else:
            stop = content.find(delimiter, at, end)
        yield at, end if stop < 0 else stop
        if stop < 0:
            return
        at = stop + 1


def _text(cell: bytes) -> str:
    text = cell.decode("utf-8", "surrogateescape").strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1].replace('""', '"')
    return text


def _cell(text: str, before: bytes, delimiter: bytes) -> bytes:
    """The new text of a cell; quoted where it must be, or where it was."""
    cell = text.encode("utf-8", "surrogateescape")
    if before.startswith(b'"') or any(mark in cell for mark in (delimiter, b'"', b"\n", b"\r")):
        return b'"' + cell.replace(b'"', b'""') + b'"'
    return cell


def _delimiter(header: bytes, path: Path) -> bytes:
    if path.suffix.lower() == ".tsv":
        return b"\t"
    return max((b",", b"\t", b";", b"|"), key=header.count)
