"""The audit: finds what is wrong, sees no label of its own, says when it should not be believed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import BaseEstimator
from sklearn.metrics import average_precision_score
from torch_geometric.data import Data

import pignn
from pignn import graphs
from pignn.auditing import apply_decisions_to_graph, audit_labels, clean_labels, crossfit, find_label_issues
from pignn.auditing.columns import BUILT_IN_COLUMNS
from pignn.auditing.evidence import find_labeled_edge_positions
from pignn.auditing.similarity import find_most_similar_rows
from pignn.backbones import GraphInputs
from pignn.core.errors import ConfigError, DataError, PignnWarning
from pignn.noise import corrupt


def noisy(kind: str = "symmetric", rate: float = 0.2, nodes: int = 800, **extra: float) -> Data:
    settings: dict[str, float] = {"homophily": 0.85, "degree": 8, "signal": 2.0} | extra
    return corrupt(graphs.csbm(nodes, 4, **settings), kind, rate, splits=("all",))  # type: ignore[arg-type]


def wrong(data: Data, issues: object) -> np.ndarray:
    return data.y_true.numpy()[issues["node"]] != issues["given"].to_numpy()  # type: ignore[index]


@pytest.mark.parametrize("kind", ["symmetric", "pair", "one-sided"])
def test_wrong_labels_come_first_and_are_counted(kind: str) -> None:
    data = noisy(kind)
    found = audit_labels(data, intervals=True)
    issues = found.issues
    truth = wrong(data, issues)
    assert average_precision_score(truth, issues["p_wrong"]) > 0.9
    assert abs(found.noise.rate - truth.mean()) < 0.04
    assert issues["p_wrong"].is_monotonic_decreasing
    assert (issues["suggested"] != issues["given"]).all()
    right = data.y_true.numpy()[issues["node"]] == issues["suggested"]
    assert right[truth].mean() > 0.85
    # A probability: of the labels said to be wrong with p, about p are.
    assert abs(issues["p_wrong"].mean() - truth.mean()) < 0.04
    assert truth[issues["p_wrong"] > 0.9].mean() > 0.85
    assert found.noise.rate_interval is not None
    assert issues.attrs["audit"]["labels"] == 800


def test_no_label_judges_itself() -> None:
    """Another label on one node leaves every probability of that node without its label as it was."""
    data = noisy(nodes=200)
    given = data.y.numpy()
    fold = crossfit.assign_stratified_or_source_folds(given, 4, 0)
    z = np.random.default_rng(0).standard_normal((200, 8)).astype(np.float32)
    trusted = np.zeros(200, dtype=bool)
    before = crossfit.CrossFitLogistic(z, given, fold, 4, trusted).fit_predict_proba()
    other = given.copy()
    other[7] = (given[7] + 1) % 4
    after = crossfit.CrossFitLogistic(z, other, fold, 4, trusted).fit_predict_proba()
    np.testing.assert_array_equal(before[fold == fold[7]], after[fold == fold[7]])
    assert not np.array_equal(before, after)


def test_a_method_is_fitted_without_the_labels_it_judges() -> None:
    data = noisy(nodes=60)
    nodes, fold = np.arange(60), np.arange(60) % 3
    seen = []

    class Spy(BaseEstimator):
        def fit(self, graph: Data) -> Spy:
            self.known = graph.y >= 0
            assert graph.get("y_true") is None
            assert not bool((graph.train_mask | graph.val_mask)[~self.known].any())
            return self

        def predict_proba(self, graph: Data) -> np.ndarray:
            seen.append(self.known.numpy())
            return np.full((60, 4), 0.25)

    crossfit.fit_predict_proba_per_fold(data, nodes, fold, 4, Spy(), 0)  # type: ignore[arg-type]
    for number, known in enumerate(seen):
        np.testing.assert_array_equal(known, fold != number)


def test_a_method_that_chooses_among_others_chooses_once() -> None:
    data = noisy(nodes=60)
    seen: list[int] = []

    class Chooser(BaseEstimator):
        def fit(self, graph: Data) -> Chooser:
            assert graph.get("y_true") is None
            seen.append(-1)
            return self

        def copy_and_refit(self, graph: Data) -> Chooser:
            seen.append(int((graph.y >= 0).sum()))
            return self

        def predict_proba(self, graph: Data) -> np.ndarray:
            return np.full((60, 4), 0.25)

    crossfit.fit_predict_proba_per_fold(data, np.arange(60), np.arange(60) % 3, 4, Chooser(), 0)  # type: ignore[arg-type]
    assert seen == [-1, 40, 40, 40]


def test_a_method_given_by_name_judges_labels() -> None:
    data = noisy(nodes=300)
    issues = find_label_issues(data, "label-propagation", folds=3)
    assert average_precision_score(wrong(data, issues), issues["p_wrong"]) > 0.6


def test_a_method_with_settings_judges_labels_and_is_not_fitted_itself() -> None:
    data = noisy(nodes=200)
    method = pignn.PIGNN(epochs=3, warmup=1, seed=5)
    found = audit_labels(data, method, folds=2)
    assert found.method == "pi-gnn (epochs=3, warmup=1)"
    assert not hasattr(method, "class_names_")  # copies were fitted
    same = audit_labels(data, pignn.make("pi-gnn", epochs=3, warmup=1, seed=5), folds=2)
    np.testing.assert_array_equal(found.issues["p_wrong"], same.issues["p_wrong"])
    other = audit_labels(data, pignn.make("pi-gnn", epochs=40, warmup=1, seed=5), folds=2)
    assert not np.array_equal(found.issues["p_wrong"], other.issues["p_wrong"])
    assert audit_labels(data, "label-propagation", folds=2, seed=3).method == "label-propagation"


def test_folds_are_balanced_and_hold_out_whole_sources() -> None:
    given = np.repeat([0, 1, 2], [50, 30, 20])
    fold = crossfit.assign_stratified_or_source_folds(given, 5, 0)
    assert np.bincount(fold).tolist() == [20] * 5
    assert all(np.ptp(np.bincount(fold[given == c], minlength=5)) <= 1 for c in range(3))
    source = np.arange(100) % 7
    fold = crossfit.assign_stratified_or_source_folds(given, 5, 0, source)
    assert all(len(set(fold[source == s])) == 1 for s in range(7))
    assert len(set(fold)) == 5


def test_the_source_with_most_errors_comes_first() -> None:
    data = graphs.csbm(900, 3, homophily=0.85, degree=8, signal=2.0)
    source = torch.arange(900) % 3
    bad = corrupt(data, "symmetric", 0.5, splits=("all",)).y
    data.y_true, data.y = data.y, torch.where(source == 2, bad, data.y)
    data.label_source, data.source_names = source, ["ann", "bob", "rule"]
    found = audit_labels(data)
    assert found.overview.num_folds == 3
    assert found.source_summaries[0].source == "rule"
    assert found.source_summaries[0].error_rate > 0.3 > 5 * found.source_summaries[1].error_rate
    assert set(found.issues["source"]) == {"ann", "bob", "rule"}


def test_trusted_labels_are_never_suspects() -> None:
    data = noisy()
    data.trusted_mask = data.y == data.y_true
    data.trusted_mask[::2] = False
    issues = find_label_issues(data)
    assert (issues.loc[issues["trusted"], "p_wrong"] == 0).all()
    assert not issues.loc[issues["trusted"], "flagged"].any()
    assert int(issues["trusted"].sum()) == int(data.trusted_mask.sum())


@pytest.mark.filterwarnings("ignore:edges")
def test_missed_positives_of_a_rare_class_rank_first_in_their_class() -> None:
    """One percent positives, two in five of them missed: the class-adjusted ratio and rank put them first."""
    data = graphs.csbm(4000, 2, homophily=0.5, degree=10, signal=0.0, num_features=16)
    rng = np.random.default_rng(0)
    true = torch.zeros(4000, dtype=torch.long)
    positive = torch.from_numpy(rng.choice(4000, 40, replace=False))
    true[positive] = 1
    data.x = torch.randn(4000, 16, generator=torch.Generator().manual_seed(0)) * 0.5
    data.x[positive, 0] += 6
    ring = positive[torch.from_numpy(rng.integers(0, 40, (2, 200)))]
    data.edge_index = torch.cat([data.edge_index[:, :4000], ring, ring.flip(0)], dim=1)
    data.y_true, data.y = true, true.clone()
    missed = positive[:16]
    data.y[missed] = 0
    with pytest.warns(PignnWarning, match="features alone"):
        issues = find_label_issues(data)
    negatives = issues[issues["given"] == 0].sort_values("class_rank")
    assert set(negatives["node"][:16]) >= set(missed.tolist()[:12]) or (
        average_precision_score(negatives["node"].isin(missed.tolist()), negatives["class_ratio"]) > 0.8
    )
    assert (negatives["class_rank"].to_numpy() == np.arange(1, len(negatives) + 1)).all()


def test_low_homophily_is_warned_of() -> None:
    data = noisy(homophily=0.25, nodes=400)
    with pytest.warns(PignnWarning, match="hardly more often than by chance"):
        found = audit_labels(data)
    assert found.notes


def test_unlabeled_nodes_are_left_out_and_ids_are_kept() -> None:
    data = noisy(nodes=300)
    data.y[::3] = -1
    data.node_id = [f"n{i}" for i in range(300)]
    issues = find_label_issues(data)
    assert len(issues) == 200
    assert (issues["id"] == "n" + issues["node"].astype(str)).all()
    assert "train_mask" in data
    assert not bool((data.y[issues["node"].tolist()] < 0).any())


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        (["a", "b"], "node_id has 2 entries, but the graph has 100 nodes"),
        ([str(i % 99) for i in range(100)], "node_id has '0' at node 0 and at node 99"),
        (torch.arange(100) // 2, "node_id has '0' at node 0 and at node 1"),
    ],
)
def test_ids_of_wrong_number_or_repeated_are_refused(ids: object, words: str) -> None:
    data = noisy(nodes=100)
    data.node_id = ids
    decisions = pd.DataFrame({"node": ["0"], "decision": ["keep"], "label": [""]}, dtype=object)
    for use in (find_label_issues, lambda graph: apply_decisions_to_graph(graph, decisions)):
        with pytest.raises(DataError, match=words) as error:
            use(data)
        assert "\n" not in str(error.value)
    assert data.node_id is ids


def test_ids_may_be_a_tensor_of_numbers() -> None:
    data = noisy(nodes=100)
    data.node_id = torch.arange(100) + 7
    issues = find_label_issues(data, folds=2)
    assert (issues["id"] == (issues["node"] + 7).astype(str)).all()


def test_labeled_edges_and_similar_nodes_are_those_of_the_graph() -> None:
    data = Data(x=torch.eye(5), edge_index=torch.tensor([[0, 1, 2, 0], [1, 2, 3, 0]]), y=torch.zeros(5).long())
    row, col = find_labeled_edge_positions(
        GraphInputs.from_data(graphs.copy_checked_graph(data, needs_labels=False)), np.array([0, 1, 3])
    )
    assert sorted(zip(row.tolist(), col.tolist(), strict=True)) == [(0, 1), (1, 0)]
    z = np.array([[1, 0], [0.9, 0.1], [0, 1], [0.1, 0.9]], dtype=np.float32)
    similar = find_most_similar_rows(z)
    assert similar is not None
    assert similar.tolist() == [[1, 3, 2], [0, 3, 2], [3, 1, 0], [2, 1, 0]]


def test_graphs_and_settings_that_cannot_be_audited_are_refused() -> None:
    data = noisy(nodes=100)
    with pytest.raises(ConfigError, match="unknown method"):
        find_label_issues(data, "gess")
    with pytest.raises(DataError, match="too few"):
        find_label_issues(data, folds=80)
    with pytest.raises(ConfigError, match=r"a name or a method such as pignn.PIGNN\(\), not Data"):
        find_label_issues(data, data)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="epochs"):
        find_label_issues(data, pignn.PIGNN(epochs=0))
    data.y[:] = -1
    with pytest.raises(DataError, match="all are -1"):
        find_label_issues(data)
    data.y[:] = 1
    with pytest.raises(DataError, match="two classes"):
        find_label_issues(data)
    data.y, data.class_names = torch.arange(100), None
    with pytest.raises(DataError, match="look like ids"):
        find_label_issues(data)


def test_suspects_are_relabeled_dropped_or_weighted() -> None:
    data = noisy()
    data.train_mask = torch.ones(800, dtype=torch.bool)
    issues = find_label_issues(data)
    before = float((data.y == data.y_true).float().mean())
    better = clean_labels(data, issues, "relabel")
    assert float((better.y == better.y_true).float().mean()) > before + 0.1
    fewer = clean_labels(data, issues, "drop")
    suspects = issues.loc[issues["p_wrong"] > 0.5, "node"].to_numpy()
    assert (fewer.y[suspects] == -1).all()
    assert not fewer.train_mask[suspects].any()
    weighed = clean_labels(data, issues, "weight").label_weight
    np.testing.assert_allclose(weighed[issues["node"].tolist()], 1 - issues["p_wrong"], atol=1e-6)
    assert data.get("label_weight") is None
    assert data.train_mask.all()
    with pytest.raises(ConfigError, match="way to clean"):
        clean_labels(data, issues, "wash")


def test_the_interval_accounts_for_verified_labels():
    graph = graphs.csbm(num_nodes=600, num_classes=3, signal=4.0, seed=0)
    noisy = corrupt(graph, "symmetric", 0.15, seed=0, splits=("all",))
    top = torch.from_numpy(audit_labels(noisy).issues["node"].to_numpy(copy=True)[:50])
    noisy.y_before = torch.full_like(noisy.y, -1)
    noisy.y_before[top] = noisy.y[top]
    noisy.y[top] = noisy.y_true[top]
    noisy.trusted_mask = torch.zeros(600, dtype=torch.bool).index_fill_(0, top, True)
    found = audit_labels(noisy, intervals=True).noise
    low, high = found.rate_interval
    assert low <= found.rate <= high
    assert low <= float((noisy.y != noisy.y_true).float().mean()) <= high


def test_unused_and_misspelled_classes_do_not_hide_the_noise() -> None:
    """Declared and never used, or misspelt a few times: neither may hide the noise."""
    data = noisy(nodes=500)
    before = audit_labels(data)
    share = float(wrong(data, before.issues).mean())
    data.class_names = [*(str(c) for c in range(4)), "unused", "also unused"]
    unused = audit_labels(data)
    assert abs(unused.noise.rate - before.noise.rate) < 0.01
    assert unused.notes == before.notes

    rng = np.random.default_rng(0)
    data.class_names = [*(str(c) for c in range(4)), "Politcs", "Sprot", "Scinece"]
    for junk in (4, 5, 6):
        at = rng.choice(np.flatnonzero(data.y.numpy() == junk - 4), 3, replace=False)
        data.y[at] = junk
    with pytest.warns(PignnWarning, match=r"3 classes have fewer than 5 labels \('Politcs', 'Sprot', 'Scinece'\)"):
        found = audit_labels(data)
    assert abs(found.noise.rate - share) < 0.05


def test_cleaning_refuses_an_audit_instead_of_its_table() -> None:
    data = noisy(nodes=200)
    with pytest.raises(DataError, match="issues must be the table of an audit"):
        clean_labels(data, audit_labels(data))  # type: ignore[arg-type]


def test_changes_of_the_edges_are_warned_of() -> None:
    data = noisy(nodes=200)
    data.edge_index = data.edge_index[:, data.edge_index[0] < data.edge_index[1]]
    with pytest.warns(PignnWarning, match="edges: made .* two-way"):
        audit_labels(data)


def test_an_audit_shows_itself() -> None:
    data = noisy(nodes=200)
    data.class_names = ["<b>", "sports", "arts", "news"]
    audit = audit_labels(data)
    html = audit._repr_html_()
    assert audit.overview.format_rate() in html
    assert "&lt;b&gt;" in html
    assert "<b>" not in html
    assert len(audit.plot_transition().axes[0].texts) == 16
    assert [bar.get_width() for bar in audit.plot_class_quality().axes[0].patches] == [
        row.quality for row in audit.class_summaries
    ]
    assert audit.report(title="My audit").startswith("<!doctype html>")


def test_the_columns_are_those_that_are_declared_in_their_order() -> None:
    data = noisy(nodes=200)
    data.node_id = [f"n{i}" for i in range(200)]
    data.node_name = [f"node {i}" for i in range(200)]
    data.label_source = ["ann", "bob"] * 100
    names = ["p_0" if column.name == "p" else column.name for column in BUILT_IN_COLUMNS]
    assert [name for name in audit_labels(data).issues if name not in ("p_1", "p_2", "p_3")] == names
    assert all(column.summary for column in BUILT_IN_COLUMNS)


def test_errors_that_a_review_corrected_stay_errors_of_their_source() -> None:
    graph = pignn.corrupt(pignn.load("csbm"), "symmetric", 0.3, splits=("all",), seed=0)
    graph.label_source, graph.source_names = torch.zeros(len(graph.y), dtype=torch.long), ["ann"]
    wrong = float((graph.y != graph.y_true).double().mean())
    graph.trusted_mask = torch.arange(len(graph.y)) < 0.9 * len(graph.y)
    graph.y_before = torch.where(graph.trusted_mask, graph.y, -1)
    graph.y = torch.where(graph.trusted_mask, graph.y_true, graph.y)
    (source,) = audit_labels(graph).source_summaries
    assert source.error_rate == pytest.approx(wrong, abs=0.1)
