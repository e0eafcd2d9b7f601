"""A project is made of files, a graph store, a graph in memory or a saved audit; the same words go on there."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

import pignn
import pignn.cli
from pignn.core.errors import ConfigError, OutputError
from pignn.reviewing import project_folder, write_decisions_and_build_training_arguments
from pignn.reviewing.api import NO_CLASS_ON_MAP, build_app
from pignn.reviewing.decision_store import Verdict
from pignn.reviewing.project import open_project
from pignn.reviewing.project_creation import audit_and_create_project, create_project_from_audit
from pignn.reviewing.project_folder import project_lock_context
from pignn.reviewing.review_session import ReviewSession

from .test_api import CSRF, call

QUIET = {"warn": False, "intervals": False}


@pytest.fixture
def own_files(tmp_path, monkeypatch):
    """nodes.csv, of whose 120 nodes every fourth has no label, and edges.csv, in the working folder."""
    monkeypatch.chdir(tmp_path)
    graph = pignn.graphs.csbm(120, 3, homophily=0.9, degree=6, signal=2.0, num_features=3, seed=0)
    noisy = pignn.corrupt(graph, "symmetric", 0.2, seed=0, splits=("all",))
    frame = pd.DataFrame(graph.x.numpy(), columns=["a", "b", "c"])
    frame.insert(0, "id", [f"n{i}" for i in range(120)])
    frame["topic"] = np.array(["x", "y", "wrong"])[noisy.y.numpy()]
    frame.loc[::4, "topic"] = ""
    frame.to_csv("nodes.csv", index=False)
    ends = graph.edge_index[:, graph.edge_index[0] < graph.edge_index[1]].numpy()
    pd.DataFrame({"source": [f"n{i}" for i in ends[0]], "target": [f"n{i}" for i in ends[1]]}).to_csv(
        "edges.csv", index=False
    )
    return tmp_path


FILES = {"nodes": "nodes.csv", "edges": "edges.csv", "label": "topic", "id": "id"}


def test_a_project_of_a_saved_audit_is_that_of_the_graph(own_files):
    audit_and_create_project(own_files / "direct", FILES, audit=QUIET)
    pignn.audit(**FILES, **QUIET, out="audits/first")
    before = {path.name: path.read_bytes() for path in (own_files / "audits/first").iterdir() if path.is_file()}
    source = project_folder.find_review_source("audits/first", {})
    assert source.is_new
    create_project_from_audit(source.folder, source.audit_folder)
    assert not project_folder.find_review_source("audits/first", {}).is_new, "it goes on there"
    direct, made = open_project(own_files / "direct"), open_project(own_files / "audits/first/review")
    for name, value in vars(direct.state).items():
        np.testing.assert_allclose(getattr(made.state, name), value, atol=1e-5, err_msg=name)
    assert made.header == direct.header
    assert (made.folder / "labels.csv").read_bytes() == (direct.folder / "labels.csv").read_bytes()
    assert all((own_files / "audits/first" / name).read_bytes() == content for name, content in before.items())


def test_an_audit_of_a_graph_in_memory_wants_the_graph(own_files, noisy_graph):
    pignn.audit(noisy_graph, **QUIET, out="audits/memory")
    with pytest.raises(ConfigError, match="does not say which graph"):
        create_project_from_audit(own_files / "p", own_files / "audits/memory")
    create_project_from_audit(own_files / "p", own_files / "audits/memory", {"graph": noisy_graph})
    assert len(open_project(own_files / "p").state.nodes) == 400


def test_the_same_words_go_on_and_others_are_refused(own_files):
    audit_and_create_project(own_files / "reviews/nodes", FILES, audit=QUIET)
    same = project_folder.find_review_source(None, {**FILES, "split_seed": 0, "noise": "none", "rate": None})
    same.check_can_be_opened_or_created()
    assert not same.is_new
    for changed in ({"label": "a"}, {"edges": "other.csv"}, {"graph": "digits", "nodes": None}):
        with pytest.raises(OutputError, match="is a project already, of another graph or other options"):
            project_folder.find_review_source("reviews/nodes", {**FILES, **changed}).check_can_be_opened_or_created()


def test_a_graph_in_memory_goes_on_if_it_has_the_same_labels(session, noisy_graph):
    session.check_graph_has_labels_of_project(noisy_graph)
    other = noisy_graph.clone()
    other.y[0] = (other.y[0] + 1) % 3
    with pytest.raises(OutputError, match="of a graph with other labels"):
        session.check_graph_has_labels_of_project(other)


def test_a_project_of_a_graph_store_is_reviewed_and_trained(own_files):
    pignn.graphs.convert("stores/papers", **FILES)
    source = project_folder.find_review_source("stores/papers", {})
    source.check_can_be_opened_or_created()
    assert source.folder.as_posix() == "reviews/papers"
    audit_and_create_project(source.folder, source.arguments, audit=QUIET)
    assert not project_folder.find_review_source("stores/papers", {}).is_new
    with project_lock_context(source.folder):
        session = ReviewSession(open_project(source.folder))
        for node in session.state.nodes[:10].tolist():
            session.decide(f"key-{node}", "ann", [(node, Verdict(decision="keep"))])
        session.close()
    command = ["train", "--project", str(source.folder), "--method", "prototypes", "--no-assess", "--out", "runs/x"]
    assert pignn.cli.run(command) == 0


def test_nodes_without_a_label_are_on_the_map_and_can_be_looked_at(own_files):
    audit_and_create_project(own_files / "p", FILES, audit=QUIET)
    with project_lock_context(own_files / "p"):
        session = ReviewSession(open_project(own_files / "p"))
        app = build_app(session, is_local=True, csrf=CSRF)
        points = np.frombuffer(call(app, "/api/map")[1], dtype="<f4,<f4,<u4,<u2,u1,u1")
        unlabeled = points["f2"][points["f3"] == NO_CLASS_ON_MAP]
        assert sorted(points["f2"].tolist()) == list(range(120))
        assert unlabeled.tolist() == list(range(0, 120, 4))
        assert all(points[axis].min() >= 0 and points[axis].max() <= 1 for axis in ("f0", "f1"))
        status, detail, _ = call(app, "/api/nodes/4")
        assert (status, detail["given"], detail["status"], detail["name"]) == (200, -1, "unlabeled", "n4")
        assert detail["neighbors"]
        body = {"key": "key-000001", "changes": [{"node": 4, "decision": "keep"}]}
        assert call(app, "/api/decide", body)[0] == 422
        assert call(app, "/api/nodes/120")[0] == 422
        session.close()


def test_training_on_a_project_knows_new_classes_and_earlier_decisions(own_files):
    labels = pd.read_csv("nodes.csv", dtype=str, keep_default_na=False).set_index("id")["topic"]
    earlier = pd.DataFrame({"node": ["n1"], "given": [labels["n1"]], "decision": ["keep"], "label": [""]})
    earlier.to_csv("earlier.csv", index=False)
    audit_and_create_project(own_files / "p", FILES, audit={**QUIET, "decisions": "earlier.csv"})
    with project_lock_context(own_files / "p"):
        session = ReviewSession(open_project(own_files / "p"))
        assert session.state.trusted.sum() == 1
        for node in (2, 3, 5):
            session.decide(f"key-{node}", "ann", [(node, Verdict(decision="relabel", label="new"))], new_class=True)
        session.close()
    arguments = write_decisions_and_build_training_arguments("p")
    run = pignn.train(**arguments, method="prototypes", assess=False, out="runs/x")
    assert run.data.class_names == ["wrong", "x", "y", "new"]
    assert run.data.y[[2, 3, 5]].tolist() == [3, 3, 3]
    assert torch.nonzero(run.data.trusted_mask).ravel().tolist() == [1, 2, 3, 5]
    assert run.model.predict_proba(run.data).shape == (120, 4)


def test_training_on_a_project_with_added_noise_has_the_labels_that_were_reviewed(tmp_path):
    options = {"noise": "pair", "rate": 0.2, "seed": 3}
    audit_and_create_project(tmp_path / "p", {"graph": "digits"}, audit={**QUIET, **options})
    with project_lock_context(tmp_path / "p"):
        session = ReviewSession(open_project(tmp_path / "p"))
        given = session.state.given.copy()
        for node in range(1700, 1710):
            session.decide(f"key-{node}", "ann", [(node, Verdict(decision="keep"))])
        session.close()
    arguments = write_decisions_and_build_training_arguments(tmp_path / "p")
    np.testing.assert_array_equal(arguments["graph"].y.numpy(), given)
    run = pignn.train(**arguments, method="prototypes", assess=False)
    assert run.data.trusted_mask.sum() == 10
