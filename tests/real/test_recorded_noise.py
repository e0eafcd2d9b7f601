"""Recorded labels of a real annotator: what GPT-3.5 said about the papers of Cora."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import pignn
from pignn import noise

DATA = os.environ.get("PIGNN_DATA")
pytestmark = pytest.mark.skipif(not DATA, reason="PIGNN_DATA is not set")


def test_recorded_labels_of_cora() -> None:
    record = noise.load_recorded_labels(Path(str(DATA)) / "Cora" / "llm_labels.npz")
    cora = pignn.load("cora")
    everywhere = noise.summarize_noise(pignn.corrupt(cora, record, splits=("all",)))
    assert everywhere.labeled == 2708
    assert everywhere.rate == pytest.approx(0.323, abs=5e-4)
    assert everywhere.split_rates["train"] == pytest.approx(0.30, abs=5e-3)
    noisy = pignn.corrupt(cora, record)
    assert (noisy.y[cora.test_mask] == -1).all()
    assert noise.summarize_noise(noisy).labeled == 640
