"""decisions.sqlite: what every reviewer decided, with its whole history. An action is on disk before it is answered.

An action is one thing that a reviewer did: decisions on one or many nodes, the undoing of an earlier action, or its
redoing. Each carries a key of the page's own, so an action that is sent again, because its answer was lost, happens
once. Every change keeps what was there before, which makes undo and redo unlimited and the history complete.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from ..core.errors import DataError, OutputError

SCHEMA_VERSION = 1
VERDICTS = ("relabel", "keep", "unsure", "skip", "")  # "" where there is only a note
SCHEMA = """
CREATE TABLE IF NOT EXISTS actions (
  id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, reviewer TEXT NOT NULL, verb TEXT NOT NULL,
  target INTEGER, time TEXT NOT NULL, queue TEXT NOT NULL, is_undone INTEGER NOT NULL DEFAULT 0, redoable INTEGER
);
CREATE INDEX IF NOT EXISTS actions_of_reviewer ON actions (reviewer, id);
CREATE TABLE IF NOT EXISTS changes (
  action INTEGER NOT NULL REFERENCES actions (id), node INTEGER NOT NULL, settles INTEGER NOT NULL,
  before TEXT, after TEXT, PRIMARY KEY (action, node, settles)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS changes_of_node ON changes (node, action);
CREATE TABLE IF NOT EXISTS decisions (
  node INTEGER NOT NULL, reviewer TEXT NOT NULL, settles INTEGER NOT NULL, content TEXT NOT NULL,
  PRIMARY KEY (node, reviewer, settles)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS reviewers (name TEXT PRIMARY KEY, token_hash TEXT, position INTEGER) WITHOUT ROWID;
"""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What one reviewer decided on one node. `label` is the class of a `relabel`."""

    decision: str
    label: str = ""
    note: str = ""
    time: str = ""
    p_wrong: float | None = None  # what the page said when it was decided
    queue: str = ""


class Change(msgspec.Struct, frozen=True):
    """One node in one action: its verdict before and after, None for none."""

    node: int
    reviewer: str
    settles: bool  # a verdict on a disagreement, which counts instead of those of the reviewers
    before: Verdict | None
    after: Verdict | None


class Action(msgspec.Struct, frozen=True):
    """What a reviewer did, with all its changes. `target` is the action that an undo or redo is about."""

    id: int
    key: str
    reviewer: str
    verb: str
    time: str
    changes: list[Change]
    target: int | None = None


class DecisionStore:
    """The decisions of a project. Safe to use from several threads and processes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        try:
            self._connection = sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=False)
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=FULL")  # a commit survives a loss of power, too
            version = self._connection.execute("PRAGMA user_version").fetchone()[0]
            if version > SCHEMA_VERSION:
                raise DataError(f"{path} was written by a newer pignn; update this one")
            if version < SCHEMA_VERSION:
                self._connection.executescript(f"{SCHEMA} PRAGMA user_version={SCHEMA_VERSION};")
        except sqlite3.DatabaseError as error:
            raise DataError(f"{path} cannot be opened as decisions ({error}); restore it from a copy") from None

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    # ---- writing ----

    def decide(
        self,
        key: str,
        reviewer: str,
        verdicts: Sequence[tuple[int, Verdict | None]],
        *,
        verb: str = "decide",
        queue: str = "",
    ) -> Action:
        """Record verdicts on nodes as one action; None clears one. The last of a node in `verdicts` counts."""
        settles = verb == "settle"
        with self._transaction_with_earlier_action_context(key) as earlier:
            if earlier is not None:
                return earlier
            time = _format_current_utc_time()
            self._connection.execute("UPDATE actions SET redoable = NULL WHERE reviewer = ? AND redoable", (reviewer,))
            action = self._insert_action_and_get_id(key, reviewer, verb, None, time, queue)
            after = {node: verdict and msgspec.structs.replace(verdict, time=verdict.time or time)
                     for node, verdict in verdicts}  # fmt: skip
            changes = [
                Change(node, reviewer, settles, self._read_verdict_or_none(node, reviewer, settles), verdict)
                for node, verdict in after.items()
            ]
            self._insert_and_apply_changes(action, changes)
            return Action(action, key, reviewer, verb, time, changes)

    def undo(self, key: str, reviewer: str) -> Action | None:
        """Take back the last action of a reviewer that is not undone yet; None if there is none."""
        condition = "NOT is_undone ORDER BY id DESC"
        return self._undo_or_redo(key, reviewer, "undo", condition)

    def redo(self, key: str, reviewer: str) -> Action | None:
        """Do again what was undone last, unless something else was decided since; None if there is nothing."""
        return self._undo_or_redo(key, reviewer, "redo", "is_undone AND redoable ORDER BY id")

    def _undo_or_redo(self, key: str, reviewer: str, verb: str, condition: str) -> Action | None:
        with self._transaction_with_earlier_action_context(key) as earlier:
            if earlier is not None:
                return earlier
            row = self._connection.execute(
                f"SELECT id FROM actions WHERE reviewer = ? AND target IS NULL AND {condition} LIMIT 1", (reviewer,)
            ).fetchone()
            if row is None:
                return None
            time = _format_current_utc_time()
            action = self._insert_action_and_get_id(key, reviewer, verb, row[0], time, "")
            changes = []
            for change in self._read_changes_of_action(row[0], reviewer):
                wanted = change.before if verb == "undo" else change.after
                now = self._read_verdict_or_none(change.node, reviewer, change.settles)
                changes.append(Change(change.node, reviewer, change.settles, now, wanted))
            self._insert_and_apply_changes(action, changes)
            flag = verb == "undo"
            self._connection.execute(
                "UPDATE actions SET is_undone = ?, redoable = ? WHERE id = ?", (flag, flag, row[0])
            )
            return Action(action, key, reviewer, verb, time, changes, row[0])

    @contextlib.contextmanager
    def _transaction_with_earlier_action_context(self, key: str) -> Iterator[Action | None]:
        """One transaction. It yields the action of this key if there is one already."""
        with self._lock:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    yield self._read_action_or_none("key = ?", key)
                except BaseException:
                    self._connection.execute("ROLLBACK")
                    raise
                self._connection.execute("COMMIT")
            except sqlite3.OperationalError as error:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise OutputError(f"cannot write {self.path}: {error}; nothing was decided") from None

    def _insert_action_and_get_id(
        self, key: str, reviewer: str, verb: str, target: int | None, time: str, queue: str
    ) -> int:
        row = (key, reviewer, verb, target, time, queue)
        statement = "INSERT INTO actions (key, reviewer, verb, target, time, queue) VALUES (?, ?, ?, ?, ?, ?)"
        return int(self._connection.execute(statement, row).lastrowid or 0)

    def _insert_and_apply_changes(self, action: int, changes: Sequence[Change]) -> None:
        self._connection.executemany(
            "INSERT INTO changes VALUES (?, ?, ?, ?, ?)",
            [
                (action, c.node, c.settles, _encode_verdict_or_none(c.before), _encode_verdict_or_none(c.after))
                for c in changes
            ],
        )
        removed = [(c.node, c.reviewer, c.settles) for c in changes if c.after is None]
        self._connection.executemany("DELETE FROM decisions WHERE node = ? AND reviewer = ? AND settles = ?", removed)
        self._connection.executemany(
            "INSERT OR REPLACE INTO decisions VALUES (?, ?, ?, ?)",
            [(c.node, c.reviewer, c.settles, _encode_verdict_or_none(c.after)) for c in changes if c.after is not None],
        )

    # ---- reading ----

    def list_current_verdicts(self) -> list[tuple[int, str, bool, Verdict]]:
        """(node, reviewer, settles, verdict) of all that is decided now."""
        rows = self._fetch_rows(
            "SELECT node, reviewer, settles, content FROM decisions ORDER BY node, reviewer, settles"
        )
        return [(node, reviewer, bool(settles), _decode_verdict(text)) for node, reviewer, settles, text in rows]

    def count_undoable_and_redoable(self, reviewer: str) -> tuple[int, int]:
        """How many actions the reviewer can undo and redo."""
        sums = "COALESCE(SUM(NOT is_undone), 0), COALESCE(SUM(is_undone AND redoable), 0)"
        return self._fetch_rows(f"SELECT {sums} FROM actions WHERE reviewer = ? AND target IS NULL", reviewer)[0]

    def get_revision(self) -> int:
        """The number of the last action."""
        return int(self._fetch_rows("SELECT COALESCE(MAX(id), 0) FROM actions")[0][0])

    def list_actions_newest_first(
        self, *, node: int | None = None, before: int | None = None, limit: int = 100
    ) -> list[Action]:
        """The last actions, newest first: all, or those about one node; each with at most 100 of its changes."""
        conditions, values = ["id < ?"], [before or 2**62]
        if node is not None:
            conditions.append("id IN (SELECT action FROM changes WHERE node = ?)")
            values.append(node)
        rows = self._fetch_rows(
            f"SELECT id, key, reviewer, verb, time, target FROM actions WHERE {' AND '.join(conditions)} "
            "ORDER BY id DESC LIMIT ?", *values, limit,
        )  # fmt: skip
        return [
            Action(id, key, reviewer, verb, time, self._read_changes_of_action(id, reviewer, 100, node), target)
            for id, key, reviewer, verb, time, target in rows
        ]

    def find_action_or_none(self, key: str) -> Action | None:
        """The action of a key, if it happened."""
        with self._lock:
            return self._read_action_or_none("key = ?", key)

    def _read_action_or_none(self, condition: str, value: Any) -> Action | None:
        statement = f"SELECT id, key, reviewer, verb, time, target FROM actions WHERE {condition}"
        row = self._connection.execute(statement, (value,)).fetchone()
        if row is None:
            return None
        id, key, reviewer, verb, time, target = row
        return Action(id, key, reviewer, verb, time, self._read_changes_of_action(id, reviewer), target)

    def _read_changes_of_action(
        self, action: int, acting_reviewer: str, limit: int = -1, node: int | None = None
    ) -> list[Change]:
        condition, values = ("", ()) if node is None else (" AND node = ?", (node,))
        statement = f"SELECT node, settles, before, after FROM changes WHERE action = ?{condition} LIMIT ?"
        rows = self._fetch_rows(statement, action, *values, limit)
        return [
            Change(
                node,
                acting_reviewer,
                bool(settles),
                before and _decode_verdict(before),
                after and _decode_verdict(after),
            )
            for node, settles, before, after in rows
        ]

    def _read_verdict_or_none(self, node: int, reviewer: str, settles: bool) -> Verdict | None:
        condition = "node = ? AND reviewer = ? AND settles = ?"
        rows = self._fetch_rows(f"SELECT content FROM decisions WHERE {condition}", node, reviewer, settles)
        return _decode_verdict(rows[0][0]) if rows else None

    def _fetch_rows(self, statement: str, *values: Any) -> list[Any]:
        with self._lock:
            return self._connection.execute(statement, values).fetchall()

    # ---- reviewers ----

    def list_reviewers_and_token_hashes(self) -> list[tuple[str, str | None]]:
        """Names of reviewers in the order in which they came, with the hashes of their tokens."""
        return self._fetch_rows("SELECT name, token_hash FROM reviewers ORDER BY position")

    def add_or_update_reviewer(self, name: str, token_hash: str | None = None) -> None:
        """Add a reviewer, or give one another token."""
        with self._lock:
            self._connection.execute(
                "INSERT INTO reviewers VALUES (?, ?, (SELECT COUNT(*) FROM reviewers)) "
                "ON CONFLICT (name) DO UPDATE SET token_hash = COALESCE(excluded.token_hash, token_hash)",
                (name, token_hash),
            )

    def read_dealt_reviewers_and_overlap(self) -> tuple[list[str], float]:
        """Whom the labels are dealt out to, and the share that two see."""
        rows = self._fetch_rows("SELECT value FROM settings WHERE name = 'dealing'")
        return msgspec.json.decode(rows[0][0], type=tuple[list[str], float]) if rows else ([], 0.0)

    def write_dealt_reviewers_and_overlap(self, reviewers: list[str], overlap: float) -> None:
        with self._lock:
            value = msgspec.json.encode((reviewers, overlap)).decode()
            self._connection.execute("INSERT OR REPLACE INTO settings VALUES ('dealing', ?)", (value,))


def _encode_verdict_or_none(verdict: Verdict | None) -> str | None:
    return None if verdict is None else msgspec.json.encode(verdict).decode()


def _decode_verdict(text: str) -> Verdict:
    return msgspec.json.decode(text, type=Verdict)


def _format_current_utc_time() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
