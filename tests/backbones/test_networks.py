"""The CSR networks against PyG's own layers, with and without edge weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch_geometric.data import Data
from torch_geometric.nn import GATConv, GCNConv, SAGEConv

import pignn
from pignn import backbones
from pignn.core.errors import ConfigError
from pignn.graphs.sparse import SparseFeatures, SparsityPattern


def graph(n=60, width=20, weighted=False, density=1.0, seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n, width, generator=generator)
    x *= torch.rand(n, width, generator=generator) < density
    pairs = torch.randint(0, n - 5, (2, 3 * n), generator=generator)  # the last five nodes are isolated
    pairs = pairs[:, pairs[0] < pairs[1]].unique(dim=1)
    weight = torch.rand(pairs.shape[1], generator=generator) + 0.1 if weighted else None
    return Data(
        x=x,
        edge_index=torch.cat([pairs, pairs.flip(0)], dim=1),
        edge_weight=None if weight is None else torch.cat([weight, weight]),
    )


@pytest.mark.parametrize("density", [1.0, 0.05], ids=["dense features", "sparse features"])
@pytest.mark.parametrize("weighted", [False, True])
def test_gcn_equals_pyg(weighted, density):
    data = graph(weighted=weighted, density=density)
    torch.manual_seed(0)
    ours = backbones.build("gcn", 20, 4, hidden_channels=16).eval()
    layers = [GCNConv(20, 16), GCNConv(16, 4)]
    with torch.no_grad():
        for layer, weight, bias in zip(layers, ours.weights, ours.biases, strict=True):
            layer.lin.weight.copy_(weight.t())
            bias.uniform_(-1, 1)
            layer.bias.copy_(bias)
    inputs = backbones.GraphInputs.from_data(data)
    assert isinstance(inputs.features, SparseFeatures) == (density < 0.1)
    result = ours(inputs)
    h = F.relu(layers[0](data.x, data.edge_index, data.edge_weight))
    expected = layers[1](h, data.edge_index, data.edge_weight)
    torch.testing.assert_close(result, expected, rtol=1e-5, atol=1e-5)

    ours_grad = torch.autograd.grad(result.square().sum(), list(ours.weights))
    their_grad = torch.autograd.grad(expected.square().sum(), [layer.lin.weight for layer in layers])
    for mine, theirs in zip(ours_grad, their_grad, strict=True):
        torch.testing.assert_close(mine, theirs.t(), rtol=1e-4, atol=1e-4)


def test_sage_equals_pyg():
    data = graph()
    torch.manual_seed(0)
    ours = backbones.build("sage", 20, 4).eval()
    layers = [SAGEConv(20, 64), SAGEConv(64, 4)]
    with torch.no_grad():
        for layer, own, neighbors in zip(layers, ours.self_weights, ours.neighbor_weights, strict=True):
            layer.lin_l.weight.copy_(neighbors.t())
            layer.lin_l.bias.zero_()
            layer.lin_r.weight.copy_(own.t())
    h = layers[1](F.relu(layers[0](data.x, data.edge_index)), data.edge_index)
    torch.testing.assert_close(ours(backbones.GraphInputs.from_data(data)), h, rtol=1e-5, atol=1e-5)


def test_sage_weighs_its_mean():
    data = Data(
        x=torch.tensor([[0.0], [1.0], [4.0]]),
        edge_index=torch.tensor([[0, 0], [1, 2]]),
        edge_weight=torch.tensor([1.0, 3.0]),
    )
    mean = backbones.GraphInputs.from_data(data).mean_adj @ data.x
    torch.testing.assert_close(mean, torch.tensor([[(1 * 1 + 3 * 4) / 4], [0.0], [0.0]]))


def test_directed_propagation_follows_the_edges_and_its_gradient_the_transpose():
    data = Data(x=torch.eye(3), edge_index=torch.tensor([[0], [1]]))
    mean = backbones.GraphInputs.from_data(data, directed=True).mean_adj
    x = torch.eye(3, requires_grad=True)
    result = mean @ x
    assert result[1, 0] == 1  # node 1 hears node 0
    assert result[0].sum() == 0  # and not the other way round
    (result * torch.tensor([[1.0], [2.0], [3.0]])).sum().backward()
    torch.testing.assert_close(x.grad[0], torch.full((3,), 2.0))
    undirected = backbones.GraphInputs.from_data(data).mean_adj @ torch.eye(3)
    assert undirected[0, 1] == undirected[1, 0] == 1


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("density", [1.0, 0.05], ids=["dense features", "sparse features"])
def test_gat_equals_pyg(density, directed):
    data = graph(density=density)
    if directed:
        data.edge_index = data.edge_index[:, data.edge_index[0] < data.edge_index[1]]
    torch.manual_seed(0)
    ours = backbones.build("gat", 20, 4).eval()
    assert ours.shapes == [(8, 8), (1, 4)]
    assert ours.dropout == 0.6
    layers = [GATConv(20, 8, heads=8), GATConv(64, 4, heads=1, concat=False)]
    with torch.no_grad():
        for i, layer in enumerate(layers):
            layer.lin.weight.copy_(ours.weights[i].t())
            layer.att_src.copy_(ours.sources[i][None])
            layer.att_dst.copy_(ours.targets[i][None])
            ours.biases[i].uniform_(-1, 1)
            layer.bias.copy_(ours.biases[i])
    result = ours(backbones.GraphInputs.from_data(data, directed=directed))
    expected = layers[1](F.elu(layers[0](data.x, data.edge_index)), data.edge_index)
    torch.testing.assert_close(result, expected, rtol=1e-5, atol=1e-5)
    ours_grad = torch.autograd.grad(result.square().sum(), [*ours.weights, *ours.sources, *ours.targets])
    theirs = (
        [layer.lin.weight for layer in layers],
        [layer.att_src for layer in layers],
        [layer.att_dst for layer in layers],
    )
    their_grad = torch.autograd.grad(expected.square().sum(), [*theirs[0], *theirs[1], *theirs[2]])
    for mine, other in zip(ours_grad, their_grad, strict=True):
        other = other[0] if other.dim() == 3 else other.t()
        torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-4)


def test_dropout_on_sparse_features_keeps_their_mean():
    x = graph(n=400, density=0.05).x
    torch.manual_seed(0)
    dropped = SparseFeatures.from_dense(x).dropout(0.6, training=True) @ torch.eye(20)
    zero = (dropped == 0)[x != 0].float().mean()
    assert abs(zero - 0.6) < 0.08
    kept = (x != 0) & (dropped != 0)
    torch.testing.assert_close(dropped[kept], x[kept] / 0.4)


@pytest.mark.parametrize("name", backbones.BACKBONES.list_names())
@pytest.mark.parametrize("init", backbones.INITIALIZATIONS)
def test_weights_have_the_spread_of_their_rule(name, init):
    torch.manual_seed(0)
    network = backbones.build(name, 300, 7, init=init, hidden_channels=50)
    shapes = {key: p for key, p in network.named_parameters() if p.dim() == 2 and 300 in p.shape}
    assert shapes
    for p in shapes.values():
        a, b = 300, p.numel() // 300
        expected = {
            "glorot": (2 / (a + b)) ** 0.5,
            "uniform": (1 / (3 * a)) ** 0.5,
            "normal": 0.1,
            "kaiming": (2 / a) ** 0.5,
            "constant": 0.0,
        }[init]
        assert abs(p.std().item() - expected) < 0.05 * expected + 1e-6
        assert abs(p.mean().item() - (0.1 if init == "constant" else 0)) < 0.01
    assert all((p == 0).all() for key, p in network.named_parameters() if "bias" in key)


def test_number_and_width_of_layers_can_be_set():
    network = backbones.build("gcn", 20, 4, num_layers=3, hidden_channels=32, dropout=0.1)
    assert [tuple(w.shape) for w in network.weights] == [(20, 32), (32, 32), (32, 4)]
    assert network.dropout == 0.1


def test_a_pyg_module_gets_edge_weights_only_if_it_takes_them():
    class Mine(torch.nn.Module):
        def __init__(self, inputs, outputs):
            super().__init__()
            self.linear = torch.nn.Linear(inputs, outputs)

        def forward(self, x, edge_index):
            return self.linear(x)

    network = backbones.build(Mine, 20, 4)
    assert network(backbones.GraphInputs.from_data(graph(weighted=True))).shape == (60, 4)
    assert not network.uses_weights
    assert backbones.build(lambda a, b: GCNConv(a, b), 20, 4).uses_weights


def test_unknown_names_are_refused_with_the_nearest_one():
    with pytest.raises(ConfigError, match="unknown backbone 'gnc'; did you mean 'gcn'"):
        backbones.build("gnc", 3, 2)
    with pytest.raises(ConfigError, match="unknown init 'glorott'; did you mean 'glorot'"):
        backbones.build("gcn", 3, 2, init="glorott")
    assert isinstance(backbones.build("GraphSAGE", 3, 2), backbones.GraphSAGE)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", backbones.BACKBONES.list_names())
def test_chunked_inference_equals_inference_in_one_go(monkeypatch, name, weighted, directed):
    data = Data(x=torch.randn(50, 12), edge_index=torch.randint(0, 44, (2, 300)), y=torch.zeros(50, dtype=torch.long))
    if weighted:
        data.edge_weight = torch.rand(300) + 0.5
    inputs = backbones.GraphInputs.from_data(data, directed=directed)
    network = backbones.build(name, 12, 4).eval()
    monkeypatch.setattr("pignn.graphs.sparse.CHUNK_ENTRIES", 20)
    with torch.no_grad():
        whole = network(inputs)
        torch.testing.assert_close(network(inputs.copy_for_chunked_inference()), whole, rtol=1e-6, atol=1e-6)
    sizes = [part.num_entries for _, _, part in inputs.adj.iter_row_and_entry_slices_with_patterns()]
    assert len(sizes) > 5
    assert sum(sizes) == inputs.adj.num_entries


def test_chunks_cover_all_rows_once(monkeypatch):
    monkeypatch.setattr("pignn.graphs.sparse.CHUNK_ENTRIES", 3)
    counts = [0, 0, 7, 1, 1, 1, 1, 0, 3, 0]  # a row with more than a part holds, and empty ones at both ends
    row = torch.repeat_interleave(torch.arange(10), torch.tensor(counts))
    pattern = SparsityPattern.from_row_sorted(row, torch.arange(len(row)), (10, 20))
    parts = list(pattern.iter_row_and_entry_slices_with_patterns())
    assert [i for rows, _, _ in parts for i in range(rows.start, rows.stop)] == list(range(10))
    assert torch.equal(torch.cat([part.col for _, _, part in parts]), pattern.col)
    assert [int(n) for _, _, part in parts for n in part.entries_per_row] == counts


def test_a_module_that_takes_no_edges_is_refused_in_one_line():
    noisy = pignn.corrupt(pignn.load("csbm", num_nodes=120), "symmetric", 0.3)
    with pytest.raises(ConfigError, match=r"called as module\(x, edge_index\)"):
        pignn.make("vanilla", backbone=nn.Linear, epochs=2).fit(noisy)


def test_the_scales_of_normalization_layers_stay_at_one():
    network = nn.Sequential(nn.Linear(4, 3), nn.LayerNorm(3), nn.BatchNorm1d(3))
    before = network[0].weight.clone()
    backbones.initialize_parameters(network)
    assert not torch.equal(network[0].weight, before)
    assert all((layer.weight == 1).all() and (layer.bias == 0).all() for layer in (network[1], network[2]))


OTHER_PACKAGE = """
    import torch
    from pignn.backbones import GCN
    from torch_geometric.nn import GCNConv

    class NormalizedGCN(GCN):
        '''A GCN whose hidden rows are normalized.'''
        default_lr = 0.02

        def create_parameters(self, in_channels, out_channels):
            super().create_parameters(in_channels, out_channels)
            self.norm = torch.nn.LayerNorm(self.hidden_channels)

        def aggregate(self, inputs, h):
            h = super().aggregate(inputs, h)
            return self.norm(h) if h.shape[1] == self.hidden_channels else h

    def build_pyg_gcn(in_channels, out_channels):
        return GCNConv(in_channels, out_channels)
"""


def test_an_installed_package_brings_backbones_by_entry_points(install_package, noisy, tmp_path):
    points = "[pignn.backbones]\nnormalized-gcn = other_package:NormalizedGCN\npyg-gcn = other_package:build_pyg_gcn\n"
    install_package(OTHER_PACKAGE, points)
    assert {"normalized-gcn", "pyg-gcn"} <= set(backbones.BACKBONES.list_names())
    assert backbones.get_default_lr("normalized-gcn") == 0.02
    assert backbones.get_default_lr("pyg-gcn") == 0.01
    for name in ("normalized-gcn", "pyg-gcn"):
        model = pignn.make("pi-gnn", backbone=name, epochs=20, warmup=5).fit(noisy)
        assert model.score(noisy) > 0.5
        model.save(tmp_path / name)
        assert np.array_equal(pignn.load_model(tmp_path / name).embed(noisy), model.embed(noisy))
    with pytest.raises(ConfigError, match="did you mean 'normalized-gcn'"):
        pignn.make("vanilla", backbone="normalised-gcn").fit(noisy)
