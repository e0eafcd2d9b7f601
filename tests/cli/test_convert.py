"""pignn convert, and train and predict on what it makes."""

from __future__ import annotations

import json
import os
import re
import resource
import shlex

import numpy as np
import pandas as pd
import pytest
import typer

from pignn import graphs
from pignn.cli.app import app
from pignn.cli.options import parse_num_bytes
from pignn.core.errors import ConfigError


@pytest.fixture
def files(tmp_path, monkeypatch):
    """edges.csv, nodes.csv, x.npy and y.npy of one graph with 120 nodes."""
    monkeypatch.chdir(tmp_path)
    data = graphs.csbm(num_nodes=120)
    pd.DataFrame(data.edge_index.t().numpy(), columns=["source", "target"]).to_csv("edges.csv", index=False)
    np.save("x.npy", data.x.numpy())
    np.save("y.npy", data.y.numpy())
    nodes = pd.DataFrame(data.x.numpy(), columns=[f"x{i}" for i in range(data.x.shape[1])])
    nodes.assign(label=[f"class {c}" for c in data.y.tolist()]).to_csv("nodes.csv", index_label="id")
    return tmp_path


def test_help_has_examples_that_exist(command):
    result = command("convert", "--help")
    assert (result.code, result.err) == (0, "")
    known = {flag for parameter in typer.main.get_command(app).commands["convert"].params for flag in parameter.opts}
    examples = re.findall(r"^ +(pignn convert\b.*)$", result.out, re.M)
    assert examples
    for example in examples:
        assert {word for word in shlex.split(example) if word.startswith("--")} <= known
    assert re.search(r"^  convert ", command("--help").out, re.M)


def test_two_ways_to_say_the_same(command, files):
    result = command("convert", "edges.csv", "a", "--nodes", "nodes.csv", "--label", "label")
    assert result.code == 0
    assert result.err == "written to a\n"
    assert re.search(r"^nodes +120$", result.out, re.M)
    result = command("convert", "edges.csv", "b", "--features", "x.npy", "--labels", "y.npy", "--json")
    assert (result.code, result.err) == (0, "")
    facts = json.loads(result.out)
    assert (facts["nodes"], facts["classes"], facts["labeled"], facts["weighted"]) == (120, 4, 120, False)
    a, b = graphs.open_graph_store("a"), graphs.open_graph_store("b")
    assert a.x.shape == b.x.shape
    assert a.y.tolist() == b.y.tolist()
    assert a.class_names == [f"class {c}" for c in range(4)]


def test_changes_to_the_edges_are_printed(command, files):
    (files / "edges.txt").write_text("0 1\n1 0\n1 1\n1 2\n1 2\n")
    result = command("convert", "edges.txt", "out", "--features", "x.npy", "--memory", "10MB")
    assert result.code == 0
    assert result.err.splitlines() == [
        "note: edges.txt: read as columns separated by spaces, without a header",
        "dropped 1 self-loop",
        "merged 1 duplicate edge",
        "made 1 one-way edge two-way",
        "written to out",
    ]


NOISY = ("--noise", "symmetric", "--rate", "0.4", "--epochs", "5", "--json")


def test_train_and_predict(command, files):
    assert command("convert", "edges.csv", "store", "--nodes", "nodes.csv", "--label", "label").code == 0
    result = command("train", "--dataset", "store", *NOISY, "--out", "run")
    assert result.code == 0, result.err
    facts = json.loads(result.out)
    assert (facts["dataset"], facts["epochs_done"]) == ("store", 5)
    assert 0 < facts["labels_given"] < 120
    result = command("predict", "run", "--dataset", files / "store", "--out", "predictions.csv", "--json")
    assert result.code == 0, result.err
    assert set(pd.read_csv("predictions.csv")["predicted"]) <= {f"class {c}" for c in range(4)}
    assert json.loads(result.out)["nodes"] == 120
    # Another draw of the split is another run; the same one goes on.
    assert command("train", "--dataset", "store", *NOISY, "--out", "run", "--resume", "--epochs", "7").code == 0
    other = ("--out", "run", "--resume", "--split-seed", "1")
    command("train", "--dataset", "store", *NOISY, *other).fails("data was")


def test_predict_without_labels(command, files):
    assert command("convert", "edges.csv", "store", "--features", "x.npy", "--labels", "y.npy").code == 0
    assert command("train", "--dataset", "store", *NOISY, "--out", "run").code == 0
    assert command("convert", "edges.csv", "bare", "--features", "x.npy").code == 0
    assert command("predict", "run", "--dataset", "bare").code == 0
    table = pd.read_csv("predictions.csv")
    assert len(table) == 120
    assert table["given"].isna().all()
    command("train", "--dataset", "bare").fails("y is missing")


def test_a_name_wins_over_a_folder(command, files):
    (files / "csbm").mkdir()
    assert command("train", "--dataset", "csbm", "--data", "num_nodes=120", *NOISY).code == 0


WRONG = {
    "nowhere/store": ((), "no store at nowhere/store"),
    ".": ((), ". is not a store"),
    "nowhere": ((), "unknown dataset 'nowhere'"),
    "store": (("--data", "num_nodes=3"), "num_nodes is an option of named datasets; store is a graph store"),
    "./store": (("--features", "stand-in"), "features is an option of named datasets"),
    "../{}/store": (("--split", "own"), "no split of its own"),
    "store/": (("--split-index", "3"), "split_index 3 is out of range"),
}


@pytest.mark.parametrize("dataset", WRONG)
def test_stores_that_cannot_be_used(command, files, dataset):
    graphs.convert("store", edges="edges.csv", features="x.npy", labels="y.npy")
    flags, said = WRONG[dataset]
    command("train", "--dataset", dataset.format(files.name), *flags).fails(said)


def test_a_damaged_store(command, files):
    graphs.convert("store", edges="edges.csv", features="x.npy", labels="y.npy")
    with open("store/x.f32", "ab") as file:
        file.write(b"more")
    command("train", "--dataset", "store").fails("store store is damaged: x.f32 has", "convert again")
    header = json.loads((files / "store" / "store.json").read_text())
    (files / "store" / "store.json").write_text(json.dumps(header | {"format": 2}))
    command("predict", "run", "--dataset", "store").fails()
    command("train", "--dataset", "store").fails("version 2", "convert again")


MISTAKES = [
    ("absent.csv: no such file", "absent.csv", "out"),
    ("how many nodes", "edges.csv", "out"),
    ("node '2' is out of range; nodes are numbered 0 to 1", "edges.csv", "out", "--num-nodes", "2"),
    ("--memory takes a size", "edges.csv", "out", "--memory", "much"),
    ("--memory takes a size", "edges.csv", "out", "--memory", "0"),
    ("did you mean 'label'?", "edges.csv", "out", "--nodes", "nodes.csv", "--label", "lable"),
    ("unknown column of nodes.csv 'paper'", "edges.csv", "out", "--nodes", "nodes.csv", "--id", "paper"),
    ("--num-nodes", "edges.csv", "out", "--num-nodes", "many"),
    ("cannot write x.npy", "edges.csv", "x.npy", "--features", "x.npy"),
    ("it holds other files", "edges.csv", ".", "--features", "x.npy", "--force"),
    ("(see pignn convert --help)", "edges.csv"),
]


@pytest.mark.parametrize(("said", "arguments"), [(said, rest) for said, *rest in MISTAKES])
def test_mistakes(command, files, said, arguments):
    before = sorted(os.listdir())
    command("convert", *arguments).fails(said)
    assert sorted(os.listdir()) == before


def test_a_store_that_is_there(command, files):
    arguments = ("convert", "edges.csv", "out", "--features", "x.npy")
    assert command(*arguments).code == 0
    command(*arguments).fails("out is there already; --force")
    assert command(*arguments, "--force").code == 0


def test_a_full_disk(command, files):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        result = command("convert", "edges.csv", "out", "--features", "x.npy")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    result.fails("cannot write out: File too large; make room and try again")
    assert not [name for name in os.listdir() if "out" in name]


@pytest.mark.parametrize(("text", "size"), [("1GB", 10**9), ("64 mb", 64 * 10**6), ("1.5g", 15 * 10**8), ("7", 7)])
def test_sizes_of_memory_are_parsed(text, size):
    assert parse_num_bytes(text) == size


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "0", "1XB", "nan"])
def test_a_wrong_size_is_refused(text):
    with pytest.raises(ConfigError):
        parse_num_bytes(text)


def test_a_bar_on_a_terminal(command, files, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    result = command("convert", "edges.csv", "out", "--features", "x.npy", "--json")
    assert result.code == 0
    assert "sorting" in result.err
    assert "100/100" in result.err
