"""Studies: plan, run, store, tables, figures; the paper's own by name."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

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


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'pignn.studies' has no attribute '{name}'")
    value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
