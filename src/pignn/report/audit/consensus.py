"""What the votes of several annotators gave, for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...core.notebook import CardTable, render_card_html

MAX_SHOWN_ANNOTATORS = 20


def build_consensus_facts(content: Mapping[str, Any]) -> dict[str, str]:
    """The headline numbers, from `Consensus.to_dict`."""
    alpha, agreement = content["alpha"], content["agreement"]
    return {
        "votes": f"{content['votes']:,} of {len(content['annotators']):,} annotators on {content['nodes']:,} nodes",
        "agreement": "unknown: no node has two votes"
        if alpha is None or agreement is None
        else f"{agreement:.1%} of pairs, Krippendorff's alpha {alpha:.2f}",
        "consensus": f"{content['expected_accuracy']:.1%} expected right",
    }


def list_most_active_annotator_rows(annotators: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Annotators with the most votes, as rows of a table."""
    most = sorted(annotators, key=lambda row: -row["votes"])[:MAX_SHOWN_ANNOTATORS]
    return [
        {
            "annotator": row["annotator"],
            "votes": row["votes"],
            "error rate": f"{row['error_rate']:.1%}" if row["votes"] else "",
            "95 % interval": f"{row['error_low']:.1%} to {row['error_high']:.1%}" if row["votes"] else "",
            "most frequent error": row["most_frequent_error"],
        }
        for row in most
    ]


def render_consensus_html(
    content: Mapping[str, Any], annotators: Sequence[Mapping[str, Any]], questions: Sequence[Mapping[Any, Any]]
) -> str:
    """The headline numbers, the annotators and whom to ask next, as a notebook shows them."""
    tables = [
        CardTable("Annotators", list_most_active_annotator_rows(annotators)),
        CardTable("Whom to ask next", questions),
    ]
    return render_card_html("Votes of several annotators", build_consensus_facts(content), tables)
