"""The headline numbers of an audit, for its page, its card and a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pandas as pd

from ..page import render_facts, render_table
from ..table import Table

NUM_SHOWN_ISSUES = 10


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

    def rate_text(self) -> str:
        """The estimated rate, with its interval if there is one."""
        if self.rate_interval is None:
            return f"{self.rate:.1%}"
        low, high = self.rate_interval
        return f"{self.rate:.1%} (95 % interval {low:.1%} to {high:.1%})"

    def headline(self) -> str:
        return f"{self.num_labels:,} labels, estimated wrong {self.rate_text()}, {self.num_suspects:,} suspects"

    def rate_dawid_skene_text(self) -> str:
        return "unknown (no edges)" if self.rate_dawid_skene is None else f"{self.rate_dawid_skene:.1%}"

    def homophily_text(self) -> str:
        return "unknown" if self.homophily is None else f"{self.homophily:.2f}"


def select_likely_errors(issues: pd.DataFrame) -> pd.DataFrame:
    """The first labels that are more probably wrong than right, or suspects for another reason; at most ten."""
    return issues[(issues["p_wrong"] > 0.5) | issues["suspect"]].head(NUM_SHOWN_ISSUES)


def render_audit_html(overview: AuditOverview, issues: pd.DataFrame, class_names: Sequence[str]) -> str:
    """The headline numbers and the most probable errors, as a notebook shows them."""
    facts = {
        "given labels": f"{overview.num_labels:,}",
        "estimated wrong": overview.rate_text(),
        "Dawid–Skene estimate": overview.rate_dawid_skene_text(),
        "flagged by confident learning": f"{overview.num_flagged:,}",
        "suspects": f"{overview.num_suspects:,}",
        "homophily": overview.homophily_text(),
    }
    top = [
        {
            "node": str(row.get("id", row["node"])),
            "given": class_names[row["given"]],
            "suggested": class_names[row["suggested"]],
            "p_wrong": float(row["p_wrong"]),
        }
        for row in select_likely_errors(issues).to_dict("records")
    ]
    table = render_table(Table.from_records(top, "Most probably wrong")) if top else ""
    return str(render_facts(facts) + table)
