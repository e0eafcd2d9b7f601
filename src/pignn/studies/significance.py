"""Is one row better than another, or was it lucky? Tests over seeds, corrected for their number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..report.table import Cell, Table
from .measures import get_measure
from .paper import find_published_t_test
from .results import StudyResults
from .study import format_seeds

SIGNIFICANCE_LEVEL = 0.05


class PairedTest(NamedTuple):
    """The reference row against another one in a cell, over the seeds that both have.

    ``difference`` is reference − other; ``effect`` is Cohen's d of the pairs (mean of the differences in their
    standard deviations); ``wins`` the share of seeds where the reference is better. ``t`` and ``p`` are the paired
    t-test's, ``p_wilcoxon`` the signed-rank test's, both two-sided; ``..._holm`` are corrected for all
    comparisons of the study. ``one_sample_t`` and ``one_sample_p`` test the reference's runs against the other's
    mean as if it were a known number, which is what the paper did: it leaves out half of the luck.
    """

    dataset: str
    noise: str
    reference: str
    row: str
    seeds: int
    difference: float
    effect: float
    wins: float
    t: float
    p: float
    p_holm: float
    p_wilcoxon: float
    p_wilcoxon_holm: float
    one_sample_t: float
    one_sample_p: float


def compare_rows(results: StudyResults, reference: str = "") -> list[PairedTest]:
    """Test the reference row (the study's, else its last one) against all others, cell by cell."""
    study = results.study
    against = reference or study.reference or study.rows[-1].label
    lower_is_better = get_measure(study.metric).higher_is_better is False
    tests: list[PairedTest] = []
    for dataset in study.datasets:
        for noise in study.noises:
            ours = results.values_by_seed(dataset, noise, against)
            for label in results.labels:
                theirs = results.values_by_seed(dataset, noise, label)
                seeds = sorted(set(ours) & set(theirs))
                if label == against or len(seeds) < 2:
                    continue
                pairs = np.array([[ours[seed], theirs[seed]] for seed in seeds])
                numbers = _test_pairs(pairs[:, 0], pairs[:, 1], lower_is_better)
                tests.append(PairedTest(str(dataset), str(noise), against, label, len(seeds), **numbers))
    p_holm, p_wilcoxon_holm = correct_holm([t.p for t in tests]), correct_holm([t.p_wilcoxon for t in tests])
    return [
        test._replace(p_holm=p, p_wilcoxon_holm=w) for test, p, w in zip(tests, p_holm, p_wilcoxon_holm, strict=True)
    ]


def _test_pairs(ours: np.ndarray, theirs: np.ndarray, lower_is_better: bool) -> dict[str, float]:
    from scipy import stats

    difference = ours - theirs
    mean, std = float(difference.mean()), float(difference.std(ddof=1))
    certain = 0.0 if mean == 0 else math.copysign(math.inf, mean)  # where nothing varies over seeds
    t, p = certain, float(mean == 0)
    if std > 0:
        paired = stats.ttest_rel(ours, theirs)
        t, p = float(paired.statistic), float(paired.pvalue)
    wilcoxon = float(stats.wilcoxon(ours, theirs).pvalue) if difference.any() else 1.0
    one_t, one_p = certain, float(mean == 0)
    if ours.std() > 0:
        single = stats.ttest_1samp(ours, theirs.mean())
        one_t, one_p = float(single.statistic), float(single.pvalue)
    better = difference < 0 if lower_is_better else difference > 0
    return {
        "difference": mean,
        "effect": mean / std if std > 0 else certain,
        "wins": float(better.mean() + 0.5 * (difference == 0).mean()),
        "t": t,
        "p": p,
        "p_holm": p,
        "p_wilcoxon": wilcoxon,
        "p_wilcoxon_holm": wilcoxon,
        "one_sample_t": one_t,
        "one_sample_p": one_p,
    }


def correct_holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction: calling values below α significant then errs at all with probability at most α."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[i]))
        corrected[i] = largest
    return corrected


def build_significance_table(results: StudyResults, reference: str = "") -> Table:
    """The tests as a table; p-values below 0.05 after Holm's correction are bold."""
    tests = compare_rows(results, reference)
    shows_paper = any(_find_printed_test(results, test) for test in tests)
    columns = ["dataset", "noise", "against", "seeds", "difference", "d", "wins", "t", "p", "p Holm", "Wilcoxon p"]
    columns += ["Wilcoxon p Holm", "one-sample |t|", "one-sample p"]
    columns += ["paper's |t|", "paper's p"] if shows_paper else []
    rows = []
    for test in tests:
        row: list[Cell | str] = [test.dataset, test.noise.replace(":", " "), test.row, str(test.seeds)]
        row += [f"{test.difference:+.3f}", f"{test.effect:+.2f}", f"{test.wins:.0%}", f"{test.t:+.2f}"]
        for plain, corrected in ((test.p, test.p_holm), (test.p_wilcoxon, test.p_wilcoxon_holm)):
            row += [_format_p(plain), Cell(_format_p(corrected), corrected < SIGNIFICANCE_LEVEL)]
        row += [f"{abs(test.one_sample_t):.2f}", _format_p(test.one_sample_p)]
        if shows_paper:
            printed = _find_printed_test(results, test)
            row += ["", ""] if printed is None else [f"{value:g}" for value in printed]
        rows.append(row)
    study = results.study
    name = reference or study.reference or study.rows[-1].label
    return Table(
        columns=columns,
        rows=rows,
        title=f"{study.name}: {name} against the others",
        notes=[
            "difference: mean over seeds; d: in standard deviations of the differences; wins: share of seeds; t and p: "
            "paired t-test, two-sided; Holm: corrected for all comparisons here; one-sample: the paper's form, which "
            "takes the other row's mean for a known number",
            f"seeds {format_seeds(study.seeds)}; {study.protocol}",
        ],
    )


def _find_printed_test(results: StudyResults, test: PairedTest) -> tuple[float, float] | None:
    if results.study.name != "significance" or test.row != "GAT":
        return None
    noise = next(noise for noise in results.study.noises if str(noise) == test.noise)
    return find_published_t_test(test.dataset, noise)


def _format_p(p: float) -> str:
    return "<0.001" if p < 0.001 else f"{p:.3f}"
