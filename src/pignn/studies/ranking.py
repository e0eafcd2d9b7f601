"""Which row of a study is best over all its cells: mean ranks, and which of them chance alone would explain.

A cell is a dataset with a noise; its value for a row is the mean over seeds. In every cell rows are ranked: 1 is best,
and equal ones share their ranks. Friedman's test says whether the rows differ at all. Which pairs do is said by
Nemenyi's test, or by Wilcoxon's signed-rank test over cells with Holm's correction for all pairs (Demšar, JMLR 2006).
"""

from __future__ import annotations

import itertools
import math
import statistics
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.errors import DataError, build_unknown_name_error
from .measures import get_measure
from .results import StudyResults
from .significance import SIGNIFICANCE_LEVEL, correct_p_values_by_holm

PAIR_TESTS = ("nemenyi", "wilcoxon")
MIN_ROWS, MIN_CELLS = 3, 2
Cells = list[tuple[str, str]]


class Ranking(NamedTuple):
    """Rows from the best mean rank to the worst, and what the tests say.

    ``statistic`` and ``p`` are Friedman's χ² and its p-value. ``critical_difference`` is Nemenyi's: mean ranks that are
    closer cannot be told apart. It is ``None`` if pairs were tested by Wilcoxon's test. ``alike`` has the longest
    stretches of rows, first and last index, in which no pair differs. ``left_out`` has the rows that lack cells, with
    how many they have.
    """

    rows: list[str]
    mean_ranks: list[float]
    cells: Cells
    statistic: float
    p: float
    critical_difference: float | None
    alike: list[tuple[int, int]]
    left_out: dict[str, int]


def rank_rows(results: StudyResults, pair_test: str = "nemenyi") -> Ranking:
    """Rank the rows of a study that have all its cells, as far as any row has them."""
    if pair_test not in PAIR_TESTS:
        raise build_unknown_name_error("test of pairs", pair_test, PAIR_TESTS)
    means = compute_cell_means_by_row(results)
    num_cells = max((len(cells) for cells in means.values()), default=0)
    rows = [label for label, cells in means.items() if len(cells) == num_cells]
    if len(rows) < MIN_ROWS or num_cells < MIN_CELLS:
        raise DataError(
            f"ranks need {MIN_ROWS} rows that have {MIN_CELLS} cells or more; '{results.study.name}' has "
            f"{len(rows)} with {num_cells}: run more of it"
        )
    cells = list(means[rows[0]])
    values = np.array([[means[label][cell] for label in rows] for cell in cells])
    sign = 1.0 if get_measure(results.study.metric).higher_is_better is False else -1.0
    ranks = compute_ranks(sign * values)
    order = np.argsort(ranks.mean(axis=0), kind="stable")
    ranks, values = ranks[:, order], values[:, order]
    statistic, p = compute_friedman_statistic_and_p(ranks)
    difference = compute_critical_difference(len(rows), len(cells)) if pair_test == "nemenyi" else None
    mean_ranks = ranks.mean(axis=0)
    differs = (
        np.abs(mean_ranks[:, None] - mean_ranks) >= difference
        if difference is not None
        else find_pairs_that_differ_by_wilcoxon(values)
    )
    return Ranking(
        [rows[i] for i in order],
        mean_ranks.tolist(),
        cells,
        statistic,
        p,
        difference,
        find_stretches_without_difference(differs),
        {label: len(own) for label, own in means.items() if label not in rows},
    )


def compute_cell_means_by_row(
    results: StudyResults, metric: str | None = None
) -> dict[str, dict[tuple[str, str], float]]:
    """Per row, the mean over seeds of every cell that it has."""
    study = results.study
    means: dict[str, dict[tuple[str, str], float]] = {}
    for label in results.row_labels:
        means[label] = {}
        for dataset, noise in itertools.product(study.datasets, study.noises):
            values = results.get_values_by_seed(dataset, noise, label, metric)
            if values:
                means[label][str(dataset), str(noise)] = statistics.fmean(values.values())
    return means


def compute_ranks(costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """The rank of every column within its row, [cells, rows of the study]; the lowest cost has rank 1."""
    from scipy import stats

    return np.asarray(stats.rankdata(costs, axis=1))


def compute_friedman_statistic_and_p(ranks: NDArray[np.float64]) -> tuple[float, float]:
    """χ² = (k − 1) · Σ_j (R_j − N(k+1)/2)² / Σ_ij (r_ij − (k+1)/2)², corrected for ties; and p with k − 1 degrees."""
    from scipy import stats

    num_cells, num_rows = ranks.shape
    spread = float(((ranks - (num_rows + 1) / 2) ** 2).sum())
    if spread == 0:  # all rows are the same everywhere
        return 0.0, 1.0
    between = float(((ranks.sum(axis=0) - num_cells * (num_rows + 1) / 2) ** 2).sum())
    statistic = (num_rows - 1) * between / spread
    return statistic, float(stats.chi2.sf(statistic, num_rows - 1))


def compute_critical_difference(num_rows: int, num_cells: int, level: float = SIGNIFICANCE_LEVEL) -> float:
    """Nemenyi's q·√(k(k + 1) / 6N), with q of the studentized range over √2."""
    from scipy import stats

    q = float(stats.studentized_range.ppf(1 - level, num_rows, np.inf)) / math.sqrt(2)
    return q * math.sqrt(num_rows * (num_rows + 1) / (6 * num_cells))


def find_pairs_that_differ_by_wilcoxon(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which pairs of columns differ by the signed-rank test over cells, after Holm's correction: symmetric."""
    from scipy import stats

    num_rows = values.shape[1]
    pairs = list(itertools.combinations(range(num_rows), 2))
    gaps = [values[:, i] - values[:, j] for i, j in pairs]
    corrected = correct_p_values_by_holm([float(stats.wilcoxon(gap).pvalue) if gap.any() else 1.0 for gap in gaps])
    differs = np.zeros((num_rows, num_rows), dtype=bool)
    for (i, j), p in zip(pairs, corrected, strict=True):
        differs[i, j] = differs[j, i] = p < SIGNIFICANCE_LEVEL
    return differs


def find_stretches_without_difference(differs: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """The longest stretches (first, last) of two rows or more in which no pair differs."""
    stretches: list[tuple[int, int]] = []
    for first in range(len(differs)):
        last = first
        while last + 1 < len(differs) and not differs[first : last + 1, last + 1].any():
            last += 1
        if last > first and (not stretches or last > stretches[-1][1]):
            stretches.append((first, last))
    return stretches
