"""When an audit should not be believed as it stands, in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..noise.kinds import Ints
from ..noise.model import RARE_CLASS_SHARE

TRUST = 0.2  # homophily (chance 0, perfect 1) below which the graph says too little
RELEARNT = 0.97  # share of given labels that features alone may predict before a rule is suspected
FAR = 2.0  # times the estimated rate, and two labels in a hundred beyond: flagged labels are then far more
BEYOND = 0.02
VERIFIED = 0.1  # share of trusted labels from which the rate speaks of what is left
CLEAN = 0.01  # estimated rate below which corrected labels are a possible cause
FEW = 5  # labels of a class that are hardly a class


def is_low_homophily(adjusted: float | None) -> bool:
    """Whether neighbours say too little about a class."""
    return adjusted is not None and adjusted < TRUST


def note_small_classes(counts: Ints, names: Sequence[str]) -> list[str]:
    """Classes of a handful of labels among large ones, which are often another one misspelt."""
    most = min(FEW, RARE_CLASS_SHARE * counts[counts > 0].mean())
    few = [str(names[int(c)]) for c in np.flatnonzero((counts > 0) & (counts < most))]
    if not few:
        return []
    shown = ", ".join(f"'{name[:30]}'" for name in few[:3]) + (", ..." if len(few) > 3 else "")
    have = "1 class has" if len(few) == 1 else f"{len(few):,} classes have"
    return [
        f"{have} fewer than {FEW} labels ({shown}): too few to judge them by; if a name is misspelt there, correct it "
        "first"
    ]


def note_low_homophily(same: float | None, adjusted: float | None) -> list[str]:
    if not is_low_homophily(adjusted):
        return []
    return [
        f"neighbours share a given label hardly more often than by chance (homophily {same:.2f}, adjusted "
        f"{adjusted:.2f}): the graph says little here, take the list with care"
    ]


def note_relearned_rule(predicted: float) -> list[str]:
    if predicted <= RELEARNT:
        return []
    return [
        f"features alone predict {predicted:.1%} of the given labels: a rule is probably being relearnt, and what "
        "it gets wrong cannot be seen from features; review some labels (review) or give label sources"
    ]


def flags_exceed_estimate(rate: float, flagged: float) -> bool:
    """Whether confident learning flags far more than the noise model holds for wrong."""
    return flagged > FAR * rate + BEYOND


def note_flags_exceed_estimate(rate: float, flagged: float, by_views: float | None) -> list[str]:
    if not flags_exceed_estimate(rate, flagged):
        return []
    views = "" if by_views is None else f"; three views of each node say {by_views:.1%} (docs: audit)"
    return [
        f"{flagged:.1%} of the labels are flagged, but only {rate:.1%} estimated to be wrong: the others are put down "
        "to the model. That is right if errors depend on the class alone; those of rules and language models follow "
        f"features, and are missed{views}. Review labels drawn at random to know"
    ]


def note_review_history(rate: float, trusted: float) -> list[str]:
    """What the rate does not say where labels were looked at before; worth knowing, no cause for alarm."""
    found = []
    if trusted >= VERIFIED:
        found.append(
            f"{trusted:.0%} of the labels are trusted and count as right: the estimated rate and its interval speak of "
            "the labels as they are now, not as they were given"
        )
    elif rate < CLEAN:
        found.append(
            "hardly any label is said to be wrong. Labels that were corrected before look like that, wrong ones among "
            "them included: if these were, audit the file as it was given, with the decisions"
        )
    return found
