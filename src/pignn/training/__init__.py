"""One loop for all network methods: epochs, selection, metrics, callbacks, checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import on_first_use

if TYPE_CHECKING:
    from .loop import Learner, Phase, TrainingLoop
    from .metrics import METRICS, Metric, list_metrics, score
    from .selection import SELECTIONS, Selection, SelectionRule

# Imported on first use: listing metrics and selection rules must not wait for torch.
_HOMES = {
    "METRICS": "metrics",
    "SELECTIONS": "selection",
    "Learner": "loop",
    "Metric": "metrics",
    "Phase": "loop",
    "Selection": "selection",
    "SelectionRule": "selection",
    "TrainingLoop": "loop",
    "list_metrics": "metrics",
    "score": "metrics",
}

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

__getattr__, __dir__ = on_first_use(__name__, _HOMES)
