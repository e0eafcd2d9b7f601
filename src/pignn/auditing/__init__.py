"""Which labels are wrong: the audit, whom to review, and what to do with what was found."""

from __future__ import annotations

from .cleaning import clean
from .core import Audit, audit, find_label_issues
from .decisions import trust
from .label_files import corrected
from .review import Assessment, assess, review
from .tables import read_decisions, write_table

__all__ = [
    "Assessment",
    "Audit",
    "assess",
    "audit",
    "clean",
    "corrected",
    "find_label_issues",
    "read_decisions",
    "review",
    "trust",
    "write_table",
]
