"""Tasks go out without the truth; predictions come back, are checked, and become a row."""

from __future__ import annotations

import numpy as np
import pytest

from pignn.core.errors import DataError
from pignn.studies import collect_results, open_results, run_graphs, significance
from pignn.studies import external as task

from .conftest import GRAPH


@pytest.fixture
def exported(tiny, swept, tmp_path):
    names = task.export_tasks(tiny, swept, tmp_path / "tasks")
    return {name: dict(np.load(tmp_path / "tasks" / f"{name}.npz")) for name in names}


def test_a_task_holds_only_what_a_method_may_see(tiny, exported):
    assert len(exported) == 4  # 2 noises × 2 seeds; methods do not matter
    for name, arrays in exported.items():
        assert set(arrays) == {
            *("x", "edge_index", "y", "train_mask", "val_mask", "test_mask", "class_names", "task"),
        }
        assert str(arrays["task"]) == name
        given = arrays["y"] >= 0
        assert (given == (arrays["train_mask"] | arrays["val_mask"])).all()
        assert (arrays["y"][arrays["test_mask"]] == -1).all()


def truth(name: str, folder) -> np.ndarray:
    return run_graphs.load_noisy_graph_and_digest(task.read_graph_specs_of_exported_tasks(folder)[name])[
        0
    ].y_true.numpy()


def test_scored_predictions_become_a_row_of_tables_and_tests(tiny, swept, exported, tmp_path):
    right = {name: truth(name, swept) for name in exported}
    np.savez(tmp_path / "preds.npz", **right)
    scored = task.score_and_save_predictions(tmp_path / "preds.npz", "mine", swept)
    assert all(0 <= result.metrics["accuracy_right_labels"] <= 1 for result in scored.values())
    assert [result.metrics["accuracy"] for result in scored.values()] == [1.0] * 4
    with open_results(swept) as store:
        results = collect_results(tiny, store)
    assert results.row_labels == ["GCN", "PI-GNN", "mine"]
    assert results.get_values_by_seed(GRAPH, tiny.noises[1], "mine") == {0: 1.0, 1: 1.0}
    assert {test.row for test in significance.compare_rows_with_reference(results)} == {"GCN", "mine"}

    proba = {name: np.eye(3)[labels[::-1]] * 0.5 + 1 / 6 for name, labels in right.items()}
    np.savez(tmp_path / "preds.npz", **proba)  # again, worse: the old row is replaced
    scored = task.score_and_save_predictions(tmp_path / "preds.npz", "mine", swept)
    assert all(result.metrics["accuracy"] < 1 for result in scored.values())
    assert all(result.metrics["average_precision"] is not None for result in scored.values())
    with open_results(swept) as store:
        assert len(store) == len(tiny) + 4


def test_scored_predictions_named_like_a_row_get_a_row_of_their_own(tiny, swept, exported, tmp_path):
    with open_results(swept) as store:
        before = collect_results(tiny, store)
    np.savez(tmp_path / "preds.npz", **{name: truth(name, swept) for name in exported})
    task.score_and_save_predictions(tmp_path / "preds.npz", "GCN", swept)
    with open_results(swept) as store:
        after = collect_results(tiny, store)
    assert after.row_labels == ["GCN", "PI-GNN", "GCN (scored)"]
    for noise in tiny.noises:
        assert after.get_values_by_seed(GRAPH, noise, "GCN") == before.get_values_by_seed(GRAPH, noise, "GCN")
        assert after.get_values_by_seed(GRAPH, noise, "GCN (scored)") == {0: 1.0, 1: 1.0}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda n: np.zeros(119, dtype=int), r"needs whole numbers \[120\]"),
        (lambda n: np.full(120, 3), "classes must be 0 to 2"),
        (lambda n: np.full(120, -1), "classes must be 0 to 2"),
        (lambda n: np.full((120, 3), np.nan), "finite"),
        (lambda n: np.zeros((120, 2)), r"needs whole numbers"),
        (lambda n: np.zeros(120), "needs whole numbers"),
        (lambda n: np.array(["a"] * 120), "needs whole numbers"),
        (lambda n: np.array([None] * 120, dtype=object), "pickled"),
    ],
)
def test_predictions_that_cannot_be_scored_are_refused_in_one_line(swept, exported, tmp_path, make, words):
    np.savez(tmp_path / "preds.npz", **{next(iter(exported)): make(3)})
    with pytest.raises(DataError, match=words) as caught:
        task.score_and_save_predictions(tmp_path / "preds.npz", "mine", swept)
    assert "\n" not in str(caught.value)


def test_missing_and_damaged_files_of_predictions_are_refused(swept, exported, tmp_path):
    with pytest.raises(DataError, match="no such file"):
        task.score_and_save_predictions(tmp_path / "absent.npz", "mine", swept)
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(DataError):
        task.score_and_save_predictions(tmp_path / "text.npz", "mine", swept)
    np.savez(tmp_path / "preds.npz", unknown=np.zeros(120, dtype=int))
    with pytest.raises(DataError, match="no task 'unknown' was exported"):
        task.score_and_save_predictions(tmp_path / "preds.npz", "mine", swept)
    with pytest.raises(DataError, match="the name of a method"):
        task.score_and_save_predictions(tmp_path / "preds.npz", "a\nb", swept)
    for content in ("{", "[]", '{"task": 3}', '{"task": {"dataset": 5}}'):
        (swept / "tasks.json").write_text(content)
        with pytest.raises(DataError, match="export the tasks again"):
            task.score_and_save_predictions(tmp_path / "preds.npz", "mine", swept)


def test_predictions_for_other_labels_are_refused_by_checksum(tiny, swept, exported, tmp_path, monkeypatch):
    name = next(iter(exported))
    np.savez(tmp_path / "preds.npz", **{name: truth(name, swept)})
    original = run_graphs._hash_tensors
    monkeypatch.setattr(run_graphs, "_hash_tensors", lambda graph, keys: original(graph, keys) + "x")
    with pytest.raises(DataError, match="are not those it was made of"):
        task.score_and_save_predictions(tmp_path / "preds.npz", "mine", swept)
