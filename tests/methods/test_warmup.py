"""A warm-up that leaves nothing after it is said."""

from __future__ import annotations

import warnings

import pytest

import pignn
from pignn.core.errors import PignnWarning


@pytest.mark.parametrize(
    ("method", "settings", "told"),
    [
        ("pi-gnn", {"epochs": 4}, "pair labels are never used; lower warmup"),
        ("pi-gnn", {"epochs": 4, "warmup": 3}, "pair labels are never used"),
        ("pi-gnn", {"epochs": 4, "warmup": 2}, ""),
        ("pi-gnn", {"epochs": 4, "schedule": "pretrain"}, ""),
        ("pi-gnn", {"epochs": 4, "schedule": "pretrain", "pair_labels": "random"}, "pair labels are never used"),
        ("pi-gnn", {"epochs": 4, "pair_labels": "connectivity"}, ""),
        ("vanilla", {"epochs": 4}, ""),
        ("dividemix", {"epochs": 4}, "it is plain training; lower warm_epochs"),
        ("dividemix", {"epochs": 4, "warm_epochs": 2}, ""),
    ],
)
def test_a_warmup_as_long_as_the_training(method, settings, told):
    data = pignn.corrupt(pignn.load("csbm", num_nodes=90, num_classes=3), "symmetric", 0.2, seed=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pignn.make(method, **settings).fit(data, progress=False)
    heard = [str(each.message) for each in caught if issubclass(each.category, PignnWarning)]
    assert heard == ([f"the warm-up is as long as the training (4 epochs): {heard[0].split('): ')[1]}"] if told else [])
    assert told in "".join(heard)
