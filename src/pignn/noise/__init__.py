"""Label noise: kinds of it by name, `corrupt()`, recorded labels, a summary where the truth is known, and an estimate.

All randomness comes from NumPy generators of its own, one stream for each kind and seed. Neither torch's random state
nor the device plays a part in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import on_first_use

if TYPE_CHECKING:
    from .corruption import SPLITS, Corrupt, corrupt
    from .dependent_kinds import compute_flip_probs
    from .estimation import NoiseEstimate, estimate
    from .kinds import LabelsToCorrupt, NoiseKind
    from .matrix_kinds import MatrixNoise, build_transition_matrix
    from .recorded import RecordedLabels, load_noise, load_recorded_labels
    from .registry import NOISES, get_noise_kind, list_noises
    from .summary import NoiseSummary, summarize_noise

# Imported on first use: listing the kinds must not wait for torch.
_HOMES = {
    "NOISES": "registry",
    "SPLITS": "corruption",
    "Corrupt": "corruption",
    "LabelsToCorrupt": "kinds",
    "MatrixNoise": "matrix_kinds",
    "NoiseEstimate": "estimation",
    "NoiseKind": "kinds",
    "NoiseSummary": "summary",
    "RecordedLabels": "recorded",
    "build_transition_matrix": "matrix_kinds",
    "compute_flip_probs": "dependent_kinds",
    "corrupt": "corruption",
    "estimate": "estimation",
    "get_noise_kind": "registry",
    "list_noises": "registry",
    "load_noise": "recorded",
    "load_recorded_labels": "recorded",
    "summarize_noise": "summary",
}

__all__ = [
    "NOISES",
    "SPLITS",
    "Corrupt",
    "LabelsToCorrupt",
    "MatrixNoise",
    "NoiseEstimate",
    "NoiseKind",
    "NoiseSummary",
    "RecordedLabels",
    "build_transition_matrix",
    "compute_flip_probs",
    "corrupt",
    "estimate",
    "get_noise_kind",
    "list_noises",
    "load_noise",
    "load_recorded_labels",
    "summarize_noise",
]

__getattr__, __dir__ = on_first_use(__name__, _HOMES)
