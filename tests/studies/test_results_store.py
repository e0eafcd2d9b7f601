"""The store keeps what is done, and refuses what it cannot be sure of without touching it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

from pignn.core.errors import DataError, OutputError
from pignn.studies.results_store import FORMAT, ResultsStore

JOB = {"method": "vanilla", "dataset": "csbm", "noise": "none", "rate": None, "seed": 0, "settings": {"lr": 0.1}}


def test_done_is_done_and_failed_gives_way(tmp_path):
    with ResultsStore(tmp_path / "runs.sqlite") as store:
        store.put("a", JOB, {"error": "no"})
        assert store.rows(["a"])["a"]["status"] == "failed"
        store.put("a", JOB, {"accuracy": 0.5, "notes": ["x"], "versions": {"torch": "2"}})
        store.put("a", JOB, {"accuracy": 0.9})
        store.put("a", JOB, {"error": "later"})
        row = store.rows(["a", "b"])["a"]
        assert (row["status"], row["accuracy"], row["error"]) == ("done", 0.5, None)
        assert json.loads(row["config"]) == JOB
        assert len(store) == 1
    with ResultsStore(tmp_path / "runs.sqlite", create=False) as store:
        assert store.rows(["a"])["a"]["accuracy"] == 0.5


def test_it_is_in_wal_mode(tmp_path):
    ResultsStore(tmp_path / "runs.sqlite").close()
    with closing(sqlite3.connect(tmp_path / "runs.sqlite")) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_two_may_read_and_write_at_once(tmp_path):
    with ResultsStore(tmp_path / "runs.sqlite") as one, ResultsStore(tmp_path / "runs.sqlite") as two:
        one.put("a", JOB, {"accuracy": 0.1})
        two.put("b", JOB, {"accuracy": 0.2})
        assert set(one.rows(["a", "b"])) == set(two.rows(["a", "b"])) == {"a", "b"}


def spoil_version(path):
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode=DELETE")
        db.execute(f"PRAGMA user_version = {FORMAT + 1}")


def spoil_owner(path):
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode=DELETE")
        db.execute("PRAGMA application_id = 1")


def spoil_middle(path):
    content = bytearray(path.read_bytes())
    for at in range(4096, len(content), 512):
        content[at : at + 200] = b"\xff" * 200
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (spoil_version, f"has format {FORMAT + 1}, this pignn reads {FORMAT}"),
        (spoil_owner, "some other program"),
        (spoil_middle, "damaged"),
        (lambda path: path.write_bytes(path.read_bytes()[:5000]), "damaged"),
        (lambda path: path.write_bytes(b"not a database" * 20), "not a store"),
        (lambda path: path.write_bytes(b""), "not a store"),
    ],
    ids=["newer", "foreign", "damaged", "cut", "text", "empty"],
)
def test_a_store_that_cannot_be_trusted_is_refused_and_untouched(tmp_path, spoil, words):
    path = tmp_path / "runs.sqlite"
    with ResultsStore(path) as store:
        store.put_all((f"{i}", JOB, {"accuracy": 0.5}) for i in range(200))
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    spoil(path)
    before = path.read_bytes()
    with pytest.raises(DataError, match=words) as caught:
        ResultsStore(path)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before


def test_no_results_and_no_room(tmp_path):
    with pytest.raises(DataError, match="run the study first"):
        ResultsStore(tmp_path / "absent" / "runs.sqlite", create=False)
    assert not (tmp_path / "absent").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError):
        ResultsStore(tmp_path / "file" / "runs.sqlite")
