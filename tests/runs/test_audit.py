"""pignn.audit, pignn.predict and pignn.apply_decisions from Python."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import pignn
import pignn.cli
from pignn.core.errors import ConfigError, DataError, ModelFileError, OutputError

FLAGS = ["--nodes", "papers.csv", "--edges", "citations.csv", "--id", "paper", "--label", "topic"]


@pytest.fixture(autouse=True)
def quiet(recwarn):
    """Small graphs give notes, which are not what is tested here."""


def audit(*arguments, **options):
    return pignn.audit(*arguments, warn=False, **options)


def test_an_audit_has_issues_noise_and_a_summary(noisy):
    found = audit(noisy)
    assert found.issues["p_wrong"].is_monotonic_decreasing
    assert found.summary.suspects == int(found.issues["suspect"].sum())
    assert 0 < found.noise.rate < 1
    assert found.noise.rate_interval is not None
    assert isinstance(found.plot_transition(), Figure)
    assert "suggested" in found._repr_html_()
    pd.testing.assert_frame_equal(found.issues, pignn.find_label_issues(noisy, intervals=True), check_like=True)


def test_the_files_of_the_command_and_of_python_are_equal(files):
    assert pignn.cli.run(["audit", *FLAGS, "--review", "20", "--out", "command", "--json"]) == 0
    found = audit(**files, review=20, out="python")
    found.save("saved")
    for name in ("suspects.csv", "review.csv", "card.md"):
        expected = (Path("command") / name).read_bytes()
        assert (Path("python") / name).read_bytes() == expected
        assert (Path("saved") / name).read_bytes() == expected
    page = Path("command/audit.html").read_text()
    assert Path("python/audit.html").read_text() == page
    command, python = (json.loads((Path(name) / "audit.json").read_text()) for name in ("command", "python"))
    del command["seconds"], python["seconds"]
    assert command == python


def test_a_networkx_graph_is_audited_and_saved(networkx_data, tmp_path):
    found = audit(networkx_data, review=10)
    found.save(tmp_path / "audit")
    names = {path.name for path in (tmp_path / "audit").iterdir()}
    assert names == {"suspects.csv", "review.csv", "card.md", "audit.html", "audit.json"}
    assert found.report().startswith("<!doctype html>")


def test_an_audit_is_replaced_only_if_asked_for(noisy, tmp_path):
    found = audit(noisy)
    found.save(tmp_path)
    with pytest.raises(OutputError, match="holds an audit already; force=True replaces it"):
        found.save(tmp_path)
    found.save(tmp_path, force=True)


def test_labels_are_judged_by_a_method_with_settings(noisy):
    by_name = audit(noisy, "vanilla", settings={"epochs": 3})
    by_object = audit(noisy, pignn.Vanilla(epochs=3))
    pd.testing.assert_frame_equal(by_name.issues, by_object.issues)
    with pytest.raises(ConfigError, match="has no settings"):
        audit(noisy, settings={"epochs": 3})


def test_a_dataset_is_audited_with_added_noise():
    found = audit("csbm", num_nodes=150, noise="symmetric", rate=0.3)
    assert found.summary.labels == 150


def decide(found, count):
    """A review in which the first labels are relabeled and the others kept."""
    found.save("audit", force=True)
    table = pd.read_csv("audit/review.csv", dtype=str, keep_default_na=False)
    table["decision"] = ["relabel"] * count + ["keep"] * (len(table) - count)
    table.to_csv("decisions.csv", index=False)


def test_decisions_of_a_review_go_into_a_copy_of_the_file(files):
    decide(audit(**files, review=20), 3)
    correction = pignn.apply_decisions("decisions.csv", "papers.csv", label="topic", id="paper", out="fixed.csv")
    assert correction.num_changed == 3
    assert correction.estimate.reviewed == 20
    assert "rate" in correction._repr_html_()
    before, after = pd.read_csv("papers.csv"), pd.read_csv("fixed.csv")
    assert (before["topic"].fillna("") != after["topic"].fillna("")).sum() == 3
    assert len(pd.read_csv("fixed.trusted.csv")) == 20
    flags = ["--nodes", "papers.csv", "--id", "paper", "--label", "topic", "--out", "command.csv", "--json"]
    assert pignn.cli.run(["apply", "decisions.csv", *flags]) == 0
    assert Path("command.csv").read_bytes() == Path("fixed.csv").read_bytes()
    assert Path("command.trusted.csv").read_bytes() == Path("fixed.trusted.csv").read_bytes()


def test_decisions_are_looked_at_before_anything_is_written(files):
    decide(audit(**files, review=20), 3)
    correction = pignn.apply_decisions("decisions.csv", "papers.csv", label="topic", audit="audit")
    assert (correction.num_changed, correction.id) == (None, "paper")
    assert not Path("fixed.csv").exists()
    assert correction.save("fixed.csv").num_changed == 3
    with pytest.raises(OutputError, match="force=True replaces it"):
        correction.save("fixed.csv")
    with pytest.raises(OutputError, match="is an input"):
        correction.save("papers.csv", force=True)


def test_decisions_of_a_review_become_trusted_labels_of_a_graph(files):
    found = audit(**files, review=20)
    decide(found, 3)
    correction = pignn.apply_decisions("decisions.csv", found.data)
    assert int(correction.data.trusted_mask.sum()) == 20
    again = audit(**files, decisions="decisions.csv")
    assert int(again.issues["trusted"].sum()) == 20
    by_table = audit(found.data, decisions=correction.decisions)
    assert by_table.issues.equals(again.issues)
    with pytest.raises(ConfigError, match="no file to correct"):
        correction.save("fixed.csv")


def test_a_review_without_decisions_is_refused(files):
    audit(**files, review=5).save("audit")
    with pytest.raises(DataError, match="nothing is decided yet"):
        pignn.apply_decisions("audit/review.csv", "papers.csv", label="topic")


def test_an_audit_of_a_corrected_file_is_warned_of(files):
    Path("papers.trusted.csv").write_text("node,label,decision\n")
    with pytest.warns(pignn.PignnWarning, match="the noise is hidden; audit the original"):
        audit(**files)


def test_predictions_come_from_one_inference(noisy, inferences, tmp_path):
    model = pignn.make("prototypes").fit(noisy)
    predictions = pignn.predict(model, noisy, out=tmp_path / "p.csv")
    assert predictions.summary.test_accuracy == predictions.score()
    assert "predicted" in predictions._repr_html_()
    predictions.save(tmp_path / "q.csv")
    assert len(inferences) == 1
    assert (tmp_path / "p.csv").read_bytes() == (tmp_path / "q.csv").read_bytes()
    with pytest.raises(OutputError, match="force=True"):
        predictions.save(tmp_path / "q.csv")
    assert predictions.score() == model.score(noisy)


def test_a_model_of_files_makes_the_same_features_of_new_files(files, tmp_path):
    run = pignn.train(**files, method="prototypes", out="run")
    table = pd.read_csv("papers.csv").drop(columns="topic").iloc[::-1]
    table.to_csv("new.csv", index=False)
    assert pignn.cli.run(["predict", "run", "--nodes", "new.csv", "--edges", "citations.csv", "--json"]) == 0
    predictions = pignn.predict("run", nodes="new.csv", edges="citations.csv", out="python.csv")
    assert Path("predictions.csv").read_bytes() == Path("python.csv").read_bytes()
    by_node = predictions.table.set_index("node").loc[run.predictions.table["node"]]
    np.testing.assert_array_equal(by_node["predicted"], run.predictions.table["predicted"])
    assert predictions.summary.agreement is None  # there are no labels
    with pytest.raises(ModelFileError, match="does not know how columns become features"):
        pignn.predict(run.model, nodes="new.csv", edges="citations.csv", id="paper")


def test_labels_of_new_files_are_compared(files):
    run = pignn.train(**files, method="prototypes", out="run")
    summary = pignn.predict("run", **files).summary
    assert summary.labels_given == run.summary.labels_given
    assert summary.agreement == pytest.approx(1 - run.summary.labels_disagreed_with / run.summary.labels_given)


def test_a_graph_with_other_classes_is_not_scored(noisy):
    model = pignn.make("prototypes").fit(noisy)
    other = noisy.clone()
    other.class_names = ["x", "y", "z"]
    with pytest.warns(pignn.PignnWarning, match="other classes"):
        predictions = pignn.predict(model, other)
    assert predictions.summary.test_accuracy is None
