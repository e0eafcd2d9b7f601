"""Audits and trainings of nodes that several annotators labeled, from files to files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pignn
import pignn.cli
from pignn.core.errors import ConfigError, OutputError

TABLES = ("consensus.csv", "annotators.csv", "confusions.csv", "votes.csv", "questions.csv")


@pytest.fixture(autouse=True)
def quiet(recwarn):
    """Small graphs give notes, which are not what is tested here."""


@pytest.fixture
def voted(files):
    """papers.csv without labels and given.csv with the votes of three annotators; the same votes as columns."""
    papers = pd.read_csv("papers.csv")
    rng = np.random.default_rng(0)
    topics = np.array(["sport", "politics", "science"])
    true = topics[np.arange(len(papers)) % 3]
    for name in ("=ann", "bob", "eve"):
        papers[name] = np.where(rng.random(len(papers)) < 0.3, rng.choice(topics, len(papers)), true)
    papers.drop(columns="topic").to_csv("columns.csv", index=False)
    votes = papers.melt("paper", ["=ann", "bob", "eve"], var_name="annotator", value_name="label")
    votes.to_csv("given.csv", index=False)
    papers[["paper", "a", "b"]].to_csv("papers.csv", index=False)
    return {"nodes": "papers.csv", "edges": "citations.csv", "id": "paper", "votes": "given.csv"}


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as exit:
        pignn.cli.main(list(arguments))
    return int(exit.value.code or 0)


def test_an_audit_of_votes_writes_what_it_found(voted):
    found = pignn.audit(**voted, out="out", warn=False)
    tables = {name: pd.read_csv(Path("out") / name) for name in TABLES}
    assert len(tables["consensus.csv"]) == 120
    assert len(tables["votes.csv"]) == 360
    assert tables["annotators.csv"]["annotator"].tolist() == ["'=ann", "bob", "eve"]  # no formula in a spreadsheet
    assert set(tables["questions.csv"]) == {"node", "ask", "consensus", "probability", "expected_gain"}
    content = json.loads(Path("out/audit.json").read_text())
    assert content["votes"]["votes"] == 360
    assert content["votes"]["annotators"][1]["annotator"] == "bob"
    assert found.summary.votes == content["votes"]
    assert found.build_apply_command_or_empty("decisions.csv", Path("out")) == ""  # there is no one column to correct
    assert "Krippendorff" in found._repr_html_()


def test_columns_and_a_table_of_votes_say_the_same(voted):
    by_table = pignn.audit(**voted, warn=False).audit.consensus
    columns = {"nodes": "columns.csv", "edges": "citations.csv", "id": "paper", "label": "=ann,bob,eve"}
    by_columns = pignn.audit(**columns, warn=False).audit.consensus
    assert by_table is not None
    assert by_columns is not None
    assert np.allclose(by_table.probabilities, by_columns.probabilities)
    assert by_table.annotators == by_columns.annotators


def test_a_training_learns_from_the_consensus(voted):
    trained = pignn.train(**voted, method="denoised", out="run")
    assert trained.consensus is not None
    assert (trained.training_data.y.numpy() == trained.consensus.labels).all()
    assert trained.training_data.label_weight.max() <= 1
    assert trained.summary.votes == 360
    assert all((Path("run") / name).exists() for name in TABLES)
    with pytest.raises(ConfigError, match="votes are weighted already"):
        pignn.train(**voted, method="denoised", clean="drop")


def test_files_of_an_earlier_run_go_and_files_of_others_stay(voted):
    pignn.audit(**voted, out="out", warn=False)
    one = {"nodes": "columns.csv", "edges": "citations.csv", "id": "paper", "label": "bob"}
    pignn.audit(**one, out="out", force=True, warn=False)
    assert not any((Path("out") / name).exists() for name in TABLES)
    Path("out/votes.csv").write_text("mine")
    pignn.audit(**one, out="out", force=True, warn=False)
    assert Path("out/votes.csv").read_text() == "mine"
    Path("out/audit.json").unlink()
    with pytest.raises(OutputError, match="exists already"):
        pignn.audit(**voted, out="out", warn=False)
    Path("given.csv").rename("votes.csv")
    with pytest.raises(OutputError, match="is an input"):
        pignn.audit(**voted | {"votes": "votes.csv"}, out=".", force=True, warn=False)


def test_the_command_shows_annotators_and_questions(voted, capsys):
    flags = ["--nodes", "papers.csv", "--edges", "citations.csv", "--id", "paper"]
    assert run("audit", *flags, "--votes", "given.csv", "--out", "cli") == 0
    shown = capsys.readouterr()
    for text in ("360 of 3 annotators on 120 nodes", "Krippendorff's alpha", "whom to ask next", "error rate"):
        assert text in shown.out
    assert "annotators.csv" in shown.err
    assert run("train", *flags, "--votes", "given.csv", "--method", "denoised") == 0
    assert "consensus_expected_right" in capsys.readouterr().out
    assert run("audit", *flags) == 2
    assert "--votes" in capsys.readouterr().err
    assert run("audit", "--dataset", "digits", "--votes", "given.csv") == 2
    assert "--votes is about a graph of your own" in capsys.readouterr().err
