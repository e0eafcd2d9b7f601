"""The page about a review: what was decided, by whom, and what it says about all labels."""

from __future__ import annotations

from collections import Counter

import numpy as np

from ..report import Section, Table, build_page
from ..report.page import Tile, render_class_matrix
from ..report.rendering import format_percent
from .agreement import compute_reviewer_agreement
from .estimates import Panel
from .review_session import ReviewSession
from .verdicts import RELABEL


def build_report_page(session: ReviewSession) -> str:
    """One file that loads nothing."""
    panel = session.compute_progress_panel()
    verdicts = session.get_verdicts_by_position()
    counts = Counter(
        (who, verdict.decision) for each in verdicts.values() for (who, _), verdict in each.items() if verdict.decision
    )
    names = sorted({who for who, _ in counts})
    kinds = ("relabel", "keep", "unsure", "skip")
    people = [[name, *(f"{counts[name, kind]:,}" for kind in kinds)] for name in names]
    known = {position: session.class_names[session.state.given[position]] for position in verdicts}
    agreement = compute_reviewer_agreement(verdicts, known)
    pairs = [
        [pair.first, pair.second, str(pair.labels), format_percent(pair.agreement), _format_or_dash(pair.kappa)]
        for pair in agreement.pairs
    ]
    changed = session.status == RELABEL
    size = len(session.class_names)
    cells = session.state.given[changed] * size + session.label[changed]
    matrix = np.bincount(cells, minlength=size**2).reshape(size, size).tolist()
    sections = [
        Section("Reviewers", [Table(["reviewer", *kinds], people, text_columns=(0,))]),
        Section("Labels that changed", [render_class_matrix(("given", "right"), session.class_names, matrix)]),
    ]
    if pairs:
        header = ["reviewer", "reviewer", "labels", "agreement", "Cohen's kappa"]
        title = f"Agreement (Krippendorff's alpha {_format_or_dash(agreement.alpha)})"
        sections.append(Section(title, [Table(header, pairs, text_columns=(0, 1))]))
    return build_page(session.project.header.title, sections, [panel.advice], build_tiles(panel))


def build_tiles(panel: Panel) -> list[Tile]:
    """The headline numbers."""

    def between(ends: tuple[float, float]) -> str:
        return f"95 % interval {format_percent(ends[0])} to {format_percent(ends[1])}"

    def share(value: float | None) -> str:
        return "–" if value is None else format_percent(value)

    left = "–" if panel.left is None else f"{panel.left:,.0f}"
    low, high = panel.left_interval
    return [
        Tile("decided", f"{panel.decided:,}", f"of {panel.labels:,} labels; {panel.unsure:,} unsure"),
        Tile("wrong labels found", f"{panel.found:,}"),
        Tile("wrong among all", share(panel.rate), f"{between(panel.rate_interval)}, by {panel.drawn:,} random ones"),
        Tile("wrong labels left", left, f"95 % interval {low:,.0f} to {high:,.0f}"),
        Tile("right after correction", share(panel.accuracy), between(panel.accuracy_interval)),
    ]


def _format_or_dash(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
