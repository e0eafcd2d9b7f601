"""A warm-up as long as the training is warned about."""

from __future__ import annotations

import warnings

import pytest

import pignn
from pignn.core.errors import PignnWarning


@pytest.mark.parametrize(
    ("method", "settings", "warning"),
    [
        ("pi-gnn", {"epochs": 4}, "pair labels are never used; lower warmup"),
        ("pi-gnn", {"epochs": 4, "warmup": 3}, "pair labels are never used"),
        ("pi-gnn", {"epochs": 4, "warmup": 2}, ""),
        ("pi-gnn", {"epochs": 4, "schedule": "pretrain"}, ""),
        ("pi-gnn", {"epochs": 4, "schedule": "pretrain", "pair_labels": "random"}, "pair labels are never used"),
        ("pi-gnn", {"epochs": 4, "pair_labels": "connectivity"}, ""),
        ("vanilla", {"epochs": 4}, ""),
        ("dividemix", {"epochs": 4}, "nothing but plain training is done; lower warm_epochs"),
        ("dividemix", {"epochs": 4, "warm_epochs": 2}, ""),
    ],
)
def test_a_warmup_as_long_as_the_training_is_warned_about(method, settings, warning):
    data = pignn.corrupt(pignn.load("csbm", num_nodes=90, num_classes=3), "symmetric", 0.2, seed=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = pignn.make(method, **settings).fit(data, progress=False)
    messages = [str(each.message) for each in caught if issubclass(each.category, PignnWarning)]
    assert len(messages) == bool(warning)
    assert all("covers all 4 epochs" in message for message in messages)
    assert warning in "".join(messages)
    assert model.get_fit_facts().warning == (messages[0] if messages else None)
