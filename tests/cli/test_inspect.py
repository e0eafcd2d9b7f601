"""pignn inspect: how a graph of one's own is read, without training; pipes; names of nodes."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import pignn


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    prices = [f"{v:.2f} €".replace(".", ",") for v in rng.normal(20, 5, 60)]
    nodes = pd.DataFrame({"id": [f"{i:04d}" for i in range(60)], "who": [f"Ann {i}" for i in range(60)]})
    nodes = nodes.assign(price=prices, day="31.01.2024", code=[f"x{i}" for i in range(60)], topic=["a", "b"] * 30)
    nodes.to_csv("n.csv", sep=";", index=False)
    pd.DataFrame({"from": nodes["id"][:-2], "to": nodes["id"][2:].to_numpy()}).to_csv("e.csv", index=False)
    return tmp_path


OWN = ("--nodes", "n.csv", "--edges", "e.csv", "--label", "topic", "--name", "who")


def test_inspect_says_what_each_column_becomes(command, files):
    result = command("inspect", *OWN)
    assert result.code == 0
    for words in ("60 nodes, 58 edges", "2 classes: a 30, b 30", "ids are column 'id'", "decimal commas, in €; scaled"):
        assert words in result.out
    assert "left out: nearly every node has a value of its own" in result.out
    assert "--features 'price:number,day:date,code:none'\n" in result.err
    assert "note: n.csv: 2 of 3 columns are left out of the features: " not in result.err
    found = json.loads(command("inspect", *OWN, "--json").out)
    assert found["feature_list"] == "price:number,day:date,code:none"
    assert [row["column"] for row in found["list"]] == ["price", "day", "code"]
    again = command("inspect", *OWN, "--features", found["feature_list"], "--json")
    assert json.loads(again.out)["features"] == found["features"]


def test_inspect_in_python(files):
    with pytest.warns(pignn.PignnWarning, match="semicolons"):
        summary = pignn.inspect_graph("n.csv", "e.csv", label="topic")
    assert "60 nodes" in str(summary)
    assert summary.features == "who:text,price:number,day:date,code:none"


def test_inspect_is_about_files(command):
    command("inspect", "--dataset", "digits").fails("a graph of your own", "--nodes")


def test_columns_that_are_left_out_are_named_loudly(command, files):
    frame = pd.read_csv("n.csv", sep=";").drop(columns=["price", "day", "who"]).assign(same="x")
    frame.to_csv("n.csv", index=False)
    pd.DataFrame({"from": frame["id"][:-2], "to": frame["id"][2:].to_numpy()}).to_csv("e.csv", index=False)
    result = command("inspect", "--nodes", "n.csv", "--edges", "e.csv", "--label", "topic")
    assert "note: n.csv: 2 of 2 columns are left out of the features: 'code' (nearly every node" in result.err
    assert "'same' (the same value everywhere)" in result.err


def test_names_are_shown_beside_ids(command, files):
    assert command("audit", *OWN, "--out", "audits/a").code == 0
    assert "name" in pd.read_csv("audits/a/suspects.csv", dtype=str).columns
    assert "Ann 3" in (files / "audits/a/audit.html").read_text()


def test_tables_come_through_pipes(files):
    code = "import sys, pignn.cli; sys.exit(pignn.cli.run(sys.argv[1:]))"
    arguments = ["inspect", "--nodes", "-", "--edges", "e.csv", "--label", "topic", "--json"]
    with open("n.csv", "rb") as file:
        piped = subprocess.run([sys.executable, "-c", code, *arguments], input=file.read(), capture_output=True)
    assert piped.returncode == 0, piped.stderr
    assert json.loads(piped.stdout)["nodes"] == 60
    assert b"note: standard input: read as columns separated by semicolons" in piped.stderr


def test_ids_that_lost_their_zeros(command, files):
    frame = pd.read_csv("e.csv")  # as numbers
    frame.to_csv("e.csv", index=False)
    result = command("inspect", *OWN)
    assert result.code == 2
    assert "leading zeros were lost in one of the tables ('2' is '0002' in the other)" in result.err
    dropped = command("inspect", *OWN, "--drop-unknown")
    assert dropped.code == 0
    assert "left out, which is most of them; leading zeros were lost" in dropped.err


def test_edges_that_are_not_there(command, files):
    (files / "e.csv").write_text("from,to\n")
    result = command("inspect", *OWN)
    assert result.code == 0
    assert "note: e.csv has no edges, so that no node has a neighbor; is it the right file?" in result.err
    command("inspect", "--nodes", "n.csv", "--edges", "n.csv", "--delimiter", ";").fails(
        "nodes and edges are both n.csv"
    )
    command("inspect", "--nodes", "http://127.0.0.1:9/n.csv", "--edges", "e.csv").fails("download it first")
    command("inspect", "--nodes", "s3://bucket/n.csv", "--edges", "e.csv").fails("httpfs")
