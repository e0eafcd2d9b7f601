"""Neighbor-sampled mini-batches: uniform, exact where nothing is left out, unbiased where something is."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import pignn
from pignn import backbones, graphs, pairs
from pignn.core.errors import ConfigError
from pignn.training import batches


@pytest.fixture
def inputs(noisy):
    return backbones.GraphInputs.from_data(graphs.copy_checked_graph(noisy))


def test_sampled_entries_are_distinct_and_uniform(inputs):
    torch.manual_seed(0)
    pattern = inputs.adj
    row = int(pattern.entries_per_row.argmax())
    degree = int(pattern.entries_per_row[row])
    hits = torch.zeros(degree)
    for _ in range(3000):
        entries, counts = batches.sample_entries_and_counts_per_row(pattern, torch.tensor([row]), 4)
        assert counts.tolist() == [4]
        assert entries.unique().numel() == 4
        hits[entries - int(pattern.crow[row])] += 1
    expected = 3000 * 4 / degree
    assert (hits - expected).abs().max() < 5 * expected**0.5
    entries, counts = batches.sample_entries_and_counts_per_row(pattern, torch.arange(240), 10_000)
    assert torch.equal(entries, torch.arange(pattern.num_entries))
    assert torch.equal(counts, pattern.entries_per_row)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("backbone", ["gcn", "sage", "gat"])
def test_with_all_neighbors_a_batch_gives_the_outputs_of_the_whole_graph(noisy, backbone, weighted):
    if weighted:
        noisy.edge_weight = 1.0 + noisy.edge_index.sum(0) % 3
    inputs = backbones.GraphInputs.from_data(graphs.copy_checked_graph(noisy))
    network = backbones.build(backbone, 32, 3).eval()
    seeds = torch.tensor([5, 200, 17, 0])
    batch = batches.NeighborSampler(inputs, (1000, 1000))(seeds)
    torch.testing.assert_close(network(batch.inputs)[:4], network(inputs)[seeds], rtol=1e-4, atol=1e-5)


@pytest.fixture(scope="module")
def compiled_sampler():
    """What pyg-lib brings: the operation that PyG's sampler calls, here in Python, with its signature."""
    library = torch.library.Library("pyg", "DEF")
    library.define(
        "neighbor_sample(Tensor rowptr, Tensor col, Tensor seed, int[] num_neighbors, Tensor? node_time, "
        "Tensor? edge_time, Tensor? seed_time, Tensor? edge_weight, bool csc, bool replace, bool directed, "
        "bool disjoint, str temporal_strategy, bool return_edge_id) -> (Tensor, Tensor, Tensor, Tensor)"
    )

    def draw(crow, col, seed, most, *_):
        nodes, frontier, rows, cols, edges = seed.tolist(), seed.tolist(), [], [], []
        for count in most:
            reached = []
            for node in frontier:
                first, last = int(crow[node]), int(crow[node + 1])
                for entry in (first + torch.randperm(last - first)[:count]).tolist():
                    source = int(col[entry])
                    if source not in nodes:
                        nodes.append(source)
                        reached.append(source)
                    rows.append(nodes.index(source))
                    cols.append(nodes.index(node))
                    edges.append(entry)
            frontier = reached
        return tuple(torch.tensor(each) for each in (rows, cols, nodes, edges))

    library.impl("neighbor_sample", draw, "CPU")
    yield
    library._destroy()


@pytest.fixture
def with_pyg_lib(compiled_sampler, monkeypatch):
    for name in ("WITH_PYG_LIB", "WITH_EDGE_TIME_NEIGHBOR_SAMPLE", "WITH_WEIGHTED_NEIGHBOR_SAMPLE"):
        monkeypatch.setattr(f"torch_geometric.typing.{name}", True)


@pytest.mark.parametrize("backbone", ["gcn", "sage", "gat"])
def test_pygs_sampler_gives_the_same_batches(noisy, with_pyg_lib, backbone):
    noisy.edge_weight = 1.0 + noisy.edge_index.sum(0) % 3
    inputs = backbones.GraphInputs.from_data(graphs.copy_checked_graph(noisy))
    network = backbones.build(backbone, 32, 3).eval()
    seeds = torch.tensor([5, 200, 17, 0])
    sampler = batches.make_pyg_or_own_neighbor_sampler(inputs, (1000, 1000))
    assert isinstance(sampler, batches.PyGNeighborSampler)
    torch.testing.assert_close(network(sampler(seeds).inputs)[:4], network(inputs)[seeds], rtol=1e-4, atol=1e-5)
    few = batches.make_pyg_or_own_neighbor_sampler(inputs, (2, 1))(seeds).inputs
    assert few.adj.entries_per_row[:4].tolist() == inputs.adj.entries_per_row[seeds].clamp(max=2).tolist()
    assert int(few.adj.entries_per_row[4:].max()) <= 1


def test_a_method_learns_with_pygs_sampler(noisy, with_pyg_lib):
    model = pignn.PIGNN(batch_size=64, num_neighbors=(5, 3), epochs=2, warmup=0).fit(noisy)
    assert len(model.history_) == 2


def test_without_pyg_lib_nothing_else_is_needed(inputs, monkeypatch):
    monkeypatch.setattr("torch_geometric.typing.WITH_PYG_LIB", False)
    assert isinstance(batches.make_pyg_or_own_neighbor_sampler(inputs, (3,)), batches.NeighborSampler)


def test_a_sampled_layer_is_unbiased(inputs):
    torch.manual_seed(0)
    sampler, seeds = batches.NeighborSampler(inputs, (3,)), torch.arange(60)
    for name in ("gcn_adj", "mean_adj"):
        exact = (getattr(inputs, name) @ inputs.x)[seeds]
        draws = []
        for _ in range(600):
            batch = sampler(seeds)
            draws.append((getattr(batch.inputs, name) @ batch.inputs.x)[:60])
        stacked = torch.stack(draws)
        error = stacked.std(0) / len(draws) ** 0.5
        assert ((stacked.mean(0) - exact).abs() < 5.5 * error + 1e-5).all()


def test_seed_batches_of_all_processes_cover_every_node_once(monkeypatch):
    pool = torch.arange(100, 203)
    seen = torch.cat(list(batches.iter_batches_of_seed_nodes(pool, 10, seed=0)))
    assert torch.equal(seen.sort().values, pool)
    assert not torch.equal(seen, torch.cat(list(batches.iter_batches_of_seed_nodes(pool, 10, seed=1))))
    parts = []
    for rank in range(3):
        monkeypatch.setattr(batches.distributed, "get_rank_and_world_size", lambda rank=rank: (rank, 3))
        parts.append(list(batches.iter_batches_of_seed_nodes(pool, 10, seed=0)))
    assert len({len(part) for part in parts}) == 1, "all processes take as many steps"
    assert torch.equal(torch.cat([torch.cat(part) for part in parts]).sort().values, pool)


@pytest.mark.parametrize("target", ["structure", *pairs.PAIR_TARGETS])
def test_pairs_among_random_nodes_have_the_whole_loss_as_their_mean(target):
    torch.manual_seed(0)
    n, b = 12, 5
    h, h_e = torch.randn(2, n, 3, dtype=torch.float64)
    graph = pairs.PairGraph(torch.randint(0, n, (2, 18)), n)

    def loss(nodes):
        part = graph if nodes is None else graph.build_reweighted_subgraph(nodes)
        mine, other = (h, h_e) if nodes is None else (h[nodes], h_e[nodes])
        if target == "structure":
            return pairs.structure_loss(mine, part)
        return pairs.regularizer(mine, other, part, target=target)

    draws = torch.stack([loss(torch.randperm(n)[:b]) for _ in range(6000)])
    assert abs(draws.mean() - loss(None)) < 4 * draws.std() / len(draws) ** 0.5
    torch.testing.assert_close(loss(torch.randperm(n)), loss(None))


@pytest.mark.parametrize("source", ["given", "random", "low-rank"])
def test_fixed_labels_of_a_part_are_those_of_the_whole(source):
    n = 20
    graph = pairs.PairGraph(torch.randint(0, n, (2, 40)), n)
    labels = {
        "given": pairs.AgreementPairLabels(torch.randint(-1, 3, (n,))),
        "random": pairs.RandomPairLabels(n, 0),
        "low-rank": pairs.LowRankPairLabels(graph, 5),
    }[source]
    nodes, whole = torch.tensor([3, 19, 7, 11]), slice(0, n)
    part = labels.subset(nodes).compute_block(slice(0, 4), slice(0, 4), complement=False)
    torch.testing.assert_close(part, labels.compute_block(whole, whole, complement=False)[nodes][:, nodes])


@pytest.mark.parametrize("backbone", ["gcn", "sage", "gat"])
@pytest.mark.parametrize("method", ["vanilla", "pi-gnn"])
def test_training_in_batches_learns(noisy, method, backbone):
    model = pignn.make(method, backbone=backbone, batch_size=64, num_neighbors=(5, 5), epochs=30, warmup=10).fit(noisy)
    assert model.score(noisy) > 0.6
    assert np.isfinite(model.history_[-1]["class_loss"])


def test_training_in_batches_is_seeded_and_resumes_exactly(noisy, tmp_path):
    settings = {"batch_size": 50, "num_neighbors": (4, 3), "warmup": 2}
    whole = pignn.PIGNN(epochs=6, **settings).fit(noisy)
    pignn.PIGNN(epochs=4, **settings).fit(noisy, checkpoint=tmp_path)
    resumed = pignn.PIGNN(epochs=6, **settings).fit(noisy, checkpoint=tmp_path, resume=True)
    for key, value in whole.networks_.state_dict().items():
        assert torch.equal(resumed.networks_.state_dict()[key], value)


@pytest.mark.parametrize(
    "settings", [{"schedule": "pretrain"}, {"pair_labels": "random"}, {"pair_labels": "connectivity"}]
)
def test_all_pair_label_sources_work_in_batches(noisy, settings):
    model = pignn.PIGNN(batch_size=80, epochs=4, warmup=1, **settings).fit(noisy)
    assert np.isfinite(model.history_[-1]["pair_loss"])


def test_wrong_batch_settings_are_one_line(noisy):
    with pytest.raises(ConfigError, match="batch_size must be"):
        pignn.PIGNN(batch_size=1).fit(noisy)
    with pytest.raises(ConfigError, match="num_neighbors must be at least 2 numbers, one per layer"):
        pignn.PIGNN(batch_size=10, num_neighbors=[5]).fit(noisy)
    with pytest.raises(ConfigError, match="each of num_neighbors must be"):
        pignn.PIGNN(batch_size=10, num_neighbors=[5, 0]).fit(noisy)
