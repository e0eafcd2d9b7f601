"""Studies: plan, run, store, tables, figures; the paper's own by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import import_on_first_use

if TYPE_CHECKING:
    from .comparison import compare_with_paper
    from .paper import STUDIES, get_study
    from .protocol import Protocol
    from .results import StudyResults, collect_results
    from .results_store import ResultsStore
    from .study import DatasetSpec, NoiseSpec, Study, StudyRow
    from .sweep import SweepSummary, open_results, run_study
    from .tables import build_tables

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

# Imported on first use, so that listing things does not wait for torch.
__getattr__, __dir__ = import_on_first_use(__name__, __file__)
