"""Which labels count as wrong where nobody looks, the second opinion on how many, and what is said when in doubt."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from torch_geometric.data import Data

from pignn import graphs
from pignn.auditing import audit_labels, clean_labels, crossfit, diagnostics, views
from pignn.auditing.dawid_skene import compute_p_wrong
from pignn.auditing.evidence import build_checked_evidence
from pignn.auditing.suspects import compute_contradicted_mask, compute_suspect_mask
from pignn.backbones import GraphInputs
from pignn.core.errors import PignnWarning
from pignn.noise import corrupt


def test_a_label_is_contradicted_by_a_class_that_leads_clearly() -> None:
    given = np.array([0, 0, 1, 1])  # equally frequent: only the lead counts
    p = np.array([[0.2, 0.8], [0.3, 0.7], [0.2, 0.8], [0.8, 0.2]])
    assert compute_contradicted_mask(given, p).tolist() == [True, False, False, True]


def test_a_rare_class_is_neither_outvoted_nor_suggested_everywhere() -> None:
    given = np.array([1] * 2 + [0] * 98)
    p = np.tile([0.95, 0.05], (100, 1))  # 0.05 is more than its frequency, and no more than a hint
    assert not compute_contradicted_mask(given, p).any()
    p[50] = [0.3, 0.7]
    p[0] = [0.999, 0.001]
    assert np.flatnonzero(compute_contradicted_mask(given, p)).tolist() == [0, 50]


def test_a_class_without_a_label_contradicts_nobody() -> None:
    p = np.array([[0.1, 0.0, 0.9], [0.5, 0.5, 0.0]])
    assert not compute_contradicted_mask(np.array([0, 1]), p).any()


def test_trusted_labels_are_no_suspects() -> None:
    against = np.array([True, True, False, False])
    trusted = np.array([False, True, False, False])
    found = compute_suspect_mask(np.zeros(4, dtype=int), np.array([0.0, 0.0, 0.6, 0.4]), against, trusted, np.ones(1))
    assert found.tolist() == [True, False, True, False]


def votes(rates: tuple[float, float, float], nodes: int = 4000, classes: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Three views that err independently of one another."""
    rng = np.random.default_rng(0)
    true = rng.integers(0, classes, nodes)
    wrong = [(true + rng.integers(1, classes, nodes)) % classes for _ in rates]
    views = [np.where(rng.random(nodes) < rate, other, true) for rate, other in zip(rates, wrong, strict=True)]
    return np.stack(views), true


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.4])
def test_independent_votes_reveal_the_rate(rate: float) -> None:
    given, true = votes((rate, 0.25, 0.35))
    wrong = compute_p_wrong(given, 4, np.zeros(4000, dtype=bool))
    assert abs(wrong.mean() - rate) < 0.02
    if rate:
        assert wrong[given[0] != true].mean() > 2 * wrong[given[0] == true].mean()


def test_no_vote_is_no_evidence_and_trusted_labels_are_right() -> None:
    given, true = votes((0.2, 0.25, 0.3))
    given[2, ::3] = -1
    nobody = np.zeros(4000, dtype=bool)
    assert abs(compute_p_wrong(given, 4, nobody).mean() - 0.2) < 0.03
    trusted = given[0] == true
    trusted[::2] = False
    wrong = compute_p_wrong(given, 4, trusted)
    assert (wrong[trusted] == 0).all()
    # That correct labels were verified does not make the others look cleaner than they are.
    assert abs(wrong[~trusted].mean() - (given[0] != true)[~trusted].mean()) < 0.06


def test_neighbor_features_exclude_the_features_of_the_node() -> None:
    data = graphs.csbm(60, 3, degree=4, num_features=5)
    inputs = GraphInputs.from_data(graphs.copy_checked_graph(data))
    some = np.arange(0, 60, 7)
    before = views.average_neighbor_features(inputs, views.compute_own_features(inputs, 3, 0), some, 0)
    x = data.x / data.x.norm(dim=1, keepdim=True)
    for row, node in zip(before, some.tolist(), strict=True):
        near = inputs.edge_index[0][inputs.edge_index[1] == node]
        mean = x[near].sum(dim=0) if len(near) else torch.zeros(5)
        np.testing.assert_allclose(row, mean / mean.norm().clamp(min=1e-12), atol=1e-5)
    data.x[some[1]] += 10
    inputs = GraphInputs.from_data(graphs.copy_checked_graph(data))
    own = views.compute_own_features(inputs, 3, 0)
    after = views.average_neighbor_features(inputs, own, some, 0)
    np.testing.assert_allclose(after[1], before[1])
    assert own.shape == (60, 5)


def test_many_classes_get_a_wider_embedding() -> None:
    inputs = GraphInputs.from_data(graphs.copy_checked_graph(graphs.csbm(200, 3, degree=4, num_features=180)))
    for num_classes, width in ((3, views.EMBEDDING_DIM), (40, 180)):
        assert views.compute_own_features(inputs, num_classes, 0).shape == (200, width)
        assert views.embed_nodes(inputs, np.arange(50), 0.1, num_classes, 0).shape == (50, width)


def test_many_classes_are_told_by_words_instead_of_their_topics() -> None:
    rng = np.random.default_rng(0)
    texts = [" ".join(f"word{i}" for i in rng.integers(0, 1500, 30)) for _ in range(200)]
    nodes = pd.DataFrame({"id": range(200), "note": texts, "label": [f"c{i}" for i in np.arange(200) % 40]})
    data = graphs.read_graph(nodes, pd.DataFrame({"source": [0], "target": [1]}), label="label", id="id")
    known = build_checked_evidence(data, 5, 0)
    words = known.words_of_texts_or_none
    assert words is not None
    assert words.shape == (200, len(data.encoder.encoders[0].idf))
    assert (views.compute_own_features(known.inputs, 40, 0, words) != 0).sum() == words.nnz
    assert views.compute_own_features(known.inputs, 3, 0, words).shape == (200, views.EMBEDDING_DIM)
    data.x = torch.ones(200, 4)  # other features: the words are not theirs
    assert build_checked_evidence(data, 5, 0).words_of_texts_or_none is None


def test_models_fitted_to_a_sample_predict_all_labels_out_of_sample() -> None:
    rng = np.random.default_rng(0)
    z, given = rng.standard_normal((100, 4)).astype(np.float32), rng.integers(0, 3, 100)
    fold, at = np.arange(100) % 5, np.arange(60)
    model = crossfit.CrossFitLogistic(z[at], given[at], fold[at], 3, np.zeros(60, dtype=bool))
    seen = model.fit_predict_proba()
    everybody = model.predict_proba_by_held_out_fold(z, fold)
    np.testing.assert_array_equal(everybody[at], seen)
    np.testing.assert_allclose(everybody.sum(axis=1), 1, atol=1e-5)


def wrong_by_region() -> Data:
    return corrupt(graphs.csbm(1500, 4, homophily=0.85, degree=8, signal=1.0), "cluster", 0.2, splits=("all",))


@pytest.mark.filterwarnings("ignore::pignn.core.errors.PignnWarning")
def test_the_dawid_skene_rate_counts_errors_that_follow_a_region() -> None:
    data = corrupt(graphs.csbm(1500, 4, homophily=0.85, degree=8, signal=1.5), "symmetric", 0.2, splits=("all",))
    found = audit_labels(data)
    assert found.rate_dawid_skene is not None
    assert abs(found.rate_dawid_skene - 0.2) < 0.06
    data = wrong_by_region()
    found = audit_labels(data)
    assert found.rate_dawid_skene is not None
    assert found.noise.rate < found.rate_dawid_skene < 0.4
    assert found.to_dict()["rate_dawid_skene"] == found.rate_dawid_skene


@pytest.mark.filterwarnings("ignore::pignn.core.errors.PignnWarning")
def test_cleaning_changes_exactly_the_suspects() -> None:
    data = wrong_by_region()
    found = audit_labels(data)
    issues = found.issues
    assert set(issues["node"][issues["p_wrong"] > 0.5]) <= set(issues["node"][issues["suspect"]])
    assert found.to_dict()["suspects"] == issues["suspect"].sum() == sum(row.suspects for row in found.class_summaries)
    better = clean_labels(data, issues)
    changed = (better.y != data.y).nonzero().flatten().tolist()
    assert sorted(changed) == sorted(issues["node"][issues["suspect"]])
    few = clean_labels(data, issues, above=0.9)
    changed = (few.y != data.y).nonzero().flatten().tolist()
    assert sorted(changed) == sorted(issues["node"][issues["p_wrong"] > 0.9])


@pytest.mark.filterwarnings("ignore::pignn.core.errors.PignnWarning")
def test_without_edges_there_is_no_dawid_skene_rate() -> None:
    data = corrupt(graphs.csbm(300, 3, signal=3.0), "symmetric", 0.1, splits=("all",))
    data.edge_index = data.edge_index[:, :0]
    assert audit_labels(data).rate_dawid_skene is None


def test_messages_of_doubt_give_the_numbers() -> None:
    assert diagnostics.build_message_if_excess_flags(0.1, 0.2, 0.15) is None
    note = diagnostics.build_message_if_excess_flags(0.001, 0.115, 0.118)
    assert note is not None
    assert "11.5%" in note
    assert "0.1%" in note
    assert "the Dawid–Skene estimate is 11.8%" in note
    assert "Dawid–Skene" not in str(diagnostics.build_message_if_excess_flags(0.001, 0.115, None))
    assert diagnostics.build_message_if_reviewed_before(0.1, 0.0) is None
    assert "corrected before" in str(diagnostics.build_message_if_reviewed_before(0.001, 0.01))
    assert "as they are now" in str(diagnostics.build_message_if_reviewed_before(0.001, 0.3))


def test_many_more_flags_than_estimated_errors_are_warned_of() -> None:
    """Classes that overlap: the model contradicts many labels, of which none is wrong."""
    with pytest.warns(PignnWarning, match="are flagged, but only"):
        found = audit_labels(graphs.csbm(1000, 4, homophily=0.6, degree=3, signal=1.0, num_features=8))
    assert any("flagged" in note for note in found.notes)
