"""Whole runs in one call, for commands and notebooks alike: train, audit, predict, apply decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import on_first_use

if TYPE_CHECKING:
    from .audit_run import AuditRun, audit
    from .corrections import Correction, apply_decisions
    from .predictions import Predictions, predict
    from .training import TrainingInterrupted, train
    from .training_run import TrainingRun

_HOMES = {
    "AuditRun": "audit_run",
    "Correction": "corrections",
    "Predictions": "predictions",
    "TrainingInterrupted": "training",
    "TrainingRun": "training_run",
    "apply_decisions": "corrections",
    "audit": "audit_run",
    "predict": "predictions",
    "train": "training",
}

__all__ = [
    "AuditRun",
    "Correction",
    "Predictions",
    "TrainingInterrupted",
    "TrainingRun",
    "apply_decisions",
    "audit",
    "predict",
    "train",
]

__getattr__, __dir__ = on_first_use(__name__, _HOMES)
