"""Studies: plan, run, store, tables, figures; the paper's own by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import on_first_use

if TYPE_CHECKING:
    from .comparison import compare
    from .paper import STUDIES, study
    from .plan import Dataset, Noise, Row, Study
    from .protocol import Protocol
    from .results import Results, collect
    from .store import Store
    from .sweep import Summary, open_store, run
    from .table import tables

# Imported on first use: listing the studies must not wait for torch.
_HOMES = {
    "STUDIES": "paper",
    "Dataset": "plan",
    "Noise": "plan",
    "Protocol": "protocol",
    "Results": "results",
    "Row": "plan",
    "Store": "store",
    "Study": "plan",
    "Summary": "sweep",
    "collect": "results",
    "compare": "comparison",
    "open_store": "sweep",
    "run": "sweep",
    "study": "paper",
    "tables": "table",
}

__all__ = [
    "STUDIES",
    "Dataset",
    "Noise",
    "Protocol",
    "Results",
    "Row",
    "Store",
    "Study",
    "Summary",
    "collect",
    "compare",
    "open_store",
    "run",
    "study",
    "tables",
]

__getattr__, __dir__ = on_first_use(__name__, _HOMES)
