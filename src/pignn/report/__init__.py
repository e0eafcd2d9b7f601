"""What goes out: tables, pictures and pages, for audits, trainings and studies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import import_on_first_use

if TYPE_CHECKING:
    from .cards import build_audit_card, build_model_card
    from .curves import draw_learning_curves, draw_matrix, encode_png
    from .page import Code, Drawing, Facts, Section, Text
    from .plots import Panel, Series, draw_panels
    from .predictions import build_prediction_table, write_predictions
    from .table import Cell, Table
    from .training import build_training_page

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

# Imported on first use, so that listing things does not wait for torch.
__getattr__, __dir__ = import_on_first_use(__name__, __file__)
