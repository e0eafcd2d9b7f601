"""The protocol of the NoisyGL benchmark: its seeds, its splits and its draws of noise."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from pignn import graphs
from pignn.studies import get_study, noisygl, run_graphs
from pignn.studies.protocol import PRESETS
from pignn.studies.run_spec import GraphSpec


def test_plan_and_protocol_say_what_the_benchmark_does():
    study = get_study("noisygl")
    assert study.seeds == tuple(range(3000, 3010))
    assert len(study.noises) == 16
    assert [row.settings for row in study.rows] == [{"hidden_channels": 64, "epochs": 200, "feature_scaling": "none"}]
    rules = study.protocol
    assert (rules.noisy, rules.selection, rules.trials) == (("all",), "noisy-val", 0)
    assert {rules.get_split_seed(seed) for seed in study.seeds} == {3009}  # one split for all runs


def test_splits_have_the_sizes_of_the_benchmark():
    y = graphs.load("digits").y
    assert noisygl.draw_masks_or_none("cora", y, 0) is None
    train, val, test = noisygl.draw_masks_or_none("photo", y, 0)
    assert (train.sum(), val.sum(), test.sum()) == (200, 500, 1000)
    assert y[train].bincount().tolist() == [20] * 10
    assert not (train & val).any()
    assert not (test & (train | val)).any()
    assert not torch.equal(train, noisygl.draw_masks_or_none("photo", y, 1).train_mask)
    train, val, test = noisygl.draw_masks_or_none("dblp", y, 0)
    assert (train.sum(), val.sum()) == (17, 269)
    assert int(train.sum() + val.sum() + test.sum()) == len(y)
    train, val, test = noisygl.draw_masks_or_none("blogcatalog", y, 0)
    assert (train.sum(), val.sum()) == (89, 269)


def draw_like_the_program(y: np.ndarray, kind: str, rate: float, classes: int, seed: int) -> list[int]:
    """Node by node, with the global generator for the matrix and one of its own for the labels."""
    np.random.seed(seed)
    table = (1 - rate) * np.eye(classes)
    for i in range(classes):
        if kind == "symmetric":
            table[i] += [0 if j == i else rate / (classes - 1) for j in range(classes)]
        elif kind == "pair-previous":
            table[i, i - 1] = rate
        else:
            row = np.random.rand(classes)
            row[i] = 0
            table[i] += row / row.sum() * rate
    generator = np.random.RandomState(seed)
    return [int(np.flatnonzero(generator.multinomial(1, table[label]))[0]) for label in y]


@pytest.mark.parametrize("kind", noisygl.DRAWN_KINDS)
def test_labels_are_those_that_its_program_draws(kind):
    y = torch.arange(400) % 7
    drawn = noisygl.draw_noisy_labels(y, kind, 0.3, 7, 3004)
    assert drawn.tolist() == draw_like_the_program(y.numpy(), kind, 0.3, 7, 3004)
    assert 0.2 < float((drawn != y).float().mean()) < 0.4
    unlabeled = noisygl.draw_noisy_labels(torch.tensor([-1, 0, 1]), kind, 1.0, 2, 0)
    assert unlabeled.tolist() == [-1, 1, 0]


def test_noise_is_on_the_labels_of_all_nodes_and_the_truth_is_only_scored():
    rules = PRESETS["noisygl"]
    spec = GraphSpec(
        dataset="digits", split="noisygl", split_seed=3009, noise="symmetric", rate=0.4, noisy=rules.noisy,
        draws=rules.draws, seed=3000,
    )  # fmt: skip
    data, digest = run_graphs.load_noisy_graph_and_digest(spec)
    wrong = (data.y != data.y_true).float()
    for split in ("train", "val", "test"):
        assert 0.25 < float(wrong[data[f"{split}_mask"]].mean()) < 0.55, split
    assert run_graphs.compute_labels_digest(spec) == digest
