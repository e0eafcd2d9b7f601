"""The headline numbers of an audit, for its page, its card and a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from ...core.notebook import CardTable, render_card_html

NUM_SHOWN_ISSUES = 10
MAX_SHOWN_CLASSES = 12  # in a notebook


@dataclass(frozen=True)
class AuditOverview:
    """What a reader should know about an audit first."""

    num_labels: int
    num_trusted: int
    num_flagged: int  # by confident learning
    num_suspects: int
    rate: float  # estimated share of wrong labels
    rate_interval: tuple[float, float] | None
    rate_dawid_skene: float | None  # a second estimate; None without edges
    is_rate_doubtful: bool  # far more labels are flagged than estimated to be wrong
    homophily: float | None
    method: str
    num_folds: int
    notes: Sequence[str] = field(default_factory=list)

    def format_rate(self) -> str:
        """The estimated rate, with its interval if there is one."""
        if self.rate_interval is None:
            return f"{self.rate:.1%}"
        low, high = self.rate_interval
        return f"{self.rate:.1%} (95 % interval {low:.1%} to {high:.1%})"

    def format_headline(self) -> str:
        return f"{self.num_labels:,} labels, estimated wrong {self.format_rate()}, {self.num_suspects:,} suspects"

    def format_rate_dawid_skene(self) -> str:
        return "unknown (no edges)" if self.rate_dawid_skene is None else f"{self.rate_dawid_skene:.1%}"

    def format_homophily(self) -> str:
        return "unknown" if self.homophily is None else f"{self.homophily:.2f}"


def select_suspects_and_likely_errors(issues: pd.DataFrame, max_rows: int = NUM_SHOWN_ISSUES) -> pd.DataFrame:
    """The first labels that are more probably wrong than right, or suspects for another reason."""
    return issues[(issues["p_wrong"] > 0.5) | issues["suspect"]].head(max_rows)


def render_audit_html(
    overview: AuditOverview, suspects: Sequence[Mapping[Any, Any]], classes: Sequence[Mapping[str, Any]]
) -> str:
    """The headline numbers, classes and first suspects, as a notebook shows them."""
    facts = {
        "estimated wrong": overview.format_rate(),
        "Dawid–Skene estimate": overview.format_rate_dawid_skene(),
        "suspects": overview.num_suspects,
        "flagged by confident learning": overview.num_flagged,
        "trusted": overview.num_trusted or None,
        "homophily": overview.format_homophily(),
    }
    rows = [
        {
            "class": row["class_name"],
            "labels": row["labels"],
            "expected wrong": round(row["expected_wrong"]),
            "expected right": row["quality"],
            "suspects": row["suspects"],
        }
        for row in sorted(classes, key=lambda row: row["quality"])[:MAX_SHOWN_CLASSES]
    ]
    more = f", the {MAX_SHOWN_CLASSES} worst of {len(classes):,}" if len(classes) > MAX_SHOWN_CLASSES else ""
    tables = [CardTable(f"Given classes{more}", rows), CardTable("Most probably wrong: suspects(n) has more", suspects)]
    return render_card_html(f"Audit of {overview.num_labels:,} labels", facts, tables, overview.notes)
