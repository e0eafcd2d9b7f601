"""A file of finished work, line by line, from which a killed run goes on."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ..core.errors import OutputError
from ..io.files import output_errors_context


class Journal:
    """Records in a JSON-lines file, or in memory without a path. The first line says what the work is.

    A last line that a kill cut off is dropped. A file of other work is refused.
    """

    def __init__(self, path: Path | None, work: dict[str, Any]) -> None:
        self.path = path
        self.records: list[dict[str, Any]] = []
        if path is None:
            return
        with output_errors_context(path):
            whole = path.read_bytes() if path.exists() else b""
            lines, end = whole.split(b"\n")[:-1], whole.rfind(b"\n") + 1
            if not lines:
                path.write_bytes(_encode_record(work))
                return
            if _decode_record_or_none(lines[0]) != work:
                raise OutputError(
                    f"{path} is of another graph, other labels or another way to hold them out; choose another folder, "
                    "or force=True replaces it"
                )
            os.truncate(path, end)
        self.records = [record for record in map(_decode_record_or_none, lines[1:]) if record is not None]

    def append(self, record: dict[str, Any]) -> None:
        """Add a record, which a kill from now on does not lose."""
        self.records.append(record)
        if self.path is not None:
            with output_errors_context(self.path), open(self.path, "ab") as file:
                file.write(_encode_record(record))
                file.flush()
                os.fsync(file.fileno())


def _encode_record(record: dict[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode() + b"\n"


def _decode_record_or_none(line: bytes) -> dict[str, Any] | None:
    """The record of a line; None for one that is damaged."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None
