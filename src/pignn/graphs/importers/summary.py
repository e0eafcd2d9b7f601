"""What was understood of a graph, for people to read before they believe the rest."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Any

from torch_geometric.data import Data

from ...core.text import pluralize
from ..summary import describe_graph


@dataclass
class ImportSummary:
    """Facts of :func:`~pignn.graphs.describe_graph`, what was guessed and changed, what became of each column."""

    facts: dict[str, Any]
    read: list[str]
    missing: dict[str, int]
    columns: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        return {**self.facts, "read": self.read, "missing": self.missing, "columns": self.columns}

    def __str__(self) -> str:
        facts = self.facts
        nodes, edges = pluralize(facts["nodes"], "node"), pluralize(facts["edges"], "edge")
        components = pluralize(facts["components"], "component")
        lines = [f"{nodes}, {edges}, {components}, {facts['isolated']:,} without a neighbour"]
        labelled = sum(facts["classes"].values())
        if facts["classes"]:
            sizes = sorted(facts["classes"].items(), key=lambda item: -item[1])
            shown = ", ".join(f"{_short(name)} {size:,}" for name, size in sizes[:12])
            more = f" and {len(sizes) - 12:,} more" if len(sizes) > 12 else ""
            lines.append(f"{len(sizes):,} classes: {shown}{more}; {facts['unlabeled']:,} nodes without a label")
        if facts["homophily"] is not None:
            lines.append(
                f"homophily {facts['homophily']:.2f}: share of edges between labelled nodes that join one class"
            )
        elif labelled:
            lines.append("homophily unknown: no edge joins two labelled nodes")
        for name in ("trusted", "sources"):
            if facts.get(name):
                lines.append(f"{name}: {facts[name]}")
        lines += self.read
        lines.append(f"{pluralize(facts['features'], 'feature')}:")
        lines += [f"  {names}: {what}" for names, what in self._grouped()]
        return "\n".join(lines)

    def _grouped(self) -> list[tuple[str, str]]:
        """Columns next to each other that became the same, together."""
        described = [
            (name, what + (f"; {self.missing[name]:,} missing" if name in self.missing else ""))
            for name, what in self.columns.items()
        ]
        found = []
        for what, group in groupby(described, key=lambda item: item[1]):
            names = [_short(name) for name, _ in group]
            some = ", ".join(names) if len(names) < 5 else f"{names[0]} … {names[-1]} ({len(names):,} columns)"
            found.append((some, what))
        return found


def summarize_import(data: Data) -> ImportSummary:
    """What :func:`~pignn.read_graph` and its kin made of a graph; `print` it."""
    facts = describe_graph(data)
    trusted, sources = data.get("trusted_mask"), data.get("label_source")
    if trusted is not None:
        facts["trusted"] = pluralize(int(trusted.sum()), "label")
    if sources is not None:
        counts = {name: int((sources == i).sum()) for i, name in enumerate(data.source_names)}
        facts["sources"] = ", ".join(f"{_short(name)} {count:,}" for name, count in list(counts.items())[:12])
    origin, encoder = data.get("origin"), data.get("encoder")
    return ImportSummary(
        facts,
        [] if origin is None else list(origin.read),
        {} if origin is None else dict(origin.missing),
        {} if encoder is None else dict(encoder.columns),
    )


def _short(name: str, most: int = 40) -> str:
    text = " ".join("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(name)).split())
    return text if len(text) <= most else text[: most - 1] + "…"
