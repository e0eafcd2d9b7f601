"""The benchmarks still fit the program that they measure."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import numpy as np
import pytest
import torch

import pignn

from .forked_python import run_python

FOLDER = Path(__file__).parent.parent / "benchmarks"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py"))


def script(name):
    about = importlib.util.spec_from_file_location(f"benchmarks_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(about)
    about.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_benchmark_has_a_help_text(name, tmp_path):
    code, output = run_python([str(FOLDER / f"{name}.py"), "--help"], tmp_path, os.environ)
    assert code == 0
    assert "usage:" in output


def test_the_dense_program_trains_what_the_exact_losses_train():
    data = pignn.corrupt(pignn.load("csbm", num_nodes=120, num_classes=3, signal=2.0), "symmetric", 0.3, seed=0)
    model = pignn.PIGNN(pairs="exact", epochs=30, warmup=10, selection="last", seed=0)
    ours = model.fit(data, progress=False).predict_proba(data)
    with script("epoch").dense_pairs():
        dense = model.fit(data, progress=False).predict_proba(data)
    np.testing.assert_allclose(ours, dense, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("target", ["masked", "structure + masked"])
def test_dense_programs_have_the_gradients_of_the_exact_losses(target):
    pairs = script("pairs")
    h, h_e, edge_index = pairs.inputs(50, 4)
    graph = pignn.pairs.PairGraph(edge_index, 50)
    adjacency = torch.zeros(50, 50)
    adjacency[graph.row, graph.col] = 1
    ours = pairs.ours(target, h, h_e, graph)
    for released in (False, True):
        torch.testing.assert_close(pairs.dense(target, h, h_e, graph, adjacency, released), ours)
