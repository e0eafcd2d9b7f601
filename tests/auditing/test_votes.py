"""Several annotators: who is right how often, what the labels probably are, and whom to ask next."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

import pignn
from pignn import graphs
from pignn.auditing import Consensus, apply_decisions_to_graph, audit_labels, combine_votes
from pignn.auditing.votes import (
    compute_expected_gains_per_annotator_and_node,
    compute_krippendorff_alpha_or_none,
    compute_pairwise_agreement_or_none,
    fit_vote_model_by_em,
)
from pignn.core.errors import DataError, PignnWarning
from pignn.graphs.votes import Votes, convert_label_rows_to_votes, parse_votes_annotators_and_classes

pytestmark = pytest.mark.filterwarnings("ignore::pignn.PignnWarning")


def voted(
    rates: tuple[float, ...] = (0.3, 0.3, 0.3), kind: str = "symmetric", nodes: int = 600
) -> tuple[Data, np.ndarray]:
    """A graph whose nodes have one vote of each annotator, and the true classes."""
    data = graphs.csbm(nodes, 4, homophily=0.8, degree=8, signal=1.5, seed=3)
    rows = [pignn.corrupt(data, kind, rate, seed=seed, splits=("all",)).y for seed, rate in enumerate(rates)]
    truth = data.y.numpy().copy()
    data.votes, data.y, data.train_mask = convert_label_rows_to_votes(rows), torch.full_like(data.y, -1), None
    return data, truth


def arrays(*rows: tuple[int, int, int], num_nodes: int = 4, num_classes: int = 2) -> Votes:
    node, annotator, label = np.array(rows).T
    return Votes(node, annotator, label, np.ones(len(rows)), num_nodes, int(annotator.max()) + 1, num_classes)


@pytest.mark.parametrize(("kind", "rates"), [("symmetric", (0.3, 0.3, 0.3)), ("pair", (0.3, 0.2, 0.4))])
def test_consensus_beats_majority_and_votes_alone(kind: str, rates: tuple[float, ...]) -> None:
    data, truth = voted(rates, kind)
    consensus = combine_votes(data)
    alone = fit_vote_model_by_em(consensus.votes).posterior.argmax(axis=1)
    accuracy = (consensus.labels == truth).mean()
    assert accuracy > (consensus.plurality == truth).mean() + 0.05
    assert 1 - accuracy < 0.6 * (alone != truth).mean()
    assert abs(consensus.expected_accuracy - accuracy) < 0.03
    for summary, row in zip(consensus.annotator_summaries, range(len(rates)), strict=True):
        mine = consensus.votes.annotator == row
        wrong = (consensus.votes.label[mine] != truth[consensus.votes.node[mine]]).mean()
        assert abs(summary.error_rate - wrong) < 0.03
        assert summary.error_low < summary.error_rate < summary.error_high


def test_the_same_seed_gives_the_same_consensus() -> None:
    data, _ = voted(nodes=200)
    assert np.array_equal(combine_votes(data, seed=1).probabilities, combine_votes(data, seed=1).probabilities)


def test_a_node_is_not_judged_by_its_own_votes() -> None:
    data, _ = voted(nodes=200)
    before = combine_votes(data)
    assert before.class_log_probs is not None
    changed = data.clone()
    changed.votes = data.votes.clone()
    mine = changed.votes[:, 0] == 7
    changed.votes[mine, 2] = (changed.votes[mine, 2] + 1) % 4
    after = combine_votes(changed)
    assert after.class_log_probs is not None
    # The confusions move by a hair; the evidence of the node's own votes would move it by whole units.
    assert np.abs(np.exp(after.class_log_probs[7]) - np.exp(before.class_log_probs[7])).max() < 0.1
    assert np.abs(after.probabilities[7] - before.probabilities[7]).max() > 0.1


def test_true_labels_are_not_read() -> None:
    data, truth = voted(nodes=200)
    data.y_true = torch.from_numpy(truth)
    before = combine_votes(data).probabilities
    data.y_true = torch.zeros_like(data.y_true)
    assert np.array_equal(before, combine_votes(data).probabilities)


def test_nodes_without_votes_get_probabilities_but_no_label() -> None:
    data, truth = voted(nodes=400)
    data.votes = data.votes[data.votes[:, 0] < 300]
    consensus = combine_votes(data)
    assert (consensus.labels[300:] == -1).all()
    assert (consensus.labels[:300] >= 0).all()
    assert (consensus.probabilities[300:].argmax(axis=1) == truth[300:]).mean() > 0.8
    assert len(consensus.table) == 300


def test_an_annotator_with_one_vote_is_like_the_others() -> None:
    data, _ = voted(nodes=300)
    data.votes = torch.cat([data.votes, torch.tensor([[0, 3, 1]])])
    consensus = combine_votes(data)
    last = consensus.annotator_summaries[3]
    assert last.votes == 1
    assert last.error_high - last.error_low > 0.4
    assert 0.4 < np.diag(consensus.confusions[3]).mean() < 0.9


def test_confidence_counts() -> None:
    votes = arrays((0, 0, 0), (0, 1, 1), (1, 0, 0), (1, 1, 0), (2, 0, 1), (2, 1, 1))
    sure = Votes(votes.node, votes.annotator, votes.label, np.array([1, 0.1, 1, 1, 1, 1.0]), 4, 2, 2)
    assert fit_vote_model_by_em(sure).posterior[0, 0] > fit_vote_model_by_em(votes).posterior[0, 0]


def test_trusted_labels_are_certain() -> None:
    data, truth = voted(nodes=300)
    data.trusted_mask = torch.arange(300) < 100
    data.y = torch.where(data.trusted_mask, torch.from_numpy(truth), -1)
    consensus = combine_votes(data)
    assert (consensus.labels[:100] == truth[:100]).all()
    assert np.allclose(consensus.probabilities[:100].max(axis=1), 1)


def test_ties_go_to_the_first_annotator() -> None:
    votes = arrays((0, 1, 0), (0, 0, 1), (1, 0, 0), (1, 1, 0))
    assert votes.choose_plurality_classes().tolist() == [1, 0, -1, -1]
    assert votes.find_tied_node_indices().tolist() == [0]


def test_agreement_by_hand() -> None:
    votes = arrays((0, 0, 0), (0, 1, 0), (1, 0, 1), (1, 1, 1), (2, 0, 0), (2, 1, 1))
    assert compute_pairwise_agreement_or_none(votes) == pytest.approx(2 / 3)
    # Observed disagreement 2/6; expected 1 − (3·2 + 3·2)/(6·5) = 0.6.
    assert compute_krippendorff_alpha_or_none(votes) == pytest.approx(1 - (1 / 3) / 0.6)
    alone = arrays((0, 0, 0), (1, 1, 1))
    assert compute_krippendorff_alpha_or_none(alone) is None
    assert compute_pairwise_agreement_or_none(alone) is None


def test_expected_gain_is_that_of_one_more_vote() -> None:
    confusion = np.array([[[0.8, 0.2], [0.2, 0.8]]])
    gains = compute_expected_gains_per_annotator_and_node(np.array([[0.5, 0.5], [0.9, 0.1]]), confusion)
    assert gains[0].tolist() == pytest.approx([0.3, 0.0])


def test_questions_go_to_somebody_who_has_not_voted() -> None:
    data, _ = voted((0.1, 0.4, 0.3), nodes=300)
    data.votes = data.votes[(data.votes[:, 1] != 0) | (data.votes[:, 0] >= 150)]
    data.annotators = ["good", "bad", "fair"]
    questions = combine_votes(data).suggest_questions(20)
    assert questions["expected_gain"].is_monotonic_decreasing
    assert set(questions["ask"][questions["node"] < 150]) <= {"good"}
    assert set(questions["ask"][questions["node"] >= 150]) <= {"somebody new"}


def test_consensus_becomes_weighted_labels() -> None:
    data, _ = voted(nodes=200)
    consensus = combine_votes(data)
    graph = consensus.copy_with_weighted_consensus_labels(data)
    assert (graph.y.numpy() == consensus.labels).all()
    assert torch.allclose(graph.label_weight.double(), torch.from_numpy(consensus.probabilities.max(axis=1)), atol=1e-6)
    assert (data.y == -1).all()


def test_audit_takes_the_votes_into_account() -> None:
    data, truth = voted()
    found = audit_labels(data)
    assert isinstance(found.consensus, Consensus)
    issues = found.issues.sort_values("node")
    assert (issues["given"].to_numpy() == found.consensus.plurality).all()
    wrong = found.consensus.plurality != truth
    assert abs(found.noise.rate - wrong.mean()) < 0.03
    suspects = issues["suspect"].to_numpy()
    assert (wrong & suspects).sum() > 0.8 * wrong.sum()
    assert (wrong & suspects).sum() > 0.8 * suspects.sum()
    assert found.to_dict()["votes"]["annotators"][0]["votes"] == 600
    html = found._repr_html_()
    assert "Krippendorff" in html
    assert "Whom to ask next" in html


def test_decisions_are_trusted_in_the_next_audit() -> None:
    import pandas as pd

    data, truth = voted(nodes=300)
    data.y = torch.from_numpy(parse_votes_annotators_and_classes(data)[0].choose_plurality_classes())
    data.class_names = list("abcd")
    wrong = np.flatnonzero(data.y.numpy() != truth)[:5]
    rows = {
        "node": [str(n) for n in wrong],
        "decision": "relabel",
        "label": [data.class_names[truth[n]] for n in wrong],
    }
    found = audit_labels(apply_decisions_to_graph(data, pd.DataFrame(rows)))
    assert found.consensus is not None
    assert (found.consensus.labels[wrong] == truth[wrong]).all()
    assert found.issues.set_index("node").loc[wrong, "p_wrong"].max() == 0


def test_hostile_names_are_text() -> None:
    data, _ = voted(nodes=200)
    data.annotators = ["<script>alert(1)</script>", "=1+1", "c"]
    assert "<script>alert" not in combine_votes(data)._repr_html_()


def test_few_nodes_leave_the_votes_alone_and_say_so() -> None:
    data, _ = voted(nodes=60)
    data.votes = data.votes[data.votes[:, 0] < 6]
    with pytest.warns(PignnWarning, match="6 nodes with votes are too few"):
        consensus = combine_votes(data)
    assert consensus.class_log_probs is None
    assert (consensus.labels >= 0).sum() == 6


def test_single_votes_are_said() -> None:
    data, truth = voted((0.3,))
    with pytest.warns(PignnWarning, match="no node has two votes"):
        consensus = combine_votes(data)
    assert (consensus.labels == truth).mean() > (consensus.plurality == truth).mean() + 0.05
    assert abs(consensus.annotator_summaries[0].error_rate - (consensus.plurality != truth).mean()) < 0.05


@pytest.mark.parametrize(
    ("votes", "message"),
    [
        ([[0, 0, 0], [0, 0, 1]], "1 vote given twice, first by annotator '0' of node 0"),
        ([[0, 0, 0], [99, 0, 1]], "1 node out of range, first 99 at vote 1"),
        ([[0, 0, 0], [1, 0, -1]], "1 class out of range, first -1 at vote 1"),
        ([[0, 0, 0], [1, -1, 1]], "1 annotator out of range, first -1"),
        ([[0, 0, 0], [1, 0, 0]], "all votes are for one class"),
        ([[0, 0], [1, 0]], "must have the shape"),
        ([[0.5, 0, 0]], "must be integers"),
        ("many", "must be integers of shape"),
        (torch.empty(0, 3, dtype=torch.long), "no vote at all"),
    ],
)
def test_bad_votes_are_refused_in_one_line(votes: object, message: str) -> None:
    data, _ = voted(nodes=40)
    data.votes = torch.tensor(votes) if isinstance(votes, list) else votes
    with pytest.raises(DataError, match=message) as error:
        combine_votes(data)
    assert "\n" not in str(error.value)


def test_other_bad_input_is_refused() -> None:
    data, _ = voted(nodes=40)
    bad = data.clone()
    bad.vote_confidence = torch.full((len(data.votes),), 2.0)
    with pytest.raises(DataError, match="above 0 and at most 1, but is 2 at vote 0"):
        combine_votes(bad)
    bad.vote_confidence = torch.ones(3)
    with pytest.raises(DataError, match="3 entries for 120 votes"):
        combine_votes(bad)
    bad = data.clone()
    bad.votes, bad.y = data.votes[data.votes[:, 0] > 0], torch.zeros(40, dtype=torch.long)
    with pytest.raises(DataError, match="1 node with a label in y but without a vote, first 0"):
        combine_votes(bad)
    bad = data.clone()
    bad.annotators = ["a", "a", "b"]
    with pytest.raises(DataError, match="a name twice"):
        combine_votes(bad)
    bad.votes = None
    with pytest.raises(DataError, match="votes are missing"):
        combine_votes(bad)
    with pytest.raises(DataError, match="rows of equal length"):
        convert_label_rows_to_votes([torch.zeros(3), torch.zeros(4)])
