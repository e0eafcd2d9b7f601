"""Is one row better than another, or was it lucky? Tests over seeds, corrected for their number."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..report.table import Cell, Table
from .measures import get_measure
from .paper import find_published_t_test_or_none
from .results import StudyResults
from .study import NoiseSpec, Study, format_seeds

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


def compare_rows_with_reference(results: StudyResults, reference_row: str = "") -> list[PairedTest]:
    """Test the reference row (the study's, else its last one) against all others, cell by cell."""
    study = results.study
    reference_row = reference_row or study.reference or study.rows[-1].label
    tests: list[dict[str, Any]] = []
    for dataset, noise in itertools.product(study.datasets, study.noises):
        ours = results.get_values_by_seed(dataset, noise, reference_row)
        for label in results.row_labels:
            theirs = results.get_values_by_seed(dataset, noise, label)
            seeds = sorted(ours.keys() & theirs.keys())
            if label != reference_row and len(seeds) > 1:
                pairs = np.array([[ours[seed], theirs[seed]] for seed in seeds])
                cell = {"dataset": str(dataset), "noise": str(noise), "reference": reference_row, "row": label}
                tests.append(cell | {"seeds": len(seeds)} | _run_paired_tests(pairs[:, 0], pairs[:, 1], study.metric))
    for name in ("p", "p_wilcoxon"):
        for test, corrected in zip(tests, correct_p_values_by_holm([test[name] for test in tests]), strict=True):
            test[f"{name}_holm"] = corrected
    return [PairedTest(**test) for test in tests]


def _run_paired_tests(ours: np.ndarray, theirs: np.ndarray, metric: str) -> dict[str, float]:
    from scipy import stats

    difference = ours - theirs
    better = difference < 0 if get_measure(metric).higher_is_better is False else difference > 0
    t, p = _compute_t_and_p_of_mean(difference)
    one_sample_t, one_sample_p = _compute_t_and_p_of_mean(ours - theirs.mean())
    return {
        "difference": float(difference.mean()),
        "effect": t / math.sqrt(len(difference)),
        "wins": float(better.mean() + 0.5 * (difference == 0).mean()),
        "t": t,
        "p": p,
        "p_wilcoxon": float(stats.wilcoxon(difference).pvalue) if difference.any() else 1.0,
        "one_sample_t": one_sample_t,
        "one_sample_p": one_sample_p,
    }


def _compute_t_and_p_of_mean(values: np.ndarray) -> tuple[float, float]:
    """t and p of the t-test whether a mean is 0, also where nothing varies over seeds."""
    from scipy import stats

    if np.ptp(values) == 0:
        is_zero = math.isclose(values[0], 0.0, abs_tol=1e-12)  # but for rounding
        return (0.0, 1.0) if is_zero else (math.copysign(math.inf, values[0]), 0.0)
    test = stats.ttest_1samp(values, 0.0)
    return float(test.statistic), float(test.pvalue)


def correct_p_values_by_holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction: calling values below α significant then errs at all with probability at most α."""
    order = np.argsort(p_values)
    factors = np.arange(len(p_values), 0, -1)
    corrected = np.empty(len(p_values))
    corrected[order] = np.maximum.accumulate(factors * np.asarray(p_values)[order]).clip(max=1.0)
    return corrected.tolist()


def build_significance_table(results: StudyResults, reference_row: str = "") -> Table:
    """The tests as a table; p-values below 0.05 after Holm's correction are bold."""
    study = results.study
    tests = compare_rows_with_reference(results, reference_row)
    printed = [_find_published_t_test_or_none(study, test) for test in tests]
    columns = ["dataset", "noise", "against", "seeds", "difference", "d", "wins", "t", "p", "p Holm", "Wilcoxon p"]
    columns += ["Wilcoxon p Holm", "one-sample |t|", "one-sample p"]
    columns += ["paper's |t|", "paper's p"] if any(printed) else []
    rows = []
    for test, printed_test in zip(tests, printed, strict=True):
        row: list[Cell | str] = [test.dataset, test.noise.replace(":", " "), test.row, str(test.seeds)]
        row += [f"{test.difference:+.3f}", f"{test.effect:+.2f}", f"{test.wins:.0%}", f"{test.t:+.2f}"]
        for plain, corrected in ((test.p, test.p_holm), (test.p_wilcoxon, test.p_wilcoxon_holm)):
            row += [format_p_value(plain), Cell(format_p_value(corrected), corrected < SIGNIFICANCE_LEVEL)]
        row += [f"{abs(test.one_sample_t):.2f}", format_p_value(test.one_sample_p)]
        row += [f"{value:g}" for value in printed_test] if printed_test else ["", ""]
        rows.append(row[: len(columns)])
    name = reference_row or study.reference or study.rows[-1].label
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


def _find_published_t_test_or_none(study: Study, test: PairedTest) -> tuple[float, float] | None:
    is_printed = study.name == "significance" and test.row == "GAT"
    return find_published_t_test_or_none(test.dataset, NoiseSpec.parse(test.noise)) if is_printed else None


def format_p_value(p: float) -> str:
    return "<0.001" if p < 0.001 else f"{p:.3f}"
