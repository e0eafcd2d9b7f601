"""The columns of an audit's table. Each is declared once, for the table, its file and the page.

A column of another package is an :class:`AuditColumn` behind an entry point of the group ``pignn.audit_columns``, or
one that is registered for the running program:

    column = AuditColumn("degree", "number of edges", count_edges, PageColumn("Degree", "number"))
    AUDIT_COLUMNS.register(column.name, column, column.summary)
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ..core.errors import ConfigError
from ..core.registry import Registry
from ..noise import NoiseEstimate
from ..noise.kinds import Floats, Ints
from ..noise.model import normalize_rows
from ..report.audit import PageColumn
from .crossfit import Bools
from .evidence import Evidence
from .judging import Judgment
from .suspects import compute_class_shares, compute_doubted_mask, compute_suspect_mask


@dataclass(frozen=True, eq=False)
class Findings:
    """Everything that a column may read. Arrays have one entry per label, in the order of `evidence.nodes`."""

    evidence: Evidence
    judgment: Judgment
    noise: NoiseEstimate
    class_probs: Floats  # P(true = k | x) without the node's own label
    rate_by_class_alone: float  # of wrong labels, if errors depend on the class alone

    @cached_property
    def p_wrong(self) -> Floats:
        rows = np.arange(len(self.evidence.given))
        return np.where(self.evidence.trusted, 0.0, 1 - self.noise.posterior[rows, self.evidence.given])

    @cached_property
    def is_suspect(self) -> Bools:
        return compute_suspect_mask(*self._get_suspect_mask_arguments())

    @cached_property
    def doubted_share_per_class(self) -> Floats:
        """The share of the labels of each class that look wrong, whether or not they are suspects."""
        evidence = self.evidence
        return compute_class_shares(
            evidence.given, compute_doubted_mask(*self._get_suspect_mask_arguments()), evidence.num_classes
        )

    def _get_suspect_mask_arguments(self) -> tuple[Ints, Floats, Bools, Bools, Floats]:
        evidence = self.evidence
        return (
            evidence.given,
            self.p_wrong,
            self.judgment.contradicted,
            evidence.trusted,
            evidence.class_reliability,
        )

    @cached_property
    def has_judgeable_class(self) -> Bools:
        return (self.evidence.class_reliability > 0)[self.evidence.given]

    @cached_property
    def cleanlab_quality_and_flags(self) -> tuple[Floats, Bools]:
        """Label quality and flags by cleanlab. A class without a label has no threshold, so it is left out."""
        from cleanlab.filter import find_label_issues as flag_labels
        from cleanlab.rank import get_label_quality_scores

        present, labels = np.unique(self.evidence.given, return_inverse=True)
        probs = normalize_rows(self.class_probs[:, present])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            flagged = flag_labels(labels=labels, pred_probs=probs, filter_by="prune_by_noise_rate", n_jobs=1)
            quality = get_label_quality_scores(labels=labels, pred_probs=probs)
        return np.asarray(quality, dtype=float), np.asarray(flagged, dtype=bool)


@dataclass(frozen=True)
class AuditColumn:
    """One column: its name, what it says, how it is computed, and how the page shows it (None: not at all).

    `compute` returns one value per label, a matrix with one column per class, or None to leave the column out.
    """

    name: str
    summary: str
    compute: Callable[[Findings], Any]
    page: PageColumn | None = None


def _list_node_ids_or_none(findings: Findings) -> list[str] | None:
    ids = findings.evidence.graph.get("node_id")
    return None if ids is None else [ids[node] for node in findings.evidence.nodes]


def _list_node_names_or_none(findings: Findings) -> list[str] | None:
    names = findings.evidence.graph.get("node_name")
    return None if names is None else [names[node] for node in findings.evidence.nodes]


def _find_most_probable_other_classes(findings: Findings) -> Any:
    others = findings.noise.posterior.copy()
    others[np.arange(len(others)), findings.evidence.given] = -1
    return others.argmax(axis=1)


def _compute_ratio_of_p_wrong_to_class_mean(findings: Findings) -> Floats:
    evidence = findings.evidence
    total = np.bincount(evidence.given, weights=findings.p_wrong, minlength=evidence.num_classes)
    mean = total / np.maximum(evidence.class_counts, 1)
    return findings.p_wrong / np.maximum(mean, 1e-12)[evidence.given]


def _rank_p_wrong_within_class(findings: Findings) -> Any:
    groups = pd.Series(findings.p_wrong).groupby(findings.evidence.given)
    return groups.rank(method="first", ascending=False).astype(np.int64).to_numpy()


def _compute_share_of_agreeing_neighbors(findings: Findings) -> Floats:
    counts, given = findings.evidence.neighbor_class_counts, findings.evidence.given
    degree = counts.sum(axis=1)
    return np.where(degree > 0, counts[np.arange(len(given)), given] / np.maximum(degree, 1), np.nan)


def _compute_agreement_of_similar_or_none(findings: Findings) -> Floats | None:
    counts, given = findings.evidence.similar_class_counts, findings.evidence.given
    return None if counts is None else counts[np.arange(len(given)), given] / np.maximum(counts.sum(axis=1), 1)


def _get_label_sources_or_none(findings: Findings) -> Any:
    sources = findings.evidence.sources
    return None if sources is None else np.array(sources, dtype=object)


BUILT_IN_COLUMNS = (
    AuditColumn("node", "number of the node", lambda f: f.evidence.nodes),
    AuditColumn("id", "id of the node, where nodes have ids", _list_node_ids_or_none),
    AuditColumn(
        "name", "name of the node, where nodes have names", _list_node_names_or_none, PageColumn("Name", "text")
    ),
    AuditColumn("given", "given class", lambda f: f.evidence.given),
    AuditColumn("suggested", "most probable other class", _find_most_probable_other_classes),
    AuditColumn(
        "p_wrong",
        "probability that the given label is wrong",
        lambda f: f.p_wrong,
        PageColumn("p wrong", "probability", is_minor=False),
    ),
    AuditColumn(
        "class_ratio", "p_wrong over the mean p_wrong of the given class", _compute_ratio_of_p_wrong_to_class_mean
    ),
    AuditColumn("class_rank", "rank by p_wrong within the given class", _rank_p_wrong_within_class),
    AuditColumn(
        "suspect",
        "whether the label would be corrected if nobody reviews it",
        lambda f: f.is_suspect,
    ),
    AuditColumn("judged", "whether the given class has enough labels to judge them", lambda f: f.has_judgeable_class),
    AuditColumn("quality", "label quality by confident learning (cleanlab)", lambda f: f.cleanlab_quality_and_flags[0]),
    AuditColumn(
        "flagged",
        "whether confident learning (cleanlab) flags the label",
        lambda f: f.cleanlab_quality_and_flags[1] & ~f.evidence.trusted,
    ),
    AuditColumn(
        "num_neighbors",
        "number of labeled neighbors",
        lambda f: f.evidence.neighbor_class_counts.sum(axis=1).astype(np.int64),
    ),
    AuditColumn(
        "neighbor_agreement",
        "share of labeled neighbors with the same given label",
        _compute_share_of_agreeing_neighbors,
        PageColumn("Neighbors agree", "share", total="num_neighbors"),
    ),
    AuditColumn(
        "similar_agreement",
        "share of the most similar nodes with the same given label",
        _compute_agreement_of_similar_or_none,
        PageColumn("Similar nodes agree", "share"),
    ),
    AuditColumn("trusted", "whether somebody verified the label", lambda f: f.evidence.trusted),
    AuditColumn("p", "p_0, p_1, ...: probability of each class without the node's own label", lambda f: f.class_probs),
    AuditColumn(
        "source", "who gave the label, where it is known", _get_label_sources_or_none, PageColumn("Source", "category")
    ),
)

AUDIT_COLUMNS: Registry[AuditColumn] = Registry("audit column", "pignn.audit_columns")
for _column in BUILT_IN_COLUMNS:
    AUDIT_COLUMNS.register(_column.name, _column, _column.summary)


def list_audit_columns() -> list[AuditColumn]:
    """Every column in the order of the table: the built-in ones, then those of other packages by name."""
    built_in = [column.name for column in BUILT_IN_COLUMNS]
    return [
        *BUILT_IN_COLUMNS,
        *(AUDIT_COLUMNS.get(name) for name in AUDIT_COLUMNS.list_names() if name not in built_in),
    ]


def tabulate_findings(findings: Findings) -> pd.DataFrame:
    """One row per label, one column per declared column that has values here."""
    table: dict[str, Any] = {}
    for column in list_audit_columns():
        values = column.compute(findings)
        if values is None:
            continue
        if len(values) != len(findings.evidence.nodes):
            raise ConfigError(
                f"audit column '{column.name}' has {len(values)} values for {len(findings.evidence.nodes)} labels; "
                "its compute must return one per label"
            )
        if getattr(values, "ndim", 1) == 2:
            table |= {f"{column.name}_{c}": values[:, c] for c in range(values.shape[1])}
        else:
            table[column.name] = values
    return pd.DataFrame(table)
