"""pignn predict: the same bits anywhere, and one line for every model folder that is not whole."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import shutil

import pytest

import pignn

TINY = ("--dataset", "csbm", "--data", "num_nodes=120")


@pytest.fixture
def run(trained, tmp_path):
    """A copy of a finished run, to be spoilt."""
    return shutil.copytree(trained, tmp_path / "run")


def test_the_folder_of_a_run_and_of_its_model_do_alike(command, trained, tmp_path):
    a = command("predict", trained, *TINY, "--out", tmp_path / "a.csv")
    b = command("predict", trained / "model", *TINY, "--out", tmp_path / "new" / "b.csv")
    assert (a.code, b.code) == (0, 0)
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "new" / "b.csv").read_bytes()
    table = list(csv.DictReader((tmp_path / "a.csv").open()))
    trained_table = list(csv.DictReader((trained / "predictions.csv").open()))
    for row, before in zip(table, trained_table, strict=True):
        same = ("node", "split", "predicted", "confidence", "p_0", "p_1", "p_2", "p_3")
        assert [row[key] for key in same] == [before[key] for key in same]


def test_json_has_the_score(command, trained, tmp_path):
    result = command("predict", trained, *TINY, "--out", tmp_path / "a.csv", "--json")
    assert (result.code, result.err) == (0, "")
    facts = json.loads(result.out)
    assert facts["nodes"] == 120
    assert facts["test_accuracy"] == json.loads((trained / "run.json").read_text())["test_accuracy"]


def test_another_graph_with_the_same_features(command, trained, tmp_path):
    options = ("--dataset", "csbm", "--data", "num_nodes=90", "--data", "seed=5")
    assert command("predict", trained, *options, "--out", tmp_path / "a.csv").code == 0
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 91


def test_another_process_gives_the_same_bits(start, command, trained, tmp_path):
    program = f"""
import hashlib, sys, pignn, pignn.cli
model = pignn.load_model({str(trained / "model")!r})
print(hashlib.sha256(model.embed(pignn.load("csbm", num_nodes=120)).tobytes()).hexdigest(), flush=True)
sys.exit(pignn.cli.run(["predict", {str(trained)!r}, *{TINY!r}, "--out", {str(tmp_path / "other.csv")!r}, "--json"]))
"""
    process = start("-c", program)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    here = pignn.load_model(trained / "model").embed(pignn.load("csbm", num_nodes=120))
    assert out.split()[0] == hashlib.sha256(here.tobytes()).hexdigest()
    assert command("predict", trained, *TINY, "--out", tmp_path / "here.csv").code == 0
    assert (tmp_path / "other.csv").read_bytes() == (tmp_path / "here.csv").read_bytes()


def test_a_file_is_not_overwritten_unasked(command, trained, tmp_path):
    out = tmp_path / "a.csv"
    out.write_text("mine")
    command("predict", trained, *TINY, "--out", out).fails(str(out), "--force")
    assert out.read_text() == "mine"
    assert command("predict", trained, *TINY, "--out", out, "--force").code == 0
    assert out.read_text().startswith("node,")


def test_a_link_stays_a_link(command, trained, tmp_path):
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    target.write_text("mine")
    link.symlink_to(target)
    assert command("predict", trained, *TINY, "--out", link, "--force").code == 0
    assert link.is_symlink()
    assert target.read_text().startswith("node,")


def test_what_is_no_file_is_not_replaced(command, trained, tmp_path):
    pipe, folder = tmp_path / "pipe", tmp_path / "folder"
    os.mkfifo(pipe)
    folder.mkdir()
    command("predict", trained, *TINY, "--out", pipe, "--force").fails(str(pipe), "a device or pipe")
    command("predict", trained, *TINY, "--out", folder, "--force").fails(str(folder), "it is a folder")
    assert pipe.is_fifo()


def cut(name, share):
    def spoil(model):
        content = (model / name).read_bytes()
        (model / name).write_bytes(content[: int(len(content) * share)])

    return spoil


def edit(**changes):
    def spoil(model):
        path = model / "model.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return spoil


def drop(key):
    def spoil(model):
        content = json.loads((model / "model.json").read_text())
        del content[key]
        (model / "model.json").write_text(json.dumps(content))

    return spoil


def flip(position):
    """Flip one bit, counted from the end: the weights come last."""

    def spoil(model):
        content = bytearray((model / "model.safetensors").read_bytes())
        content[position] ^= 1
        (model / "model.safetensors").write_bytes(content)

    return spoil


def replace(name, content):
    return lambda model: (model / name).write_bytes(content)


DAMAGES = {
    "weights cut": (cut("model.safetensors", 0.7), "model.safetensors"),
    "weights cut in the header": (cut("model.safetensors", 0.05), "model.safetensors"),
    "weights empty": (cut("model.safetensors", 0), "model.safetensors"),
    "weights absent": (lambda model: (model / "model.safetensors").unlink(), "model.safetensors"),
    "weights something else": (replace("model.safetensors", b"hello" * 100), "model.safetensors"),
    "last bit": (flip(-1), "checksum"),
    "first bit of a weight": (flip(-400), "checksum"),
    "JSON cut": (cut("model.json", 0.5), "model.json"),
    "JSON empty": (cut("model.json", 0), "model.json"),
    "JSON absent": (lambda model: (model / "model.json").unlink(), "model.json"),
    "JSON a list": (replace("model.json", b"[]"), "model.json"),
    "JSON not text": (replace("model.json", b"\xff\xfe\x00"), "model.json"),
    "another format": (edit(format=2), "format 2"),
    "no format": (drop("format"), "format"),
    "no settings": (drop("settings"), "settings"),
    "no classes": (drop("class_names"), "class_names"),
    "no number of nodes": (drop("num_nodes"), "num_nodes"),
    "settings a text": (edit(settings="gcn"), "damaged"),
    "an unknown setting": (edit(settings={"color": "red"}), "color"),
    "an unknown method": (edit(method="vanila"), "vanilla"),
    "another width": (edit(num_features=31), "size mismatch"),
    "more classes": (edit(class_names=list("abcde")), "size mismatch"),
    "classes that are no texts": (edit(class_names=[["a"], ["b"], ["c"]]), "class_names must be texts"),
    "a class twice": (edit(class_names=["a", "a", "b"]), "class_names must be texts, each once"),
    "features without end": (edit(num_features=float("inf")), "damaged"),
    "JSON too deep": (replace("model.json", b"[" * 100_000), "not JSON"),
    "another network": (edit(settings={"pairs": None}), "estimator"),
    "dropout a text": (edit(settings={"dropout": "x"}), "dropout must be a number"),
    "dropout a list": (edit(settings={"dropout": []}), "dropout must be a number"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_model(command, run, tmp_path, name):
    spoil, word = DAMAGES[name]
    spoil(run / "model")
    before = sorted(tmp_path.rglob("*"))
    command("predict", run, *TINY, "--out", tmp_path / "a.csv").fails(word)
    assert sorted(tmp_path.rglob("*")) == before


SIMPLE = {
    "fewer classes": (edit(class_names=["a", "b"]), "damaged", "names 2"),
    "more classes": (edit(class_names=list("abcde")), "damaged", "names 5"),
    "rounds": (edit(num_rounds="x"), "does not fit this version of 'prototypes'"),
    "no inverse temperature": (edit(inverse_temperature=None), "does not fit this version of 'prototypes'"),
}


@pytest.mark.parametrize("name", SIMPLE)
def test_a_damaged_model_without_a_network(command, tmp_path, name):
    spoil, *words = SIMPLE[name]
    assert command("train", *TINY, "--method", "prototypes", "--out", tmp_path / "run").code == 0
    spoil(tmp_path / "run" / "model")
    command("predict", tmp_path / "run", *TINY, "--out", tmp_path / "a.csv").fails(*words)
    assert not (tmp_path / "a.csv").exists()


def test_every_damaged_byte_is_noticed(run):
    """Bits flipped all over the file: never a traceback, never other predictions."""
    path = run / "model" / "model.safetensors"
    content = path.read_bytes()
    for position in range(0, len(content), 61):
        spoilt = bytearray(content)
        spoilt[position] ^= 4
        path.write_bytes(spoilt)
        with pytest.raises(pignn.core.errors.ModelFileError):
            pignn.load_model(run / "model")


@pytest.mark.parametrize("place", ["nowhere", "file", "empty"])
def test_a_missing_model_is_refused(command, tmp_path, place):
    (tmp_path / "file").write_text("hello")
    (tmp_path / "empty").mkdir()
    before = sorted(tmp_path.rglob("*"))
    command("predict", tmp_path / place, *TINY, "--out", tmp_path / "a.csv").fails(str(tmp_path / place))
    assert sorted(tmp_path.rglob("*")) == before


def test_a_graph_with_other_features(command, trained, tmp_path):
    result = command("predict", trained, *TINY, "--data", "num_features=31", "--out", tmp_path / "a.csv")
    result.fails("32 features", "31")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["file/a.csv", "folder"])
def test_a_place_that_cannot_be_written(command, trained, tmp_path, place):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    before = sorted(tmp_path.rglob("*"))
    command("predict", trained, *TINY, "--out", tmp_path / place, "--force").fails(str(tmp_path / place))
    assert sorted(tmp_path.rglob("*")) == before
