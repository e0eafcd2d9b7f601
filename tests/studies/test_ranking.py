"""Ranks, their tests and their picture, against published and independent computations."""

from __future__ import annotations

import itertools
import math
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from scipy import stats

from pignn.core.errors import ConfigError, DataError
from pignn.report.leaderboard import TradeoffPoint, draw_ranks, draw_tradeoff
from pignn.studies import NoiseSpec, StudyRow
from pignn.studies.leaderboard import build_leaderboard_rows, build_leaderboard_table, is_on_pareto_front
from pignn.studies.page import build_html_page
from pignn.studies.ranking import (
    compute_critical_difference,
    compute_friedman_statistic_and_p,
    compute_ranks,
    find_pairs_that_differ_by_wilcoxon,
    find_stretches_without_difference,
    rank_rows,
)

from .conftest import make

# Four rows on 14 cells, with ties.
VALUES = np.array([
    [0.763, 0.768, 0.771, 0.798], [0.599, 0.591, 0.590, 0.569], [0.954, 0.971, 0.968, 0.967],
    [0.628, 0.661, 0.654, 0.657], [0.882, 0.888, 0.886, 0.898], [0.936, 0.931, 0.916, 0.931],
    [0.661, 0.668, 0.609, 0.685], [0.583, 0.583, 0.563, 0.625], [0.775, 0.838, 0.866, 0.875],
    [1.000, 1.000, 1.000, 1.000], [0.940, 0.962, 0.965, 0.962], [0.619, 0.666, 0.614, 0.669],
    [0.972, 0.981, 0.975, 0.975], [0.957, 0.978, 0.946, 0.970],
])  # fmt: skip
ROWS = tuple(StudyRow(name, "vanilla", {"epochs": n + 1}) for n, name in enumerate("ABCD"))
NOISES = tuple(NoiseSpec("symmetric", rate / 20) for rate in range(14))


def test_ranks_are_shared_by_equal_values_and_the_critical_difference_is_demsars():
    assert compute_ranks(-VALUES)[[1, 5, 9]].tolist() == [[1, 2, 3, 4], [1, 2.5, 4, 2.5], [2.5] * 4]
    assert compute_critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)  # JMLR 2006, section 3.2.2
    for num_rows, q in ((2, 1.960), (3, 2.343), (5, 2.728), (10, 3.164)):  # its table 5
        expected = q * math.sqrt(num_rows * (num_rows + 1) / (6 * 7))
        assert compute_critical_difference(num_rows, 7) == pytest.approx(expected, rel=5e-4)


def test_friedmans_test_is_scipys_also_with_ties():
    values = np.random.default_rng(0).integers(0, 4, (9, 5)).astype(float)
    for costs in (VALUES, values):
        expected = stats.friedmanchisquare(*costs.T)
        assert compute_friedman_statistic_and_p(compute_ranks(costs)) == pytest.approx(
            (expected.statistic, expected.pvalue)
        )
    assert compute_friedman_statistic_and_p(compute_ranks(np.ones((5, 3)))) == (0.0, 1.0)


def test_pairs_by_wilcoxon_are_corrected_for_all_pairs():
    values = np.random.default_rng(1).normal(size=(20, 4)) * 0.05 + [0.0, 0.005, 0.2, 0.4]
    differs = find_pairs_that_differ_by_wilcoxon(values)
    pairs = list(itertools.combinations(range(4), 2))
    p_values = {pair: stats.wilcoxon(values[:, pair[0]], values[:, pair[1]]).pvalue for pair in pairs}
    significant = set()
    for step, pair in enumerate(sorted(pairs, key=p_values.__getitem__)):  # Holm, step by step
        if p_values[pair] * (len(pairs) - step) >= 0.05:
            break
        significant.add(pair)
    assert {pair for pair in pairs if differs[pair]} == significant
    assert (differs == differs.T).all()
    assert 0 < len(significant) < len(pairs)


def test_stretches_are_the_longest_without_any_difference():
    differs = np.zeros((5, 5), dtype=bool)
    differs[0, 2:] = differs[1, 4] = True
    differs |= differs.T
    assert find_stretches_without_difference(differs) == [(0, 1), (1, 3), (2, 4)]
    assert find_stretches_without_difference(~np.eye(3, dtype=bool)) == []


def rank(numbers, values=VALUES, **changes):
    study = make(rows=ROWS, noises=NOISES, seeds=(0,), **changes)
    column = {row.label: i for i, row in enumerate(ROWS)}
    line = {str(noise): i for i, noise in enumerate(NOISES)}
    return numbers(study, lambda dataset, noise, label, seed: values[line[str(noise)], column[label]])


def test_rows_of_a_study_are_ranked_best_first(numbers):
    results = rank(numbers)
    ranking = rank_rows(results)
    assert ranking.rows == ["D", "B", "C", "A"]
    assert ranking.critical_difference == pytest.approx(1.25, abs=0.005)
    assert ranking.alike == [(0, 3)]  # 1.21 apart
    assert len(ranking.cells) == 14
    assert rank_rows(results, "wilcoxon").critical_difference is None
    notes = " ".join(build_leaderboard_table(results, ranking).notes)
    assert "closer than 1.25 cannot be told apart" in notes
    with pytest.raises(ConfigError, match="did you mean 'nemenyi'"):
        rank_rows(results, "nemenji")


def test_rows_that_lack_cells_are_named_and_not_ranked(numbers):
    study = make(rows=ROWS, noises=NOISES[:3], seeds=(0,))
    missing = ("B", str(NOISES[0]))
    results = numbers(study, lambda dataset, noise, label, seed: None if (label, noise) == missing else 0.5)
    ranking = rank_rows(results)
    assert ranking.left_out == {"B": 2}
    assert "B (2 of 3 cells)" in " ".join(build_leaderboard_table(results, ranking).notes)
    with pytest.raises(DataError, match="run more of it"):
        rank_rows(numbers(make(rows=ROWS[:2], noises=NOISES[:3], seeds=(0,)), lambda *_: 0.5))


def test_nothing_is_better_and_cheaper_than_what_is_on_the_front(numbers):
    generator = np.random.default_rng(2)
    points = {str(n): (float(g), float(c)) for n, (g, c) in enumerate(generator.integers(0, 6, (30, 2)))}
    for name, (gain, cost) in points.items():
        dominated = any(g >= gain and c <= cost and (g, c) != (gain, cost) for g, c in points.values())
        assert is_on_pareto_front(name, points) != dominated
    assert not is_on_pareto_front("x", {"x": (1.0, None), "y": (0.0, 2.0)})
    rows = build_leaderboard_rows(results := rank(numbers), rank_rows(results))
    assert [row.numbers["seconds"] for row in rows] == [None] * 4  # not measured: no point, and no error


def test_drawings_are_xml_with_hostile_names_as_text():
    hostile = "<script>alert(1)</script>"
    ranked = [(hostile, 1.2), ("b" * 200, 2.0), ("c", 3.7)]
    text = draw_ranks("ranks", ranked, [(0, 1)], 1.1)
    assert "<script" not in text
    assert "(1.20)" in text
    assert 'class="stretch"' in text
    ElementTree.fromstring(text)
    points = [TradeoffPoint(hostile, 0.01, 0.5, True), TradeoffPoint("b", 30.0, 0.4, False)]
    text = draw_tradeoff(points, x_label="seconds", y_label="accuracy")
    assert "<script" not in text
    ElementTree.fromstring(text)
    draw_tradeoff(points[:1], x_label="seconds", y_label="accuracy")  # a single cost has no range
    narrow = [TradeoffPoint("a", 623.0, 0.5, True), TradeoffPoint("b", 644.0, 0.4, False)]
    assert ">630<" in draw_tradeoff(narrow, x_label="MB", y_label="accuracy")


def test_the_page_of_a_study_has_ranks_where_there_are_enough_rows_and_cells(numbers):
    assert "critical difference 1.25" in build_html_page(rank(numbers))
    assert "critical difference" not in build_html_page(rank(numbers, x="epochs"))  # a curve over a setting
