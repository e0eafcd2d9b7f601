"""Methods are compared by held-out given labels, whatever the true ones are; a killed comparison goes on."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

import pignn
from pignn.core.errors import ConfigError, DataError, OutputError
from pignn.methods.auto import Auto
from pignn.methods.prototypes import Prototypes
from pignn.noise.model import NoiseModel
from pignn.runs import Comparison, comparison
from pignn.runs.accuracy import HeldOutLabels
from pignn.runs.comparison_result import MethodScore, compute_difference_and_error, compute_t_quantile
from pignn.runs.repeated_folds import RepeatedFolds

QUICK = ["class mean", "denoised"]


@pytest.fixture
def fits(monkeypatch):
    """The graphs that class means learned from."""
    seen = []
    fit = Prototypes.fit

    def record(self, data, **options):
        seen.append(data)
        return fit(self, data, **options)

    monkeypatch.setattr(Prototypes, "fit", record)
    return seen


def test_the_best_method_is_recommended_and_everything_can_be_shown(noisy, tmp_path):
    found = pignn.compare(noisy, {"class mean": "class mean", "blind": pignn.make("mlp", epochs=1)}, folds=3)
    assert found.recommended_method_score.method == "class mean"
    assert found.recommendation.startswith("take class mean; blind is worse by")
    assert found.recommended_method.get_params()["noise"] == "none"
    assert list(found.table["method"]) == ["class mean", "blind"]
    truth = pignn.make("prototypes", noise="none").fit(noisy).score(noisy)
    assert found.best_method_score.low - 0.02 <= truth <= found.best_method_score.high + 0.02
    assert 0.2 < found.noise_rate < 0.4
    assert found.num_labels == int((noisy.train_mask | noisy.val_mask).sum())
    page = found.report()
    assert found.recommendation in page
    assert "<svg" in page
    assert "class mean" in found._repr_html_()
    assert len(found.plot().axes) == 2
    found.save(tmp_path / "found")
    assert {path.name for path in (tmp_path / "found").iterdir()} == {
        "comparison.csv",
        "comparison.html",
        "comparison.json",
    }


def test_no_true_label_and_no_label_of_a_test_node_is_read(noisy):
    def run(data):
        return [(score.method, score.accuracy, score.error) for score in pignn.compare(data, QUICK, folds=3).scores]

    expected = run(noisy)
    other = noisy.clone()
    other.y_true = (noisy.y_true + torch.randint(0, 3, noisy.y_true.shape)) % 3
    other.y = torch.where(noisy.test_mask, torch.randint(0, 3, noisy.y.shape), noisy.y)
    assert run(other) == expected
    del other.y_true
    assert run(other) == expected


def test_every_label_is_held_out_from_every_fit_once_per_repeat(noisy, fits):
    noisy.trusted_mask = torch.zeros(noisy.num_nodes, dtype=torch.bool)
    labeled = np.flatnonzero((noisy.train_mask | noisy.val_mask).numpy())
    noisy.trusted_mask[labeled[:9]] = True
    pignn.compare(noisy, ["class mean"], folds=3, repeats=2)
    assert len(fits) == 6
    times = torch.zeros(noisy.num_nodes)
    for graph in fits:
        held_out = torch.ones(noisy.num_nodes, dtype=torch.bool)
        held_out[graph.y >= 0] = False
        times += held_out
        assert graph.get("y_true") is None
        for name in ("train_mask", "val_mask", "trusted_mask"):
            assert not (graph[name] & held_out).any()
        assert int(graph.trusted_mask.sum()) >= 4  # trusted labels are spread over the folds
    assert (times[labeled] == 2).all()


def test_a_method_that_chooses_does_so_without_the_held_out_labels(noisy, monkeypatch):
    asked = []
    monkeypatch.setattr(Auto, "fit", lambda self, data, **options: asked.append(data) or _Constant())
    pignn.compare(noisy, ["auto", "class mean"], folds=3, repeats=1)
    counts = [int((graph.y >= 0).sum()) for graph in asked]
    assert sum(counts) == 2 * int((noisy.train_mask | noisy.val_mask).sum())


class _Constant:
    def predict(self, data):
        return np.zeros(data.num_nodes, dtype=int)


def test_a_killed_comparison_goes_on_where_it_was(noisy, tmp_path, fits):
    whole = pignn.compare(noisy, QUICK, folds=3, out=tmp_path)
    assert len(fits) == 6
    journal = tmp_path / comparison.JOURNAL_FILE
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[:4]) + lines[4][:20])  # a kill in the midst of a line
    again = pignn.compare(noisy, QUICK, folds=3, out=tmp_path)
    assert len(fits) == 6 + 6 - sum('"class mean"' in line for line in lines[:4])
    drop = ["seconds"]
    assert again.table.drop(columns=drop).equals(whole.table.drop(columns=drop))
    assert all(json.loads(line) for line in journal.read_text().splitlines())


def test_the_folder_of_other_labels_is_refused(noisy, tmp_path):
    pignn.compare(noisy, ["class mean"], folds=3, repeats=1, out=tmp_path)
    other = noisy.clone()
    other.y[torch.nonzero(noisy.train_mask)[0]] += 1
    other.y %= 3
    with pytest.raises(OutputError, match="force=True"):
        pignn.compare(other, ["class mean"], folds=3, repeats=1, out=tmp_path)
    with pytest.raises(OutputError, match="force=True"):
        pignn.compare(noisy, ["class mean"], folds=4, repeats=1, out=tmp_path)
    pignn.compare(other, ["class mean"], folds=3, repeats=1, out=tmp_path, force=True)


def test_a_method_that_fails_is_told_and_left_out(noisy):
    found = pignn.compare(noisy, ["class mean", "lpm"], folds=3, repeats=1)
    assert list(found.table["method"]) == ["class mean"]
    assert "trusted" in found.failures["lpm"]
    assert "lpm could not be compared" in str(found)
    assert "trusted" in found.report()
    with pytest.raises(DataError, match="trusted"):
        pignn.compare(noisy, ["lpm"], folds=3, repeats=1)


def test_settings_are_of_one_method_or_of_all_that_have_them():
    chosen = comparison.build_checked_compared_methods(
        ["GCN", "MLP", "class mean"], {"epochs": 7, "GCN.epochs": 9}, seed=0
    )
    assert [each.method.get_params().get("epochs") for each in chosen] == [9, 7, None]
    assert len({each.digest() for each in chosen}) == 3
    for methods, settings, word in (
        (["GCN"], {"MLP.epochs": 3}, "MLP"),
        (["class mean"], {"epochs": 3}, "epochs"),
        (["GCN", "gcn"], {}, "twice"),
        ([], {}, "no method"),
        (["GCN"], {"epochs": 0}, "epochs"),
    ):
        with pytest.raises(ConfigError, match=word):
            comparison.build_checked_compared_methods(methods, settings, seed=0)


def _score(method, difference, as_good, seconds, error=0.01):
    return MethodScore(method, 0.9 + difference, 0.8, 1.0, 0.7, difference, error, as_good, seconds)


def test_the_method_named_first_is_taken_unless_another_is_better_by_a_standard_error():
    scores = [
        _score("best", 0.0, True, 9.0, error=0.0),
        _score("first", -0.03, True, 1.0, error=0.04),
        _score("unsure", -0.03, True, 0.1),
        _score("bad", -0.1, False, 0.1),
    ]
    methods = {name: pignn.make("vanilla") for name in ("first", "best", "unsure", "bad")}
    found = Comparison(scores, {}, methods, 100, 5, 2, 0.3)
    assert found.recommendation == (
        "take first, which was named first: best is better by 3.0 points, within the error of 4.0; "
        "unsure is as good within the error; bad is worse by 10.0 points"
    )
    scores[1] = _score("first", -0.05, True, 1.0, error=0.04)
    assert Comparison(scores, {}, methods, 100, 5, 2, 0.3).recommended_method_score.method == "best"
    assert Comparison(scores[:1], {"first": "failed"}, methods, 100, 5, 2, 0.3).recommended_method is methods["best"]


def test_the_error_is_that_of_the_corrected_resampled_t_test(noisy):
    design = RepeatedFolds.draw(noisy, 4, 2, seed=0)
    rng = np.random.default_rng(0)
    differences = rng.normal(0.1, 1, design.fold.T.shape)
    means = [differences[design.fold[r] == f, r].mean() for r in range(2) for f in range(4)]
    mean, error = compute_difference_and_error(design, differences)
    assert mean == pytest.approx(differences.mean())
    assert error**2 == pytest.approx((1 / 8 + 1 / 3) * np.var(means, ddof=1))
    assert compute_t_quantile(8) == pytest.approx(1.8946, abs=1e-4)  # t(0.95; 7)


def test_the_corrected_error_is_as_large_as_means_really_vary():
    """Two classifiers of noise that differ by luck alone: their difference exceeds the interval in a tenth of cases."""
    rng = np.random.default_rng(0)
    data = pignn.graphs.csbm(num_nodes=400, num_classes=2, seed=0)
    data.train_mask = torch.ones(400, dtype=torch.bool)
    data.val_mask = torch.zeros(400, dtype=torch.bool)
    data.test_mask = data.val_mask
    design = RepeatedFolds.draw(data, 5, 1, seed=0)
    outside = 0
    for _ in range(400):
        mean, error = compute_difference_and_error(design, rng.normal(0, 1, design.fold.T.shape))
        outside += abs(mean) > compute_t_quantile(5) * error
    assert outside / 400 <= 0.12  # independent folds: the correction is on the safe side


def test_accuracy_by_the_matrix_is_the_trace_of_the_solved_confusions():
    rng = np.random.default_rng(0)
    given, predicted = rng.integers(0, 3, 200), rng.integers(0, 3, (200, 2))
    transition = np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.0, 0.3, 0.7]])
    labels = HeldOutLabels(given, predicted, np.log(rng.dirichlet(np.ones(3), 200)), np.zeros(200, dtype=bool))
    by_matrix, by_node = labels.score_by_matrix_and_by_posterior(NoiseModel(1.0, np.zeros(3), transition))
    for repeat in range(2):
        seen = np.zeros((3, 3))
        np.add.at(seen, (given, predicted[:, repeat]), 1 / 200)
        assert by_matrix[:, repeat].mean() == pytest.approx(np.trace(np.linalg.solve(transition.T, seen)))
    assert by_node.shape == (200, 2)


def test_few_labels_are_refused(noisy):
    noisy.train_mask = noisy.train_mask & (noisy.train_mask.cumsum(0) <= 30)
    noisy.val_mask = noisy.val_mask & False
    with pytest.raises(DataError, match="too few"):
        pignn.compare(noisy, ["class mean"])
