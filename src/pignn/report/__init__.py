"""What goes out: tables, pictures and pages, for audits and for studies."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .curves import learning_curve
    from .figure import Panel, Series, draw
    from .page import Code, Facts, Picture, Section, Text
    from .predictions import write_predictions
    from .table import Cell, Table

# Imported on first use: a table must not wait for torch.
_HOMES = {
    "Cell": "table",
    "Code": "page",
    "Facts": "page",
    "Panel": "figure",
    "Picture": "page",
    "Section": "page",
    "Series": "figure",
    "Table": "table",
    "Text": "page",
    "draw": "figure",
    "learning_curve": "curves",
    "write_predictions": "predictions",
}

__all__ = [
    "Cell",
    "Code",
    "Facts",
    "Panel",
    "Picture",
    "Section",
    "Series",
    "Table",
    "Text",
    "draw",
    "learning_curve",
    "write_predictions",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'pignn.report' has no attribute '{name}'")
    value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
