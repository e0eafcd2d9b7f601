"""A summary of what was read and encoded, for people to check before they use the graph."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from torch_geometric.data import Data

from ...core.errors import PignnError
from ...core.notebook import CardTable, render_card_html
from ...core.text import format_count
from ..summary import compute_graph_statistics

MAX_NAMED = 100  # columns that are left out
MAX_SHOWN_ROWS = 15  # of a table in a notebook
MAX_SHOWN_EDGES = 5_000_000  # of a graph that describes itself in a notebook


@dataclass
class ImportSummary:
    """Facts of :func:`~pignn.graphs.compute_graph_statistics`, what was guessed and changed, and each column's fate.

    ``columns`` say what each column became and why, ``kinds`` what it was taken for, ``widths`` how many features.
    """

    facts: dict[str, Any]
    notes: list[str]
    missing: dict[str, int]
    columns: dict[str, str]
    kinds: dict[str, str] = field(default_factory=dict)
    widths: dict[str, int] = field(default_factory=dict)

    @property
    def features(self) -> str:
        """All columns with their kinds, as ``--features`` (``features=``) takes them."""
        # Of the characters that have a meaning there, ? stands for any.
        names = {name: re.sub(r"[,*?\[\]]", "?", name) for name in self.kinds}
        return ",".join(f"{names[name]}:{kind}" for name, kind in self.kinds.items())

    def list_column_records(self) -> list[dict[str, Any]]:
        """One record per column: what it is taken for, how many features it gives, missing values, and why."""
        order = {name: i for i, name in enumerate(self.kinds)}
        return [
            {
                "column": _clean_and_shorten(name),
                "kind": self.kinds.get(name, ""),
                "features": self.widths.get(name, 0),
                "missing": self.missing.get(name, 0),
                "becomes": note,
            }
            for name, note in sorted(self.columns.items(), key=lambda item: order.get(item[0], -1))
        ]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        told = {"notes": self.notes, "missing": self.missing, "columns": self.columns}
        return {**self.facts, **told, "feature_list": self.features}

    def __str__(self) -> str:
        lines = self.list_fact_lines()
        lines.append(f"{format_count(self.facts['features'], 'feature')}:")
        return "\n".join([*lines, *(f"  {names}: {note}" for names, note in self._group_columns_by_note())])

    def _repr_html_(self) -> str:
        return self.render_html("Graph as it is read")

    def render_html(self, title: str) -> str:
        """The card for a notebook."""
        facts = self.facts
        shown = {
            "nodes": facts["nodes"],
            "edges": facts["edges"],
            "features": facts["features"],
            "components": facts["components"],
            "without a label": facts["unlabeled"],
            "homophily": "unknown" if facts["homophily"] is None else f"{facts['homophily']:.2f}",
            **{name: facts[name] for name in ("trusted", "sources") if facts.get(name)},
        }
        sizes = sorted(facts["classes"].items(), key=lambda item: -item[1])
        names = [f"{_clean_and_shorten(name)} {size:,}" for name, size in sizes[:MAX_SHOWN_ROWS]]
        shown["classes"] = f"{len(sizes):,}: {', '.join(names)}{' …' if len(sizes) > MAX_SHOWN_ROWS else ''}"
        records = self.list_column_records()
        more = f", the first {MAX_SHOWN_ROWS} of {len(records):,}" if len(records) > MAX_SHOWN_ROWS else ""
        return render_card_html(title, shown, [CardTable(f"Columns{more}", records[:MAX_SHOWN_ROWS])], self.notes)

    def list_fact_lines(self) -> list[str]:
        """What the graph is like, and what was guessed and changed, in lines for people."""
        facts = self.facts
        nodes, edges = format_count(facts["nodes"], "node"), format_count(facts["edges"], "edge")
        components = format_count(facts["components"], "component")
        lines = [f"{nodes}, {edges}, {components}, {facts['isolated']:,} without a neighbor"]
        num_labeled = sum(facts["classes"].values())
        if facts["classes"]:
            sizes = sorted(facts["classes"].items(), key=lambda item: -item[1])
            shown = ", ".join(f"{_clean_and_shorten(name)} {size:,}" for name, size in sizes[:12])
            more = f" and {len(sizes) - 12:,} more" if len(sizes) > 12 else ""
            lines.append(f"{len(sizes):,} classes: {shown}{more}; {facts['unlabeled']:,} nodes without a label")
        if facts["homophily"] is not None:
            lines.append(
                f"homophily {facts['homophily']:.2f}: share of edges between labeled nodes that join one class"
            )
        elif num_labeled:
            lines.append("homophily unknown: no edge joins two labeled nodes")
        for name in ("trusted", "sources"):
            if facts.get(name):
                lines.append(f"{name}: {facts[name]}")
        return [*lines, *self.notes]

    def _group_columns_by_note(self) -> list[tuple[str, str]]:
        """Adjacent columns with the same note as one entry, in which those that are left out are named one by one."""
        described = [
            (name, note + (f"; {self.missing[name]:,} missing" if name in self.missing else ""))
            for name, note in self.columns.items()
        ]
        entries = []
        for note, group in groupby(described, key=lambda item: item[1]):
            names = [_clean_and_shorten(name) for name, _ in group]
            is_named = len(names) < 5 or (note.startswith("left out") and len(names) <= MAX_NAMED)
            listing = ", ".join(names) if is_named else f"{names[0]} … {names[-1]} ({len(names):,} columns)"
            entries.append((listing, note))
        return entries


def summarize_import(data: Data) -> ImportSummary:
    """Summarize a graph from :func:`~pignn.read_graph` and its kin; `print` the summary."""
    facts = compute_graph_statistics(data)
    trusted, sources = data.get("trusted_mask"), data.get("label_source")
    if trusted is not None:
        facts["trusted"] = format_count(int(trusted.sum()), "label")
    if sources is not None:
        counts = {name: int((sources == i).sum()) for i, name in enumerate(data.source_names)}
        facts["sources"] = ", ".join(
            f"{_clean_and_shorten(name)} {count:,}" for name, count in list(counts.items())[:12]
        )
    origin, encoder = data.get("origin"), data.get("encoder")
    return ImportSummary(
        facts,
        [] if origin is None else list(origin.notes),
        {} if origin is None else dict(origin.missing),
        {} if encoder is None else dict(encoder.column_notes),
        {} if encoder is None else dict(encoder.column_kinds),
        {} if encoder is None else encoder.count_features_per_column(),
    )


def _clean_and_shorten(name: str, max_chars: int = 40) -> str:
    text = " ".join("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(name)).split())
    return text if len(text) <= max_chars else text[: max_chars - 1] + "…"


def render_graph_html_or_none(data: Data) -> str | None:
    """How a notebook shows a graph of ours: what was understood of it. None for graphs that others made."""
    if data.get("class_names") is None or data.get("edge_index") is None or data.num_edges > MAX_SHOWN_EDGES:
        return None
    try:
        return summarize_import(data).render_html(f"Graph {data.get('name') or ''}".strip())
    except (PignnError, RuntimeError, AttributeError, TypeError, ValueError):  # it was changed since
        return None
