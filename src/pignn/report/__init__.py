"""Tables, pictures, cards and pages of audits, trainings and studies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import make_lazy_getattr_and_dir

if TYPE_CHECKING:
    from .audit import (
        AuditOverview,
        AuditPageContent,
        PageColumn,
        build_audit_page,
        render_audit_html,
        render_consensus_html,
    )
    from .cards import build_audit_card, build_model_card
    from .page import Section, Tile, build_page
    from .panels import Panel, Series
    from .plots import (
        draw_panels,
        plot_calibration,
        plot_class_quality,
        plot_confusion,
        plot_learning_curves,
        plot_map,
        plot_panels,
        plot_transition,
        plot_trials,
        render_figure,
    )
    from .predictions import build_prediction_table, write_predictions_csv
    from .table import Cell, Table
    from .training import build_training_page

__all__ = [
    "AuditOverview",
    "AuditPageContent",
    "Cell",
    "PageColumn",
    "Panel",
    "Section",
    "Series",
    "Table",
    "Tile",
    "build_audit_card",
    "build_audit_page",
    "build_model_card",
    "build_page",
    "build_prediction_table",
    "build_training_page",
    "draw_panels",
    "plot_calibration",
    "plot_class_quality",
    "plot_confusion",
    "plot_learning_curves",
    "plot_map",
    "plot_panels",
    "plot_transition",
    "plot_trials",
    "render_audit_html",
    "render_consensus_html",
    "render_figure",
    "write_predictions_csv",
]

# Imported on first use, so that listing things does not wait for torch.
__getattr__, __dir__ = make_lazy_getattr_and_dir(__name__, __file__)
