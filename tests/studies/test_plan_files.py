"""Plans as files: what is read is what was written, and mistakes are named with their line."""

from __future__ import annotations

from pathlib import Path

import pytest

from pignn.core.errors import ConfigError
from pignn.studies import DatasetSpec, NoiseSpec, Protocol, StudyRow, paper
from pignn.studies.plan_files import dumps, locate, read

from .conftest import make

GOOD = """
name = "mine"
datasets = ["csbm", { name = "digits", num_neighbors = 5 }]
noises = ["none", "symmetric", "flip:0.3"]
rates = [0.2, 0.4]
seeds = "0-2"

[protocol]
name = "honest"
trials = 4

[settings]
epochs = 20

[[rows]]
method = "vanilla"
label = "GCN"

[[rows]]
method = "pi-gnn"

[rows.vary]
warmup = [0, 10]
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "plan.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_plan_is_read(tmp_path):
    study = read(write(tmp_path, GOOD))
    assert study.datasets == (DatasetSpec("csbm"), DatasetSpec("digits", (("num_neighbors", 5),)))
    assert [str(noise) for noise in study.noises] == ["none", "symmetric:0.2", "symmetric:0.4", "flip:0.3"]
    assert [row.label for row in study.rows] == ["GCN", "pi-gnn warmup=0", "pi-gnn warmup=10"]
    assert study.seeds == (0, 1, 2)
    assert study.protocol.trials == 4
    assert study.settings == {"epochs": 20}


@pytest.mark.parametrize("study", [*paper.STUDIES.values()], ids=lambda study: study.name)
def test_what_is_written_is_read_again(tmp_path, study):
    from pignn.methods import list_methods

    known = {info.name for info in list_methods()}
    if not all(row.method in known for row in study.rows):
        pytest.skip("a method of this study is not installed")
    assert read(write(tmp_path, dumps(study))) == study


def test_odd_texts_come_back(tmp_path):
    study = make(
        title='"quotes" \\ and\nlines\x7f',
        rows=(StudyRow("ä | [x] # y", "vanilla", {"class_weight": [1, 2.5]}, {"lr": [0.1]}, x=0.5),),
        protocol=Protocol.named("honest", trials=2, noisy=["train"]),
        noises=(NoiseSpec("none"),),
    )
    assert read(write(tmp_path, dumps(study))) == study


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ('seeds = "0-2"', "sedes = 3", 6, ["unknown key 'sedes'", "did you mean 'seeds'"]),
        ('seeds = "0-2"', 'seeds = "zero"', 6, ["seeds", "zero"]),
        ('"csbm"', '"corra"', 3, ["unknown dataset 'corra'", "did you mean 'cora'"]),
        ('"csbm"', "7", 3, ["datasets", "must be a name"]),
        ('datasets = ["csbm", { name = "digits", num_neighbors = 5 }]', 'datasets = "csbm"', 3, ["must be a list"]),
        ('"flip:0.3"', '"flop:0.3"', 4, ["unknown noise kind 'flop'", "did you mean 'flip'"]),
        ('"flip:0.3"', '"flip:3"', 4, ["between 0 and 1"]),
        ('"flip:0.3"', "0.3", 4, ["noises", "symmetric:0.4"]),
        ("rates = [0.2, 0.4]", 'rates = ["a"]', 5, ["rates", "numbers"]),
        ("trials = 4", "trails = 4", 10, ["unknown key 'trails'", "did you mean 'trials'"]),
        ("trials = 4", 'trials = "4"', 8, ["trials must be a whole number"]),
        ('name = "honest"', 'name = "honnest"', 8, ["unknown protocol 'honnest'"]),
        ('method = "vanilla"', 'method = "vanila"', 16, ["unknown method 'vanila'", "did you mean 'vanilla'"]),
        ('method = "vanilla"', "method = 3", 16, ["method must be a text"]),
        ('label = "GCN"', 'lable = "GCN"', 17, ["unknown key 'lable'", "did you mean 'label'"]),
        ("warmup = [0, 10]", "warmup = 10", 23, ["warmup", "list"]),
        ("[settings]\nepochs = 20", "settings = 3", 12, ["settings", "table"]),
        ('name = "mine"', 'name = "../mine"', 2, ["name must be"]),
        ('name = "mine"', 'name = "mine', 2, ["not TOML"]),
    ],
)
def test_mistakes_are_one_line_with_key_and_line(tmp_path, old, new, line, words):
    assert old in GOOD
    text = GOOD.replace(old, new)
    if new == "settings = 3":  # a key after a table belongs to it: it has to stand before
        text = GOOD.replace(old, "").replace('seeds = "0-2"', 'seeds = "0-2"\nsettings = 3')
        line = 7
    with pytest.raises(ConfigError) as caught:
        read(write(tmp_path, text))
    message = str(caught.value)
    assert "\n" not in message
    assert f"line {line}" in message, message
    for word in words:
        assert word in message


def test_missing_things(tmp_path):
    with pytest.raises(ConfigError, match="'rows' is missing"):
        read(write(tmp_path, 'datasets = ["csbm"]'))
    with pytest.raises(ConfigError, match="cannot read"):
        read(tmp_path / "absent.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="UTF-8"):
        read(tmp_path / "bytes.toml")


def test_where_a_key_stands():
    text = 'a = 1\n[b]\nc = 2\n[[d]]\ne = 1\n[[d]]\ne = 2\n[d.f]\ng = { h = 1 }\n"i.j" = 3'
    assert locate(text, ("a",)) == 1
    assert locate(text, ("b", "c")) == 3
    assert locate(text, ("d", 0, "e")) == 5
    assert locate(text, ("d", 1, "e")) == 7
    assert locate(text, ("d", 1, "f", "g", "h")) == 9
    assert locate(text, ("nowhere",)) == 0
