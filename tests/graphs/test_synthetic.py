import time

import pytest
import torch

from pignn.core.errors import ConfigError
from pignn.graphs import csbm, digits, load, simplify_edges


def homophily(data):
    a, b = data.y[data.edge_index]
    return float((a == b).double().mean())


@pytest.mark.parametrize("asked", [0.0, 0.1, 0.5, 0.8, 1.0])
def test_csbm_has_the_degree_and_homophily_asked_for(asked):
    data = csbm(3000, 5, homophily=asked, degree=8)
    assert data.num_edges / data.num_nodes == pytest.approx(8, rel=0.01)
    assert homophily(data) == pytest.approx(asked, abs=0.01)


def test_csbm_is_simple_and_undirected_with_balanced_classes():
    data = csbm(1001, 4, seed=3)
    out = simplify_edges(data.edge_index, 1001)
    assert out.notes == []
    assert torch.equal(out.edge_index, data.edge_index)
    assert sorted(torch.bincount(data.y).tolist()) == [250, 250, 250, 251]
    assert data.x.shape == (1001, 32)


def test_csbm_pairs_are_equally_likely():
    # Degrees of a uniform choice are close to Poisson: variance near the mean, no node favored.
    data = csbm(20_000, 4, degree=10)
    degree = torch.bincount(data.edge_index[0], minlength=20_000).double()
    assert float(degree.var()) == pytest.approx(10, rel=0.1)
    between = data.y[data.edge_index][:, data.y[data.edge_index[0]] != data.y[data.edge_index[1]]]
    share = torch.bincount(between[0] * 4 + between[1], minlength=16).view(4, 4) / between.size(1)
    off = share[~torch.eye(4, dtype=torch.bool)]
    assert float((off - 1 / 12).abs().max()) < 0.005


def test_csbm_signal_separates_classes():
    weak, strong = csbm(signal=0.0), csbm(signal=6.0)
    means = torch.stack([strong.x[strong.y == c].mean(0) for c in range(4)])
    assert means.norm(dim=1) == pytest.approx([6.0] * 4, abs=0.8)
    assert (torch.cdist(strong.x, means).argmin(1) == strong.y).double().mean() > 0.95
    assert weak.x.std() == pytest.approx(1, abs=0.02)


def test_csbm_is_seeded():
    one, same, other = csbm(seed=1), csbm(seed=1), csbm(seed=2)
    assert torch.equal(one.edge_index, same.edge_index)
    assert torch.equal(one.x, same.x)
    assert not torch.equal(one.x, other.x)
    assert one.edge_index.tolist() != other.edge_index.tolist()


def test_csbm_can_be_complete():
    data = csbm(12, 2, degree=11, homophily=30 / 66)
    assert data.num_edges == 12 * 11


def test_csbm_grows_with_edges_not_with_pairs():
    start = time.perf_counter()
    data = csbm(200_000, 10, num_features=4)
    assert data.num_edges == 2_000_000
    assert time.perf_counter() - start < 20


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_classes": 1}, "num_classes must be an integer of at least 2"),
        ({"num_nodes": 5}, "at least 3 nodes per class, not 5 nodes for 4 classes"),
        ({"homophily": 1.5}, "homophily must be a number of at least 0 and at most 1"),
        ({"degree": -1}, "degree must be"),
        ({"num_nodes": 20, "degree": 15, "homophily": 1.0}, "edges between nodes of one class requested"),
        ({"signal": float("nan")}, "signal must be"),
        ({"num_features": 0}, "num_features must be"),
        ({"num_features": "many"}, "num_features must be an integer"),
        ({"features": "stand-in"}, "unknown option 'features' for dataset 'csbm'; known: num_nodes"),
        ({"degree": "ten"}, "degree must be a number"),
    ],
)
def test_csbm_refuses_impossible_settings(options, message):
    with pytest.raises(ConfigError, match=message) as caught:
        load("csbm", **options)
    assert "\n" not in str(caught.value)


def test_load_csbm_passes_options_on():
    data = load("CSBM", num_nodes=300, num_classes=3, num_features=5, seed=4, split_seed=1)
    assert data.x.shape == (300, 5)
    assert torch.equal(data.edge_index, csbm(300, 3, num_features=5, seed=4).edge_index)
    assert [int(m.sum()) for m in (data.train_mask, data.val_mask, data.test_mask)] == [60, 90, 150]


def test_digits_are_a_simple_homophilous_graph_of_the_expected_size():
    data = load("digits")
    assert data.x.shape == (1797, 64)
    assert float(data.x.min()) == 0
    assert float(data.x.max()) == 1
    assert data.class_names == [str(i) for i in range(10)]
    assert simplify_edges(data.edge_index, 1797).notes == []
    degree = torch.bincount(data.edge_index[0], minlength=1797)
    assert int(degree.min()) >= 10
    assert homophily(data) > 0.9
    assert [int(m.sum()) for m in (data.train_mask, data.val_mask, data.test_mask)] == [200, 300, 1297]
    assert data.num_edges == 24680


def test_digits_have_as_many_neighbors_as_asked_for():
    assert digits(num_neighbors=3).num_edges < load("digits", num_neighbors=5).num_edges
    with pytest.raises(ConfigError, match="num_neighbors must be an integer between 1 and 1796"):
        digits(num_neighbors=0)


def test_the_split_seed_changes_the_split_only():
    first, again, other = load("digits"), load("digits", split_seed=0), load("digits", split_seed=1)
    assert torch.equal(first.train_mask, again.train_mask)
    assert not torch.equal(first.train_mask, other.train_mask)
    assert torch.equal(first.edge_index, other.edge_index)
