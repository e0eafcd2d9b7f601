"""Studies: plan many runs, run them, keep their results, and show them as tables and figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import make_lazy_getattr_and_dir

if TYPE_CHECKING:
    from .catalog import get_study, load_builtin_studies
    from .comparison import compare_with_paper
    from .external import export_tasks, score_and_save_predictions
    from .figure import draw_study
    from .plan_files import read_study, write_study
    from .planning import plan_runs
    from .protocol import Protocol
    from .results import StudyResults, collect_results
    from .results_store import ResultsStore, open_results
    from .significance import compare_rows_with_reference
    from .study import DatasetSpec, NoiseSpec, Study, StudyRow
    from .sweep import SweepSummary, run_study
    from .tables import build_tables

__all__ = [
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
    "compare_rows_with_reference",
    "compare_with_paper",
    "draw_study",
    "export_tasks",
    "get_study",
    "load_builtin_studies",
    "open_results",
    "plan_runs",
    "read_study",
    "run_study",
    "score_and_save_predictions",
    "write_study",
]

# Imported on first use, so that listing things does not wait for torch.
__getattr__, __dir__ = make_lazy_getattr_and_dir(__name__, __file__)
