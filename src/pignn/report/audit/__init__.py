"""The page of an audit: the estimated noise, and the suspects for a person to decide on."""

from .consensus import build_consensus_facts, list_most_active_annotator_rows, render_consensus_html
from .overview import AuditOverview, render_audit_html
from .page import (
    DECISION_COLUMNS,
    REVIEW_COLUMNS,
    SHARED_SCRIPTS,
    AuditPageContent,
    PageColumn,
    build_audit_page,
    read_asset,
)

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
