"""Settings are searched for by held-out given labels alone; a killed search goes on as if nothing had happened."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest
import torch

import pignn
from pignn.core.errors import ConfigError, OutputError, PignnError
from pignn.core.settings import Range, list_settings
from pignn.methods import Method
from pignn.methods.prototypes import Prototypes
from pignn.methods.registry import METHODS
from pignn.runs import tuning
from pignn.runs.search_space import build_search_space

optuna = pytest.importorskip("optuna")


def _tried(found):
    return [(trial.settings, trial.state, trial.agreement, trial.reports) for trial in found.trials]


def test_good_settings_are_found_fitted_and_shown(noisy, tmp_path):
    search = {"concentration": (0.001, 100.0), "noise": ["none", "symmetric"]}
    start = {"concentration": 0.001}
    found = pignn.tune(noisy, "prototypes", settings=start, search=search, trials=12, out=tmp_path)
    assert len(found.trials) == 13
    assert found.trials[0].settings == {}
    assert found.best.agreement == max(trial.agreement for trial in found.trials if trial.state == "complete")
    assert found.best.agreement > found.trials[0].agreement
    assert found.settings_text.startswith("--set concentration=")
    assert found.recommendation.startswith("take --set concentration=")
    for name, value in found.best_settings.items():
        assert found.model.get_params()[name] == value
    assert found.model.score(noisy) > 0.7
    assert len(found.plot().axes) == 1
    assert found.recommendation.split(";")[0] in found._repr_html_().replace("&#39;", "'")
    assert {path.name for path in tmp_path.iterdir()} == {
        *("model", "trials.jsonl", "check.jsonl", "trials.csv", "tuning.html", "tuning.json"),
    }
    assert (pignn.load_model(tmp_path / "model").predict(noisy) == found.model.predict(noisy)).all()
    assert json.loads((tmp_path / "tuning.json").read_text())["best_settings"] == found.best_settings


def test_truth_cannot_be_the_objective(noisy):
    """Whatever the true labels and the labels of test nodes are: the same trials, the same choice, the same model."""

    def run(data):
        found = pignn.tune(data, "prototypes", trials=6)
        return _tried(found), found.best_settings, found.recommendation, found.model.predict(data).tolist()

    expected = run(noisy)
    other = noisy.clone()
    other.y_true = (noisy.y_true + torch.randint(1, 3, noisy.y_true.shape)) % 3
    other.y = torch.where(noisy.test_mask, torch.randint(0, 3, noisy.y.shape), noisy.y)
    assert run(other) == expected
    del other.y_true
    assert run(other) == expected
    other.y = torch.where(noisy.train_mask, (noisy.y + 1) % 3, noisy.y)
    assert run(other) != expected  # given labels do count


def test_no_graph_that_a_trial_sees_has_truth_or_held_out_labels(noisy, monkeypatch):
    seen = []
    fit = Prototypes.fit
    monkeypatch.setattr(Prototypes, "fit", lambda self, data, **more: seen.append(data) or fit(self, data, **more))
    pignn.tune(noisy, "prototypes", trials=2)
    assert len(seen) >= 9
    for graph in seen:
        assert graph.get("y_true") is None
        assert not (graph.y[noisy.test_mask] >= 0).any()
    assert all(int((graph.y >= 0).sum()) < int((noisy.y >= 0).sum()) for graph in seen[:9])


def test_an_oracle_that_chooses_epochs_by_truth_cannot_be_tuned(noisy):
    with pytest.raises(PignnError, match="true"):
        pignn.tune(noisy, "GCN", settings={"epochs": 3, "selection": "clean-val"}, search=["dropout"], trials=1)


def test_networks_without_promise_end_early(noisy):
    search = {"lr": [1e-9, 0.05], "hidden_channels": [16]}
    found = pignn.tune(noisy, "GCN", settings={"epochs": 60}, search=search, trials=14, folds=2)
    pruned = [trial for trial in found.trials if trial.state == "pruned"]
    assert pruned
    assert {trial.settings["lr"] for trial in pruned} == {1e-9}
    assert found.best_settings.get("lr", 0.05) == 0.05
    slow = max(trial.seconds for trial in found.trials if trial.state == "complete")
    assert min(trial.seconds for trial in pruned) < slow


def test_a_search_that_is_killed_tries_what_it_would_have_tried(noisy, tmp_path):
    code = f"""
import torch, pignn
graph = torch.load({str(tmp_path / "graph.pt")!r}, weights_only=False)
pignn.tune(graph, "prototypes", trials=200, out={str(tmp_path / "out")!r})
"""
    torch.save(noisy, tmp_path / "graph.pt")
    process = subprocess.Popen([sys.executable, "-c", code], env=os.environ, stderr=subprocess.PIPE, text=True)
    journal = tmp_path / "out" / tuning.JOURNAL_FILE
    deadline = time.monotonic() + 240
    while not journal.exists() or journal.read_bytes().count(b"\n") < 6:
        assert time.monotonic() < deadline
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with open(journal, "a") as file:
        file.write('{"number": 99, "settings"')  # what a kill may leave
    num_done = journal.read_bytes().count(b"\n") - 1
    assert num_done < 200
    total = num_done + 4
    tried = []
    again = tuning.Search._run_trial_over_folds

    def count(self, *arguments):
        tried.append(arguments[0])
        return again(self, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning.Search, "_run_trial_over_folds", count)
        resumed = pignn.tune(noisy, "prototypes", trials=total - 1, out=tmp_path / "out")
    assert tried == list(range(num_done, total))
    whole = pignn.tune(noisy, "prototypes", trials=total - 1)
    assert _tried(resumed) == _tried(whole)
    assert resumed.best_settings == whole.best_settings
    with pytest.raises(OutputError, match="force=True"):
        pignn.tune(noisy, "prototypes", search=["concentration"], out=tmp_path / "out")


def test_time_ends_the_search(noisy):
    assert len(pignn.tune(noisy, "prototypes", trials=50, time_limit=1e-6).trials) == 1


def test_nothing_better_keeps_the_settings(noisy):
    found = pignn.tune(noisy, "GCN", settings={"epochs": 30}, search={"lr": [1e-9]}, trials=1)
    assert found.best_settings == {}
    assert found.settings_text == ""
    assert "keep the settings" in str(found)
    assert "as given" in found.report()


def test_declared_searches_are_valid_settings():
    count = 0
    for entry in METHODS.list_entries():
        for each in list_settings(METHODS.get(entry.name)):
            ends = (each.search.low, each.search.high) if isinstance(each.search, Range) else each.search or ()
            for value in ends:
                each.constraint.raise_unless_valid(each.name, value)
                count += 1
    assert count > 100


@pytest.mark.parametrize(
    ("method", "search", "word"),
    [
        ("auto", None, "declares what to try"),
        ("GCN", ["lrr"], "did you mean"),
        ("GCN", ["epochs"], "does not declare"),
        ("GCN", {"lr": (0.1, 0.01)}, "lower end first"),
        ("GCN", {"dropout": (0.0, 1.0)}, "dropout"),
        ("GCN", {"backbone": ["gnc"]}, "gcn"),
        ("GCN", [], "names no setting"),
        ("GCN", ["seed"], "seed"),
    ],
)
def test_mistakes_in_a_search_are_told(method, search, word):
    with pytest.raises(ConfigError, match=word):
        build_search_space(type(pignn.make(method)), search)


def test_a_space_is_what_is_declared_or_said():
    space = build_search_space(METHODS.get("gce"), {"q": None, "lr": (0.001, 0.1), "truncated": None, "epochs": [5, 9]})
    assert space == {
        "q": Range(0.1, 1.0),
        "lr": Range(0.001, 0.1, log=True),
        "truncated": (False, True),
        "epochs": (5, 9),
    }
    assert issubclass(METHODS.get("gce"), Method)
    integers = optuna.distributions.IntDistribution(1, 4)
    assert tuning.build_optuna_distribution(Range(1, 4)) == integers
