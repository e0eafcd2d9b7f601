"""Label noise: transition matrices, `corrupt()`, recorded labels, a report of what was done, and an estimate.

A transition matrix T holds T[i, j] = P(given = j | true = i). With n classes and rate ε:

| kind | T |
|---|---|
| `symmetric` | 1 − ε on the diagonal, ε/(n − 1) elsewhere |
| `pair` | 1 − ε on the diagonal, ε at (i, i + 1 mod n) |
| `flip` | 1 − ε on the diagonal, ε at (i, one other class, drawn once per seed) |
| `one-sided` | 1 − ε on the diagonal, ε at (i, 0), for i > 0; class 0 keeps its labels: what was not found |
| a matrix | as given |

`instance` and `rule` noise depend on the features and `cluster` noise on the graph instead, see `corrupt`. All
randomness comes from NumPy generators of their own, one stream for each kind and seed: neither torch's random state
nor the device has a part in it.
"""

from __future__ import annotations

from .corruption import SPLITS, Corrupt, Kind, corrupt
from .dependent import compute_flip_probs
from .estimation import NoiseEstimate, estimate
from .kinds import KINDS, MATRIX_KINDS, transition_matrix
from .recorded import RecordedLabels, load_noise, load_recorded_labels
from .summary import NoiseSummary, summarize_noise

__all__ = [
    "KINDS",
    "MATRIX_KINDS",
    "SPLITS",
    "Corrupt",
    "Kind",
    "NoiseEstimate",
    "NoiseSummary",
    "RecordedLabels",
    "compute_flip_probs",
    "corrupt",
    "estimate",
    "load_noise",
    "load_recorded_labels",
    "summarize_noise",
    "transition_matrix",
]
