"""Find the labels that are probably wrong: the audit and its result."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from torch_geometric.data import Data

from ..core.errors import ConfigError, warn_user
from ..core.progress import stage_context
from ..core.threads import threads_context
from ..graphs.checks import check_is_homogeneous_pyg_graph
from ..methods import Method, make
from ..noise import NoiseEstimate
from ..noise.kinds import Ints
from ..report import (
    AuditOverview,
    AuditPageContent,
    build_audit_page,
    plot_class_quality,
    plot_transition,
    render_audit_html,
)
from ..report.audit.overview import NUM_SHOWN_ISSUES, select_suspects_and_likely_errors
from . import diagnostics, plots
from .columns import Findings, list_audit_columns, tabulate_findings
from .consensus import Consensus, combine_votes, copy_with_missing_labels_filled, replace_noise_by_consensus
from .evidence import Evidence, build_checked_evidence
from .explanations import fit_noise_and_build_findings
from .judging import judge_labels
from .neighborhoods import build_neighborhoods
from .tables import replace_class_numbers_by_names

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUSPECT_COLUMNS = ("node", "name", "source", "given", "suggested", "p_wrong")
Z_95 = 1.96  # of a normal interval of 95 %
DEFAULT_METHOD = "smoothed"  # the audit's own model; every other name is a method's


@dataclass(frozen=True)
class ClassSummary:
    """The labels of one given class."""

    class_name: str
    labels: int
    expected_wrong: float
    quality: float  # expected share of right labels
    suspects: int


@dataclass(frozen=True)
class SourceSummary:
    """The labels of one source."""

    source: str
    labels: int
    error_rate: float


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """The result of an audit. It shows itself in a notebook, and :meth:`report` gives its page.

    `issues` has one row per labeled node, most probably wrong first; `AUDIT_COLUMNS` describes its columns.
    """

    issues: pd.DataFrame
    noise: NoiseEstimate  # of the labeled nodes, in the order of `nodes`
    evidence: Evidence
    method: str
    rate_by_class_alone: float  # of wrong labels, if errors depend on the class alone
    rate_dawid_skene: float | None = None  # a second estimate of the rate; None without edges
    warnings: list[str] = field(default_factory=list)  # reasons for doubt, which were warned of
    hints: list[str] = field(default_factory=list)  # worth knowing, no cause for alarm
    consensus: Consensus | None = None  # of several annotators, where the graph has votes

    @property
    def nodes(self) -> Ints:
        return self.evidence.nodes

    @property
    def class_names(self) -> list[str]:
        return self.evidence.class_names

    @property
    def homophily(self) -> float | None:
        """Share of edges between equal given labels; None without edges."""
        return self.evidence.plain_and_adjusted_homophily[0]

    @property
    def notes(self) -> list[str]:
        return [*self.warnings, *self.hints]

    @property
    def class_summaries(self) -> list[ClassSummary]:
        """Labels, expected errors and quality per given class."""
        return [
            ClassSummary(
                class_name=self.class_names[int(c)],  # type: ignore[arg-type]
                labels=len(group),
                expected_wrong=float(group["p_wrong"].sum()),
                quality=float(1 - group["p_wrong"].mean()),
                suspects=int(group["suspect"].sum()),
            )
            for c, group in self.issues.groupby("given")
        ]

    @property
    def source_summaries(self) -> list[SourceSummary]:
        """Error rate per label source, highest first; empty where sources are not known.

        A label that a review corrected is an error of its source, though it is right now.
        """
        if "source" not in self.issues:
            return []
        p_wrong, before = self.issues["p_wrong"], self.evidence.given_before_review
        if before is not None:
            before = before[np.searchsorted(self.nodes, self.issues["node"])]
            p_wrong = p_wrong.mask(before >= 0, (before != self.issues["given"]).astype(float))
        groups = p_wrong.groupby(self.issues["source"])
        rows = [SourceSummary(str(name), len(p_wrong), float(p_wrong.mean())) for name, p_wrong in groups]
        return sorted(rows, key=lambda row: -row.error_rate)

    @property
    def overview(self) -> AuditOverview:
        """The headline numbers."""
        return AuditOverview(
            num_labels=len(self.nodes),
            num_trusted=int(self.issues["trusted"].sum()),
            num_flagged=int(self.issues["flagged"].sum()),
            num_suspects=int(self.issues["suspect"].sum()),
            rate=self.noise.rate,
            rate_interval=self.noise.rate_interval,
            rate_dawid_skene=self.rate_dawid_skene,
            is_rate_doubtful=diagnostics.has_excess_flags(
                self.rate_by_class_alone, float(self.issues["flagged"].mean())
            ),
            homophily=self.homophily,
            method=self.method,
            num_folds=int(self.evidence.fold.max()) + 1,
            notes=self.notes,
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything but the table, as plain values for JSON."""
        overview = self.overview
        return {
            "labels": overview.num_labels,
            "method": self.method,
            "folds": overview.num_folds,
            "noise": self.noise.to_dict(),
            "expected_wrong": float(self.issues["p_wrong"].sum()),
            "rate_dawid_skene": self.rate_dawid_skene,
            "flagged": overview.num_flagged,
            "suspects": overview.num_suspects,
            "classes": [asdict(row) for row in self.class_summaries],
            "sources": [asdict(row) for row in self.source_summaries],
            "homophily": self.homophily,
            "adjusted_homophily": self.evidence.plain_and_adjusted_homophily[1],
            "notes": self.notes,
            "votes": None if self.consensus is None else self.consensus.to_dict(),
        }

    def report(
        self,
        *,
        review: pd.DataFrame | None = None,
        node_table: pd.DataFrame | None = None,
        title: str = "Audit of labels",
        apply_command: str = "",
    ) -> str:
        """The page on which to review suspects, as text of one HTML file.

        Args:
            review: the labels to review, by `sample_for_review`.
            node_table: what to show of each node, one row per node; by default its largest features.
            title: title of the page.
            apply_command: the command that applies the decisions, to show on the page.
        """
        content = AuditPageContent(
            title=title,
            overview=self.overview,
            class_names=self.class_names,
            transition=self.noise.transition,
            classes=[asdict(row) for row in self.class_summaries],
            sources=[asdict(row) for row in self.source_summaries],
            issues=self.issues,
            columns={column.name: column.page for column in list_audit_columns() if column.page is not None},
            graph=self.evidence.graph,
            find_neighborhoods=lambda nodes: [asdict(one) for one in build_neighborhoods(self.evidence, nodes)],
            review=review,
            node_table=node_table,
            apply_command=apply_command,
        )
        return build_audit_page(content)

    def plot_transition(self) -> Figure:
        """The estimated share of each true class that was given each label, as a matplotlib figure."""
        return plot_transition(self.noise.transition, self.class_names)

    def plot_class_quality(self) -> Figure:
        """The expected share of right labels per given class, as a matplotlib figure."""
        return plot_class_quality({row.class_name: row.quality for row in self.class_summaries})

    def suspects(self, n: int = NUM_SHOWN_ISSUES) -> pd.DataFrame:
        """The ``n`` labels that are most probably wrong, if they probably are, with names of nodes and classes."""
        table = replace_class_numbers_by_names(select_suspects_and_likely_errors(self.issues, n), self.class_names)
        names = [name for name in SUSPECT_COLUMNS if name in table]
        return table[names].reset_index(drop=True)

    def plot_confusion(self) -> Figure:
        """How many labels of each given class are expected to be of each true class, as a matplotlib figure."""
        return plots.plot_expected_confusion(self.evidence, self.noise.posterior)

    def plot_calibration(self) -> Figure:
        """How often labels are wrong by how probable that was, as a matplotlib figure. It needs true labels."""
        return plots.plot_p_wrong_calibration(self.evidence, self.issues)

    def plot_map(self) -> Figure:
        """Labeled nodes in two dimensions of their embedding, with the suspects marked, as a matplotlib figure."""
        is_suspect = np.zeros(int(self.evidence.graph.num_nodes), dtype=bool)
        is_suspect[self.issues["node"][self.issues["suspect"]]] = True
        return plots.plot_label_map(self.evidence, is_suspect)

    def __repr__(self) -> str:
        return f"Audit({self.overview.format_headline()})"

    def _repr_html_(self) -> str:
        classes = [asdict(row) for row in self.class_summaries]
        html = render_audit_html(self.overview, self.suspects().to_dict("records"), classes)
        return html if self.consensus is None else self.consensus._repr_html_() + html


def find_label_issues(
    data: Data, method: str | Method = DEFAULT_METHOD, *, folds: int = 5, seed: int = 0, intervals: bool = False
) -> pd.DataFrame:
    """Labeled nodes, most probably wrong first.

    Args:
        data: a graph with given labels `y` (-1 where there is none). It needs no masks. `trusted_mask` marks verified
            labels, `y_before` holds what they were before (`apply_decisions_to_graph` sets both),
            `label_source` who gave a label. With `votes` of several annotators, `combine_votes` says how probable
            each label is.
        method: `smoothed` for the audit's own quick model (logistic regression through the estimated noise, on features
            smoothed by personalized PageRank), the name of a method, or a method with settings such as
            `pignn.PIGNN(epochs=100)`. The method itself is not fitted: each fold fits a copy.
        folds: number of folds. Each label is judged by a model that was trained without its fold.
        seed: random seed of folds and models. A method with settings has its own.
        intervals: also compute bootstrap intervals of the noise rate and the transition matrix.

    Returns:
        One row per labeled node. `AUDIT_COLUMNS` describes the columns; `.attrs["audit"]` holds the summary.
    """
    return audit_labels(data, method, folds=folds, seed=seed, intervals=intervals).issues


def audit_labels(
    data: Data, method: str | Method = DEFAULT_METHOD, *, folds: int = 5, seed: int = 0, intervals: bool = False
) -> Audit:
    """Judge every given label; the whole result behind `find_label_issues`, with the same arguments."""
    check_is_homogeneous_pyg_graph(data)
    judge = _make_checked_method_or_none(method, seed)  # a wrong name or setting is refused before the work
    consensus = None
    if data.get("votes") is not None:
        consensus = combine_votes(data, folds=folds, seed=seed)
        data = copy_with_missing_labels_filled(data, consensus.plurality)
    evidence = build_checked_evidence(data, folds, seed)
    with threads_context(evidence.graph.x.numel()):
        judgment = judge_labels(evidence, judge)
        with stage_context("audit: noise"):
            findings = fit_noise_and_build_findings(evidence, judgment, intervals)
    findings = findings if consensus is None else replace_noise_by_consensus(findings, consensus)
    issues = tabulate_findings(findings).sort_values("p_wrong", ascending=False, kind="stable", ignore_index=True)
    noise = findings.noise
    if consensus is None:  # several votes per node tell more than three views of one label
        noise = _copy_with_widened_rate_interval(noise, findings, float(issues["flagged"].mean()))
    doubts = _list_warning_messages(findings, float(issues["flagged"].mean()))
    for doubt in doubts:
        warn_user(doubt)
    method_text = DEFAULT_METHOD if judge is None else _format_method_name_and_changed_settings(judge)
    hints = _list_hint_messages(findings)
    result = Audit(
        issues,
        noise,
        evidence,
        method_text,
        findings.rate_by_class_alone,
        judgment.rate_dawid_skene,
        doubts,
        hints,
        consensus,
    )
    issues.attrs["audit"] = result.to_dict()
    return result


def _list_warning_messages(findings: Findings, flagged_share: float) -> list[str]:
    evidence, judgment = findings.evidence, findings.judgment
    predicted_share = float((judgment.predicted_from_features == evidence.given).mean())
    messages = [
        diagnostics.build_message_if_small_classes(evidence.class_counts, evidence.class_names),
        diagnostics.build_message_if_doubted_classes(
            findings.doubted_share_per_class, evidence.class_counts, evidence.class_names
        ),
        diagnostics.build_message_if_unrelated_labels(evidence.given, judgment.given_probs),
        diagnostics.build_message_if_low_homophily(*evidence.plain_and_adjusted_homophily),
        diagnostics.build_message_if_relearned_rule(predicted_share),
        diagnostics.build_message_if_excess_flags(
            findings.rate_by_class_alone, flagged_share, judgment.rate_dawid_skene
        ),
    ]
    return [message for message in messages if message is not None]


def _list_hint_messages(findings: Findings) -> list[str]:
    messages = [
        diagnostics.build_message_if_reviewed_before(
            findings.rate_by_class_alone, float(findings.evidence.trusted.mean())
        ),
        diagnostics.build_message_if_regional_errors(findings.judgment.are_errors_regional),
    ]
    return [message for message in messages if message is not None]


def _copy_with_widened_rate_interval(noise: NoiseEstimate, findings: Findings, flagged_share: float) -> NoiseEstimate:
    if noise.rate_interval is None:
        return noise
    second = findings.judgment.rate_dawid_skene
    if second is not None:  # counted over so many labels only
        second += Z_95 * float(np.sqrt(second * (1 - second) / len(findings.evidence.given)))
    interval = diagnostics.widen_rate_interval(noise.rate_interval, findings.rate_by_class_alone, second, flagged_share)
    return replace(noise, rate_interval=interval)


def _make_checked_method_or_none(method: str | Method, seed: int) -> Method | None:
    """The method that judges labels; None for the audit's own model."""
    if method == DEFAULT_METHOD:
        return None
    judge = make(method, seed=seed) if isinstance(method, str) else method
    if not isinstance(judge, Method):
        raise ConfigError(f"method must be a name or a method such as pignn.PIGNN(), not {type(method).__name__}")
    judge.check_settings()
    return judge


def _format_method_name_and_changed_settings(method: Method) -> str:
    """The name of a method with those of its settings that are not the defaults."""
    texts = [f"{key}={value}"[:60] for key, value in method.get_changed_settings().items()]
    return f"{method.name} ({', '.join(texts)})" if texts else method.name
