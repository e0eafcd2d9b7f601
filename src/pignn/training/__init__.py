"""One loop for all network methods: epochs, selection, metrics, callbacks, checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import make_lazy_getattr_and_dir

if TYPE_CHECKING:
    from .loop import DivergedError, Learner, Phase, TrainingLoop
    from .metrics import METRICS, Metric, list_metrics, score
    from .selection import SELECTIONS, Selection, SelectionRule

__all__ = [
    "METRICS",
    "SELECTIONS",
    "DivergedError",
    "Learner",
    "Metric",
    "Phase",
    "Selection",
    "SelectionRule",
    "TrainingLoop",
    "list_metrics",
    "score",
]

# Imported on first use, so that listing things does not wait for torch.
__getattr__, __dir__ = make_lazy_getattr_and_dir(__name__, __file__)
