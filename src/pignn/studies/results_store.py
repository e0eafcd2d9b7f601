"""What was found: one row a finished run, in SQLite, where neither a crash nor a second sweep can spoil it."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

from ..core.errors import DataError, OutputError

FORMAT = 1
APPLICATION = 0x50494E4E  # "PINN", in the header of the file
NUMBERS = (
    "accuracy",
    "balanced_accuracy",
    "macro_f1",
    "average_precision",
    "best_epoch",
    "realized_noise",
    "pair_noise",
    "seconds",
    "peak_mb",
)
SCHEMA = f"""
CREATE TABLE runs (
    key TEXT PRIMARY KEY,
    status TEXT NOT NULL CHECK (status IN ('done', 'failed')),
    method TEXT NOT NULL,
    dataset TEXT NOT NULL,
    noise TEXT NOT NULL,
    rate REAL,
    seed INTEGER NOT NULL,
    {", ".join(f"{name} REAL" for name in NUMBERS)},
    died INTEGER NOT NULL DEFAULT 0,
    config TEXT NOT NULL,
    chosen TEXT,
    versions TEXT,
    notes TEXT,
    error TEXT,
    finished TEXT NOT NULL
);
CREATE TABLE fingerprints (key TEXT PRIMARY KEY, value TEXT NOT NULL);
"""
COLUMNS = (
    "key",
    "status",
    "method",
    "dataset",
    "noise",
    "rate",
    "seed",
    *NUMBERS,
    "died",
    "config",
    "chosen",
    "versions",
    "notes",
    "error",
    "finished",
)


class ResultsStore:
    """The file of results. Only whole rows are ever in it; a row that is done is never changed."""

    def __init__(self, path: str | Path, *, create: bool = True) -> None:
        self.path = Path(path)
        if self.path.exists():
            _check(self.path)
        elif not create:
            raise DataError(f"no results at {self.path}; run the study first")
        else:
            _make(self.path)
        self._db = sqlite3.connect(self.path, timeout=60, isolation_level=None)
        self._db.row_factory = sqlite3.Row
        self._db.execute("PRAGMA synchronous=FULL")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._db.close()

    # ---- runs ----

    def rows(self, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
        """The rows of these runs that are there, by key."""
        found: dict[str, dict[str, Any]] = {}
        wanted = list(keys)
        for at in range(0, len(wanted), 500):
            part = wanted[at : at + 500]
            marks = ",".join("?" * len(part))
            for row in self._db.execute(f"SELECT * FROM runs WHERE key IN ({marks})", part):
                found[row["key"]] = dict(row)
        return found

    def all(self, where: str = "1", values: tuple[Any, ...] = ()) -> list[dict[str, Any]]:
        """All rows, in the order of their keys; ``where`` is ours, never a user's text."""
        return [dict(row) for row in self._db.execute(f"SELECT * FROM runs WHERE {where} ORDER BY key", values)]

    def __len__(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM runs").fetchone()[0])

    def put(self, key: str, job: Mapping[str, Any], result: Mapping[str, Any]) -> None:
        """Write one finished run. A row that is done stays as it is; one that failed gives way to a new attempt."""
        self.put_all([(key, job, result)])

    def put_all(
        self, found: Iterable[tuple[str, Mapping[str, Any], Mapping[str, Any]]], *, replace: bool = False
    ) -> None:
        """Write several runs, all or none; ``replace`` those that are done, too."""
        rows = [_row(key, job, result) for key, job, result in found]
        changes = ", ".join(f"{name} = excluded.{name}" for name in COLUMNS if name != "key")
        guard = "" if replace else " WHERE runs.status = 'failed'"
        marks = ", ".join("?" * len(COLUMNS))
        insert = f"INSERT INTO runs ({', '.join(COLUMNS)}) VALUES ({marks})"
        conflict = f"ON CONFLICT (key) DO UPDATE SET {changes}{guard}"
        self._write(f"{insert} {conflict}", [tuple(row[name] for name in COLUMNS) for row in rows])

    # ---- fingerprints that take long to compute ----

    def fingerprints(self) -> dict[str, str]:
        return {row["key"]: row["value"] for row in self._db.execute("SELECT key, value FROM fingerprints")}

    def keep_fingerprints(self, found: Mapping[str, str]) -> None:
        self._write("INSERT OR REPLACE INTO fingerprints VALUES (?, ?)", list(found.items()))

    def _write(self, statement: str, rows: list[tuple[Any, ...]]) -> None:
        try:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany(statement, rows)
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise OutputError(f"cannot write {self.path}: {error}") from None


def _row(key: str, job: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
    error = result.get("error")
    return {
        "key": key,
        "status": "failed" if error else "done",
        **{name: job[name] for name in ("method", "dataset", "noise", "rate", "seed")},
        **{name: result.get(name) for name in NUMBERS},
        "died": int(bool(result.get("died"))),
        "config": json.dumps(job, sort_keys=True),
        "chosen": json.dumps(result.get("chosen") or {}),
        "versions": json.dumps(result.get("versions") or {}),
        "notes": json.dumps(result.get("notes") or []),
        "error": error,
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def _make(path: Path) -> None:
    """A new store, whole or not there at all: made under another name first."""
    import os
    import secrets

    from ..io import files

    files.create_writable_folder(path.parent)
    name = str(path.with_name(f".{path.name}.{secrets.token_hex(8)}"))
    try:
        db = sqlite3.connect(name, isolation_level=None)
        db.execute(f"PRAGMA application_id = {APPLICATION}")
        db.execute(f"PRAGMA user_version = {FORMAT}")
        db.executescript(SCHEMA)
        db.execute("PRAGMA journal_mode=WAL")
        db.close()
        try:
            os.link(name, path)  # unlike a rename, this never replaces a store that somebody made meanwhile
        except FileExistsError:
            _check(path)
    except sqlite3.Error as error:
        raise OutputError(f"cannot write {path}: {error}") from None
    finally:
        for suffix in ("", "-wal", "-shm"):
            Path(name + suffix).unlink(missing_ok=True)


def _check(path: Path) -> None:
    """Refuse, without touching it, a file that is not a store, is damaged, or was written by a newer version."""
    try:
        header = path.read_bytes()[:100] if path.stat().st_size < 100 else path.open("rb").read(100)
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from None
    if len(header) < 100 or not header.startswith(b"SQLite format 3\0"):
        raise DataError(f"{path} is not a store of results, or is damaged; move it away or choose another folder")
    if int.from_bytes(header[68:72], "big") != APPLICATION:
        raise DataError(f"{path} is a database of some other program; choose another folder")
    version = int.from_bytes(header[60:64], "big")
    if version != FORMAT:
        raise DataError(f"{path} has format {version}, this pignn reads {FORMAT}; use the version that wrote it")
    try:
        db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=60)
        try:
            found = db.execute("PRAGMA quick_check(1)").fetchone()[0]
            db.execute("SELECT count(*) FROM runs, (SELECT count(*) FROM fingerprints)").fetchone()
        finally:
            db.close()
    except sqlite3.DatabaseError as error:
        found = str(error)
    if found != "ok":
        raise DataError(f"{path} is damaged ({found}); restore a copy, or move it away to begin again")
