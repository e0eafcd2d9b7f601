"""When to doubt an audit, in words. A message is None where there is nothing to say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..noise.kinds import Ints
from ..noise.model import RARE_CLASS_SHARE

MIN_HOMOPHILY = 0.2  # adjusted (chance 0, perfect 1); below it the graph says too little
MAX_PREDICTED_SHARE = 0.97  # of the given labels by features alone; above it a rule is suspected
# Flagged labels are far more than the estimate if they exceed twice its share by two labels in a hundred.
EXCESS_FACTOR, EXCESS_SHARE = 2.0, 0.02
MIN_TRUSTED_SHARE = 0.1  # from here on, the rate describes what a review left over
CLEAN_RATE = 0.01  # below it, labels may have been corrected before
MIN_CLASS_LABELS = 5  # fewer are hardly a class


def is_low_homophily(adjusted_homophily: float | None) -> bool:
    """Whether neighbors say too little about a class."""
    return adjusted_homophily is not None and adjusted_homophily < MIN_HOMOPHILY


def has_excess_flags(rate: float, flagged_share: float) -> bool:
    """Whether confident learning flags far more labels than the noise model estimates to be wrong."""
    return flagged_share > EXCESS_FACTOR * rate + EXCESS_SHARE


def small_classes_message(class_counts: Ints, class_names: Sequence[str]) -> str | None:
    """For classes of a handful of labels among large ones, which are often another class misspelled."""
    limit = min(MIN_CLASS_LABELS, RARE_CLASS_SHARE * class_counts[class_counts > 0].mean())
    small = [str(class_names[int(c)]) for c in np.flatnonzero((class_counts > 0) & (class_counts < limit))]
    if not small:
        return None
    examples = ", ".join(f"'{name[:30]}'" for name in small[:3]) + (", ..." if len(small) > 3 else "")
    classes = "1 class has" if len(small) == 1 else f"{len(small):,} classes have"
    return (
        f"{classes} fewer than {MIN_CLASS_LABELS} labels ({examples}): too few to judge them by; if a name is "
        "misspelled, correct it first"
    )


def low_homophily_message(homophily: float | None, adjusted_homophily: float | None) -> str | None:
    if not is_low_homophily(adjusted_homophily):
        return None
    return (
        f"neighbors share a given label hardly more often than by chance (homophily {homophily:.2f}, adjusted "
        f"{adjusted_homophily:.2f}): the graph says little here, so take the list with care"
    )


def relearned_rule_message(predicted_share: float) -> str | None:
    if predicted_share <= MAX_PREDICTED_SHARE:
        return None
    return (
        f"features alone predict {predicted_share:.1%} of the given labels: the model probably relearns the rule that "
        "made them, and the errors of a rule cannot be seen from features; review some labels or give label sources"
    )


def excess_flags_message(rate: float, flagged_share: float, rate_dawid_skene: float | None) -> str | None:
    if not has_excess_flags(rate, flagged_share):
        return None
    second = "" if rate_dawid_skene is None else f" (the Dawid–Skene estimate is {rate_dawid_skene:.1%})"
    return (
        f"{flagged_share:.1%} of the labels are flagged, but only {rate:.1%} are estimated to be wrong: the rest are "
        "attributed to the model. That is right if errors depend on the class alone. Errors of rules and language "
        f"models follow the features and are missed{second}. Review randomly drawn labels to know"
    )


def review_history_message(rate: float, trusted_share: float) -> str | None:
    """What the rate means if labels were reviewed before. It is worth knowing and no cause for alarm."""
    if trusted_share >= MIN_TRUSTED_SHARE:
        return (
            f"{trusted_share:.0%} of the labels are trusted and count as right: the estimated rate and its interval "
            "describe the labels as they are now, not as they were given"
        )
    if rate < CLEAN_RATE:
        return (
            "hardly any label is estimated to be wrong. Labels that were corrected before look like that, even if "
            "some are still wrong: in that case audit the original file with the decisions"
        )
    return None
