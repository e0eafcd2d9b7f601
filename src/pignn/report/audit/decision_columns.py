"""The columns of a file of decisions. Needs no torch."""

from __future__ import annotations

REVIEW_COLUMNS = (  # what a file of decisions says about a label, before what the reviewer decides
    "node", "given", "suggested", "p_wrong", "neighbor_agreement", "part", "stratum", "inclusion", "review_size",
)  # fmt: skip
DECISION_COLUMNS = ("decision", "label", "reviewer", "time")
