"""Models learn classes that were not there, and say what a decision would change."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

import pignn
from pignn.reviewing.decision_store import Verdict
from pignn.reviewing.expected_change import compute_expected_changes
from pignn.reviewing.live_models import LiveModels
from pignn.reviewing.project import open_project
from pignn.reviewing.project_creation import audit_and_create_project
from pignn.reviewing.project_folder import project_lock_context
from pignn.reviewing.queue import Query
from pignn.reviewing.review_session import ReviewSession
from pignn.reviewing.verdicts import KEEP, RELABEL

from .conftest import wait_for_refit


@pytest.fixture(scope="module")
def birds(tmp_path_factory):
    """Fish and birds; a third of the nodes are ducks, which were called birds. And which nodes are ducks."""
    graph = pignn.graphs.csbm(400, 3, homophily=0.9, degree=6, signal=2.0, num_features=8, seed=1)
    is_duck = graph.y == 2
    graph.y = torch.where(is_duck, 1, graph.y)
    graph.class_names, graph.y_true = ["fish", "birds"], None
    folder = tmp_path_factory.mktemp("birds") / "project"
    audit_and_create_project(folder, {"graph": graph}, audit={"warn": False, "intervals": False})
    return folder, is_duck.numpy()


def decide(session, position, decision, label=""):
    verdict, node = Verdict(decision=decision, label=label), int(session.state.nodes[position])
    session.decide(f"key-{position}", "ann", [(node, verdict)], new_class=bool(label))


def test_a_new_class_is_known_to_the_models_after_a_few_labels(birds):
    folder, is_duck = birds
    with project_lock_context(folder):
        session = ReviewSession(open_project(folder))
        try:
            ducks = np.flatnonzero(is_duck)
            others = np.flatnonzero(~is_duck)[:10]
            for position in ducks[:2]:
                decide(session, position, "relabel", "ducks")
            for position in others[:4]:
                decide(session, position, "keep")
            assert wait_for_refit(session).probs[:, 2:].max(initial=0) == 0, "two labels are too few"
            for position in ducks[2:8]:
                decide(session, position, "relabel", "ducks")
            for position in others[4:]:
                decide(session, position, "keep")
            ranking = wait_for_refit(session, 3)
            open_birds = np.setdiff1d(np.flatnonzero(session.state.given == 1), [*ducks[:8], *others])
            open_ducks = np.setdiff1d(ducks, ducks[:8])
            assert (ranking.suggested[open_ducks] == 2).mean() > 0.9
            assert roc_auc_score(is_duck[open_birds], ranking.probs[open_birds, 2]) > 0.9
            assert roc_auc_score(is_duck[open_birds], ranking.p_wrong[open_birds]) > 0.9
            np.testing.assert_allclose(ranking.probs.sum(axis=1), 1, atol=1e-5)
            first = session.select_positions(Query(order="errors", suggested=2), "ann")[:20]
            assert is_duck[first].mean() > 0.9
        finally:
            session.close()


def test_the_expected_change_is_that_of_a_refit_with_either_answer(session, noisy_graph):
    """One step of Newton's method beside what all its steps give: the order is the same, and the size about."""
    state, truth = session.state, noisy_graph.y_true.numpy()
    models, rng = LiveModels(state, 0), np.random.default_rng(0)
    status = np.zeros(len(state.given), dtype=np.int64)
    decided = rng.choice(len(status), 40, replace=False)
    status[decided] = np.where(state.given[decided] != truth[decided], RELABEL, KEEP)
    is_wrong = (status[decided] == RELABEL).astype(float)
    before = models.errors.refit_and_predict_p_wrong(decided, is_wrong)
    undecided = np.flatnonzero(status == 0)
    computed = compute_expected_changes(models.errors, before, decided, undecided)
    assert (computed[decided] == 0).all()
    unsure = undecided[np.argsort(np.abs(before[undecided] - 0.5))[:20]]
    tried, refitted = np.union1d(unsure, rng.choice(undecided, 20, replace=False)), []
    for position in tried:
        changes = [
            np.abs(models.errors.refit_and_predict_p_wrong(np.append(decided, position), np.append(is_wrong, answer))
                   - before)[undecided].sum()
            for answer in (0.0, 1.0)
        ]  # fmt: skip
        refitted.append((1 - before[position]) * changes[0] + before[position] * changes[1])
    print(np.c_[before[tried], computed[tried], refitted].round(3))
    assert np.corrcoef(computed[tried], refitted)[0, 1] > 0.9
    assert 0.7 < computed[tried].sum() / np.sum(refitted) < 1.4


def test_the_queue_for_the_model_is_in_the_order_of_expected_change(session):
    chosen = session.select_positions(Query(order="model"), "ann")
    assert (np.diff(session.ranking.expected_change[chosen]) <= 0).all()
    assert session.ranking.expected_change[chosen[0]] > 0
