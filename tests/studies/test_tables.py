"""Tables, comparisons and tests, against numbers worked out by hand or by SciPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from pignn.core.errors import DataError
from pignn.graphs import datasets
from pignn.studies import (
    DatasetSpec,
    NoiseSpec,
    StudyRow,
    build_tables,
    collect_results,
    comparison,
    open_results,
    paper,
    run_graphs,
    significance,
)
from pignn.studies.measures import get_measure
from pignn.studies.tables import format_mean_of_seeds_or_dash

from .conftest import GRAPH, make

VALUES = {"GCN": [0.50, 0.60, 0.70], "PI-GNN": [0.61, 0.69, 0.80]}


def planned(**changes):
    parts = {"name": "effectiveness", "datasets": (DatasetSpec("csbm", {"num_nodes": 120}),), "seeds": (0, 1, 2)}
    return make(**parts | changes)


def test_means_and_deviations_are_written_as_in_the_paper():
    assert format_mean_of_seeds_or_dash([0.5, 0.6, 0.7], get_measure("accuracy"), 3) == "0.600(0.10)"
    assert format_mean_of_seeds_or_dash([0.5, 0.6], get_measure("accuracy"), 3) == "0.550(0.07) n=2"
    assert format_mean_of_seeds_or_dash([0.5], get_measure("accuracy"), 1) == "0.500"
    assert format_mean_of_seeds_or_dash([], get_measure("accuracy"), 3) == "–"
    assert format_mean_of_seeds_or_dash([12.34], get_measure("seconds"), 1) == "12.34"


def test_the_best_of_a_column_is_bold(numbers):
    results = numbers(planned(), lambda dataset, noise, label, seed: VALUES[label][seed] if "flip" in noise else None)
    (table,) = build_tables(results)
    assert [cell.text for cell in table.rows[0]] == ["GCN", "–", "0.600(0.10)"]
    assert [cell.text for cell in table.rows[1]] == ["PI-GNN", "–", "0.700(0.10)"]
    assert [cell.bold for row in table.rows for cell in row] == [False, False, False, False, False, True]
    assert table.groups == [("", 1), ("symmetric", 1), ("flip", 1)]
    assert any("protocol paper" in note for note in table.notes)
    assert "\\textbf{0.700(0.10)}" in table.to_latex()
    assert "| **0.700(0.10)** |" in table.to_markdown()
    assert "<strong>0.700(0.10)</strong>" in table.to_html()


def test_the_smallest_is_bold_where_lower_is_better(numbers):
    results = numbers(planned(metric="seconds"), lambda dataset, noise, label, seed: VALUES[label][seed])
    (table,) = build_tables(results)
    assert [cell.bold for cell in table.rows[0]] == [False, True, True]


def test_distance_from_the_paper_in_standard_errors(numbers, monkeypatch):
    monkeypatch.setattr(
        comparison,
        "find_published_number_or_none",
        lambda study, dataset, noise, label: paper.PublishedNumber(0.65, 0.00) if label == "GCN" else None,
    )
    results = numbers(planned(), lambda dataset, noise, label, seed: VALUES[label][seed])
    cells = comparison.compare_with_paper(results)
    assert {cell.row for cell in cells} == {"GCN"}
    error = math.sqrt(0.1**2 / 3 + 0.005**2 / 10)
    assert cells[0].difference == pytest.approx(-0.05)
    assert cells[0].standard_errors == pytest.approx(-0.05 / error)
    assert not cells[0].differs_from_published
    assert "0 of 2 cells" in comparison.build_paper_comparison_table(results).notes[0]


def test_statistics_equal_those_of_scipy(numbers):
    results = numbers(planned(), lambda dataset, noise, label, seed: VALUES[label][seed])
    found = significance.compare_rows_with_reference(results)
    assert [(test.reference, test.row) for test in found] == [("PI-GNN", "GCN")] * 2
    ours, theirs = VALUES["PI-GNN"], VALUES["GCN"]
    apart = np.subtract(ours, theirs)
    test = found[0]
    assert test.t == pytest.approx(stats.ttest_rel(ours, theirs).statistic)
    assert test.p == pytest.approx(stats.ttest_rel(ours, theirs).pvalue)
    assert test.p_holm == pytest.approx(min(2 * test.p, 1))
    assert test.p_wilcoxon == pytest.approx(stats.wilcoxon(ours, theirs).pvalue)
    assert test.one_sample_p == pytest.approx(stats.ttest_1samp(ours, np.mean(theirs)).pvalue)
    assert test.effect == pytest.approx(apart.mean() / apart.std(ddof=1))
    assert test.wins == 1.0
    backwards = significance.compare_rows_with_reference(results, "GCN")[0]
    assert backwards.difference == pytest.approx(-test.difference)
    assert backwards.p == pytest.approx(test.p)


def test_wins_follow_the_direction_of_the_metric(numbers):
    results = numbers(planned(metric="calibration_error"), lambda dataset, noise, label, seed: VALUES[label][seed])
    test = significance.compare_rows_with_reference(results)[0]
    assert (test.reference, test.wins) == ("PI-GNN", 0.0)
    assert test.difference > 0


def test_equal_numbers_are_no_difference(numbers):
    results = numbers(planned(), lambda *_: 0.5)
    test = significance.compare_rows_with_reference(results)[0]
    assert (test.t, test.p, test.p_wilcoxon, test.effect, test.wins, test.one_sample_p) == (0, 1, 1, 0, 0.5, 1)


def test_only_seeds_that_both_have_are_paired(numbers):
    def value(dataset, noise, label, seed):
        return None if (label, seed) == ("GCN", 2) else VALUES[label][seed]

    test = significance.compare_rows_with_reference(numbers(planned(), value))[0]
    assert test.seeds == 2
    assert test.difference == pytest.approx(0.10)


def test_holm_correction_equals_a_calculation_by_hand():
    # From the smallest: 4 · 0.005, 3 · 0.01, 2 · 0.03, and what must not be smaller than the one before.
    assert significance.correct_p_values_by_holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert significance.correct_p_values_by_holm([0.9, 0.9]) == [1.0, 1.0]
    assert significance.correct_p_values_by_holm([]) == []


def test_the_paper_s_own_tests_stand_beside_ours(numbers):
    study = planned(
        name="significance",
        datasets=(DatasetSpec("csbm", {"num_nodes": 120}),),
        noises=(NoiseSpec("symmetric", 0.8),),
        rows=(StudyRow("GAT", "vanilla"), StudyRow("PI-GNN", "pi-gnn")),
    )
    values = {"GAT": VALUES["GCN"], "PI-GNN": VALUES["PI-GNN"]}
    results = numbers(study, lambda dataset, noise, label, seed: values[label][seed])
    table = significance.build_significance_table(results)
    assert len(table.columns) == len(table.rows[0]) == 14  # of csbm, the paper has none
    assert paper.find_published_t_test_or_none("cora", NoiseSpec("symmetric", 0.8)) == (4.78, 0.001)


def test_datasets_without_their_files_are_named_in_tables_and_comparisons(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "is_available", lambda name: name != "wikics")
    load = run_graphs.load_clean_graph_and_digest

    def refuse_digits(spec):  # as a graph is refused whose features are missing
        if spec.dataset == "digits":
            raise DataError("no features")
        return load(spec)

    monkeypatch.setattr(run_graphs, "load_clean_graph_and_digest", refuse_digits)
    study = make(name="effectiveness", datasets=(GRAPH, DatasetSpec("digits"), DatasetSpec("wikics")))
    with open_results(tmp_path) as store:
        results = collect_results(study, store)
    assert [one.name for one in results.missing_datasets] == ["digits", "wikics"]
    notes = [" ".join(table.notes) for table in build_tables(results)]
    assert ["nothing was computed" in text for text in notes] == [False, True, True]
    assert (
        "not compared, because their files are not here: digits, wikics"
        in comparison.build_paper_comparison_table(results).notes[-1]
    )
