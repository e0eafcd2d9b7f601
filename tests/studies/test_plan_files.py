"""Plans as files: what is read is what was written, and mistakes are named with their line."""

from __future__ import annotations

from pathlib import Path

import pytest

from pignn.core.errors import ConfigError
from pignn.studies import DatasetSpec, NoiseSpec, Protocol, StudyRow, load_builtin_studies, read_study
from pignn.studies.plan_files import format_plan_as_toml
from pignn.studies.toml_lines import find_line_number_of_key

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


def test_a_plan_is_read_with_rates_and_variations_expanded(tmp_path):
    study = read_study(write(tmp_path, GOOD))
    assert study.datasets == (DatasetSpec("csbm"), DatasetSpec("digits", {"num_neighbors": 5}))
    assert [str(noise) for noise in study.noises] == ["none", "symmetric:0.2", "symmetric:0.4", "flip:0.3"]
    assert [row.label for row in study.rows] == ["GCN", "pi-gnn warmup=0", "pi-gnn warmup=10"]
    assert study.seeds == (0, 1, 2)
    assert study.protocol.trials == 4
    assert study.settings == {"epochs": 20}


@pytest.mark.parametrize("study", [*load_builtin_studies().values()], ids=lambda study: study.name)
def test_a_written_plan_reads_as_the_same_study(tmp_path, study):
    assert read_study(write(tmp_path, format_plan_as_toml(study))) == study


def test_texts_with_quotes_and_line_breaks_survive_writing_and_reading(tmp_path):
    study = make(
        title='"quotes" \\ and\nlines\x7f',
        rows=(StudyRow("ä | [x] # y", "vanilla", {"class_weight": [1, 2.5]}, {"lr": [0.1]}, x=0.5),),
        protocol=Protocol.from_preset("honest", trials=2, noisy=["train"]),
        noises=(NoiseSpec("none"),),
    )
    assert read_study(write(tmp_path, format_plan_as_toml(study))) == study


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ('seeds = "0-2"', "sedes = 3", 6, ["unknown key 'sedes'", "did you mean 'seeds'"]),
        ('seeds = "0-2"', 'seeds = "zero"', 6, ["seeds", "zero"]),
        ('"csbm"', '"corra"', 3, ["unknown dataset 'corra'", "did you mean 'cora'"]),
        ('"csbm"', "7", 3, ["each of datasets must be a text or a table, not a whole number"]),
        ('datasets = ["csbm", { name = "digits", num_neighbors = 5 }]', 'datasets = "csbm"', 3, ["must be a list"]),
        ('"flip:0.3"', '"flop:0.3"', 4, ["unknown noise kind 'flop'", "did you mean 'flip'"]),
        ('"flip:0.3"', '"flip:3"', 4, ["between 0 and 1"]),
        ('"flip:0.3"', "0.3", 4, ["each of noises must be a text, not a number"]),
        ("rates = [0.2, 0.4]", 'rates = ["a"]', 5, ["each of rates must be a number, not a text"]),
        ("trials = 4", "trails = 4", 10, ["unknown key 'trails'", "did you mean 'trials'"]),
        ("trials = 4", 'trials = "4"', 10, ["trials must be a whole number"]),
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
        read_study(write(tmp_path, text))
    message = str(caught.value)
    assert "\n" not in message
    assert f"line {line}" in message, message
    for word in words:
        assert word in message


def test_rates_are_crossed_with_every_noise_that_takes_one(tmp_path):
    kinds = ["none", "symmetric", "pair", "flip", "instance", "one-sided", "rule", "cluster:0.1"]
    text = GOOD.replace('["none", "symmetric", "flip:0.3"]', str(kinds).replace("'", '"'))
    noises = [str(noise) for noise in read_study(write(tmp_path, text)).noises]
    crossed = [f"{kind}:{rate}" for kind in kinds[1:-1] for rate in (0.2, 0.4)]
    assert noises == ["none", *crossed, "cluster:0.1"]


def test_missing_keys_and_unreadable_files_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="'rows' is missing"):
        read_study(write(tmp_path, 'datasets = ["csbm"]'))
    with pytest.raises(ConfigError, match="cannot read"):
        read_study(tmp_path / "absent.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="UTF-8"):
        read_study(tmp_path / "bytes.toml")


def test_lines_of_keys_are_found():
    text = 'a = 1\n[b]\nc = 2\n[[d]]\ne = 1\n[[d]]\ne = 2\n[d.f]\ng = { h = 1 }\n"i.j" = 3'
    assert find_line_number_of_key(text, ("a",)) == 1
    assert find_line_number_of_key(text, ("b", "c")) == 3
    assert find_line_number_of_key(text, ("d", 0, "e")) == 5
    assert find_line_number_of_key(text, ("d", 1, "e")) == 7
    assert find_line_number_of_key(text, ("d", 1, "f", "g", "h")) == 9
    assert find_line_number_of_key(text, ("nowhere",)) == 0
