"""A project remembers, its models learn from decisions, and its queues are what they are called."""

from __future__ import annotations

import numpy as np
import pytest

from pignn.core.errors import ConfigError, DataError, OutputError
from pignn.reviewing.dealing import deal_labels
from pignn.reviewing.decision_store import Verdict
from pignn.reviewing.project import open_project
from pignn.reviewing.project_creation import audit_and_create_project
from pignn.reviewing.project_folder import project_lock_context
from pignn.reviewing.queue import Query
from pignn.reviewing.review_session import ReviewSession

from .conftest import wait_for_refit

KEEP = Verdict(decision="keep")


def decide_by_truth(session, positions, truth, key="k"):
    for position in positions:
        right = session.class_names[truth[position]]
        is_right = right == session.class_names[session.state.given[position]]
        verdict = KEEP if is_right else Verdict(decision="relabel", label=right)
        session.decide(f"{key}{position}", "ann", [(int(session.state.nodes[position]), verdict)], queue="errors")


def test_a_second_server_is_refused_and_a_project_is_not_replaced(folder, noisy_graph):
    with (
        project_lock_context(folder),
        pytest.raises(OutputError, match="open in another"),
        project_lock_context(folder),
    ):
        pass
    with pytest.raises(OutputError, match="a project already"):
        audit_and_create_project(folder, {"graph": noisy_graph})


def test_the_original_labels_are_not_written_again(session, noisy_graph):
    before = (session.project.folder / "labels.csv").read_bytes()
    decide_by_truth(session, session.select_positions(Query(order="errors"), "ann")[:20], noisy_graph.y_true.numpy())
    assert (session.project.folder / "labels.csv").read_bytes() == before


def test_a_review_goes_on_where_it_was(session, noisy_graph):
    truth = noisy_graph.y_true.numpy()
    decide_by_truth(session, session.select_positions(Query(order="errors"), "ann")[:30], truth)
    session.undo("u", "ann")
    status, label = session.status.copy(), session.label.copy()
    again = ReviewSession(open_project(session.project.folder))
    np.testing.assert_array_equal(again.status, status)
    np.testing.assert_array_equal(again.label, label)
    assert wait_for_refit(again).num_decided == 29
    assert again.redo("r", "ann") is not None
    assert again.compute_progress_panel().decided == 30
    again.close()


def test_models_learn_from_decisions_and_decided_labels_leave_the_queue(session, noisy_graph):
    truth = noisy_graph.y_true.numpy()
    first = session.select_positions(Query(order="errors"), "ann")
    decide_by_truth(session, first[:60], truth)
    ranking = wait_for_refit(session)
    after = session.select_positions(Query(order="errors"), "ann")
    assert not set(first[:60]) & set(after)
    assert (np.diff(session.ranking.p_wrong[after]) <= 0).all()
    assert ranking.p_wrong[first[0]] in (0.0, 1.0)


def test_the_random_order_stays_as_drawn(session, noisy_graph):
    order = session.state.order.copy()
    decide_by_truth(session, session.select_positions(Query(order="estimate"), "ann")[:40], noisy_graph.y_true.numpy())
    wait_for_refit(session)
    np.testing.assert_array_equal(session.select_positions(Query(order="estimate"), "ann"), order[40:])
    assert session.compute_progress_panel().drawn == 40


def test_queues_select_what_they_say(session):
    state = session.state
    for query, holds in (
        (Query(given=1), state.given == 1),
        (Query(cluster=2), state.clusters == 2),
        (Query(low=0.5), session.ranking.p_wrong >= 0.5),
        (Query(nodes=[3, 5, 8]), np.isin(state.nodes, [3, 5, 8])),
    ):
        assert set(session.select_positions(query, "ann")) == set(np.flatnonzero(holds))
    mixed = session.select_positions(Query(order="mixed"), "ann")
    assert sorted(mixed) == sorted(session.select_positions(Query(order="model"), "ann"))
    assert state.order[0] in mixed[:5]
    assert 17 in state.nodes[session.select_positions(Query(search="17"), "ann")]


@pytest.mark.parametrize(
    ("verdict", "reason"),
    [
        (Verdict(decision="maybe"), "no decision"),
        (Verdict(decision="keep", label="1"), "takes no label"),
        (Verdict(decision="relabel", label="new"), "no class"),
        (Verdict(decision="relabel"), "another one than the given"),
        (Verdict(decision="keep", note="n" * 5000), "at most"),
    ],
)
def test_verdicts_that_cannot_be_are_refused(session, verdict, reason):
    with pytest.raises(DataError, match=reason):
        session.decide("k", "ann", [(0, verdict)])
    assert session.project.decisions.list_current_verdicts() == []


def test_nodes_and_names_that_cannot_be_are_refused(session):
    with pytest.raises(DataError, match="no label"):
        session.decide("k", "ann", [(10**6, KEEP)])
    for name in ("", "a\nb", "x" * 100):
        with pytest.raises(ConfigError, match="needs a name"):
            session.decide("k", name, [(0, KEEP)])


def test_a_class_that_was_not_there_is_taken_and_the_models_go_on(session):
    nodes = [int(node) for node in session.state.nodes[:6]]
    verdict = Verdict(decision="relabel", label="ducks")
    session.decide("k", "ann", [(node, verdict) for node in nodes], new_class=True)
    assert session.class_names[-1] == "ducks"
    assert wait_for_refit(session).num_decided == 6
    session.undo("u", "ann")
    assert session.compute_progress_panel().decided == 0


def test_two_reviewers_who_differ_make_a_dispute_that_can_be_settled(session):
    session.decide("a", "ann", [(0, KEEP)])
    session.decide("b", "bob", [(0, Verdict(decision="unsure"))])
    assert session.select_positions(Query(state="disputed"), "ann").tolist() == [0]
    session.decide("c", "ann", [(0, KEEP)], verb="settle")
    assert session.select_positions(Query(state="keep"), "ann").tolist() == [0]
    session.undo("d", "ann")
    assert session.compute_progress_panel().disputed == 1


def test_dealt_work_does_not_overlap_but_for_the_share():
    dealing = deal_labels(1000, ["ann", "bob", "eve"], 0.1, seed=0)
    masks = np.array([dealing.get_label_mask_of_reviewer(name) for name in dealing.reviewers])
    assert (masks.sum(axis=0) == 2).sum() == 100
    assert (masks.sum(axis=0) >= 1).all()
    assert masks.sum(axis=1).tolist() == pytest.approx([367] * 3, abs=12)
    assert dealing.get_label_mask_of_reviewer("stranger").all()


def test_each_reviewer_is_asked_only_what_is_theirs(session):
    session.dealing = deal_labels(len(session.state.nodes), ["ann", "bob"], 0.1, seed=0)
    queues = {name: set(session.select_positions(Query(), name)) for name in ("ann", "bob")}
    both = queues["ann"] & queues["bob"]
    assert len(both) == 40
    shared = int(session.state.nodes[min(both)])
    session.decide("a", "ann", [(shared, KEEP)])
    assert min(both) not in session.select_positions(Query(), "ann")
    assert min(both) in session.select_positions(Query(), "bob")
    session.decide("s", "bob", [(shared, Verdict(decision="skip"))])
    assert session.select_positions(Query(state="skipped"), "bob").tolist() == [min(both)]
