"""Whom to look at, and what the decisions tell about all labels, whatever the noise is.

A review of a budget B has two parts. The *top* part are the most probable suspects: all of them are looked at. From the
rest of the untrusted labels some are drawn at random: those that confident learning flagged (part `flagged`) and the
others (part `rest`) apart, each in order of p_wrong, cut into as many strata of equal size as nodes are drawn, one node
drawn from each. A node's inclusion probability is 1 over the size of its stratum; in the top part it is 1.

Let a part have N labels in m strata, and let S of the m drawn ones be wrong. The draws are independent, so S is a sum
of m independent zero-one variables whose mean is the share p of wrong labels (up to strata that differ by one node,
which is added to the ends). Such a sum is no more spread than a binomial one (Hoeffding 1956: P(S ≤ s) ≤
P(Bin(m, p) ≤ s) for s ≤ mp − 1, and alike above), so the exact binomial interval of Clopper and Pearson, with ends at
least one count from S, holds: it supposes nothing about the noise, the model or the audit. Decisions that are missing
or `unsure` count as right for the lower end and as wrong for the upper. Where there are two random parts, each gets
half of the error, so that their sum holds.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import beta

from ..core import validation as settings
from ..core.errors import ConfigError, DataError

DECISIONS = ("relabel", "keep", "unsure")
PARTS = ("top", "flagged", "rest")


def sample_for_review(
    issues: pd.DataFrame, budget: int = 100, *, random_share: float = 0.5, seed: int = 0
) -> pd.DataFrame:
    """The labels to look at: `part`, `stratum` and `inclusion` (probability) beside the columns of `issues`.

    `review_size`, how many rows there are, stands in every row: a file that lost some is known by it.

    Args:
        issues: the table of `find_label_issues`.
        budget: how many labels.
        random_share: of them that are drawn at random, so that the rate of wrong labels can be told.
        seed: of the draw.
    """
    settings.whole("the review budget", budget, 1)
    if not 0 <= random_share <= 1:
        raise ConfigError(f"random_share must be between 0 and 1, not {random_share}")
    open_ = issues[~issues["trusted"]].sort_values("p_wrong", ascending=False, kind="stable")
    if open_.empty:
        raise DataError("there is nothing to review: every label is trusted")
    budget = min(budget, len(open_))
    drawn = round(budget * random_share)
    top, rest = open_.iloc[: budget - drawn], open_.iloc[budget - drawn :]
    rng = np.random.default_rng(seed)
    chosen = [top.assign(part="top", stratum=np.arange(len(top)), inclusion=1.0)]
    flagged = rest["flagged"].to_numpy(dtype=bool)
    if flagged.any() and not flagged.all() and drawn > 1:
        count = min(max(round(drawn * flagged.mean()), 1), drawn - 1, int(flagged.sum()))
        parts = [("flagged", rest[flagged], count), ("rest", rest[~flagged], min(drawn - count, int((~flagged).sum())))]
    else:
        parts = [("flagged" if flagged.all() else "rest", rest, drawn)]
    chosen += [_one_a_stratum(part, name, count, rng) for name, part, count in parts if count]
    table = pd.concat(chosen, ignore_index=True)
    return table.assign(review_size=len(table))


def _one_a_stratum(part: pd.DataFrame, name: str, count: int, rng: np.random.Generator) -> pd.DataFrame:
    ends = (np.arange(count + 1) * len(part)) // count
    size = np.diff(ends)
    at = ends[:-1] + rng.integers(0, size)
    return part.iloc[at].assign(part=name, stratum=np.arange(count), inclusion=1.0 / size)


@dataclass(frozen=True)
class ReviewEstimate:
    """What decisions tell: shares with intervals that hold whatever the noise is."""

    reviewed: int  # decided to relabel or to keep
    unsure: int  # or not decided
    wrong: int  # of the reviewed
    # Of wrong labels among all that were open to review, supposing that what is not decided yet is like what is.
    # None where nothing was drawn at random, or where nothing of a part is decided.
    rate: float | None
    rate_interval: tuple[float, float] | None
    top_precision: float | None  # of the most probable suspects that were decided
    precision: float | None  # of all labels that confident learning flagged or that are in the top part
    precision_interval: tuple[float, float] | None
    level: float

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def estimate_from_review(decisions: pd.DataFrame, *, level: float = 0.95) -> ReviewEstimate:
    """Noise rate and precision of the audit from a table of decisions.

    Needs the columns `part`, `stratum`, `inclusion` and `decision`. Rows without a `part` were not chosen by `review`:
    they have no part in the estimates. Rows that are gone are noticed by `review_size`, if it is there, and by gaps in
    `stratum`.
    """
    if not 0 < level < 1:
        raise ConfigError(f"level must be between 0 and 1, not {level}")
    decision = decisions["decision"].astype(str).str.strip()
    wrong = (decision == "relabel").to_numpy()
    settled = wrong | (decision == "keep").to_numpy()
    part = decisions["part"].astype(str).to_numpy()
    _check_whole(decisions)
    top = _Part.of(part == "top", wrong, settled, decisions["inclusion"])
    flagged = _Part.of(part == "flagged", wrong, settled, decisions["inclusion"])
    rest = _Part.of(part == "rest", wrong, settled, decisions["inclusion"])
    random = [each for each in (flagged, rest) if each.drawn]
    error = (1 - level) / max(len(random), 1)
    total = top.size + flagged.size + rest.size
    rate = interval = None
    if random and total:
        ends = [top.all_looked_at(), *(each.interval(error) for each in random)]
        low, high = (sum(end[side] for end in ends) / total for side in (0, 1))
        rate = _share([top, *random])
        interval = (max(low, 0.0), min(high, 1.0))
    precision = of_precision = None
    listed = top.size + flagged.size
    # Flagged labels of which none was drawn would be unseen; then there is no interval.
    if listed:
        low, high = top.all_looked_at()
        if flagged.drawn:
            ends_flagged = flagged.interval(1 - level)
            low, high = low + ends_flagged[0], high + ends_flagged[1]
        precision = _share([top, flagged])
        of_precision = (max(low / listed, 0.0), min(high / listed, 1.0))
    return ReviewEstimate(
        reviewed=int(settled.sum()),
        unsure=int((~settled).sum()),
        wrong=int(wrong.sum()),
        rate=rate,
        rate_interval=interval,
        top_precision=_share([top]),
        precision=precision,
        precision_interval=of_precision,
        level=level,
    )


def _check_whole(decisions: pd.DataFrame) -> None:
    """A part that lost rows would look as if it had stood for fewer labels: undecided rows must stay."""
    where = f"{decisions.attrs['file']}: " if "file" in decisions.attrs else ""
    mend = "put them back, with an empty 'decision' where nothing is decided"
    chosen = decisions[decisions["part"].isin(PARTS)]
    if "review_size" in chosen and (sizes := set(chosen["review_size"].astype(str).str.strip())) - {""}:
        size = pd.to_numeric(sizes.pop(), errors="coerce")
        if sizes or not size >= len(chosen):
            raise DataError(
                f"{where}'review_size' must be one number, that of the rows with a part; do not edit it, and give each "
                "review a file of its own"
            )
        if size > len(chosen):
            raise DataError(f"{where}{size - len(chosen):.0f} of the {size:.0f} rows of the review are gone; {mend}")
    if "stratum" not in chosen:
        return
    for name, stratum in chosen.groupby("part")["stratum"]:
        number = pd.to_numeric(stratum, errors="coerce")
        if number.notna().all() and number.max() + 1 > len(number):
            gone = int(number.max()) + 1 - len(number)
            raise DataError(f"{where}{gone} rows of part '{name}' are gone from the review; {mend}")


def _share(parts: list[_Part]) -> float | None:
    """Wrong among all labels of the parts, each like its settled ones; None where there is none, or none settled."""
    parts = [part for part in parts if part.drawn]
    if not parts or any(part.drawn == part.open for part in parts):
        return None
    return sum(part.size * part.found / (part.drawn - part.open) for part in parts) / sum(part.size for part in parts)


@dataclass(frozen=True)
class _Part:
    """A part of the review: how many labels it stands for, how many were drawn, and what was decided."""

    size: float
    drawn: int
    found: int  # wrong
    open: int  # unsure or undecided
    slack: float  # strata differ in size by one: what that can change of the share

    @classmethod
    def of(cls, here: np.ndarray, wrong: np.ndarray, settled: np.ndarray, inclusion: pd.Series) -> _Part:
        share = pd.to_numeric(inclusion, errors="coerce").to_numpy()[here]
        if not ((share > 0) & (share <= 1)).all():
            raise DataError("'inclusion' must be a probability above 0 in every row that has a part; do not edit it")
        sizes = 1 / share
        total, drawn = float(np.round(sizes).sum()), int(here.sum())
        slack = float(np.abs(sizes / total - 1 / drawn).sum() / 2) if drawn else 0.0
        return cls(total, drawn, int(wrong[here].sum()), int((~settled[here]).sum()), slack)

    def all_looked_at(self) -> tuple[float, float]:
        return float(self.found), float(self.found + self.open)

    def interval(self, error: float) -> tuple[float, float]:
        """Ends of the number of wrong labels, missed with probability at most `error`."""
        low = binomial_interval(self.found, self.drawn, error)[0]
        high = binomial_interval(self.found + self.open, self.drawn, error)[1]
        return self.size * max(low - self.slack, 0.0), self.size * min(high + self.slack, 1.0)


def binomial_interval(count: int, of: int, error: float) -> tuple[float, float]:
    """Clopper and Pearson's interval, with ends at least one count away (see the module)."""
    low = 0.0 if count == 0 else float(beta.ppf(error / 2, count, of - count + 1))
    high = 1.0 if count == of else float(beta.ppf(1 - error / 2, count + 1, of - count))
    return max(min(low, (count - 1) / of), 0.0), min(max(high, (count + 1) / of), 1.0)
