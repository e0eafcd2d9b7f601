"""Results of studies in SQLite: a row per finished run and a row per number, which neither a crash nor a second sweep
can spoil."""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import msgspec

from ..core.errors import DataError, OutputError
from ..io import files
from .run_spec import RunRecord, RunResult, RunSpec

RESULTS_FILE = "runs.sqlite"
FORMAT_VERSION = 2
APPLICATION_ID = 0x50494E4E  # "PINN", in the header of the file
SCHEMA = """
CREATE TABLE runs (
    key TEXT PRIMARY KEY,
    status TEXT NOT NULL CHECK (status IN ('done', 'failed')),
    spec TEXT NOT NULL,
    result TEXT NOT NULL,
    finished TEXT NOT NULL,
    method TEXT AS (json_extract(spec, '$.method')),
    dataset TEXT AS (json_extract(spec, '$.graph.dataset')),
    noise TEXT AS (json_extract(spec, '$.graph.noise')),
    rate REAL AS (json_extract(spec, '$.graph.rate')),
    seed INTEGER AS (json_extract(spec, '$.graph.seed'))
);
CREATE TABLE metrics (
    run TEXT NOT NULL REFERENCES runs (key) ON DELETE CASCADE,
    name TEXT NOT NULL,
    value REAL,
    PRIMARY KEY (run, name)
) WITHOUT ROWID;
CREATE TABLE digests (key TEXT PRIMARY KEY, value TEXT NOT NULL);
"""


def open_results(folder: str | Path, *, create: bool = True) -> ResultsStore:
    """Open the results store in a folder of studies."""
    return ResultsStore(Path(folder) / RESULTS_FILE, create=create)


class ResultsStore:
    """The file of results. Only whole runs are ever in it, and the numbers of a run that is done never change."""

    def __init__(self, path: str | Path, *, create: bool = True) -> None:
        self.path = Path(path)
        if self.path.exists():
            _check_store_is_intact(self.path)
        elif not create:
            raise DataError(f"no results at {self.path}; run the study first")
        else:
            _create_store_unless_there(self.path)
        self._db = sqlite3.connect(self.path, timeout=60, isolation_level=None)
        self._db.row_factory = sqlite3.Row
        self._db.execute("PRAGMA synchronous=FULL")
        self._db.execute("PRAGMA foreign_keys=ON")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._db.close()

    def __len__(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM runs").fetchone()[0])

    def get_records(self, keys: Iterable[str]) -> dict[str, RunRecord]:
        """The records of these runs, by key, as far as they are there."""
        return self._read_records("key IN (SELECT value FROM json_each(?))", [msgspec.json.encode(list(keys)).decode()])

    def list_records_of_method(self, method: str) -> list[RunRecord]:
        """The records of all runs of a method, in the order of their keys."""
        return list(self._read_records("method = ?", [method]).values())

    def list_all_records(self) -> list[RunRecord]:
        """All records, in the order of their keys."""
        return list(self._read_records("1", []).values())

    def _read_records(self, condition: str, values: list[Any]) -> dict[str, RunRecord]:
        """``condition`` is ours, never a user's text."""
        records = {}
        for row in self._db.execute(f"SELECT * FROM runs WHERE {condition} ORDER BY key", values):
            spec = msgspec.json.decode(row["spec"], type=RunSpec)
            result = msgspec.json.decode(row["result"])
            records[row["key"]] = RunRecord(**result, spec=spec, finished=row["finished"])
        query = f"SELECT run, name, value FROM metrics WHERE run IN (SELECT key FROM runs WHERE {condition})"
        for run, name, value in self._db.execute(query, values):
            records[run].metrics[name] = value
        return records

    def save_run(self, key: str, spec: RunSpec, result: RunResult) -> None:
        """Write one finished run, see :meth:`save_runs`."""
        self.save_runs([(key, spec, result)])

    def save_runs(self, runs: Iterable[tuple[str, RunSpec, RunResult]], *, replace: bool = False) -> None:
        """Write several runs, all or none.

        A run that is done keeps its numbers and gets those it lacks. One that failed gives way to a new attempt.
        ``replace`` overwrites what is done, too.
        """
        rows, numbers = [], []
        finished = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        for key, spec, result in runs:
            status = "done" if result.error is None else "failed"
            without_numbers = msgspec.structs.replace(result, metrics={})
            texts = [msgspec.json.encode(part).decode() for part in (spec, without_numbers)]
            rows.append((key, status, *texts, finished))
            numbers += [(key, name, value) for name, value in result.metrics.items()]
        guard = "" if replace else " WHERE runs.status = 'failed'"
        columns = ("status", "spec", "result", "finished")
        changes = ", ".join(f"{name} = excluded.{name}" for name in columns)
        statement = f"INSERT INTO runs (key, {', '.join(columns)}) VALUES (?, ?, ?, ?, ?) "
        statement += f"ON CONFLICT (key) DO UPDATE SET {changes}{guard}"
        with self._transaction_context():
            if replace:
                self._db.executemany("DELETE FROM metrics WHERE run = ?", [row[:1] for row in rows])
            self._db.executemany(statement, rows)
            self._db.executemany("INSERT OR IGNORE INTO metrics VALUES (?, ?, ?)", numbers)

    def read_cached_digests(self) -> dict[str, str]:
        """Digests that take long to compute."""
        return {row["key"]: row["value"] for row in self._db.execute("SELECT key, value FROM digests")}

    def save_digests(self, digests: Mapping[str, str]) -> None:
        with self._transaction_context():
            self._db.executemany("INSERT OR REPLACE INTO digests VALUES (?, ?)", digests.items())

    @contextlib.contextmanager
    def _transaction_context(self) -> Iterator[None]:
        """What is written inside is written whole or not at all."""
        try:
            with self._db:
                self._db.execute("BEGIN IMMEDIATE")
                yield
        except sqlite3.Error as error:
            raise OutputError(f"cannot write {self.path}: {error}") from None


def _create_store_unless_there(path: Path) -> None:
    """Make a new store, whole or not at all: under another name first."""
    files.create_folder_and_prove_writable(path.parent)
    name = str(path.with_name(f".{path.name}.{secrets.token_hex(8)}"))
    try:
        db = sqlite3.connect(name, isolation_level=None)
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
        db.executescript(SCHEMA)
        db.execute("PRAGMA journal_mode=WAL")
        db.close()
        try:
            os.link(name, path)  # unlike a rename, this never replaces a store that somebody made meanwhile
        except FileExistsError:
            _check_store_is_intact(path)
    except sqlite3.Error as error:
        raise OutputError(f"cannot write {path}: {error}") from None
    finally:
        for suffix in ("", "-wal", "-shm"):
            Path(name + suffix).unlink(missing_ok=True)


def _check_store_is_intact(path: Path) -> None:
    """Refuse, without touching it, a file that is no results store, is damaged, or is of another version."""
    try:
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=60)) as db:
            if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
                raise DataError(f"{path} is not a results store but of some other program; choose another folder")
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version != FORMAT_VERSION:
                raise DataError(
                    f"{path} has format {version}, this pignn reads {FORMAT_VERSION}; use the version that wrote it"
                )
            verdict = db.execute("PRAGMA quick_check(1)").fetchone()[0]
            db.execute("SELECT count(*) FROM runs, (SELECT count(*) FROM metrics), (SELECT count(*) FROM digests)")
    except sqlite3.DatabaseError as error:
        verdict = str(error)
    if verdict != "ok":
        raise DataError(
            f"{path} is not a results store, or is damaged ({verdict}); restore a copy, or move it away to begin again"
        )
