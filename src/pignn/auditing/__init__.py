"""Find wrong labels, choose which ones to review, and apply what the review decided."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import make_lazy_getattr_and_dir

if TYPE_CHECKING:
    from .audit import Audit, ClassSummary, SourceSummary, audit_labels, find_label_issues
    from .cleaning import clean_labels
    from .columns import AUDIT_COLUMNS, AuditColumn, Findings
    from .consensus import AnnotatorSummary, Consensus, combine_votes
    from .decisions import apply_decisions_to_graph
    from .evidence import Evidence
    from .judging import Judgment
    from .label_files import write_corrected_labels
    from .review import ReviewEstimate, estimate_from_review, sample_for_review
    from .tables import format_prob_column_name, read_decisions, write_spreadsheet_safe_csv

__all__ = [
    "AUDIT_COLUMNS",
    "AnnotatorSummary",
    "Audit",
    "AuditColumn",
    "ClassSummary",
    "Consensus",
    "Evidence",
    "Findings",
    "Judgment",
    "ReviewEstimate",
    "SourceSummary",
    "apply_decisions_to_graph",
    "audit_labels",
    "clean_labels",
    "combine_votes",
    "estimate_from_review",
    "find_label_issues",
    "format_prob_column_name",
    "read_decisions",
    "sample_for_review",
    "write_corrected_labels",
    "write_spreadsheet_safe_csv",
]

# Imported on first use: decisions of a review are applied to tables without torch.
__getattr__, __dir__ = make_lazy_getattr_and_dir(__name__, __file__)
