"""Whole runs in one call, for commands and notebooks alike: train, audit, predict, apply decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import make_lazy_getattr_and_dir

if TYPE_CHECKING:
    from .audit_run import AuditRun, audit, rebuild_audited_graph
    from .comparison import compare
    from .comparison_result import Comparison
    from .corrections import Correction, apply_decisions
    from .export import export_network
    from .hub import from_hub, push_to_hub, write_hub_folder
    from .inspection import inspect_graph
    from .networkx_export import to_networkx
    from .predictions import Predictions, predict
    from .saved_audit import SavedAudit, read_audit_arguments_or_none, read_saved_audit
    from .training import TrainingInterrupted, train
    from .training_run import TrainingRun
    from .tuning import tune
    from .tuning_result import Tuning

__all__ = [
    "AuditRun",
    "Comparison",
    "Correction",
    "Predictions",
    "SavedAudit",
    "TrainingInterrupted",
    "TrainingRun",
    "Tuning",
    "apply_decisions",
    "audit",
    "compare",
    "export_network",
    "from_hub",
    "inspect_graph",
    "predict",
    "push_to_hub",
    "read_audit_arguments_or_none",
    "read_saved_audit",
    "rebuild_audited_graph",
    "to_networkx",
    "train",
    "tune",
    "write_hub_folder",
]

# Imported on first use, so that listing things does not wait for torch.
__getattr__, __dir__ = make_lazy_getattr_and_dir(__name__, __file__)
