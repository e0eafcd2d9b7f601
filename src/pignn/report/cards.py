"""Cards in Markdown: what to know about a model or an audit before relying on it."""

from __future__ import annotations

from collections.abc import Sequence

from torch_geometric.data import Data

from .._version import __version__
from ..graphs import summarize_import
from ..methods.core.base import Method
from ..methods.core.data_hash import hash_training_data
from .audit.overview import AuditOverview
from .rendering import render
from .training.summary import TrainingRecord, TrainingSummary


def build_model_card(model: Method, graph: Data, summary: TrainingSummary) -> str:
    """The card of a model that was fitted to a graph read from files."""
    trusted = graph.get("trusted_mask")
    is_labeled = graph.y >= 0
    card = render(
        "model_card.md",
        version=__version__,
        model=model,
        graph=graph,
        origin=graph.origin,
        noise=graph.get("noise"),
        summary=summary,
        fingerprint=hash_training_data(graph),
        import_lines=[line.strip() for line in str(summarize_import(graph)).splitlines()],
        num_labeled=int(is_labeled.sum()),
        num_held_out=0 if model.get_fit_facts().learns_from_val else int((graph.val_mask & is_labeled).sum()),
        num_trusted=None if trusted is None else int(trusted.sum()),
    )
    return str(card)


def build_hub_card(
    record: TrainingRecord,
    class_names: Sequence[str],
    num_features: int,
    repo_id: str,
    license: str | None,
    *,
    has_columns: bool,
) -> str:
    """The card of a model on the Hugging Face Hub, from the record of its run. It names no path of this machine."""
    card = render(
        "hub_card.md",
        record=record,
        assessment=record.assessment,
        statistics=record.import_summary,
        class_names=class_names,
        num_features=num_features,
        name=repo_id.rpartition("/")[2],
        repo_id=repo_id,
        license=license,
        has_columns=has_columns,
    )
    return str(card)


def build_audit_card(name: str, fingerprint: str, audit: AuditOverview) -> str:
    """The card of an audit of the labels of `name`, whose graph has this fingerprint."""
    return str(render("audit_card.md", version=__version__, name=name, fingerprint=fingerprint, audit=audit))
