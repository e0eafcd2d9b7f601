"""A graph of one's own on the command line: from two tables to predictions for other nodes, and what is refused."""

from __future__ import annotations

import csv
import json

import numpy as np
import pandas as pd
import pytest
import torch
from torch_geometric.data import Data

import pignn

SHORT = ("--epochs", "12")
LONG = ("--epochs", "120", "--selection", "last")
MODEL = {"model.safetensors", "model.json", "features.json", "card.md"}


def table(nodes=90, seed=0):
    """Papers with a text, a country and a size; the text tells the topic; some labels are missing."""
    rng = np.random.default_rng(seed)
    y = np.arange(nodes) % 3
    words = [["ball", "goal", "team"], ["vote", "law", "party"], ["cell", "star", "lab"]]
    return pd.DataFrame(
        {
            "paper": [f"p-{i:03d}" for i in range(nodes)],
            "abstract": [" ".join(rng.choice([*words[c], "the", "new"], 9)) for c in y],
            "country": rng.choice(["FR", "DE", "IT"], nodes),
            "pages": rng.integers(2, 40, nodes),
            "topic": np.where(rng.random(nodes) < 0.2, None, np.array(["sport", "politics", "science"])[y]),
            "verified": (rng.random(nodes) < 0.1).astype(int),
        }
    )


def links(nodes=90):
    names = [f"p-{i:03d}" for i in range(nodes)]
    return pd.DataFrame({"citing": names[:-3] + names[:-6], "cited": names[3:] + names[6:]})


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table().to_csv("papers.csv", index=False)
    links().to_csv("citations.csv", index=False)
    return tmp_path


MINE = ("--nodes", "papers.csv", "--edges", "citations.csv", "--id", "paper")


@pytest.fixture
def trained_on_mine(command, files):
    result = command("train", *MINE, "--label", "topic", "--val", "0.2", *LONG, "--out", "run")
    assert result.code == 0, result.err
    return result


def rows(path):
    return list(csv.DictReader(open(path)))


def test_the_import_summary_is_printed_first(trained_on_mine):
    out = trained_on_mine.out
    for words in (
        "90 nodes, 171 edges, 3 components",
        "3 classes: ",
        "nodes without a label",
        "homophily 1.00",
        "columns separated by commas, with a header",
        "abstract: TF-IDF of ",
        "country: one feature for each of 3 values",
        "pages: scaled to mean 0",
        "verified: as they are",
    ):
        assert words in out
    assert out.index("90 nodes") < out.index("val_agreement")
    assert "test_accuracy" not in out  # nobody knows the truth
    assert "noise" not in out


def test_the_folder_knows_columns_and_classes(trained_on_mine, files):
    assert {path.name for path in (files / "run" / "model").iterdir()} == MODEL
    card = (files / "run" / "model" / "card.md").read_text()
    assert "agreement, not accuracy" in card
    assert "fingerprint" in card
    run = json.loads((files / "run" / "run.json").read_text())
    assert run["graph"]["label"] == "topic"
    assert run["import_summary"]["nodes"] == 90
    table_of = rows(files / "run" / "predictions.csv")
    assert [row["node"] for row in table_of] == [f"p-{i:03d}" for i in range(90)]
    assert {"p_politics", "p_science", "p_sport"} <= set(table_of[0])


def test_new_nodes_and_another_graph(trained_on_mine, command, files):
    new = table(30, seed=5).drop(columns=["topic"]).sample(frac=1, random_state=0)
    new.to_csv("new.csv", index=False)
    links(30).to_json("new_links.jsonl", orient="records", lines=True)
    result = command("predict", "run", "--nodes", "new.csv", "--edges", "new_links.jsonl", "--out", "p.csv", "--json")
    assert (result.code, result.err) == (0, "")
    assert "agreement" not in json.loads(result.out)  # there are no labels
    found = rows("p.csv")
    assert [row["node"] for row in found] == new["paper"].tolist()
    truth = [["sport", "politics", "science"][int(row["node"][2:]) % 3] for row in found]
    assert np.mean([row["predicted"] == topic for row, topic in zip(found, truth, strict=True)]) > 0.9
    assert {row["given"] for row in found} == {""}


def test_values_that_the_model_never_saw_are_noted(trained_on_mine, command, files):
    new = table(30, seed=5).assign(abstract="nothing but other expressions", country=["ES", "ES", "PT"] * 10)
    new.to_csv("new.csv", index=False)
    links(30).to_csv("new_links.csv", index=False)
    result = command("predict", "run", "--nodes", "new.csv", "--edges", "new_links.csv", "--out", "p.csv")
    assert result.code == 0
    assert (
        "note: new.csv: 'ES' and 1 more are new in 'country'; 30 of 30 nodes have no known word in 'abstract'; "
        "the model has not learned from such\n"
    ) in result.err


def test_labels_of_a_file_with_class_names_are_compared(command, files):
    graph = pignn.load("csbm", num_nodes=120)
    names = ["2", "0", "1", *"abcdef"][: int(graph.y.max()) + 1]
    data = Data(x=graph.x, y=graph.y, edge_index=graph.edge_index, class_names=names)
    torch.save(data, "g.pt")
    assert command("train", "--nodes", "g.pt", "--method", "prototypes", "--out", "run").code == 0
    result = command("predict", "run", "--nodes", "g.pt", "--json")
    assert (result.code, result.err) == (0, "")
    first = json.loads(result.out)
    assert (first["labels_given"], first["agreement"] > 0.5) == (120, True)
    # The same labels with the names in another order.
    data.class_names, data.y = names[::-1], len(names) - 1 - data.y
    torch.save(data, "g.pt")
    result = command("predict", "run", "--nodes", "g.pt", "--json", "--out", "p.csv")
    assert json.loads(result.out)["agreement"] == first["agreement"]


def test_one_of_several_splits(command, files):
    graph = pignn.load("csbm", num_nodes=120)
    masks = {name: graph[name].numpy() for name in ("train_mask", "val_mask", "test_mask")}
    others = {name: np.stack([mask, np.roll(mask, 1), np.roll(mask, 2)], axis=1) for name, mask in masks.items()}
    np.savez("g.npz", x=graph.x, y=graph.y, edge_index=graph.edge_index, **others)
    result = command("train", "--nodes", "g.npz", *SHORT, "--warmup", "5", "--split-index", "1", "--out", "run")
    assert (result.code, result.err) == (0, "written to run\n")
    assert json.loads((files / "run" / "run.json").read_text())["graph"]["split_index"] == 1
    trained = np.array([row["split"] == "train" for row in rows("run/predictions.csv")])
    assert (trained == others["train_mask"][:, 1]).all()
    note = "note: g.npz comes with 3 splits: using the first; choose another with --split-index (0 to 2)\n"
    for arguments in (("train", *SHORT), ("predict", "run"), ("audit",)):
        result = command(*arguments, "--nodes", "g.npz", "--json")
        assert result.code == 0
        assert note in result.err
    result = command("train", "--nodes", "g.npz", "--split-index", "3")
    result.fails("split_index 3 is out of range: g.npz comes with 3 splits, numbered from 0")
    result = command("train", *MINE, "--label", "topic", "--split-index", "1")
    result.fails("split_index 1 is out of range: papers.csv comes with 1 split, numbered from 0")


def test_the_same_graph_gives_the_same_predictions(trained_on_mine, command, files):
    assert command("predict", "run", *MINE, "--out", "p.csv").code == 0
    same = ("node", "given", "predicted", "confidence", "p_sport")
    for row, before in zip(rows("p.csv"), rows("run/predictions.csv"), strict=True):
        assert [row[key] for key in same] == [before[key] for key in same]


def test_a_missing_column_is_named(trained_on_mine, command, files):
    table().drop(columns="country").to_csv("papers.csv", index=False)
    command("predict", "run", *MINE).fails("lacks the column 'country'")
    pd.DataFrame({"paper": ["x", "y"]}).to_csv("papers.csv", index=False)  # and its rows are not those of the edges
    command("predict", "run", *MINE).fails("papers.csv lacks the column")


def test_force_replaces_the_model_of_a_graph_of_one_s_own(trained_on_mine, command, files):
    before = (files / "run" / "model" / "model.safetensors").read_bytes()
    options = (*MINE, "--label", "topic", *SHORT, "--out", "run", "--force")
    assert command("train", *options, "--features", "abstract").code == 0
    assert (files / "run" / "model" / "model.safetensors").read_bytes() != before
    assert {path.name for path in (files / "run" / "model").iterdir()} == MODEL


def test_a_run_on_files_is_resumed(command, files):
    options = (*MINE, "--label", "topic", *SHORT, "--out", "run")
    assert command("train", *options).code == 0
    before = (files / "run" / "model" / "model.safetensors").read_bytes()
    assert command("train", *options, "--resume").code == 0
    assert (files / "run" / "model" / "model.safetensors").read_bytes() == before


def test_json_has_the_import_summary(command, files):
    options = ("--trusted", "verified", "--source", "country", "--features", "abstract,pages")
    result = command("train", *MINE, "--label", "topic", *options, *SHORT, "--json")
    assert result.code == 0
    facts = json.loads(result.out)
    assert facts["import_summary"]["columns"].keys() == {"abstract", "pages"}
    assert "DE" in facts["import_summary"]["sources"]
    assert facts["selection"] == "last"
    assert facts["labels_given"] == int(table()["topic"].notna().sum())


def test_a_method_without_a_loop(command, files):
    names = {info.name for info in pignn.list_methods()}
    if "label-propagation" not in names:
        pytest.skip("no such method")
    result = command("train", *MINE, "--label", "topic", "--method", "label-propagation", "--out", "run")
    assert result.code == 0, result.err


def test_noise_may_be_added_to_files(command, files):
    result = command("train", *MINE, "--label", "topic", *SHORT, "--noise", "symmetric", "--rate", "0.3", "--json")
    assert result.code == 0, result.err
    facts = json.loads(result.out)
    assert facts["noise"] == "symmetric"
    assert facts["realized_noise"] > 0.1


def test_only_ids_labels_and_edges(command, files):
    """No features: those of the structure, for new graphs as well."""
    table()[["paper", "topic"]].to_csv("papers.csv", index=False)
    result = command("train", *MINE, "--label", "topic", *SHORT, "--out", "run")
    assert result.code == 0
    assert "(structure): degrees, triangles, random walks: there are no other features" in result.out
    table(40)[["paper"]].to_csv("new.csv", index=False)
    links(40).to_csv("new_links.csv", index=False)
    assert command("predict", "run", "--nodes", "new.csv", "--edges", "new_links.csv").code == 0
    assert len(rows("predictions.csv")) == 40


def test_a_graph_file_needs_no_other_options(command, files):
    graph = pignn.load("csbm", num_nodes=120)
    np.savez("g.npz", x=graph.x, y=graph.y, edge_index=graph.edge_index)
    assert command("train", "--nodes", "g.npz", *SHORT, "--out", "run").code == 0
    result = command("predict", "run", "--nodes", "g.npz", "--json")
    assert result.code == 0
    assert json.loads(result.out)["agreement"] > 0.5


def test_a_model_of_a_named_graph(command, files, trained):
    graph = pignn.load("csbm", num_nodes=50)
    np.savez("g.npz", x=graph.x, edge_index=graph.edge_index)
    assert command("predict", trained, "--nodes", "g.npz").code == 0
    result = command("predict", trained, *MINE, "--out", "other.csv")
    result.fails("does not know how columns become features")


def test_a_note_says_which_of_several_splits_is_used(command, monkeypatch):
    from pignn import graphs

    def several(name, **options):
        data = pignn.graphs.csbm(num_nodes=120)
        for key in ("train_mask", "val_mask", "test_mask"):
            data[key] = data[key][:, None].repeat(1, 3)
        return data

    monkeypatch.setattr(graphs, "load", several)
    result = command("train", "--dataset", "chameleon", "--split", "own", *SHORT)
    assert result.code == 0
    assert (
        "note: chameleon comes with 3 splits: using the first; choose another with --split-index (0 to 2)" in result.err
    )


FLAGS = [
    ("--dataset is a named graph, --nodes is your own", *MINE, "--label", "topic", "--dataset", "digits"),
    ("papers.csv is not the name of a dataset; read your own graph with --nodes, --edges", "--dataset", "papers.csv"),
    ("--edges is about a graph of your own: give its nodes", "--edges", "citations.csv"),
    ("--label is about a graph of your own", "--dataset", "digits", "--label", "topic"),
    ("--val is about a graph of your own", "--dataset", "digits", "--val", "0.3"),
    ("which column of --nodes has the labels?", *MINE),
    ("unknown label column of papers.csv 'topc'; did you mean 'topic'?", *MINE, "--label", "topc"),
    ("papers.csv holds nodes only: give the edges", "--nodes", "papers.csv", "--label", "topic"),
    ("column 'paper' has them: give it as --id", *MINE[:4], "--label", "topic"),
    ("cannot read nothing.csv: no such file", "--nodes", "nothing.csv", "--edges", "citations.csv", "--label", "x"),
    ("--split is for named datasets", *MINE, "--label", "topic", "--split", "random"),
    ("--data is for named datasets", *MINE, "--label", "topic", "--data", "num_nodes=3"),
    ("val must be", *MINE, "--label", "topic", "--val", "1.5"),
    ("noise 'none' takes no rate", *MINE, "--label", "topic", "--rate", "0.3"),
    ("unknown features column 'pges'; did you mean 'pages'?", *MINE, "--label", "topic", "--features", "pges"),
    ("edge columns are two", *MINE, "--label", "topic", "--edge-columns", "citing"),
    ("one class (0 (a))", "--nodes", "one.csv", "--edges", "citations.csv", "--label", "topic", "--id", "paper"),
]


@pytest.mark.parametrize(("said", "flags"), [(said, flags) for said, *flags in FLAGS])
def test_wrong_options_are_refused_in_one_line(command, files, said, flags):
    table().assign(topic="a").to_csv("one.csv", index=False)
    before = sorted(files.rglob("*"))
    result = command("train", "--out", "runs/new", "--json", *flags)
    result.fails(said)
    assert sorted(files.rglob("*")) == before


HOSTILE = {
    "empty": (b"", "papers.csv is empty"),
    "NUL": (b"paper,topic\np-000\0,a\n", "a NUL byte"),
    "encodings": ("paper,topic\né,a\n".encode() + b"\xe9,b\n", "line 3: the byte 0xe9 is not UTF-8"),
    "duplicates": (b"paper,topic\np-000,a\np-000,b\np-001,a\n", "1 id given to several nodes: 'p-000' (2)"),
    "unknown": (b"paper,topic\np-000,a\np-001,b\n", "that papers.csv, column 'paper' does not have: 'p-"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_tables(command, files, name):
    content, said = HOSTILE[name]
    (files / "papers.csv").write_bytes(content)
    command("train", *MINE, "--label", "topic", "--out", "new").fails(said)
    assert not (files / "new").exists()


def test_edges_to_unknown_nodes_can_be_left_out(command, files):
    table(60).to_csv("papers.csv", index=False)
    result = command("train", *MINE, "--label", "topic", *SHORT, "--drop-unknown")
    assert result.code == 0
    assert "left out 60 edges to unknown nodes" in result.out
