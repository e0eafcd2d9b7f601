"""Temporary files in place of what cannot be read twice or by DuckDB: pipes, addresses, texts in other encodings."""

from __future__ import annotations

import codecs
import functools
import http.client
import os
import re
import shutil
import tempfile
import urllib.parse
import urllib.request
from pathlib import Path

from ...core.errors import DataError, warn_user
from ...core.text import format_error_in_one_line
from .text_files import BLOCK_BYTES, open_decompressed

TIMEOUT_SECONDS = 60
_SUFFIXES = {b"PAR1": ".parquet", b"\x1f\x8b": ".csv.gz", b"\x28\xb5\x2f\xfd": ".csv.zst", b"{": ".jsonl"}


def find_web_address_or_none(path: str | os.PathLike[str]) -> str | None:
    """``https://...`` or ``s3://...``, also where a path was made of it; None for a file."""
    match = re.match(r"(https?|s3):/+(.+)", str(path))
    return None if match is None else f"{match[1]}://{match[2]}"


def get_path_or_local_copy(path: str | os.PathLike[str]) -> Path:
    """The path itself; of a pipe or an address a file with its content."""
    address = find_web_address_or_none(path)
    if address is not None:
        return copy_address_to_file(address)
    return copy_pipe_to_file(str(path)) if is_pipe(Path(path)) else Path(path)


@functools.cache
def copy_address_to_file(address: str) -> Path:
    """Download a file, once per process. The name behind the last slash tells its format."""
    name = Path(urllib.parse.urlsplit(address).path).name or "table"
    copy = Path(tempfile.mkdtemp(dir=_get_temporary_folder().name)) / name
    if address.startswith("s3://"):
        _download_from_s3_by_duckdb(address, copy)
        return copy
    try:
        with urllib.request.urlopen(address, timeout=TIMEOUT_SECONDS) as answer, open(copy, "wb") as file:
            if answer.headers.get_content_type() == "text/html":
                raise OSError("it is a web page, not a table")
            shutil.copyfileobj(answer, file, BLOCK_BYTES)
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = format_error_in_one_line(error).removeprefix("OSError: ").removeprefix("URLError: ").strip("<>")
        raise DataError(f"cannot read {address}: {reason}; check the address, or download it first") from None
    return copy


def _download_from_s3_by_duckdb(address: str, copy: Path) -> None:
    """DuckDB's extension httpfs reads S3, if somebody has installed it. It finds the keys in the environment."""
    import duckdb

    connection = duckdb.connect(config={"autoinstall_known_extensions": "false"})
    try:
        connection.execute("LOAD httpfs")
        row = connection.execute("SELECT content FROM read_blob(?)", [address]).fetchone()
        copy.write_bytes(row[0] if row else b"")
    except duckdb.Error as error:
        advice = "DuckDB reads s3:// with its extension httpfs (INSTALL httpfs, once); or download the file first"
        raise DataError(f"cannot read {address}: {format_error_in_one_line(error)}; {advice}") from None
    finally:
        connection.close()


def is_pipe(path: Path) -> bool:
    """Whether it can be read only once: ``-`` for standard input, a named pipe, or ``<(command)`` of a shell."""
    return str(path) == "-" or path.is_fifo() or path.is_char_device()


@functools.cache
def copy_pipe_to_file(path: str) -> Path:
    """Read a pipe into a file, once per process. The first bytes tell the format."""
    copy = Path(_get_temporary_folder().name) / f"pipe-{abs(hash(path))}"
    with open(os.dup(0) if path == "-" else path, "rb") as pipe, open(copy, "wb") as file:
        head = pipe.read(BLOCK_BYTES)
        file.write(head)
        shutil.copyfileobj(pipe, file, BLOCK_BYTES)
    suffix = next((suffix for mark, suffix in _SUFFIXES.items() if head.lstrip().startswith(mark)), "")
    return copy.rename(copy.with_name(copy.name + suffix))


def copy_as_utf8_and_warn_of_guess(path: Path, encoding: str, title: str) -> Path:
    """Write a copy of a text in another encoding."""
    copy = Path(tempfile.mkdtemp(dir=_get_temporary_folder().name)) / path.name.removesuffix(".gz").removesuffix(".zst")
    with open_decompressed(path) as raw, open(copy, "w", encoding="utf-8", newline="") as file:
        for text in codecs.iterdecode(iter(functools.partial(raw.read, BLOCK_BYTES), b""), encoding):
            file.write(text)
    if encoding == "cp1252":  # which is a guess
        message = f"{title}: not UTF-8, so read as Windows-1252; if letters look wrong, save it as UTF-8"
        warn_user(message)
    return copy


@functools.cache
def _get_temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder that is removed when the program ends."""
    return tempfile.TemporaryDirectory(prefix="pignn-")
