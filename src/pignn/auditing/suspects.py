"""Which labels count as wrong if nobody reviews them: one rule for all data.

A suspect is an untrusted label that is probably wrong under the estimated noise (p_wrong above one half), or that the
plain classifier, trained on the given labels of the other folds, clearly contradicts: it ranks another class first, and
that class leads the given one by more than one half if all given classes are counted as equally frequent. The second
part is for errors that follow the features, as those of rules and language models do: the noise model attributes them
to the classifier. A contradiction must hold both with and without the class frequencies. This keeps a rare class from
being outvoted, and from being suggested everywhere.

A label is judged by the other labels of its class. `compute_class_reliability` says how far those suffice: with fewer
than five labels a class is not judged at all, and a class of few labels has no suspect. If nearly all labels of a class
would be suspects, none is: the audit then contradicts the class, not a label, and correcting would delete it.
"""

from __future__ import annotations

import numpy as np

from ..noise.kinds import Floats, Ints
from ..noise.model import normalize_rows
from .crossfit import Bools

MIN_P_WRONG = 0.5
MIN_LEAD = 0.5
MIN_CLASS_LABELS = 5  # fewer are hardly a class
FEW_CLASS_LABELS = 10  # so many other labels of its class make a label half as reliably judged as very many
MIN_RELIABILITY = 0.8  # of a class whose labels may be contradicted: 20 labels to learn from
MAX_SUSPECT_SHARE = 0.9  # of the labels of a class


def compute_class_reliability(class_counts: Ints, num_folds: int) -> Floats:
    """How far labels of each class can be judged, from 0 (not at all) to 1, by the number that a fold leaves to learn.

    It is m² / (m² + 10²) for m labels to learn from: ½ at 10, 0.94 at 40, 0.99 at 100.
    """
    learned = class_counts * (1 - 1 / num_folds)
    reliability = learned**2 / (learned**2 + FEW_CLASS_LABELS**2)
    return np.where(class_counts < MIN_CLASS_LABELS, 0.0, reliability)


def compute_contradicted_mask(given: Ints, probs: Floats) -> Bools:
    """Labels that out-of-sample probabilities of given labels clearly contradict."""
    rows = np.arange(len(given))
    counts = np.bincount(given, minlength=probs.shape[1])
    balanced = normalize_rows(np.where(counts > 0, probs / np.maximum(counts, 1), 0.0))
    others = balanced.copy()
    others[rows, given] = 0.0
    return (probs.argmax(axis=1) != given) & (others.max(axis=1) - balanced[rows, given] > MIN_LEAD)


def compute_suspect_mask(
    given: Ints, p_wrong: Floats, contradicted: Bools, trusted: Bools, reliability: Floats
) -> Bools:
    """Labels to correct without a look; `reliability` is that of each class."""
    doubted = compute_doubted_mask(given, p_wrong, contradicted, trusted, reliability)
    return doubted & (compute_class_shares(given, doubted, len(reliability)) < MAX_SUSPECT_SHARE)[given]


def compute_doubted_mask(
    given: Ints, p_wrong: Floats, contradicted: Bools, trusted: Bools, reliability: Floats
) -> Bools:
    """Labels that would be suspects if no class could be deleted."""
    looks_wrong = (p_wrong > MIN_P_WRONG) | (contradicted & (reliability > MIN_RELIABILITY)[given])
    return looks_wrong & ~trusted & (reliability > 0)[given]


def compute_class_shares(given: Ints, chosen: Bools, num_classes: int) -> Floats:
    """The share of the labels of each class that is chosen."""
    counts = np.bincount(given, minlength=num_classes)
    return np.bincount(given, weights=chosen, minlength=num_classes) / np.maximum(counts, 1)
