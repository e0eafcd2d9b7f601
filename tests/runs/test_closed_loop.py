"""From an audit and a review to a model, and on to new nodes, with the tables of `pignn example papers`."""

from __future__ import annotations

import errno
import os

import numpy as np
import pandas as pd
import pytest

import pignn
from pignn.core.errors import DataError, OutputError, PignnWarning
from pignn.graphs import example_papers
from pignn.runs.run_folder import LOCK_FILE, locked_output_folder_or_cleanup_context

QUICK = {"method": "label-propagation"}


@pytest.fixture(scope="module")
def papers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("papers")
    example_papers.write_example_papers(folder)
    return folder


@pytest.fixture(scope="module")
def graph(papers):
    return {"nodes": papers / "papers.csv", "edges": papers / "citations.csv", "id": "paper", "label": "topic"}


@pytest.fixture(scope="module")
def audited(papers, graph):
    pignn.audit(**graph, source="labeled_by", intervals=False, warn=False, out=papers / "audit")
    return papers / "audit"


@pytest.fixture(scope="module")
def trained(papers, graph):
    pignn.train(**graph, source="labeled_by", method="prototypes", out=papers / "run")
    return papers / "run"


def test_the_example_is_seeded_and_replaces_nothing(papers, tmp_path):
    example_papers.write_example_papers(tmp_path)
    for name in example_papers.NAMES:
        assert (tmp_path / name).read_bytes() == (papers / name).read_bytes()
    with pytest.raises(OutputError, match="choose another folder"):
        example_papers.write_example_papers(tmp_path)


def test_decisions_are_learned_from_and_trusted(papers, graph):
    run = pignn.train(**graph, source="labeled_by", decisions=papers / "decisions.csv", **QUICK)
    decided = pd.read_csv(papers / "decisions.csv").set_index("node")["label"]
    names = np.array(run.data.class_names)[run.training_data.y.numpy()]
    by_id = pd.Series(names, index=run.data.node_id)
    assert (by_id[decided.index] == decided).all()
    assert int(run.training_data.trusted_mask.sum()) == len(decided)


@pytest.mark.filterwarnings("ignore:most labels of 1 class look wrong")
def test_a_saved_audit_cleans_as_it_would_at_once(papers, graph, audited, monkeypatch):
    first = pignn.train(**graph, source="labeled_by", clean="drop", **QUICK)
    monkeypatch.setattr("pignn.auditing.audit_labels", lambda *_, **__: pytest.fail("audited again"))
    again = pignn.train(**graph, source="labeled_by", audit=audited, **QUICK)
    assert (again.training_data.y == first.training_data.y).all()
    assert again.summary.suspects == first.summary.suspects
    reviewed = pignn.train(
        **graph, source="labeled_by", audit=audited, decisions=papers / "decisions.csv", clean="weight", **QUICK
    )
    weight = reviewed.training_data.label_weight[reviewed.data.trusted_mask]
    assert bool((weight == 1).all())


def test_an_audit_of_other_labels_is_refused(papers, graph, audited):
    frame = pd.read_csv(papers / "papers.csv")
    frame["topic"] = frame["topic"].replace("medicine", "robotics")
    with pytest.raises(DataError, match="audit of other labels"):
        pignn.train(**graph | {"nodes": frame, "edges": papers / "citations.csv"}, audit=audited, **QUICK)


def test_new_nodes_are_predicted_with_the_old_ones_they_link_to(papers, trained):
    new = {"nodes": papers / "new_papers.csv", "edges": papers / "new_citations.csv"}
    with pytest.raises(DataError, match=r"--known \(known=\)"):
        pignn.predict(trained, **new)
    table = pignn.predict(trained, **new, known=papers / "papers.csv").table
    truth = pd.read_csv(papers / "true_topics.csv").set_index("paper")["topic"]
    assert len(table) == example_papers.NUM_NEW
    assert (table["predicted"].to_numpy() == truth[table["node"]].to_numpy()).mean() > 0.8
    with pytest.warns(PignnWarning, match="the new rows are taken"):
        pignn.predict(trained, **new, known=pd.concat(map(pd.read_csv, (papers / "papers.csv", new["nodes"]))))


def test_two_runs_cannot_write_into_one_folder(tmp_path):
    with locked_output_folder_or_cleanup_context(tmp_path / "run"):
        with (
            pytest.raises(OutputError, match="another run is writing"),
            locked_output_folder_or_cleanup_context(tmp_path / "run"),
        ):
            pass
        assert (tmp_path / "run" / LOCK_FILE).exists()
    assert not (tmp_path / "run" / LOCK_FILE).exists()


def test_a_full_disk_leaves_nothing_in_the_way(tmp_path, monkeypatch):
    data, replace = pignn.load("csbm", num_nodes=60), os.replace

    def fail_at_the_end(source, target):
        if str(target).endswith("run.json"):
            raise OSError(errno.ENOSPC, "No space left on device")
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail_at_the_end)
        with pytest.raises(OutputError, match="make room"):
            pignn.train(data, out=tmp_path / "run", **QUICK)
    assert not (tmp_path / "run").exists()
    pignn.train(data, out=tmp_path / "run", **QUICK)
    assert (tmp_path / "run" / "run.json").exists()
