"""One loop for all network methods: epochs, selection, metrics, callbacks, checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import import_on_first_use

if TYPE_CHECKING:
    from .loop import Learner, Phase, TrainingLoop
    from .metrics import METRICS, Metric, list_metrics, score
    from .selection import SELECTIONS, Selection, SelectionRule

__all__ = [
    "METRICS",
    "SELECTIONS",
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
__getattr__, __dir__ = import_on_first_use(__name__, __file__)
