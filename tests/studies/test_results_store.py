"""The results store keeps what is done, and refuses what it cannot be sure of without touching it."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from pignn.core.errors import DataError, OutputError
from pignn.studies.results_store import FORMAT_VERSION, ResultsStore
from pignn.studies.run_spec import GraphSpec, RunResult, RunSpec

SPEC = RunSpec(graph=GraphSpec(dataset="csbm"), method="vanilla", settings={"lr": 0.1})


def scored(value: float) -> RunResult:
    return RunResult(metrics={"accuracy": value})


def test_a_run_that_is_done_stays_and_one_that_failed_gives_way(tmp_path):
    with ResultsStore(tmp_path / "runs.sqlite") as store:
        store.save_run("a", SPEC, RunResult(error="no"))
        assert not store.get_records(["a"])["a"].is_done
        store.save_run("a", SPEC, RunResult(metrics={"accuracy": 0.5}, notes=["x"], versions={"torch": "2"}))
        store.save_run("a", SPEC, scored(0.9))
        store.save_run("a", SPEC, RunResult(error="later"))
        record = store.get_records(["a", "b"])["a"]
        assert (record.is_done, record.metrics, record.error) == (True, {"accuracy": 0.5}, None)
        assert (record.spec, record.notes, record.versions) == (SPEC, ["x"], {"torch": "2"})
        assert len(store) == 1
    with ResultsStore(tmp_path / "runs.sqlite", create=False) as store:
        assert store.get_records(["a"])["a"].metrics["accuracy"] == 0.5


def test_metrics_are_rows_and_a_new_one_needs_no_new_format(tmp_path):
    with ResultsStore(tmp_path / "runs.sqlite") as store:
        store.save_run("a", SPEC, RunResult(metrics={"accuracy": 0.5, "best_epoch": None}))
        store.save_run("a", SPEC, RunResult(metrics={"accuracy": 0.9, "anything_else": 3.0}))
        assert store.get_records(["a"])["a"].metrics == {"accuracy": 0.5, "best_epoch": None, "anything_else": 3.0}
    with closing(sqlite3.connect(tmp_path / "runs.sqlite")) as db:
        rows = db.execute("SELECT run, name, value FROM metrics ORDER BY name").fetchall()
        assert rows == [("a", "accuracy", 0.5), ("a", "anything_else", 3.0), ("a", "best_epoch", None)]
        assert db.execute("SELECT method, dataset, noise, rate, seed FROM runs").fetchall() == [
            ("vanilla", "csbm", "none", None, 0)
        ]


def test_replacing_leaves_no_old_number(tmp_path):
    with ResultsStore(tmp_path / "runs.sqlite") as store:
        store.save_run("a", SPEC, RunResult(metrics={"accuracy": 0.5, "average_precision": 0.5}))
        store.save_runs([("a", SPEC, scored(0.9))], replace=True)
        assert store.get_records(["a"])["a"].metrics == {"accuracy": 0.9}


def test_the_store_is_in_wal_mode(tmp_path):
    ResultsStore(tmp_path / "runs.sqlite").close()
    with closing(sqlite3.connect(tmp_path / "runs.sqlite")) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_two_processes_may_read_and_write_at_once(tmp_path):
    with ResultsStore(tmp_path / "runs.sqlite") as one, ResultsStore(tmp_path / "runs.sqlite") as two:
        one.save_run("a", SPEC, scored(0.1))
        two.save_run("b", SPEC, scored(0.2))
        assert set(one.get_records(["a", "b"])) == set(two.get_records(["a", "b"])) == {"a", "b"}


def spoil_version(path):
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode=DELETE")
        db.execute(f"PRAGMA user_version = {FORMAT_VERSION + 1}")


def spoil_owner(path):
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode=DELETE")
        db.execute("PRAGMA application_id = 1")


def spoil_middle(path):
    content = bytearray(path.read_bytes())
    for start in range(4096, len(content), 512):
        content[start : start + 200] = b"\xff" * 200
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (spoil_version, f"has format {FORMAT_VERSION + 1}, this pignn reads {FORMAT_VERSION}"),
        (spoil_owner, "some other program"),
        (spoil_middle, "damaged"),
        (lambda path: path.write_bytes(path.read_bytes()[:5000]), "damaged"),
        (lambda path: path.write_bytes(b"not a database" * 20), "not a results store"),
        (lambda path: path.write_bytes(b""), "not a results store"),
    ],
    ids=["newer", "foreign", "damaged", "cut", "text", "empty"],
)
def test_a_store_that_cannot_be_trusted_is_refused_and_untouched(tmp_path, spoil, words):
    path = tmp_path / "runs.sqlite"
    with ResultsStore(path) as store:
        store.save_runs((f"{i}", SPEC, scored(0.5)) for i in range(200))
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    spoil(path)
    before = path.read_bytes()
    with pytest.raises(DataError, match=words) as caught:
        ResultsStore(path)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before


def test_missing_results_and_a_folder_that_cannot_be_written(tmp_path):
    with pytest.raises(DataError, match="run the study first"):
        ResultsStore(tmp_path / "absent" / "runs.sqlite", create=False)
    assert not (tmp_path / "absent").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError):
        ResultsStore(tmp_path / "file" / "runs.sqlite")
