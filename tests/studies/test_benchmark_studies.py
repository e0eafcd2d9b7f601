"""The benchmarks of this package are studies: all methods, audits as work, the authors' own noise, any metric."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import pignn
from pignn.auditing.label_scorers import SCORERS
from pignn.core.errors import ConfigError
from pignn.studies import Protocol, StudyRow, build_tables, collect_results, get_study, open_results, run_study
from pignn.studies.comparison import build_mean_gains_over_published_table, build_paper_comparison_table
from pignn.studies.measures import list_measure_names
from pignn.studies.planning import build_run_spec_without_graph
from pignn.studies.run_graphs import complete_path_if_noise_file
from pignn.training.metrics import METRICS

from .conftest import GRAPH, make

BENCHMARKS = ["audit", "audit-judges", "audit-llm-labels", "beyond", "beyond-heterophily", "beyond-random-splits"]
BENCHMARKS += ["beyond-llm-labels"]


@pytest.mark.parametrize(("name", "num_noises"), [("beyond", 8), ("leaderboard", 6)])
def test_every_method_stands_in_the_comparison(name, num_noises):
    study = get_study(name)
    assert {row.method for row in study.rows} == {info.name for info in pignn.methods.list_methods()}
    assert len(study.noises) == num_noises


@pytest.mark.parametrize("name", BENCHMARKS)
def test_rows_of_a_benchmark_can_be_planned(name):
    study = get_study(name)
    for row in study.rows:
        assert build_run_spec_without_graph(study, row).code


@pytest.mark.parametrize("noise", ["symmetric", "flip"])
def test_labels_are_wrong_where_the_published_program_makes_them_wrong(noise):
    data = pignn.load("csbm", num_nodes=300, num_classes=3)
    np.random.seed(5)
    matrix = np.full((3, 3), 0.2)
    if noise == "flip":
        matrix = np.zeros((3, 3))
        for each, others in enumerate(([1, 2], [0, 2], [0, 1])):
            matrix[each, np.random.choice(others)] = 0.4
    np.fill_diagonal(matrix, 0.6)
    expected = [np.random.choice(3, p=matrix[label]) for label in data.y[data.train_mask].tolist()]
    noisy = pignn.corrupt(data, noise, 0.4, seed=5, splits="train", draws="released")
    assert noisy.y[noisy.train_mask].tolist() == expected
    assert (noisy.y[noisy.test_mask] == -1).all()
    assert noisy.noise["draws"] == "released"
    with pytest.raises(ConfigError, match="no noise 'pair'"):
        pignn.corrupt(data, "pair", 0.4, draws="released")


def test_the_authors_draws_are_a_protocol(tmp_path, here):
    study = make(protocol=Protocol.from_preset("released"), rows=(StudyRow("GCN", "vanilla"),), seeds=(0,))
    assert run_study(study, tmp_path).failed == 0
    with open_results(tmp_path) as store:
        (table,) = build_tables(collect_results(study, store))
    assert "the authors' own draws of noise" in table.notes[0]
    with pytest.raises(ConfigError, match="the authors' program has no noise 'pair'"):
        run_study(study.subset(noises=["pair:0.2"]), tmp_path)


def test_an_audit_is_a_run_with_metrics_of_its_own(tmp_path, here):
    rows = tuple(StudyRow(name, name, work="audit") for name in SCORERS.list_names())
    rows = (*rows, StudyRow("three folds", "audit", {"folds": 3}, work="audit"))
    study = make(rows=rows, settings={}, protocol=Protocol.from_preset("audit"), metric="error_average_precision")
    assert run_study(study, tmp_path).failed == 0
    with open_results(tmp_path) as store:
        results = collect_results(study, store)
    noise = study.noises[0]
    by_audit = results.get_values_by_seed(GRAPH, noise, "audit")
    assert 0.2 < by_audit[0] <= 1
    assert by_audit != results.get_values_by_seed(GRAPH, noise, "three folds")
    for measure in ("precision_at_k", "noise_error", "corrected_accuracy", "calibration_error", "estimated_noise"):
        assert results.get_values_by_seed(GRAPH, noise, "audit", measure)
    assert results.get_values_by_seed(GRAPH, noise, "margin", "noise_error") == {}
    data = pignn.corrupt(pignn.load("csbm", **GRAPH.options), "symmetric", 0.2, seed=0, splits=("all",))
    with warnings.catch_warnings(action="ignore"):
        audit = pignn.auditing.audit_labels(data)
    issues = audit.issues.sort_values("node")
    expected = METRICS.get("error_average_precision").compute(
        (data.y != data.y_true).long().numpy(), None, np.stack([1 - issues["p_wrong"], issues["p_wrong"]], axis=1)
    )
    assert by_audit[0] == pytest.approx(expected)


def test_mistakes_in_rows_of_audits_are_found_before_anything_is_computed(tmp_path, here):
    for row, words in (
        (StudyRow("x", "audits", work="audit"), "unknown label scorer 'audits'"),
        (StudyRow("x", "audit", {"fold": 3}, work="audit"), "unknown setting 'fold'"),
        (StudyRow("x", "audit", {"folds": 1}, work="audit"), "folds must be"),
        (StudyRow("x", "audit", work="audits"), "unknown kind of work 'audits'"),
    ):
        with pytest.raises(ConfigError, match=words):
            run_study(make(rows=(row,), settings={}), tmp_path)
    assert here.computed == []


def test_a_metric_from_outside_can_be_asked_for(tmp_path, here, monkeypatch):
    study = make(seeds=(0,))
    run_study(study, tmp_path)
    place = tmp_path / "installed"
    (place / "errors-1.0.dist-info").mkdir(parents=True)
    (place / "errors-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: errors\nVersion: 1.0\n")
    (place / "errors-1.0.dist-info" / "entry_points.txt").write_text("[pignn.metrics]\nerrors = errors_metric:ERRORS\n")
    (place / "errors_metric.py").write_text(
        "from pignn.training.metrics import Metric\n"
        "def count(y, pred, probs):\n    return float((y != pred).sum())\n"
        "ERRORS = Metric('errors', 'number of wrong predictions', count, higher_is_better=False)\n"
    )
    monkeypatch.syspath_prepend(str(place))
    assert "errors" in list_measure_names()
    asked = study.subset(metric="errors")
    summary = run_study(asked, tmp_path)  # runs that lack the metric are computed again
    assert (summary.cached, summary.computed) == (0, len(study))
    assert run_study(asked, tmp_path).computed == 0
    with open_results(tmp_path) as store:
        results = collect_results(asked, store)
        assert len(store) == len(study)
    for noise in study.noises:
        errors, accuracy = (results.get_values_by_seed(GRAPH, noise, "GCN", name)[0] for name in ("errors", "accuracy"))
        assert errors == pytest.approx((1 - accuracy) * int(pignn.load("csbm", **GRAPH.options).test_mask.sum()))
    (table,) = build_tables(results)
    means = [float(row[1].text) for row in table.rows]
    assert [row[1].bold for row in table.rows] == [mean == min(means) for mean in means]  # fewer are better


def test_gains_over_a_row_of_the_paper(numbers):
    study = get_study("beyond").subset(
        datasets=["cora"], noises=["symmetric:0.4"], seeds=[0, 1], methods=["GCN", "MLP"]
    )
    study = make(name="beyond", datasets=study.datasets, noises=study.noises, rows=study.rows, settings={})
    try:
        results = numbers(study, lambda dataset, noise, label, seed: 0.7 if label == "GCN" else 0.6)
    except pignn.core.errors.DataError:
        pytest.skip("Cora is not here")
    gains = build_mean_gains_over_published_table(results, "PI-GNN")
    assert [[str(cell) for cell in row] for row in gains.rows] == [
        ["GCN", "1", "0.700", "+0.036", "0"],
        ["MLP", "1", "0.600", "-0.064", "1"],
    ]
    table = build_paper_comparison_table(results)
    assert table.columns[-1] == "beyond GCN"
    assert table.rows[0][-1] == "+0.000"


def test_recorded_labels_may_lie_in_the_folder_of_the_dataset(tmp_path, monkeypatch):
    (tmp_path / "labels.npz").touch()
    monkeypatch.setattr(
        "pignn.graphs.datasets.base.Dataset.find_location_or_empty", lambda self, root=None: str(tmp_path)
    )
    assert complete_path_if_noise_file("labels.npz", "cora") == str(tmp_path / "labels.npz")
    assert complete_path_if_noise_file("other.npz", "cora") == "other.npz"
    assert complete_path_if_noise_file("symmetric", "cora") == "symmetric"
