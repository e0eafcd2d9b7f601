"""Studies: plan, run, store, tables, figures; the paper's own by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import on_first_use

if TYPE_CHECKING:
    from .comparison import compare_with_paper
    from .paper import STUDIES, get_study
    from .protocol import Protocol
    from .results import StudyResults, collect_results
    from .results_store import ResultsStore
    from .study import DatasetSpec, NoiseSpec, Study, StudyRow
    from .sweep import SweepSummary, open_results, run_study
    from .tables import build_tables

# Imported on first use: listing the studies must not wait for torch.
_HOMES = {
    "STUDIES": "paper",
    "DatasetSpec": "study",
    "NoiseSpec": "study",
    "Protocol": "protocol",
    "StudyResults": "results",
    "StudyRow": "study",
    "ResultsStore": "results_store",
    "Study": "study",
    "SweepSummary": "sweep",
    "collect_results": "results",
    "compare_with_paper": "comparison",
    "open_results": "sweep",
    "run_study": "sweep",
    "get_study": "paper",
    "build_tables": "tables",
}

__all__ = [
    "STUDIES",
    "DatasetSpec",
    "NoiseSpec",
    "Protocol",
    "ResultsStore",
    "Study",
    "StudyResults",
    "StudyRow",
    "SweepSummary",
    "build_tables",
    "collect_results",
    "compare_with_paper",
    "get_study",
    "open_results",
    "run_study",
]

__getattr__, __dir__ = on_first_use(__name__, _HOMES)
