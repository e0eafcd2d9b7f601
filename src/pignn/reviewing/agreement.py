"""How far reviewers agree, on the labels that several of them decided: Cohen's kappa and Krippendorff's alpha."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import msgspec
import numpy as np

from .decision_store import Verdict


class PairAgreement(msgspec.Struct):
    """Two reviewers on the labels that both decided. `kappa` is None where chance alone would give full agreement."""

    first: str
    second: str
    labels: int
    agreement: float
    kappa: float | None


class Agreement(msgspec.Struct):
    """All reviewers. `alpha` is None where nobody shares a label, or all say the same everywhere."""

    labels: int  # that two or more decided
    alpha: float | None
    pairs: list[PairAgreement]


def compute_reviewer_agreement(
    verdicts: Mapping[int, Mapping[tuple[str, bool], Verdict]], given: Mapping[int, str]
) -> Agreement:
    """Agreement on the class that each reviewer holds to be right, before anything was settled; unsure does not count.

    Args:
        verdicts: by label, then by (reviewer, whether it settles a disagreement).
        given: the given class of each label.
    """
    answers: dict[int, dict[str, str]] = {}
    for label, each in verdicts.items():
        for (reviewer, settles), verdict in each.items():
            if not settles and verdict.decision in ("relabel", "keep"):
                answer = verdict.label if verdict.decision == "relabel" else given[label]
                answers.setdefault(label, {})[reviewer] = answer
    shared = {label: each for label, each in answers.items() if len(each) > 1}
    names = sorted({name for each in shared.values() for name in each})
    pairs = [
        pair for a, b in combinations(names, 2) if (pair := _compute_pair_agreement_or_none(a, b, shared)) is not None
    ]
    return Agreement(
        len(shared), compute_krippendorff_alpha_or_none([list(each.values()) for each in shared.values()]), pairs
    )


def _compute_pair_agreement_or_none(
    first: str, second: str, shared: Mapping[int, Mapping[str, str]]
) -> PairAgreement | None:
    both = [(each[first], each[second]) for each in shared.values() if first in each and second in each]
    if not both:
        return None
    agreement = sum(a == b for a, b in both) / len(both)
    return PairAgreement(first, second, len(both), agreement, compute_cohen_kappa_or_none(both))


def compute_cohen_kappa_or_none(answers: list[tuple[str, str]]) -> float | None:
    """(p_o − p_e) / (1 − p_e): agreement beyond what the two reviewers' shares of classes give by chance."""
    names = sorted({name for pair in answers for name in pair})
    table = np.zeros((len(names), len(names)))
    for a, b in answers:
        table[names.index(a), names.index(b)] += 1
    table /= len(answers)
    expected = float(table.sum(axis=0) @ table.sum(axis=1))
    return None if expected >= 1 else (float(np.trace(table)) - expected) / (1 - expected)


def compute_krippendorff_alpha_or_none(units: list[list[str]]) -> float | None:
    """1 − D_o / D_e for classes (nominal), from the answers on each label that has two or more."""
    units = [answers for answers in units if len(answers) > 1]
    names = sorted({name for answers in units for name in answers})
    number = {name: i for i, name in enumerate(names)}
    coincidence = np.zeros((len(names), len(names)))
    for answers in units:
        counts = np.bincount([number[name] for name in answers], minlength=len(names)).astype(float)
        coincidence += (np.outer(counts, counts) - np.diag(counts)) / (len(answers) - 1)
    totals = coincidence.sum(axis=1)
    size = totals.sum()
    expected = size**2 - (totals**2).sum()
    if not len(names) or expected <= 0:
        return None
    return float(1 - (size - 1) * (size - np.trace(coincidence)) / expected)
