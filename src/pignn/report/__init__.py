"""What goes out: tables, pictures and pages, for audits, trainings and studies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import on_first_use

if TYPE_CHECKING:
    from .curves import learning_curve
    from .figure import Panel, Series, draw
    from .page import Code, Drawing, Facts, Section, Text
    from .predictions import write_predictions
    from .table import Cell, Table
    from .training import training_page

# Imported on first use: a table must not wait for torch.
_HOMES = {
    "Cell": "table",
    "Code": "page",
    "Drawing": "page",
    "Facts": "page",
    "Panel": "figure",
    "Section": "page",
    "Series": "figure",
    "Table": "table",
    "Text": "page",
    "draw": "figure",
    "learning_curve": "curves",
    "training_page": "training",
    "write_predictions": "predictions",
}

__all__ = [
    "Cell",
    "Code",
    "Drawing",
    "Facts",
    "Panel",
    "Section",
    "Series",
    "Table",
    "Text",
    "draw",
    "learning_curve",
    "training_page",
    "write_predictions",
]

__getattr__, __dir__ = on_first_use(__name__, _HOMES)
