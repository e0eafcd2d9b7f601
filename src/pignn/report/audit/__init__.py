"""The page of an audit: the estimated noise, and the suspects for a person to decide on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.lazy import make_lazy_getattr_and_dir

if TYPE_CHECKING:
    from .consensus import build_consensus_facts, list_most_active_annotator_rows, render_consensus_html
    from .decision_columns import DECISION_COLUMNS, REVIEW_COLUMNS
    from .overview import AuditOverview, render_audit_html
    from .page import SHARED_SCRIPTS, AuditPageContent, PageColumn, build_audit_page, read_asset

__all__ = [
    "DECISION_COLUMNS",
    "REVIEW_COLUMNS",
    "SHARED_SCRIPTS",
    "AuditOverview",
    "AuditPageContent",
    "PageColumn",
    "build_audit_page",
    "build_consensus_facts",
    "list_most_active_annotator_rows",
    "read_asset",
    "render_audit_html",
    "render_consensus_html",
]

__getattr__, __dir__ = make_lazy_getattr_and_dir(__name__, __file__)
