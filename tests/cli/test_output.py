"""What commands print."""

from __future__ import annotations

import numpy as np

from pignn.cli.output import show_table


def test_what_is_not_known_is_a_dash(capsys):
    show_table([{"class": "a", "accuracy": 0.5}, {"class": "b", "accuracy": float("nan")}])
    show_table([{"class": "c", "accuracy": np.float64("nan"), "labels": None}])
    told = capsys.readouterr().out
    assert "nan" not in told
    assert told.count("–") == 2
    assert "0.500" in told
