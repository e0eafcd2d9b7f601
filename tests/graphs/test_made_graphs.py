import time

import pytest
import torch

from pignn.core.errors import ConfigError, DataError
from pignn.graphs import csbm, describe_graph, digits, load, simplify_edges
from pignn.graphs.splits import masks_from_indices, split_first_per_class, split_per_class


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
    # Degrees of a uniform choice are close to Poisson: variance near the mean, no node favoured.
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
def test_csbm_refuses_what_cannot_be(options, message):
    with pytest.raises(ConfigError, match=message) as caught:
        load("csbm", **options)
    assert "\n" not in str(caught.value)


def test_load_csbm_passes_options_on():
    data = load("CSBM", num_nodes=300, num_classes=3, num_features=5, seed=4, split_seed=1)
    assert data.x.shape == (300, 5)
    assert torch.equal(data.edge_index, csbm(300, 3, num_features=5, seed=4).edge_index)
    assert [int(m.sum()) for m in (data.train_mask, data.val_mask, data.test_mask)] == [60, 90, 150]


def test_digits():
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


def test_digits_neighbours():
    assert digits(num_neighbors=3).num_edges < load("digits", num_neighbors=5).num_edges
    with pytest.raises(ConfigError, match="num_neighbors must be an integer between 1 and 1796"):
        digits(num_neighbors=0)


def test_split_seed_is_its_own():
    first, again, other = load("digits"), load("digits", split_seed=0), load("digits", split_seed=1)
    assert torch.equal(first.train_mask, again.train_mask)
    assert not torch.equal(first.train_mask, other.train_mask)
    assert torch.equal(first.edge_index, other.edge_index)


def test_per_class_counts_and_parts():
    y = torch.arange(600) % 6
    y[:12] = -1
    masks = split_per_class(y, 20, 30, seed=5)
    assert torch.bincount(y[masks.train_mask], minlength=6).tolist() == [20] * 6
    assert torch.bincount(y[masks.val_mask], minlength=6).tolist() == [30] * 6
    assert torch.equal(sum(m.int() for m in masks), (y >= 0).int())  # each labelled node in exactly one part


def test_per_class_draws_evenly():
    y = torch.zeros(100, dtype=torch.long)
    hits = sum(split_per_class(y, 20, 30, seed=s).train_mask.int() for s in range(200))
    assert int(hits.min()) > 15  # 40 expected of every node
    assert int(hits.max()) < 70


@pytest.mark.parametrize("size", [3, 10, 50, 51, 60])
def test_small_classes_keep_all_three_parts(size):
    y = torch.cat([torch.zeros(size, dtype=torch.long), torch.ones(200, dtype=torch.long)])
    parts = [int(mask[:size].sum()) for mask in split_per_class(y)]
    assert sum(parts) == size
    assert min(parts) >= 1
    if size >= 51:
        assert parts == [20, 30, size - 50]
    else:
        assert parts[0] <= 20
        assert parts[1] <= 30


def test_too_small_a_class_is_one_line():
    with pytest.raises(DataError, match="cannot split: class 1 has 2 nodes"):
        split_per_class(torch.tensor([0, 0, 0, 0, 1, 1]))


def test_declared_but_absent_class_is_no_obstacle():
    assert int(split_per_class(torch.tensor([0, 0, 0, 2, 2, 2])).train_mask.sum()) == 2


def test_first_per_class_follows_node_order():
    y = torch.tensor([1, 0] * 100)
    masks = split_first_per_class(y, 20, 20)
    assert masks.train_mask.nonzero().view(-1).tolist() == list(range(40))
    assert masks.val_mask.nonzero().view(-1).tolist() == list(range(40, 80))
    assert masks.test_mask.nonzero().view(-1).tolist() == list(range(80, 200))


def test_from_indices():
    masks = masks_from_indices(5, torch.tensor([0, 4]), torch.tensor([1]), torch.tensor([2]))
    assert [m.nonzero().view(-1).tolist() for m in masks] == [[0, 4], [1], [2]]


def test_describe():
    data = csbm(100, 2, degree=4)
    # Two loose nodes, one of them unlabelled, a self-loop and a duplicate.
    data.x = torch.cat([data.x, torch.zeros(2, 32)])
    data.y = torch.cat([data.y, torch.tensor([1, -1])])
    data.y_true = torch.cat([data.y[:-1], torch.tensor([0])])
    data.edge_index = torch.cat([data.edge_index, data.edge_index[:, :1], torch.tensor([[100], [100]])], dim=1)
    found = describe_graph(data)
    assert (found["nodes"], found["edges"], found["features"]) == (102, 200, 32)
    assert found["classes"] == {"0": 50, "1": 51}
    assert found["unlabeled"] == 1
    assert found["homophily"] == pytest.approx(0.8, abs=0.01)
    assert found["isolated"] >= 2
    assert found["components"] >= 3
    assert describe_graph(data, use_true_labels=True)["classes"] == {"0": 51, "1": 51}


def test_describe_homophily_reads_given_labels_only_where_both_ends_have_one():
    data = csbm(60, 2, degree=4)
    a, b = data.edge_index[:, 0].tolist()
    data.y = torch.full_like(data.y, -1)
    assert describe_graph(data)["homophily"] is None
    data.y[a], data.y[b] = 0, 1
    assert describe_graph(data)["homophily"] == 0.0
