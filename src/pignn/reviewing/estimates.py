"""How many labels are wrong, live: an interval that holds at whatever moment the review stops.

The labels of a project were put into a random order once, and the estimate counts those that were decided from its
front without a gap: a sample without replacement, whatever else was decided. A reviewer looks at the interval all the
time and stops when it suits. The interval must then hold at all times together, which one for a fixed number of labels
does not. With S wrong ones among the first t of N labels, the prior-posterior ratio

    R_t(M) = π(M) / π(M | S, t),   π uniform on M = 0, ..., N,   M − S | S, t ~ BetaBinomial(N − t, 1 + S, 1 + t − S)

is a martingale of mean 1 for the true M, so {M : R_t(M) < 1/α} misses it at any time with probability at most α
(Ville's inequality; Waudby-Smith and Ramdas, 2020). It assumes nothing about the noise or the model. Labels that were
decided for other reasons only bound it: no fewer labels are wrong than were found.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec
import numpy as np
from scipy.special import betaln, gammaln

from ..auditing.review import compute_binomial_interval
from ..core.text import format_count
from ..noise.kinds import Floats, Ints
from .verdicts import DISPUTED, KEEP, RELABEL, SETTLED, UNDECIDED, UNSURE

LEVEL = 0.95
AHEAD = 50  # decisions for which errors are expected
RECENT = 50  # decisions of which the precision is shown
STOP_SHARE = 0.1  # fewer errors among the next decisions than this: stop


class Panel(msgspec.Struct, kw_only=True):
    """What the decisions tell so far. Counts are of the labels that nobody had verified before the review."""

    labels: int
    decided: int
    found: int  # of the decided: the given label is wrong
    unsure: int
    disputed: int
    drawn: int  # labels of the random part that are decided
    rate: float | None
    rate_interval: tuple[float, float]
    left: float | None  # wrong labels that are expected among the undecided ones
    left_interval: tuple[float, float]
    accuracy: float | None  # of the corrected labels
    accuracy_interval: tuple[float, float]
    recent: int  # how many decisions of the surest errors the precision counts
    precision: float | None
    precision_interval: tuple[float, float] | None
    ahead: int
    expected_errors: float  # among the next `ahead` decisions of the surest errors
    advice: str


def compute_wrong_count_interval(total: int, drawn: int, wrong: int, level: float = LEVEL) -> tuple[int, int]:
    """Bounds of the number of wrong labels among `total`, by `wrong` among the first `drawn` in random order."""
    rest, least = total - drawn, math.log(1 - level) - math.log(total + 1)
    a, b = 1 + wrong, 1 + drawn - wrong

    def is_inside(count: int) -> bool:  # π(M | S, t) > α / (N + 1)
        log_choose = gammaln(rest + 1) - gammaln(count + 1) - gammaln(rest - count + 1)
        return bool(log_choose + betaln(count + a, rest - count + b) - betaln(a, b) > least)

    mode = min(max(round(rest * wrong / drawn), 0), rest) if drawn else rest // 2
    low = _find_first_true(is_inside, 0, mode)
    high = rest - _find_first_true(lambda count: is_inside(rest - count), 0, rest - mode)
    return wrong + low, wrong + high


def _find_first_true(is_true: Callable[[int], bool], low: int, high: int) -> int:
    """The first number for which something holds that holds from there to `high`."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_true(middle) else (middle + 1, high)
    return low


def count_decided_at_front(status: Ints, random_order: Ints) -> int:
    """How many labels at the front of the random order are decided without a gap."""
    is_open = status[random_order] == UNDECIDED
    return int(np.argmax(is_open)) if is_open.any() else len(random_order)


def compute_progress_panel(status: Ints, random_order: Ints, p_wrong: Floats, top_outcomes: list[bool]) -> Panel:
    """The panel of a review.

    Args:
        status: of every label, as `verdicts` names it.
        random_order: positions of the labels that can be reviewed, in the random order of the project.
        p_wrong: of every label, by the models of now.
        top_outcomes: of the decisions on the surest errors, in order: whether the label was wrong.
    """
    of_all = status[random_order]
    total, drawn = len(random_order), count_decided_at_front(status, random_order)
    front = of_all[:drawn]
    wrong, settled = int((front == RELABEL).sum()), int(np.isin(front, SETTLED).sum())
    found, kept = int((of_all == RELABEL).sum()), int((of_all == KEEP).sum())
    low = compute_wrong_count_interval(total, drawn, wrong)[0]
    high = compute_wrong_count_interval(total, drawn, wrong + drawn - settled)[1]
    low, high = max(low, found), min(high, total - kept)
    low, high = min(low, high), max(low, high)
    count = None if not settled else min(max(total * wrong / settled, low), high)
    open_p = np.sort(p_wrong[random_order][of_all == UNDECIDED])[::-1][:AHEAD]
    recent = top_outcomes[-RECENT:]
    panel = Panel(
        labels=total,
        decided=found + kept,
        found=found,
        unsure=int((of_all == UNSURE).sum()),
        disputed=int((of_all == DISPUTED).sum()),
        drawn=drawn,
        rate=None if count is None else count / total,
        rate_interval=(low / total, high / total),
        left=None if count is None else count - found,
        left_interval=(low - found, high - found),
        accuracy=None if count is None else 1 - (count - found) / total,
        accuracy_interval=(1 - (high - found) / total, 1 - (low - found) / total),
        recent=len(recent),
        precision=sum(recent) / len(recent) if recent else None,
        precision_interval=compute_binomial_interval(sum(recent), len(recent), 1 - LEVEL) if recent else None,
        ahead=len(open_p),
        expected_errors=float(open_p.sum()),
        advice="",
    )
    panel.advice = _format_go_on_or_stop_advice(panel)
    return panel


def _format_go_on_or_stop_advice(panel: Panel) -> str:
    if not panel.ahead:
        return "Every label is decided."
    expected = (
        f"the next {panel.ahead} decisions are expected to find {format_count(round(panel.expected_errors), 'error')}"
    )
    if panel.decided >= RECENT and panel.expected_errors < STOP_SHARE * panel.ahead:
        return f"Stop here: {expected}."
    return f"Go on: {expected}."
