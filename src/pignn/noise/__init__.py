"""Label noise: kinds of it by name, `corrupt()`, recorded labels, a summary where the truth is known, and an estimate.

All randomness comes from NumPy generators of its own, one stream for each kind and seed. Neither torch's random state
nor the device plays a part in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import make_lazy_getattr_and_dir

if TYPE_CHECKING:
    from .benchmark_kinds import ConfidenceNoise, FeatureNoise, TopologyNoise
    from .corruption import SPLITS, Corrupt, corrupt
    from .dependent_kinds import compute_flip_probs_with_mean_rate
    from .estimation import NoiseEstimate, estimate
    from .kinds import LabelsToCorrupt, NoiseKind
    from .matrix_kinds import MatrixNoise, build_transition_matrix
    from .recorded import RecordedLabels, load_labels_or_matrix_or_check_noise_name, load_recorded_labels
    from .registry import NOISES, list_noises, make_noise_kind
    from .summary import NoiseSummary, summarize_noise

__all__ = [
    "NOISES",
    "SPLITS",
    "ConfidenceNoise",
    "Corrupt",
    "FeatureNoise",
    "LabelsToCorrupt",
    "MatrixNoise",
    "NoiseEstimate",
    "NoiseKind",
    "NoiseSummary",
    "RecordedLabels",
    "TopologyNoise",
    "build_transition_matrix",
    "compute_flip_probs_with_mean_rate",
    "corrupt",
    "estimate",
    "list_noises",
    "load_labels_or_matrix_or_check_noise_name",
    "load_recorded_labels",
    "make_noise_kind",
    "summarize_noise",
]

# Imported on first use, so that listing things does not wait for torch.
__getattr__, __dir__ = make_lazy_getattr_and_dir(__name__, __file__)
