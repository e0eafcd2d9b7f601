"""Cards in Markdown: what to know about a model or an audit before relying on it."""

from __future__ import annotations

from torch_geometric.data import Data

from .._version import __version__
from ..graphs import summarize_import
from ..methods.core.base import Method
from ..methods.core.data_hash import hash_training_data
from .audit.overview import AuditOverview
from .training.summary import TrainingSummary


def build_model_card(model: Method, graph: Data, summary: TrainingSummary) -> str:
    """The card of a model that was fitted to a graph read from files."""
    origin, noise = graph.origin, graph.get("noise")
    checksum = f", SHA-256 of the node file {origin.sha256}" if origin.sha256 else ""
    lines = [
        f"# {model.name} on {graph.name}",
        "",
        f"Made by pignn {__version__}. Classes: {', '.join(model.class_names_)}.",
        "",
        "## Data",
        "",
        f"- nodes {origin.nodes}, edges {origin.edges or 'in the same file'}, labels '{origin.label}'",
        f"- fingerprint {hash_training_data(graph)}{checksum}",
        *(f"- {line.strip()}" for line in str(summarize_import(graph)).splitlines()),
        "",
        "## Protocol",
        "",
        *_list_protocol(model, graph, summary),
        f"- seed {model.seed}",
    ]
    if noise is not None:
        lines.append(f"- labels were corrupted on purpose: {noise['kind']}, rate {noise['rate']}")
    lines += [
        "",
        "## How far to trust it",
        "",
        "The given labels may be wrong. A score against them is agreement, not accuracy.",
        _estimate_sentence(summary),
        "",
    ]
    return "\n".join(lines)


def build_audit_card(name: str, fingerprint: str, audit: AuditOverview) -> str:
    """The card of an audit of the labels of `name`, whose graph has this fingerprint."""
    lines = [
        f"# Audit of the labels of {name}",
        "",
        f"Made by pignn {__version__}. Data fingerprint {fingerprint}.",
        "",
        "## Protocol",
        "",
        f"- {audit.num_labels:,} given labels, {audit.num_trusted:,} of them trusted",
        f"- judged by '{audit.method}' in {audit.num_folds} folds: each label by a model that never saw it",
        f"- homophily of the given labels: {audit.homophily_text()}",
        "",
        "## Estimated noise",
        "",
        f"- estimated share of wrong labels: {audit.rate_text()}",
        "- the interval holds if errors depend on the true class alone. Errors that follow the features or a region",
        "  of the graph are underestimated. A review of randomly drawn labels (`--review`) holds anyway",
        f"- second estimate (Dawid–Skene, from label, features and neighbors): {audit.rate_dawid_skene_text()}. It is",
        "  too high where classes overlap",
        f"- {audit.num_flagged:,} labels flagged by confident learning, {audit.num_suspects:,} suspects "
        "(what `pignn train --relabel-suspects` would change)",
        *(f"- {note}" for note in audit.notes),
        "",
        "A score against given labels is agreement, not accuracy.",
        "",
    ]
    return "\n".join(lines)


def _list_protocol(model: Method, graph: Data, summary: TrainingSummary) -> list[str]:
    """What the model learned from, and what it did not see."""
    trusted, num_labeled = graph.get("trusted_mask"), int((graph.y >= 0).sum())
    num_held_out = 0 if model.fit_facts().learns_from_val else int((graph.val_mask & (graph.y >= 0)).sum())
    learned = f"- learned from {num_labeled - num_held_out:,} of {num_labeled:,} given labels"
    lines = [learned if trusted is None else f"{learned}, {int(trusted.sum()):,} of them trusted"]
    if summary.suspects is not None:
        lines.append(f"- an audit came first: {summary.suspects:,} suspects were {summary.suspects_were}")
    if num_held_out:
        lines.append(f"- {num_held_out:,} labels held out")
    if summary.selection:
        lines.append(f"- epoch selected by: {summary.selection}")
    if summary.explanation:
        lines.append(f"- {summary.explanation}")
    return lines


def _estimate_sentence(summary: TrainingSummary) -> str:
    """How many given labels are wrong, as far as anybody estimated it."""
    if summary.estimated_wrong is not None:
        return f"An audit estimated that {summary.estimated_wrong:.1%} of them are wrong."
    if summary.explanation:
        return "The method's own findings are above. `pignn audit` estimates how many are wrong."
    return "The share of wrong labels was not estimated here. `pignn audit` estimates it."
