"""When to doubt an audit, in words. A message is None where there is nothing to say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..noise.kinds import Floats, Ints
from .suspects import MAX_SUSPECT_SHARE, MIN_CLASS_LABELS

MIN_HOMOPHILY = 0.2  # adjusted (chance 0, perfect 1); below it the graph says too little
MAX_PREDICTED_SHARE = 0.97  # of the given labels by features alone; above it a rule is suspected
# Flagged labels are far more than the estimate if they exceed twice its share by two labels in a hundred.
EXCESS_FACTOR, EXCESS_SHARE = 2.0, 0.02
MIN_TRUSTED_SHARE = 0.1  # from here on, the rate describes what a review left over
CLEAN_RATE = 0.01  # below it, labels may have been corrected before
MAX_DOUBTED_SHARE = 0.5  # of the labels of a class, before an alarm
MIN_INFORMATION = 0.005  # of the entropy of the labels, that features and graph must predict
MAX_INTERVAL_WIDTH = 0.35


def is_low_homophily(adjusted_homophily: float | None) -> bool:
    """Whether neighbors say too little about a class."""
    return adjusted_homophily is not None and adjusted_homophily < MIN_HOMOPHILY


def has_excess_flags(rate: float, flagged_share: float) -> bool:
    """Whether confident learning flags far more labels than the noise model estimates to be wrong."""
    return flagged_share > EXCESS_FACTOR * rate + EXCESS_SHARE


def widen_rate_interval(
    interval: tuple[float, float], rate: float, rate_dawid_skene: float | None, flagged_share: float
) -> tuple[float, float]:
    """The interval of the rate with what labels alone cannot tell.

    The bootstrap knows how much the labels say if errors depend on the class alone. Errors that follow the features are
    counted by the Dawid–Skene estimate, which is always included. If that estimate or the flags far exceed the rate,
    the interval reaches to twice the larger of them and a tenth, and is at most 0.35 wide.
    """
    low, high = interval
    second = max(rate_dawid_skene or 0.0, flagged_share)
    if has_excess_flags(rate, second):
        return low, max(high, min(low + MAX_INTERVAL_WIDTH, 2 * second + 0.1))
    return low, max(high, min(low + MAX_INTERVAL_WIDTH, rate_dawid_skene or 0.0))


def build_message_if_small_classes(class_counts: Ints, class_names: Sequence[str]) -> str | None:
    """For classes of a handful of labels, which are often another class misspelled."""
    small = np.flatnonzero((class_counts > 0) & (class_counts < MIN_CLASS_LABELS))
    if not len(small):
        return None
    classes = "1 class has" if len(small) == 1 else f"{len(small):,} classes have"
    return (
        f"{classes} fewer than {MIN_CLASS_LABELS} labels ({_format_first_class_names(small, class_names)}): too few to "
        "judge them by, so their labels are not judged; if a name is misspelled, correct it first"
    )


def build_message_if_doubted_classes(
    doubted_share_per_class: Floats, class_counts: Ints, class_names: Sequence[str]
) -> str | None:
    """The alarm for classes of which most labels look wrong."""
    most = np.flatnonzero((doubted_share_per_class > MAX_DOUBTED_SHARE) & (class_counts > 0))
    if not len(most):
        return None
    whole = int((doubted_share_per_class >= MAX_SUSPECT_SHARE).sum())
    classes = "1 class" if len(most) == 1 else f"{len(most):,} classes"
    kept = f" Where nearly all do ({whole:,}), none is a suspect, so that no class is deleted." if whole else ""
    return (
        f"most labels of {classes} look wrong ({_format_first_class_names(most, class_names)}): either the class was "
        "given by mistake, or features and graph do not tell it; review some of its labels before you correct "
        f"any.{kept}"
    )


def build_message_if_unrelated_labels(given: Ints, given_probs: Floats) -> str | None:
    """For labels that nothing predicts, as after a shift of rows or a join by the wrong ids."""
    shares = np.bincount(given, minlength=given_probs.shape[1]) / len(given)
    entropy = -float(np.log(shares[given]).mean())
    # Mixed with the class shares, so that single wrong labels do not outweigh all others.
    ratio = given_probs[np.arange(len(given)), given] / shares[given]
    gain = float(np.log(0.5 * ratio + 0.5).mean())
    if gain > MIN_INFORMATION * entropy:
        return None
    return (
        "features and graph predict the given labels no better than chance: the labels look unrelated to both. Are "
        "rows shifted, or ids mismatched?"
    )


def _format_first_class_names(class_indices: Ints, class_names: Sequence[str]) -> str:
    names = [str(class_names[int(c)])[:30] for c in class_indices[:3]]
    return ", ".join(f"'{name}'" for name in names) + (", ..." if len(class_indices) > 3 else "")


def build_message_if_low_homophily(homophily: float | None, adjusted_homophily: float | None) -> str | None:
    if not is_low_homophily(adjusted_homophily):
        return None
    return (
        f"neighbors share a given label hardly more often than by chance (homophily {homophily:.2f}, adjusted "
        f"{adjusted_homophily:.2f}): the graph says little here, so take the list with care"
    )


def build_message_if_relearned_rule(predicted_share: float) -> str | None:
    if predicted_share <= MAX_PREDICTED_SHARE:
        return None
    return (
        f"features alone predict {predicted_share:.1%} of the given labels: the model probably relearns the rule that "
        "made them, and the errors of a rule cannot be seen from features; review some labels or give label sources"
    )


def build_message_if_excess_flags(rate: float, flagged_share: float, rate_dawid_skene: float | None) -> str | None:
    if not has_excess_flags(rate, flagged_share):
        return None
    second = "" if rate_dawid_skene is None else f" (the Dawid–Skene estimate is {rate_dawid_skene:.1%})"
    return (
        f"{flagged_share:.1%} of the labels are flagged, but only {rate:.1%} are wrong if errors depend on the class "
        "alone: the rest are then mistakes of the model. Errors of rules and language models follow the features"
        f"{second}. Review randomly drawn labels to know"
    )


def build_message_if_regional_errors(are_errors_regional: bool) -> str | None:
    if not are_errors_regional:
        return None
    return (
        "whole regions of the graph seem to be labeled wrongly: every label was judged by models that saw no label of "
        "its region"
    )


def build_message_if_reviewed_before(rate: float, trusted_share: float) -> str | None:
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
