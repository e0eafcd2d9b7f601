"""Which labels count as wrong where nobody looks at them: one rule, whatever the data.

A suspect is an untrusted label that is probably wrong under the estimated noise (p_wrong above one half), or that the
plain classifier, learnt from the given labels of the other folds, contradicts clearly: it puts another class first, and
that class leads the given one by more than one half if all given classes are counted as equally frequent. The second
part is for errors that follow the features, as those of rules and language models do: the noise model puts them down
to the classifier. That both must hold, with and without the frequencies, keeps a rare class from being outvoted and
from being found everywhere. What this costs where labels are right is measured in docs/audit.md.
"""

from __future__ import annotations

import numpy as np

from ..noise.kinds import Floats, Ints
from ..noise.model import normalize_rows
from .crossfit import Bools

PROBABLY = 0.5
LEAD = 0.5


def contradicted(given: Ints, probability: Floats) -> Bools:
    """Labels that out-of-sample probabilities of given labels contradict clearly."""
    at = np.arange(len(given))
    count = np.bincount(given, minlength=probability.shape[1])
    even = normalize_rows(np.where(count > 0, probability / np.maximum(count, 1), 0.0))
    rival = even.copy()
    rival[at, given] = 0.0
    return (probability.argmax(axis=1) != given) & (rival.max(axis=1) - even[at, given] > LEAD)


def suspects(p_wrong: Floats, against: Bools, trusted: Bools) -> Bools:
    return ((p_wrong > PROBABLY) | against) & ~trusted
