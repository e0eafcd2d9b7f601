"""Which labels count as wrong if nobody reviews them: one rule for all data.

A suspect is an untrusted label that is probably wrong under the estimated noise (p_wrong above one half), or that the
plain classifier, trained on the given labels of the other folds, clearly contradicts: it ranks another class first, and
that class leads the given one by more than one half if all given classes are counted as equally frequent. The second
part is for errors that follow the features, as those of rules and language models do: the noise model attributes them
to the classifier. A contradiction must hold both with and without the class frequencies. This keeps a rare class from
being outvoted, and from being suggested everywhere.
"""

from __future__ import annotations

import numpy as np

from ..noise.kinds import Floats, Ints
from ..noise.model import normalize_rows
from .crossfit import Bools

MIN_P_WRONG = 0.5
MIN_LEAD = 0.5


def find_contradicted(given: Ints, probs: Floats) -> Bools:
    """Labels that out-of-sample probabilities of given labels clearly contradict."""
    rows = np.arange(len(given))
    counts = np.bincount(given, minlength=probs.shape[1])
    balanced = normalize_rows(np.where(counts > 0, probs / np.maximum(counts, 1), 0.0))
    others = balanced.copy()
    others[rows, given] = 0.0
    return (probs.argmax(axis=1) != given) & (others.max(axis=1) - balanced[rows, given] > MIN_LEAD)


def find_suspects(p_wrong: Floats, contradicted: Bools, trusted: Bools) -> Bools:
    return ((p_wrong > MIN_P_WRONG) | contradicted) & ~trusted
