"""Which labels are probably wrong: the audit and its result."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch_geometric.data import Data

from .. import graphs
from ..core.errors import ConfigError, DataError, PignnWarning
from ..graphs.checks import node_ids
from ..methods import Method, make
from ..methods.core.base import checked_inputs
from ..noise import NoiseEstimate
from ..noise import model as noise_model
from ..noise.estimation import estimate_from_model, fit_unmixed_noise_model, unmix_probs
from ..noise.kinds import Floats, Ints
from ..report.audit import AuditOverview
from . import dawid_skene, diagnostics, evidence
from .crossfit import Bools, CrossFitLogistic, assign_folds, predict_out_of_fold
from .suspects import contradicted, suspects

DEFAULT_METHOD = "smoothed"  # the model of the audit itself; every other name is a method's
MANY = 20  # classes, which may have fewer than two labels each
MOST = 40_000  # labels that the noise is estimated from, with the model that the estimate needs
# How much the other views count beside the smoothed features. They are fixed, not fitted: a fit to the given labels
# prefers the view that predicts their errors. Measured in docs/audit.md.
RAW, NEIGHBOURS, SIMILAR = 0.3, 0.05, 0.1


@dataclass(frozen=True, eq=False)
class Audit:
    """What an audit found.

    `issues` has one row a labelled node, most probably wrong first; see `find_label_issues` for its columns.
    """

    issues: pd.DataFrame
    noise: NoiseEstimate  # over the labelled nodes, in the order of `nodes`
    nodes: Ints
    class_names: list[str]
    classes: list[dict[str, Any]]  # by given class: labels, expected wrong, quality
    sources: list[dict[str, Any]]  # by label source, where there are any
    homophily: float | None  # share of edges between equal given labels
    adjusted_homophily: float | None  # the same with chance at 0
    method: str
    folds: int
    rate_dawid_skene: float | None = None  # share of wrong labels by another reckoning, see `views`; None without edges
    notes: list[str] = field(default_factory=list)
    warned: int = 0  # of the notes, the first, which were warned of

    @property
    def is_rate_doubtful(self) -> bool:
        """Whether far more labels are flagged than the estimated rate says are wrong."""
        return diagnostics.flags_exceed_estimate(self.noise.rate, float(self.issues["flagged"].mean()))

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
            is_rate_doubtful=self.is_rate_doubtful,
            homophily=self.homophily,
            method=self.method,
            folds=self.folds,
            notes=self.notes,
        )

    def to_dict(self) -> dict[str, Any]:
        """All but the table, as plain values for JSON."""
        return {
            "labels": len(self.nodes),
            "method": self.method,
            "folds": self.folds,
            "noise": self.noise.to_dict(),
            "expected_wrong": float(self.issues["p_wrong"].sum()),
            "rate_dawid_skene": self.rate_dawid_skene,
            "flagged": int(self.issues["flagged"].sum()),
            "suspects": int(self.issues["suspect"].sum()),
            "classes": self.classes,
            "sources": self.sources,
            "homophily": self.homophily,
            "adjusted_homophily": self.adjusted_homophily,
            "notes": self.notes,
        }


def find_label_issues(
    data: Data, method: str | Method = DEFAULT_METHOD, *, folds: int = 5, seed: int = 0, intervals: bool = False
) -> pd.DataFrame:
    """Labelled nodes, most probably wrong first.

    Args:
        data: a graph with given labels `y` (-1 where there is none); masks are not needed. `trusted_mask` marks
            verified labels, `y_before` what they were before (`trust` sets both), `label_source` says who gave a label.
        method: `smoothed` for the audit's own quick model (logistic regression on features smoothed by personalised
            PageRank, learnt through the estimated noise), a method of `pignn.list_methods()`, or one with settings such
            as `pignn.PIGNN(epochs=100)`, which is not fitted itself: every fold has a copy.
        folds: every label is judged by a model that was trained without its fold.
        seed: of folds and models; a method with settings has its own.
        intervals: also bootstrap intervals of the noise rate and the transition matrix.

    Columns: `node`; `given` and `suggested` class (the most probable other one); `p_wrong`, the probability that the
    given label is wrong; `ratio`, p_wrong over its mean in the given class, and `class_rank`, the place within it;
    `suspect`, whether the label would be corrected where nobody looks (see `suspects`);
    `quality` and `flagged` by confident learning (cleanlab); `neighbours` and `agree`, how many labelled
    neighbours there are and the share of them with the same given label; `similar`, the same share among the most
    similar nodes; `trusted`; `source` where there is one; `p_0`, `p_1`, ... the probability of each class without
    the node's own label. `.attrs["audit"]` holds the summary.
    """
    return audit_labels(data, method, folds=folds, seed=seed, intervals=intervals).issues


def audit_labels(
    data: Data, method: str | Method = DEFAULT_METHOD, *, folds: int = 5, seed: int = 0, intervals: bool = False
) -> Audit:
    """The whole result behind `find_label_issues`."""
    judge = _judge(method, seed)  # a wrong name or setting is said before the work
    data = _with_masks(data)
    given_all = data.y.cpu().numpy()
    nodes = np.flatnonzero(given_all >= 0)
    given = given_all[nodes]
    n = graphs.num_classes(data)
    different = len(np.unique(given))
    if n < 2 or different < 2:
        raise DataError("an audit needs given labels of at least two classes")
    if different > max(len(given) / 2, MANY):
        raise DataError(
            f"the {len(given):,} given labels have {different:,} different values: they look like ids, not classes; "
            "which column has the labels?"
        )
    trusted = _trusted(data, nodes)
    names, source = _sources(data, nodes)
    fold = assign_folds(given, folds, seed, source)
    inputs = checked_inputs(data, directed=False)
    edges = evidence.labelled_edges(inputs, nodes)
    same, adjusted = evidence.homophily(edges, given, n)
    notes = diagnostics.note_small_classes(
        np.bincount(given, minlength=n), data.class_names
    ) + diagnostics.note_low_homophily(same, adjusted)
    sample = _sample(len(given), seed)

    z = evidence.coordinates(inputs, nodes, evidence.RESTART, seed)
    own, around = evidence.own_and_around(inputs, nodes, nodes[sample], seed)
    similar = evidence.similar_counts(z, given, n)
    neighbours = evidence.counts(edges, given, n)
    features = CrossFitLogistic(own, given, fold, n, trusted)
    own_probability = features()
    own_logs = noise_model.compute_log_probs(own_probability)
    notes += diagnostics.note_relearned_rule(float((own_logs.argmax(axis=1) == given).mean()))
    smoothed = CrossFitLogistic(z[sample], given[sample], fold[sample], n, trusted[sample])
    seen = smoothed()
    weak = diagnostics.is_low_homophily(adjusted)
    against = contradicted(given, own_probability if weak else smoothed.judge(z, fold))
    if judge is None:
        logs = _smoothed_logs(z, given, fold, n, trusted, sample, smoothed, seen)
    else:
        logs = _method_logs(data, nodes, given, fold, n, judge, seed, sample)
    logs = logs + (1.0 if weak else RAW) * own_logs
    prior = (np.bincount(given, minlength=n) + 1.0) / (len(given) + n)
    if not weak:
        logs += NEIGHBOURS * evidence.log_shares(neighbours, prior)
        if similar is not None:
            logs += SIMILAR * evidence.log_shares(similar, prior)
    before = None if data.get("y_before") is None else data.y_before.cpu().numpy()[nodes]
    earlier = None if before is None else before[sample]
    fitted = noise_model.fit_noise_model(given[sample], logs[sample], trusted[sample], earlier)
    found = estimate_from_model(given, logs, fitted, intervals=intervals, seed=seed, trusted=trusted, before=before)
    by_views = None
    if len(edges[0]):
        alone = own_logs.argmax(axis=1)[sample]
        by_views = _rate_by_views(around, alone, given[sample], fold[sample], n, trusted[sample])
    issues = _table(data, nodes, given, n, logs, fitted, found, trusted, against, neighbours, similar)
    notes += diagnostics.note_flags_exceed_estimate(found.rate, float(issues["flagged"].mean()), by_views)
    for note in notes:
        warnings.warn(note, PignnWarning, stacklevel=2)
    warned = len(notes)
    notes += diagnostics.note_review_history(found.rate, float(trusted.mean()))
    if names is not None:
        issues["source"] = np.array(names, dtype=object)[source]
    issues = issues.sort_values("p_wrong", ascending=False, kind="stable", ignore_index=True)
    result = Audit(
        issues=issues,
        noise=found,
        nodes=nodes,
        class_names=[str(name) for name in data.class_names],
        classes=_by_class(issues, [str(name) for name in data.class_names]),
        sources=[] if names is None else _by_source(issues),
        homophily=same,
        adjusted_homophily=adjusted,
        method=DEFAULT_METHOD if judge is None else _described(judge),
        folds=int(fold.max()) + 1,
        rate_dawid_skene=by_views,
        notes=notes,
        warned=warned,
    )
    issues.attrs["audit"] = result.to_dict()
    return result


def _judge(method: str | Method, seed: int) -> Method | None:
    """The method that judges labels; None for the audit's own model."""
    if method == DEFAULT_METHOD:
        return None
    judge = make(method, seed=seed) if isinstance(method, str) else method
    if not isinstance(judge, Method):
        raise ConfigError(f"method must be a name or a method such as pignn.PIGNN(), not {type(method).__name__}")
    judge.check_settings()
    return judge


def _described(method: Method) -> str:
    """The name of a method, and those of its settings that are not as usual; a seed is not worth telling."""
    usual = type(method)()._plain_settings() | {"seed": method.seed}
    changed = [f"{key}={value}"[:60] for key, value in method._plain_settings().items() if value != usual[key]]
    return f"{method.name} ({', '.join(changed)})" if changed else method.name


def _smoothed_logs(
    z: Any, given: Ints, fold: Ints, n: int, trusted: Bools, at: Ints, model: CrossFitLogistic, seen: Floats
) -> Floats:
    """Logarithms of P(true | x): the noise is estimated from what the plain model has `seen`, which learns again by it.

    Of very many labels a sample `at` tells the noise.
    """
    noisy = ~trusted[at]
    fitted, _ = (
        fit_unmixed_noise_model(given[at][noisy], seen[noisy])
        if noisy.any()
        else (noise_model.fit_noise_model(given[:0], seen), None)
    )
    whole = model if len(at) == len(given) else CrossFitLogistic(z, given, fold, n, trusted)
    return noise_model.compute_log_probs(whole(fitted.transition))


def _method_logs(
    data: Data, nodes: Ints, given: Ints, fold: Ints, n: int, method: Method, seed: int, at: Ints
) -> Floats:
    """The same of a method as it is; the noise in its probabilities is taken out afterwards."""
    probability = predict_out_of_fold(data, nodes, fold, n, method, seed)
    _, mixed = fit_unmixed_noise_model(given[at], probability[at])
    return noise_model.compute_log_probs(probability if mixed is None else unmix_probs(probability, mixed))


def _rate_by_views(around: Any, alone: Ints, given: Ints, fold: Ints, n: int, trusted: Bools) -> float:
    """Share of wrong labels by the votes of label, own features and neighbours' features."""
    neighbours = CrossFitLogistic(around, given, fold, n, trusted)().argmax(axis=1)
    neighbours[~around.any(axis=1)] = -1
    return float(dawid_skene.compute_p_wrong(np.stack([given, alone, neighbours]), n, trusted).mean())


def _sample(count: int, seed: int) -> Ints:
    if count <= MOST:
        return np.arange(count)
    return np.sort(np.random.default_rng(seed).choice(count, MOST, replace=False))


def _table(
    data: Data,
    nodes: Ints,
    given: Ints,
    n: int,
    logs: Floats,
    fitted: noise_model.NoiseModel,
    found: NoiseEstimate,
    trusted: Bools,
    against: Bools,
    neighbours: Floats,
    similar: Floats | None,
) -> pd.DataFrame:
    at = np.arange(len(nodes))
    truth = fitted.predict_true_probs(logs)
    p_wrong = np.where(trusted, 0.0, 1 - found.posterior[at, given])
    others = found.posterior.copy()
    others[at, given] = -1
    quality, flagged = _confident(given, truth)
    degree = neighbours.sum(axis=1)
    mean = np.bincount(given, weights=p_wrong, minlength=n) / np.maximum(np.bincount(given, minlength=n), 1)
    columns: dict[str, Any] = {"node": nodes}
    if data.get("node_id") is not None:
        columns["id"] = [data.node_id[node] for node in nodes]
    columns |= {
        "given": given,
        "suggested": others.argmax(axis=1),
        "p_wrong": p_wrong,
        "class_ratio": p_wrong / np.maximum(mean, 1e-12)[given],
        "suspect": suspects(p_wrong, against, trusted),
        "quality": quality,
        "flagged": flagged & ~trusted,
        "num_neighbors": degree.astype(np.int64),
        "neighbor_agreement": np.where(degree > 0, neighbours[at, given] / np.maximum(degree, 1), np.nan),
    }
    if similar is not None:
        columns["similar_agreement"] = similar[at, given] / np.maximum(similar.sum(axis=1), 1)
    columns["trusted"] = trusted
    columns |= {f"p_{c}": truth[:, c] for c in range(n)}
    issues = pd.DataFrame(columns)
    rank = issues.groupby("given")["p_wrong"].rank(method="first", ascending=False).astype(np.int64)
    issues.insert(list(issues.columns).index("class_ratio") + 1, "class_rank", rank)
    return issues


def _confident(given: Ints, truth: Floats) -> tuple[Floats, Bools]:
    """Label quality and suspects by confident learning. A class without a label has no threshold, and is left out."""
    from cleanlab.filter import find_label_issues as by_confidence
    from cleanlab.rank import get_label_quality_scores

    present, labels = np.unique(given, return_inverse=True)
    shares = noise_model.normalize_rows(truth[:, present])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        flagged = by_confidence(labels=labels, pred_probs=shares, filter_by="prune_by_noise_rate", n_jobs=1)
        quality = get_label_quality_scores(labels=labels, pred_probs=shares)
    return np.asarray(quality, dtype=float), np.asarray(flagged, dtype=bool)


def _by_class(issues: pd.DataFrame, names: list[str]) -> list[dict[str, Any]]:
    groups = issues.groupby("given")
    return [
        {
            "class": names[int(c)],  # type: ignore[arg-type]
            "labels": len(group),
            "expected_wrong": float(group["p_wrong"].sum()),
            "quality": float(1 - group["p_wrong"].mean()),
            "suspects": int(group["suspect"].sum()),
        }
        for c, group in groups
    ]


def _by_source(issues: pd.DataFrame) -> list[dict[str, Any]]:
    rows = [
        {"source": str(name), "labels": len(group), "error": float(group["p_wrong"].mean())}
        for name, group in issues.groupby("source")
    ]
    return sorted(rows, key=lambda row: -row["error"])


def _with_masks(data: Data) -> Data:
    """A checked copy; an audit needs no masks, the check does."""
    if data.get("y") is None:
        raise DataError("an audit needs given labels ('y'); there are none")
    graph = data.clone() if data.get("crow") is None and data.num_nodes < 100_000 else data.__copy__()
    labelled = torch.as_tensor(data.y).reshape(-1) >= 0
    if not bool(labelled.any()):
        raise DataError("an audit needs given labels; all are -1")
    graph.train_mask = labelled
    for name in ("val_mask", "test_mask"):
        graph[name] = torch.zeros(len(labelled), dtype=torch.bool)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PignnWarning)
        graph = graphs.check_graph(graph)
    graph.node_id = node_ids(graph)
    if graph.get("class_names") is None:
        graph.class_names = [str(c) for c in range(graphs.num_classes(graph))]
    return graph


def _trusted(data: Data, nodes: Ints) -> Bools:
    mask = data.get("trusted_mask")
    return np.zeros(len(nodes), dtype=bool) if mask is None else mask.cpu().numpy().astype(bool)[nodes]


def _sources(data: Data, nodes: Ints) -> tuple[list[str] | None, Ints | None]:
    """Names of the sources of labels, and the number of each label's."""
    raw = data.get("label_source")
    if raw is None:
        return None, None
    values = raw.cpu().numpy() if isinstance(raw, torch.Tensor) else np.asarray(raw, dtype=object)
    if len(values) != data.num_nodes:
        raise DataError(f"label_source has {len(values)} entries, but the graph has {data.num_nodes} nodes")
    called = data.get("source_names")
    texts = [str(v) if called is None else (str(called[v]) if v >= 0 else "none") for v in values[nodes]]
    names, index = np.unique(np.array(texts), return_inverse=True)
    return names.tolist(), index
