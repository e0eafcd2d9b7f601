"""``auto`` on kinds of graphs: never behind the simple methods, whatever carries the classes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

import pignn
from pignn import graphs

MAX_LOSS = 0.02
SIMPLE = {
    "MLP": {"name": "mlp", "epochs": 100},
    "class mean": {"name": "prototypes", "noise": "none", "labels": "train+val"},
    "class mean of features": {"name": "prototypes", "noise": "none", "labels": "train+val", "alpha": 1.0},
}


def make_word_counts(num_classes: int, num_words: int, homophily: float) -> Data:
    """Counts of words, sparse, from one distribution per class mixed with a common one."""
    data = graphs.csbm(num_classes * 100, num_classes, homophily=homophily, degree=5, signal=0.0, seed=1)
    rng = np.random.default_rng(1)
    common = rng.dirichlet(np.full(num_words, 0.3))
    words = 0.6 * common + 0.4 * rng.dirichlet(np.full(num_words, 0.02), size=num_classes)
    counts = [rng.multinomial(rng.poisson(12) + 2, words[y]) for y in data.y.tolist()]
    data.x = torch.from_numpy(np.stack(counts)).float()
    return data


KINDS: dict[str, Callable[[], Data]] = {
    "strong features, weak links": lambda: graphs.csbm(800, 5, homophily=0.25, degree=6, signal=4.0, seed=1),
    "two classes, unlike neighbors": lambda: graphs.csbm(600, 2, homophily=0.2, degree=8, signal=1.0, seed=1),
    "text, 12 classes, weak links": lambda: make_word_counts(12, 1000, homophily=0.15),
}


@pytest.mark.parametrize("kind", list(KINDS))
def test_no_simple_method_is_clearly_better(kind: str) -> None:
    data = pignn.corrupt(KINDS[kind](), "symmetric", 0.3, seed=1)
    accuracy = pignn.make("auto").fit(data).score(data)
    majority = float(torch.bincount(data.y_true[data.test_mask]).max() / data.test_mask.sum())
    assert accuracy >= majority - MAX_LOSS
    for name, settings in SIMPLE.items():
        method = {key: value for key, value in settings.items() if key != "name"}
        other = pignn.make(str(settings["name"]), **method).fit(data).score(data)
        assert accuracy >= other - MAX_LOSS, name
