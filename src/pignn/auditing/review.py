"""Sample labels for review, and estimate from the decisions how many labels are wrong, whatever the noise is.

A review has a top part and a random part. The *top* part holds the most probable suspects, all of which are reviewed.
From the other untrusted labels some are drawn at random, separately from those that confident learning flagged (part
`flagged`) and from the others (part `rest`). Each part is sorted by p_wrong and cut into strata of equal size, as many
as labels are drawn, one from each. The inclusion probability of a label is 1 over the size of its stratum; in the
top part it is 1.

Let a part have N labels in m strata, and let S of the m drawn ones be wrong. The draws are independent, so S is a sum
of m independent zero-one variables whose mean is the share p of wrong labels (up to strata that differ by one label,
which is added to the ends). Such a sum is no more spread than a binomial one (Hoeffding 1956: P(S ≤ s) ≤
P(Bin(m, p) ≤ s) for s ≤ mp − 1, and likewise above). So the exact binomial interval of Clopper and Pearson, with ends
at least one count from S, holds without any assumption about the noise, the model or the audit. Decisions that are
missing or `unsure` count as right for the lower end and as wrong for the upper end. Two random parts get half of the
error each, so that their sum holds.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import betaincinv

from ..core.errors import DataError
from ..core.settings import Float, Int

DECISIONS = ("relabel", "keep", "unsure")
PARTS = ("top", "flagged", "rest")


def sample_for_review(
    issues: pd.DataFrame, budget: int = 100, *, random_share: float = 0.5, seed: int = 0
) -> pd.DataFrame:
    """Choose labels to review. `part`, `stratum` and `inclusion` (a probability) are added to the columns of `issues`.

    `review_size`, the number of rows, is in every row: it reveals a file that lost some.

    Args:
        issues: the table of `find_label_issues`.
        budget: number of labels to review.
        random_share: share of them that is drawn at random, from which the rate of wrong labels is estimated.
        seed: random seed of the draw.
    """
    Int(min=1).raise_unless_valid("the review budget", budget)
    Float(max=1).raise_unless_valid("random_share", random_share)
    untrusted = issues[~issues["trusted"]].sort_values("p_wrong", ascending=False, kind="stable")
    if untrusted.empty:
        raise DataError("there is nothing to review: every label is trusted")
    budget = min(budget, len(untrusted))
    num_random = round(budget * random_share)
    top, rest = untrusted.iloc[: budget - num_random], untrusted.iloc[budget - num_random :]
    rng = np.random.default_rng(seed)
    chosen = [top.assign(part="top", stratum=np.arange(len(top)), inclusion=1.0)]
    flagged = rest["flagged"].to_numpy(dtype=bool)
    if flagged.any() and not flagged.all() and num_random > 1:
        count = min(max(round(num_random * flagged.mean()), 1), num_random - 1, int(flagged.sum()))
        parts = [
            ("flagged", rest[flagged], count),
            ("rest", rest[~flagged], min(num_random - count, int((~flagged).sum()))),
        ]
    else:
        parts = [("flagged" if flagged.all() else "rest", rest, num_random)]
    chosen += [_draw_one_per_stratum(part, name, count, rng) for name, part, count in parts if count]
    table = pd.concat(chosen, ignore_index=True)
    return table.assign(review_size=len(table))


def _draw_one_per_stratum(
    part: pd.DataFrame, part_name: str, num_strata: int, rng: np.random.Generator
) -> pd.DataFrame:
    ends = (np.arange(num_strata + 1) * len(part)) // num_strata
    size = np.diff(ends)
    rows = ends[:-1] + rng.integers(0, size)
    return part.iloc[rows].assign(part=part_name, stratum=np.arange(num_strata), inclusion=1.0 / size)


@dataclass(frozen=True)
class ReviewEstimate:
    """Estimates from the decisions of a review. The intervals hold whatever the noise is."""

    reviewed: int  # decided to relabel or to keep
    unsure: int  # or not decided
    wrong: int  # of the reviewed
    # Share of wrong labels among all that could be reviewed, if undecided labels are like the decided ones. None if
    # no label was drawn at random, or if nothing of a part is decided.
    rate: float | None
    rate_interval: tuple[float, float] | None
    top_precision: float | None  # of the most probable suspects that were decided
    # Of all labels that confident learning flagged or that are in the top part. None if no flagged one was drawn.
    precision: float | None
    precision_interval: tuple[float, float] | None
    level: float

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def estimate_from_review(decisions: pd.DataFrame, *, level: float = 0.95) -> ReviewEstimate:
    """Estimate the noise rate and the precision of the audit from a table of decisions.

    It needs the columns `part`, `stratum`, `inclusion` and `decision`. Rows without a `part` were not sampled by
    `sample_for_review` and do not count. Missing rows are noticed by `review_size` or by gaps in `stratum`.
    """
    Float(max=1, open_min=True, open_max=True).raise_unless_valid("level", level)
    decision = decisions["decision"].astype(str).str.strip()
    wrong = (decision == "relabel").to_numpy()
    settled = wrong | (decision == "keep").to_numpy()
    parts = decisions["part"].astype(str).to_numpy()
    _check_no_missing_rows(decisions)
    top = _ReviewPart.from_decisions(parts == "top", wrong, settled, decisions["inclusion"])
    flagged = _ReviewPart.from_decisions(parts == "flagged", wrong, settled, decisions["inclusion"])
    rest = _ReviewPart.from_decisions(parts == "rest", wrong, settled, decisions["inclusion"])
    random = [part for part in (flagged, rest) if part.drawn]
    error = (1 - level) / max(len(random), 1)
    total = top.size + flagged.size + rest.size
    rate = interval = None
    if random and total:
        ends = [top.count_wrong_without_and_with_open(), *(part.compute_wrong_count_bounds(error) for part in random)]
        low, high = (sum(end[side] for end in ends) / total for side in (0, 1))
        rate = _compute_wrong_share_of_decided([top, *random])
        interval = (max(low, 0.0), min(high, 1.0))
    precision = precision_interval = None
    listed = top.size + flagged.size
    if flagged.drawn:  # otherwise the top part alone would pass for all that are flagged
        ends = [top.count_wrong_without_and_with_open(), flagged.compute_wrong_count_bounds(1 - level)]
        low, high = (sum(end[side] for end in ends) for side in (0, 1))
        precision = _compute_wrong_share_of_decided([top, flagged])
        precision_interval = (max(low / listed, 0.0), min(high / listed, 1.0))
    return ReviewEstimate(
        reviewed=int(settled.sum()),
        unsure=int((~settled).sum()),
        wrong=int(wrong.sum()),
        rate=rate,
        rate_interval=interval,
        top_precision=_compute_wrong_share_of_decided([top]),
        precision=precision,
        precision_interval=precision_interval,
        level=level,
    )


def _check_no_missing_rows(decisions: pd.DataFrame) -> None:
    """Refuse a review that lost rows: its parts would seem to stand for fewer labels."""
    prefix = f"{decisions.attrs['file']}: " if "file" in decisions.attrs else ""
    remedy = "put them back, with an empty 'decision' where nothing is decided"
    chosen = decisions[decisions["part"].isin(PARTS)]
    if "review_size" in chosen and (sizes := set(chosen["review_size"].astype(str).str.strip())) - {""}:
        size = pd.to_numeric(sizes.pop(), errors="coerce")
        if sizes or not size >= len(chosen):
            raise DataError(
                f"{prefix}'review_size' must be one number, that of the rows with a part; do not edit it, and keep "
                "each review in a file of its own"
            )
        if size > len(chosen):
            raise DataError(
                f"{prefix}{size - len(chosen):.0f} of the {size:.0f} rows of the review are missing; {remedy}"
            )
    if "stratum" not in chosen:
        return
    for name, stratum in chosen.groupby("part")["stratum"]:
        number = pd.to_numeric(stratum, errors="coerce")
        if number.notna().all() and number.max() + 1 > len(number):
            num_missing = int(number.max()) + 1 - len(number)
            raise DataError(f"{prefix}{num_missing} rows of part '{name}' are missing from the review; {remedy}")


def _compute_wrong_share_of_decided(parts: list[_ReviewPart]) -> float | None:
    """Share of wrong labels in the parts, if undecided labels are like decided ones; None where nothing is decided."""
    parts = [part for part in parts if part.drawn]
    if not parts or any(part.drawn == part.open for part in parts):
        return None
    return sum(part.size * part.wrong / (part.drawn - part.open) for part in parts) / sum(part.size for part in parts)


@dataclass(frozen=True)
class _ReviewPart:
    """A part of a review: how many labels it stands for, how many were drawn, and what was decided."""

    size: float
    drawn: int
    wrong: int
    open: int  # unsure or undecided
    slack: float  # how much the share can change because strata differ in size by one

    @classmethod
    def from_decisions(
        cls, in_part: np.ndarray, wrong: np.ndarray, settled: np.ndarray, inclusion: pd.Series
    ) -> _ReviewPart:
        share = pd.to_numeric(inclusion, errors="coerce").to_numpy()[in_part]
        if not ((share > 0) & (share <= 1)).all():
            raise DataError("'inclusion' must be a probability above 0 in every row that has a part; do not edit it")
        sizes = 1 / share
        total, drawn = float(np.round(sizes).sum()), int(in_part.sum())
        slack = float(np.abs(sizes / total - 1 / drawn).sum() / 2) if drawn else 0.0
        return cls(total, drawn, int(wrong[in_part].sum()), int((~settled[in_part]).sum()), slack)

    def count_wrong_without_and_with_open(self) -> tuple[float, float]:
        return float(self.wrong), float(self.wrong + self.open)

    def compute_wrong_count_bounds(self, error: float) -> tuple[float, float]:
        """Bounds of the number of wrong labels, which are exceeded with probability at most `error`."""
        if self.drawn == self.size:  # nothing was left to chance
            return self.count_wrong_without_and_with_open()
        low = compute_binomial_interval(self.wrong, self.drawn, error)[0]
        high = compute_binomial_interval(self.wrong + self.open, self.drawn, error)[1]
        return self.size * max(low - self.slack, 0.0), self.size * min(high + self.slack, 1.0)


def compute_binomial_interval(count: int, total: int, error: float) -> tuple[float, float]:
    """Clopper and Pearson's interval, with ends at least one count away (see the module)."""
    low = 0.0 if count == 0 else float(betaincinv(count, total - count + 1, error / 2))
    high = 1.0 if count == total else float(betaincinv(count + 1, total - count, 1 - error / 2))
    return max(min(low, (count - 1) / total), 0.0), min(max(high, (count + 1) / total), 1.0)
