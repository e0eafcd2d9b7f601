"""The benchmarks still fit the program that they measure."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import pignn

FOLDER = Path(__file__).parent.parent / "benchmarks"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py"))


def script(name):
    about = importlib.util.spec_from_file_location(f"benchmarks_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(about)
    about.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_benchmark_explains_itself(name):
    command = [sys.executable, str(FOLDER / f"{name}.py"), "--help"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "usage:" in result.stdout


def test_the_dense_program_trains_what_the_exact_losses_train():
    data = pignn.corrupt(pignn.load("csbm", num_nodes=120, num_classes=3, signal=2.0), "symmetric", 0.3, seed=0)
    model = pignn.PIGNN(pairs="exact", epochs=30, warmup=10, selection="last", seed=0)
    ours = model.fit(data, progress=False).predict_proba(data)
    with script("epoch").dense_pairs():
        dense = model.fit(data, progress=False).predict_proba(data)
    np.testing.assert_allclose(ours, dense, rtol=1e-3, atol=1e-5)


def test_every_method_that_may_be_chosen_stands_in_the_comparison():
    beyond = script("beyond")
    assert {method for method, _ in beyond.METHODS.values()} == {info.name for info in pignn.methods.list_methods()}
    assert len(beyond.noises("cora")) == 8


@pytest.mark.parametrize("target", ["masked", "structure + masked"])
def test_both_dense_ways_have_the_gradients_of_the_exact_losses(target):
    pairs = script("pairs")
    h, h_e, edge_index = pairs.inputs(50, 4)
    graph = pignn.pairs.PairGraph(edge_index, 50)
    adjacency = torch.zeros(50, 50)
    adjacency[graph.row, graph.col] = 1
    ours = pairs.ours(target, h, h_e, graph)
    for released in (False, True):
        torch.testing.assert_close(pairs.dense(target, h, h_e, graph, adjacency, released), ours)


@pytest.mark.parametrize("noise", ["symmetric", "flip"])
def test_labels_are_wrong_where_the_published_program_makes_them_wrong(noise):
    data = pignn.load("csbm", num_nodes=300, num_classes=3)
    np.random.seed(5)
    matrix = np.full((3, 3), 0.2)
    if noise == "flip":
        matrix = np.zeros((3, 3))
        for each, others in enumerate(([1, 2], [0, 2], [0, 1])):
            matrix[each, np.random.choice(others)] = 0.4
    np.fill_diagonal(matrix, 0.6)
    expected = [np.random.choice(3, p=matrix[label]) for label in data.y[data.train_mask].tolist()]
    noisy = script("accuracy").released(data, noise, 0.4, seed=5)
    assert noisy.y[noisy.train_mask].tolist() == expected
    assert (noisy.y[noisy.test_mask] == -1).all()
