"""`pignn compare` on the command line."""

from __future__ import annotations

import json

from .conftest import TINY

QUICK = ("compare", *TINY, "--noise", "symmetric", "--rate", "0.3", "--methods", "class mean,denoised", "--folds", "3")


def test_compare_prints_a_table_and_a_recommendation(command, tmp_path):
    result = command(*QUICK, "--repeats", "1", "--out", tmp_path / "c")
    assert result.code == 0, result.err
    assert result.out.startswith("method ")
    assert "\ntake " in result.out
    assert "comparison.html" in result.err
    again = command(*QUICK, "--repeats", "1", "--out", tmp_path / "c", "--json")
    assert json.loads(again.out)["recommendation"] in result.out


def test_the_folder_of_another_comparison_is_refused(command, tmp_path):
    assert command(*QUICK, "--repeats", "1", "--out", tmp_path).code == 0
    command(*QUICK, "--repeats", "1", "--seed", "1", "--out", tmp_path).fails("another", "--force")
