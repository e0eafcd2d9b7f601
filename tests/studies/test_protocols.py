"""What protocols promise: who sees the truth, and who sees the test nodes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import pignn
from pignn import graphs
from pignn.core.errors import ConfigError, DataError
from pignn.studies import Protocol, collect_results, open_results, run_graphs, run_study
from pignn.studies.execute import INDUCTIVE_TRAINING, TRAINING, score_training_nodes
from pignn.studies.run_spec import GraphSpec
from pignn.studies.tuning import SAMPLERS, make_sampler
from pignn.training.metrics import score_on_training_labels

from .conftest import make

SEARCH = {"lr": [0.001, 0.1], "hidden_channels": [2, 16]}


def load_noisy(seed: int = 0):
    data = graphs.load("csbm", num_nodes=200, num_classes=3)
    return pignn.corrupt(data, "symmetric", 0.4, seed=seed)


@pytest.mark.parametrize("sampler", SAMPLERS.list_names())
def test_no_tuner_can_see_the_truth(sampler):
    def tune(data):
        trials = make_sampler(sampler, SEARCH, 4, 1)
        found = TRAINING.compute_targets_probs_and_measures("vanilla", {"epochs": 8}, trials, 0, data)
        return found.chosen, found.probs

    data = load_noisy()
    chosen, probs = tune(data)
    lied_to = data.clone()
    lied_to.y_true = (data.y_true + 1 + torch.arange(data.num_nodes) % 2) % 3  # nowhere the truth any more
    again, again_probs = tune(lied_to)
    assert again == chosen
    assert np.array_equal(probs, again_probs)
    other = data.clone()
    other.y = torch.where(data.val_mask, (data.y + 1) % 3, data.y)  # but given validation labels do decide
    assert not np.array_equal(tune(other)[1], probs)


def test_every_method_has_the_same_number_of_trials_and_reports_all_but_a_single_one():
    reported = []

    class Sampler:
        num_trials = 3

        def __iter__(self):
            return iter([{}, {"lr": 0.1}, {"lr": 0.001}])

        def report(self, agreement):
            reported.append(agreement)

    found = TRAINING.compute_targets_probs_and_measures("vanilla", {"epochs": 3}, Sampler(), 0, load_noisy())
    assert len(reported) == 3
    assert found.chosen in ({}, {"lr": 0.1}, {"lr": 0.001})
    for name in SAMPLERS.list_names():
        assert make_sampler(name, SEARCH, 0, 0).num_trials == 1
        assert make_sampler(name, SEARCH, 9, 0).num_trials == 5
        sampler = make_sampler(name, SEARCH, 4, 0)
        tried = []
        for trial in sampler:
            tried.append(trial)
            sampler.report(0.5)
        assert tried[0] == {}
        assert len(tried) == 4
        assert all(trial[key] in SEARCH[key] for trial in tried[1:] for key in SEARCH)
    with pytest.raises(ConfigError, match="did you mean 'grid'"):
        Protocol.from_preset("honest", trials=2, sampler="gird")


def test_inductive_training_sees_neither_the_test_nodes_nor_their_edges():
    data = load_noisy()
    seen = INDUCTIVE_TRAINING.select_training_graph(data)
    assert seen.num_nodes == int((~data.test_mask).sum())
    assert not seen.test_mask.any()
    new_number = (~data.test_mask).cumsum(0) - 1
    kept = (~data.test_mask)[data.edge_index].all(0)
    assert torch.equal(seen.edge_index, new_number[data.edge_index[:, kept]])
    assert torch.equal(seen.y, data.y[~data.test_mask])

    other = data.clone()  # test nodes with other features cannot change what is learned
    other.x = torch.where(data.test_mask[:, None], data.x * -7, data.x)
    models = [
        pignn.make("vanilla", epochs=5).fit(INDUCTIVE_TRAINING.select_training_graph(one)) for one in (data, other)
    ]
    assert np.array_equal(models[0].predict_proba(data), models[1].predict_proba(data))
    data.crow = data.x
    with pytest.raises(DataError, match="graph in memory"):
        INDUCTIVE_TRAINING.select_training_graph(data)


def test_an_inductive_study_is_another_one_and_runs(tmp_path, here):
    study = make(seeds=(0,), protocol=Protocol.from_preset("inductive"))
    assert "without the test nodes" in str(study.protocol)
    assert run_study(study, tmp_path).failed == 0
    with open_results(tmp_path) as store:
        assert {run.spec.work for run in collect_results(study, store).runs} == {"train-inductive"}
        assert collect_results(make(seeds=(0,)), store).num_done == 0


def test_begin_draws_half_the_nodes_for_training_and_a_tenth_for_validation_for_every_seed():
    rules = Protocol.from_preset("begin")
    specs = [
        GraphSpec(
            dataset="digits", split=rules.split, split_seed=rules.get_split_seed(seed), noise="symmetric", rate=0.3,
            noisy=rules.noisy, seed=seed,
        )
        for seed in (0, 1)
    ]  # fmt: skip
    one, two = (run_graphs.load_noisy_graph_and_digest(spec)[0] for spec in specs)
    n = one.num_nodes
    assert [int(one[f"{name}_mask"].sum()) for name in ("train", "val", "test")] == [
        int(0.5 * n), int(0.1 * n), n - int(0.5 * n) - int(0.1 * n),
    ]  # fmt: skip
    assert not torch.equal(one.train_mask, two.train_mask)
    assert float((one.y != one.y_true).float().mean()) == pytest.approx(0.3, abs=0.05)


def test_right_and_wrong_training_labels_are_scored_apart():
    numbers = score_on_training_labels([0, 0, 1, 1, 2, -1], [0, 0, 1, 2, 1, 0], [0, 1, 1, 2, 2, 0])
    assert numbers == {
        "accuracy_right_labels": pytest.approx(2 / 3),
        "accuracy_wrong_labels": 0.5,
        "memorized_labels": 0.5,
    }
    assert score_on_training_labels([0], [0], [0])["memorized_labels"] is None
    data = load_noisy()
    memorized = score_training_nodes(data, data.y.numpy())
    assert (memorized["accuracy_right_labels"], memorized["memorized_labels"]) == (1.0, 1.0)
    assert memorized["accuracy_wrong_labels"] == 0.0
