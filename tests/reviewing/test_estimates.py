"""The interval of the error rate holds at all times; agreement is what an independent computation says."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import betabinom
from sklearn.metrics import cohen_kappa_score

from pignn.reviewing.agreement import compute_cohen_kappa_or_none, compute_krippendorff_alpha_or_none
from pignn.reviewing.estimates import compute_progress_panel, compute_wrong_count_interval
from pignn.reviewing.verdicts import KEEP, RELABEL, UNDECIDED, UNSURE


@pytest.mark.parametrize(
    ("total", "drawn", "wrong"), [(50, 0, 0), (50, 10, 3), (200, 150, 0), (200, 200, 7), (2000, 100, 30), (33, 32, 32)]
)
def test_the_interval_is_the_set_that_the_martingale_does_not_reject(total, drawn, wrong):
    rest = np.arange(total + 1) - wrong
    posterior = betabinom.pmf(rest, total - drawn, 1 + wrong, 1 + drawn - wrong)
    inside = np.flatnonzero(posterior > 0.05 / (total + 1))
    assert compute_wrong_count_interval(total, drawn, wrong) == (inside.min(), inside.max())


@pytest.mark.parametrize("rate", [0.0, 0.02, 0.3])
def test_the_truth_is_inside_at_all_times_together(rate):
    rng, total, missed = np.random.default_rng(0), 300, 0
    is_wrong = np.arange(total) < round(rate * total)
    for _ in range(60):
        found = np.cumsum(rng.permutation(is_wrong))
        ends = [compute_wrong_count_interval(total, t, int(found[t - 1])) for t in range(1, total + 1, 7)]
        missed += any(not low <= is_wrong.sum() <= high for low, high in ends)
    assert missed <= 6  # 3 expected at most


def test_only_a_front_without_gaps_counts_and_unsure_counts_both_ways():
    order, p_wrong = np.arange(100), np.full(100, 0.3)
    status = np.full(100, UNDECIDED)
    status[50:] = RELABEL  # decided for another reason
    panel = compute_progress_panel(status, order, p_wrong, [])
    assert (panel.drawn, panel.rate, panel.rate_interval) == (0, None, (0.5, 1.0))
    status[:20] = KEEP
    sure = compute_progress_panel(status, order, p_wrong, [])
    status[0] = UNSURE
    unsure = compute_progress_panel(status, order, p_wrong, [])
    assert (sure.drawn, unsure.drawn) == (20, 20)
    assert unsure.rate_interval[1] >= sure.rate_interval[1]
    assert (unsure.found, unsure.decided, unsure.unsure) == (50, 69, 1)


def test_the_panel_expects_what_the_models_say_and_advises_to_stop():
    status = np.where(np.arange(400) < 200, KEEP, UNDECIDED)
    panel = compute_progress_panel(status, np.arange(400), np.full(400, 0.04), [False] * 10)
    assert panel.expected_errors == pytest.approx(2.0)
    assert panel.advice == "Stop here: the next 50 decisions are expected to find 2 errors."
    assert panel.precision == 0


def test_kappa_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    first = rng.choice(list("abc"), 80)
    second = np.where(rng.random(80) < 0.6, first, rng.choice(list("abc"), 80))
    expected = cohen_kappa_score(first, second)
    assert compute_cohen_kappa_or_none(list(zip(first, second, strict=True))) == pytest.approx(expected)
    assert compute_cohen_kappa_or_none([("a", "a")]) is None


def test_alpha_is_that_of_the_definition_pair_by_pair():
    rng = np.random.default_rng(1)
    units = [list(rng.choice(list("ab"), rng.integers(1, 5))) for _ in range(60)]
    kept = [unit for unit in units if len(unit) > 1]
    observed = sum(
        sum(a != b for i, a in enumerate(unit) for j, b in enumerate(unit) if i != j) / (len(unit) - 1) for unit in kept
    )
    values = [value for unit in kept for value in unit]
    expected = sum(a != b for i, a in enumerate(values) for j, b in enumerate(values) if i != j) / (len(values) - 1)
    assert compute_krippendorff_alpha_or_none(units) == pytest.approx(1 - observed / expected)
    # Krippendorff's own example of two observers and ten units (2011, p. 3): alpha = 0.095.
    first, second = "0100000010", "1110010000"
    assert compute_krippendorff_alpha_or_none(
        [list(pair) for pair in zip(first, second, strict=True)]
    ) == pytest.approx(0.095, abs=5e-4)
