"""What goes out: tables, pictures and pages, for audits, trainings and studies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import on_first_use

if TYPE_CHECKING:
    from .cards import build_audit_card, build_model_card
    from .curves import draw_learning_curves, draw_matrix, encode_png
    from .page import Code, Drawing, Facts, Section, Text
    from .plots import Panel, Series, draw_panels
    from .predictions import build_prediction_table, write_predictions
    from .table import Cell, Table
    from .training import build_training_page

# Imported on first use: a table must not wait for torch.
_HOMES = {
    "Cell": "table",
    "Code": "page",
    "Drawing": "page",
    "Facts": "page",
    "Panel": "plots",
    "Section": "page",
    "Series": "plots",
    "Table": "table",
    "Text": "page",
    "build_audit_card": "cards",
    "build_model_card": "cards",
    "draw_panels": "plots",
    "draw_learning_curves": "curves",
    "draw_matrix": "curves",
    "encode_png": "curves",
    "build_prediction_table": "predictions",
    "build_training_page": "training",
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
    "build_audit_card",
    "build_model_card",
    "build_prediction_table",
    "build_training_page",
    "draw_learning_curves",
    "draw_matrix",
    "draw_panels",
    "encode_png",
    "write_predictions",
]

__getattr__, __dir__ = on_first_use(__name__, _HOMES)
