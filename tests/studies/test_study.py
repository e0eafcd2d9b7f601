"""What a study consists of, and what may be cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pignn.core.errors import ConfigError
from pignn.studies import NoiseSpec, Protocol, StudyRow, get_study
from pignn.studies.study import expand_rows, format_seeds, parse_seed_ranges_or_count

from .conftest import make


def test_noises_are_parsed_and_printed():
    assert NoiseSpec.parse("symmetric:0.4") == NoiseSpec("symmetric", 0.4)
    assert NoiseSpec.parse("none") == NoiseSpec("none", None)
    assert NoiseSpec.parse("C:/labels.npz") == NoiseSpec("C:/labels.npz", None)
    assert str(NoiseSpec("flip", 0.60)) == "flip:0.6"


@given(st.sets(st.integers(0, 60), min_size=1))
def test_seeds_survive_formatting_and_parsing(seeds):
    assert sorted(parse_seed_ranges_or_count(format_seeds(sorted(seeds)))) == sorted(seeds)


@pytest.mark.parametrize("text", ["", "a", "1-", "-3", "1,,2", True, 0, [1.5]])
def test_malformed_seeds_are_refused(text):
    with pytest.raises(ConfigError):
        parse_seed_ranges_or_count(text)


def test_a_subset_restricts_datasets_noises_rates_seeds_and_methods():
    study = get_study("effectiveness").subset(
        datasets=["cora"], noises=["none", "flip"], rates=[0.0, 0.4], seeds=[0, 1], methods=["pi-gnn"]
    )
    assert [str(dataset) for dataset in study.datasets] == ["cora"]
    assert [str(noise) for noise in study.noises] == ["none", "flip:0.4"]
    assert [row.label for row in study.rows] == ["PI-GNN"]
    assert len(study) == 4
    with pytest.raises(ConfigError, match="no noise of rate"):
        study.subset(rates=[0.3])


def test_a_text_is_no_list_and_names_of_datasets_may_be_capitalized():
    study = get_study("effectiveness")
    for name, value in {"datasets": "digits", "noises": "flip:0.4", "methods": "GCN", "seeds": "0-2"}.items():
        with pytest.raises(ConfigError, match=f"{name} must be a list, such as"):
            study.subset(**{name: value})
    with pytest.raises(ConfigError, match=r"such as \[3\]"):
        study.subset(seeds=3)
    assert study.subset(datasets=["Cora"]).datasets == study.subset(datasets=["cora"]).datasets


def test_rows_are_chosen_by_label_or_by_method_or_are_new():
    study = get_study("pair-labels")
    assert [row.label for row in study.subset(methods=["random"]).rows] == ["Random"]
    assert [row.label for row in get_study("heterophily").subset(methods=["vanilla"]).rows] == ["GCN"]
    assert study.subset(methods=["vanilla"]).rows == (StudyRow("vanilla", "vanilla"),)
    with pytest.raises(ConfigError, match="did you mean"):
        study.subset(methods=["vanila"])


def test_every_combination_of_values_becomes_a_row():
    rows = expand_rows("pi-gnn", {"hidden_channels": 4}, {"warmup": [0, 5], "beta": ["auto"]})
    assert [row.label for row in rows] == ["warmup=0, beta=auto", "warmup=5, beta=auto"]
    assert rows[1].settings == {"hidden_channels": 4, "warmup": 5, "beta": "auto"}


def test_repeated_and_missing_parts_of_a_study_are_refused():
    with pytest.raises(ConfigError, match="seeds twice"):
        make(seeds=(0, 0))
    with pytest.raises(ConfigError, match="no rows"):
        make(rows=())
    with pytest.raises(ConfigError, match="reference"):
        make(reference="nobody")


def test_a_protocol_describes_itself():
    text = str(Protocol.from_preset("paper"))
    assert "clean-val (an oracle)" in text
    assert "no tuning" in text
    assert "per seed" in str(Protocol.from_preset("honest-resplit"))
    assert "that benchmark's draws of noise" in str(Protocol.from_preset("noisygl"))
    changed = Protocol.from_preset("honest", trials=3)
    assert changed.name == "honest changed"
    assert "3 trials" in str(changed)
    assert Protocol.from_preset("honest", trials=0).name == "honest"
    with pytest.raises(ConfigError, match="did you mean 'trials'"):
        Protocol.from_preset("honest", trails=3)
