"""A sweep computes what is missing, once, and survives what kills it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import pignn
from pignn import graphs
from pignn.core.errors import ConfigError, OutputError, PignnError
from pignn.studies import (
    DatasetSpec,
    NoiseSpec,
    Protocol,
    StudyRow,
    collect_results,
    open_results,
    run_study,
    write_study,
)
from pignn.studies import external as task
from pignn.studies.planning import plan_runs
from pignn.studies.pool import LocalPool
from pignn.studies.run_spec import GraphSpec, RunResult, RunSpec
from pignn.studies.sweep import find_reusable_records, iter_results_and_retry_dead_runs, sweep_lock_context
from pignn.studies.tables import build_tables
from pignn.studies.tuning import list_trial_settings

from .conftest import GRAPH, make


def test_numbers_equal_those_of_a_training_without_the_runner(tiny, swept):
    with open_results(swept) as store:
        results = collect_results(tiny, store)
    assert results.num_done == len(tiny)
    noisy = pignn.corrupt(graphs.load("csbm", **GRAPH.options), "flip", 0.4, seed=1)
    model = pignn.make(
        "pi-gnn", preset="paper", warmup=1, epochs=3, hidden_channels=4, selection="clean-val", seed=1
    ).fit(noisy)
    cell = (GRAPH, tiny.noises[1], "PI-GNN")
    for metric in ("accuracy", "balanced_accuracy", "macro_f1", "average_precision"):
        assert results.get_values_by_seed(*cell, metric)[1] == pytest.approx(model.score(noisy, metric=metric))
    assert results.get_values_by_seed(*cell, "best_epoch")[1] == model.best_epoch_
    assert results.get_values_by_seed(*cell, "pair_noise")[1] == pytest.approx(
        pignn.noise.summarize_noise(noisy).pair_rate
    )
    record = next(iter(results.records.values()))
    assert record.metrics["seconds"] > 0
    assert record.metrics["peak_mb"] > 50
    assert set(record.versions) >= {"python", "torch", "torch_geometric", "pignn"}


def test_nothing_is_computed_twice(tiny, swept, here):
    before = len(here.computed)
    assert before == len(tiny)
    again = run_study(tiny, swept)
    assert (again.planned, again.cached, again.computed, again.failed) == (len(tiny), len(tiny), 0, 0)
    more = run_study(replace(tiny, name="more", seeds=(0, 1, 2)), swept)  # another study, in part the same runs
    assert (more.cached, more.computed) == (len(tiny), len(tiny) // 2)
    assert len(here.computed) == len(set(here.computed)) == before + len(tiny) // 2


def test_rows_that_are_the_same_run_are_one_run(tmp_path, here):
    study = make(rows=(StudyRow("a", "vanilla"), StudyRow("b", "vanilla", {"num_layers": 2})), seeds=(0,))
    summary = run_study(study, tmp_path)
    assert (summary.planned, summary.computed) == (2, 2)
    with open_results(tmp_path) as store:
        results = collect_results(study, store)
    assert (
        results.get_values_by_seed(GRAPH, study.noises[0], "a")
        == results.get_values_by_seed(GRAPH, study.noises[0], "b")
        != {}
    )


def test_a_run_that_fails_is_recorded_and_the_rest_goes_on(tmp_path, here):
    study = make(rows=(StudyRow("GCN", "vanilla"), StudyRow("bad", "vanilla", {"lr": 1e29})), seeds=(0,))
    summary = run_study(study, tmp_path)
    assert (summary.computed, summary.failed) == (4, 2)
    with open_results(tmp_path) as store:
        results = collect_results(study, store)
    assert results.num_done == 2
    assert {planned.row.label for planned, _ in results.failed_runs} == {"bad"}
    assert all("try a smaller learning rate" in error for _, error in results.failed_runs)
    assert run_study(study, tmp_path).computed == 0  # it would fail again
    assert run_study(study, tmp_path, retry=True).computed == 2


def test_mistakes_are_found_before_anything_is_computed(tmp_path, here):
    for row, words in (
        (StudyRow("x", "vanilla", {"learning_rate": 1}), "row 'x': unknown setting 'learning_rate'"),
        (StudyRow("x", "vanilla", {"epochs": 0}), "row 'x': epochs must be"),
        (StudyRow("x", "vanilla", {"selection": "last"}), "the protocol says it"),
        (StudyRow("x", "vanilla", {"seed": 3}), "the list of seeds says it"),
        (StudyRow("x", "nothing"), "unknown method"),
    ):
        with pytest.raises(ConfigError, match=words):
            run_study(make(rows=(StudyRow("GCN", "vanilla"), row)), tmp_path)
    with pytest.raises(ConfigError, match="settings of all rows: unknown setting 'epoch'; did you mean 'epochs'"):
        run_study(make().subset(settings={"epoch": 5}), tmp_path)
    with pytest.raises(ConfigError, match="unknown dataset"):
        run_study(make().subset(datasets=["corra"]), tmp_path)
    with pytest.raises(ConfigError, match="workers"):
        run_study(make(), tmp_path, workers=0)
    assert here.computed == []


def test_tuning_tries_the_same_number_for_all_and_sees_given_labels_only(tmp_path, here, monkeypatch):
    import pignn.methods.core.base as base

    asked = []
    original = base.Method.score
    monkeypatch.setattr(base.Method, "score", lambda *a, **k: asked.append(k) or original(*a, **k))
    study = make(
        protocol=Protocol.from_preset("honest", trials=3),
        seeds=(0,),
        rows=(StudyRow("GCN", "vanilla"), StudyRow("own", "vanilla", search={"lr": [0.1]})),
    )
    assert run_study(study, tmp_path).failed == 0
    assert len(asked) == 2 * (3 + 2)  # the second row has only two settings to try
    assert all(call == {"split": "val", "against": "given"} for call in asked)
    with open_results(tmp_path) as store:
        chosen = [record.chosen for record in store.list_all_records()]
    assert all(set(one) <= {"lr", "weight_decay", "hidden_channels"} for one in chosen)


def test_trials_begin_with_the_rows_own_settings_and_are_drawn_by_seed():
    assert list_trial_settings({"lr": [1, 2]}, 0, 0) == [{}]
    assert list_trial_settings({"lr": [1, 2]}, 9, 0)[0] == {}
    assert sorted(one["lr"] for one in list_trial_settings({"lr": [1, 2]}, 9, 0)[1:]) == [1, 2]
    grid = {"a": list(range(10)), "b": list(range(10))}
    assert list_trial_settings(grid, 5, 1) == list_trial_settings(grid, 5, 1) != list_trial_settings(grid, 5, 2)
    assert len(list_trial_settings(grid, 5, 1)) == 5


class Fragile:
    """A pool whose workers die under some runs."""

    size = 2

    def __init__(self, deaths: dict[str, int]) -> None:
        self.deaths = deaths
        self.given: list[str] = []
        self.waiting: list[str] = []

    def submit(self, key, spec):
        self.given.append(key)
        self.waiting.append(key)

    def wait_for_results(self, max_seconds):
        key = self.waiting.pop(0)
        if self.deaths.get(key, 0) > 0:
            self.deaths[key] -= 1
            return [(key, RunResult(error="the worker died", died=True))]
        return [(key, RunResult(metrics={"accuracy": 1.0}))]

    def close(self):
        pass


def test_a_run_whose_worker_dies_is_tried_once_more(tmp_path, tiny, monkeypatch):
    with open_results(tmp_path) as store:
        keys = [planned.key for planned in plan_runs(tiny, store)]
    todo = dict(zip(keys, plan_of(tiny, tmp_path), strict=True))
    pool = Fragile({keys[0]: 1, keys[1]: 2})
    results = dict(iter_results_and_retry_dead_runs(pool, todo))
    assert sorted(results) == sorted(keys)
    assert results[keys[0]].error is None
    assert results[keys[1]] == RunResult(error="the worker died", died=True)
    assert (pool.given.count(keys[0]), pool.given.count(keys[1]), pool.given.count(keys[2])) == (2, 2, 1)

    # What died is tried again by the next sweep, without being asked to.
    pools = [Fragile({keys[1]: 2}), Fragile({})]
    monkeypatch.setattr("pignn.studies.sweep.open_local_or_ray_pool", lambda *_: pools.pop(0))
    assert run_study(tiny, tmp_path).failed == 1
    summary = run_study(tiny, tmp_path)
    assert (summary.computed, summary.failed) == (1, 0)


def plan_of(study, folder):
    with open_results(folder) as store:
        return plan_runs(study, store)


def test_one_sweep_at_a_time_in_a_folder(tmp_path, tiny, here):
    with (
        open_results(tmp_path),
        sweep_lock_context(tmp_path),
        pytest.raises(OutputError, match="another sweep is running"),
    ):
        run_study(tiny, tmp_path)
    assert run_study(tiny, tmp_path).computed == len(tiny)


# ---- real processes ----


@pytest.fixture
def deadly(tmp_path, monkeypatch):
    """A method of another package that kills its process: always, or the first time only."""
    place = tmp_path / "installed"
    about = place / "deadly-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: deadly\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[pignn.methods]\ndeadly = deadly_method:Deadly\n")
    (place / "deadly_method.py").write_text(
        f"""
import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from pignn.methods import Vanilla

@dataclass(kw_only=True, eq=False, repr=False)
class Deadly(Vanilla):
    name: ClassVar[str] = "deadly"
    how: str = "always"

    def fit(self, data, **options):
        print("noise on standard output")
        mark = Path({str(tmp_path / "mark")!r})
        if self.how == "memory":
            raise MemoryError
        if self.how == "always" or not mark.exists():
            mark.touch()
            os.kill(os.getpid(), 9)
        return super().fit(data, **options)
"""
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(place), os.environ.get("PYTHONPATH")))))
    monkeypatch.syspath_prepend(str(place))
    yield
    sys.modules.pop("deadly_method", None)


def test_workers_that_die_are_replaced(tmp_path, deadly):
    study = make(
        rows=(
            StudyRow("GCN", "vanilla"),
            StudyRow("once", "deadly", {"how": "once"}),
            StudyRow("always", "deadly"),
            StudyRow("memory", "deadly", {"how": "memory"}),
        ),
        noises=(make().noises[0],),
        seeds=(0,),
    )
    summary = run_study(study, tmp_path / "out", workers=1)
    assert (summary.computed, summary.failed) == (4, 2)
    with open_results(tmp_path / "out") as store:
        results = collect_results(study, store)
        assert len(store) == 4
    errors = {planned.row.label: error for planned, error in results.failed_runs}
    assert "signal 9, perhaps out of memory" in errors["always"]
    assert errors["memory"] == "out of memory"
    value = results.get_values_by_seed(GRAPH, study.noises[0], "once")
    assert value == results.get_values_by_seed(GRAPH, study.noises[0], "GCN") != {}


@pytest.mark.parametrize(
    ("method", "message"),
    [("vanilla", "the code of 'vanilla' has changed"), ("mine", "do not know 'mine', which only this program")],
)
def test_code_that_workers_do_not_have_ends_a_sweep(method, message):
    pool = LocalPool(1, {("train", method): "another version"})
    pool.submit("waits for a worker", RunSpec(graph=GraphSpec(), method=method))
    closing = threading.Thread(target=pool.close, daemon=True)
    try:
        with pytest.raises(PignnError, match=message):
            pool.wait_for_results(120)
    finally:
        closing.start()
        closing.join(60)
    assert not closing.is_alive()


def test_a_killed_driver_loses_nothing_and_its_workers_end(tmp_path):
    study = make(settings={"epochs": 60}, seeds=tuple(range(6)))
    write_study(study, tmp_path / "plan.toml")
    command = [sys.executable, "-m", "pignn", "study", "run", str(tmp_path / "plan.toml"), "--out", str(tmp_path / "o")]
    driver = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 120
        while _count(tmp_path / "o") < 3 and time.monotonic() < until:
            time.sleep(0.02)
        children = Path(f"/proc/{driver.pid}/task").glob("*/children")  # of all its threads
        workers = [worker for file in children for worker in file.read_text().split()]
    finally:
        driver.kill()
        driver.wait()
    kept = _count(tmp_path / "o")
    assert 3 <= kept < len(study)
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert f"{len(study)} runs, {kept} were there, {len(study) - kept} computed" in done.stderr
    assert _count(tmp_path / "o") == len(study)
    assert workers
    assert not any(Path(f"/proc/{worker}").exists() for worker in workers)


def _count(folder: Path) -> int:
    try:
        with open_results(folder, create=False) as store:
            return len(store)
    except PignnError:
        return 0


def test_interrupt_keeps_what_is_done(tmp_path):
    study = make(settings={"epochs": 60}, seeds=tuple(range(6)))
    write_study(study, tmp_path / "plan.toml")
    command = [sys.executable, "-m", "pignn", "study", "run", str(tmp_path / "plan.toml"), "--out", str(tmp_path / "o")]
    driver = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    until = time.monotonic() + 120
    while _count(tmp_path / "o") < 1 and time.monotonic() < until:
        time.sleep(0.02)
    os.kill(driver.pid, signal.SIGINT)
    _, said = driver.communicate(timeout=60)
    assert driver.returncode == 130
    assert said == "pignn: interrupted\n"
    assert 1 <= _count(tmp_path / "o") < len(study)


@pytest.mark.parametrize(
    "noise", [NoiseSpec("symmetric", 0.3), NoiseSpec("rule", 0.3), NoiseSpec("cluster", 0.3)], ids=str
)
@pytest.mark.parametrize("stored", [False, True])
def test_graph_stores_and_noises_that_depend_on_the_graph_can_be_run(tmp_path, here, noise, stored):
    """What is planned is what is computed, also where noise depends on features and edges, and for a store on disk."""
    dataset = GRAPH
    if stored:
        graph = pignn.load("csbm", num_nodes=120)
        files = {"edges": [graph.edge_index.numpy().T], "features": graph.x.numpy(), "labels": graph.y.numpy()}
        graphs.convert(tmp_path / "store", **files)
        dataset = DatasetSpec(str(tmp_path / "store"))
    study = make(datasets=(dataset,), noises=(noise,), seeds=(0,))
    summary = run_study(study, tmp_path / "out")
    assert (summary.computed, summary.failed) == (2, 0)
    (name,) = task.export_tasks(study, tmp_path / "out", tmp_path / "tasks")
    exported = dict(np.load(tmp_path / "tasks" / f"{name}.npz"))
    assert exported["edge_index"].shape[0] == 2
    np.savez(tmp_path / "preds.npz", **{name: np.zeros(len(exported["y"]), dtype=int)})
    assert len(task.score_and_save_predictions(tmp_path / "preds.npz", "constant", tmp_path / "out")) == 1


def test_warnings_of_methods_stand_below_the_table(tmp_path, here):
    study = make(rows=(StudyRow("GCN", "vanilla"), StudyRow("PI-GNN", "pi-gnn")))
    run_study(study, tmp_path)
    with open_results(tmp_path) as store:
        (found,) = build_tables(collect_results(study, store))
    assert any(note.startswith("PI-GNN: warmup (50) covers all 3 epochs") for note in found.notes)


def test_values_that_tuning_cannot_try_are_found_before_it_begins(tmp_path, here):
    row = StudyRow("GCN", "vanilla", search={"hidden_channels": [8, "a"]})
    with pytest.raises(ConfigError, match="row 'GCN', search: hidden_channels must be an integer"):
        run_study(make(rows=(row,), protocol=Protocol.from_preset("honest", trials=2)), tmp_path)


def test_a_warning_about_one_graph_stands_below_its_table_only(tmp_path, here):
    study = make(
        datasets=(GRAPH, DatasetSpec("csbm", {"num_nodes": 150})), rows=(StudyRow("GCN", "vanilla"),), seeds=(0,)
    )
    run_study(study, tmp_path)
    with open_results(tmp_path) as store:
        results = collect_results(study, store)
    first = next(planned for planned in results.runs if planned.dataset == GRAPH)
    results.records[first.key].notes = ["edges: dropped 7 self-loops"]
    found = ["dropped 7" in " ".join(table.notes) for table in build_tables(results)]
    assert found == [True, False]


def test_tuning_tries_whole_combinations_of_settings(tmp_path, here):
    settings = {"epochs": 2, "batch_size": 32, "num_neighbors": [5, 5]}
    row = StudyRow("GCN", "vanilla", settings, search={"num_layers": [2, 3], "num_neighbors": [[5, 5, 5], [9, 9, 9]]})
    study = make(rows=(row,), seeds=(0,), protocol=Protocol.from_preset("honest", trials=3))
    assert run_study(study, tmp_path).failed == 0


def test_runs_whose_worker_died_are_computed_again_and_others_on_request(tmp_path, here):
    study = make(noises=(NoiseSpec("symmetric", 0.3),), rows=(StudyRow("GCN", "vanilla"),), seeds=(0, 1))
    with open_results(tmp_path) as store:
        runs = plan_runs(study, store)
        for planned, died in zip(runs, (True, False), strict=True):
            store.save_run(planned.key, planned.spec, RunResult(error="no", died=died))
        assert set(find_reusable_records(store, runs, "accuracy")) == {runs[1].key}
        assert find_reusable_records(store, runs, "accuracy", retry=True) == {}
