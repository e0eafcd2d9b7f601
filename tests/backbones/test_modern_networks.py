"""GIN, GATv2, LCAT and the tuned GCN against PyG's own layers."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch_geometric.data import Data
from torch_geometric.nn import GATv2Conv, GCNConv, GINConv

import pignn
from pignn import backbones, graphs


@pytest.fixture(params=[1.0, 0.05], ids=["dense features", "sparse features"])
def data(request):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(40, 20, generator=generator) * (torch.rand(40, 20, generator=generator) < request.param)
    pairs = torch.randint(0, 36, (2, 120), generator=generator)  # the last nodes are isolated
    pairs = pairs[:, pairs[0] < pairs[1]].unique(dim=1)
    return Data(x=x, edge_index=torch.cat([pairs, pairs.flip(0)], dim=1))


@torch.no_grad()
def shake(network):
    for parameter in network.parameters():
        parameter.add_(0.1 * torch.randn_like(parameter))


def test_gin_equals_pyg(data):
    ours = backbones.build("gin", 20, 4, hidden_channels=16)
    shake(ours)
    maps = [nn.Linear(20, 16), nn.Linear(16, 4)]
    layers = [GINConv(linear, train_eps=True) for linear in maps]
    with torch.no_grad():
        for i, linear in enumerate(maps):
            linear.weight.copy_(ours.weights[i].t())
            linear.bias.copy_(ours.biases[i])
            layers[i].eps.copy_(ours.eps[i : i + 1])
    ours.dropout = 0.0
    norm = nn.BatchNorm1d(16)
    norm.load_state_dict(ours.norms[0].state_dict())
    expected = layers[1](F.relu(norm(layers[0](data.x, data.edge_index))), data.edge_index)
    result = ours(backbones.GraphInputs.from_data(data))
    torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-4)


def test_gatv2_equals_pyg(data):
    ours = backbones.build("gatv2", 20, 4).eval()
    shake(ours)
    layers = [GATv2Conv(20, 8, heads=8), GATv2Conv(64, 4, heads=1, concat=False)]
    with torch.no_grad():
        for i, layer in enumerate(layers):
            layer.lin_l.weight.copy_(ours.source_weights[i].t())
            layer.lin_r.weight.copy_(ours.target_weights[i].t())
            layer.lin_l.bias.zero_()
            layer.lin_r.bias.zero_()
            layer.att.copy_(ours.scores[i][None])
            layer.bias.copy_(ours.biases[i])
    expected = layers[1](F.elu(layers[0](data.x, data.edge_index)), data.edge_index)
    result = ours(backbones.GraphInputs.from_data(data))
    torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-4)
    gradient = torch.autograd.grad(result.square().sum(), ours.scores[0])[0]
    theirs = torch.autograd.grad(expected.square().sum(), layers[0].att)[0]
    torch.testing.assert_close(gradient, theirs[0], rtol=1e-3, atol=1e-3)


def test_lcat_equals_its_formula_and_learns_how_far_to_smooth(data):
    ours = backbones.build("lcat", 20, 4, num_layers=1).eval()
    shake(ours)
    inputs = backbones.GraphInputs.from_data(data)
    first, second = ours.attention_levels[0], ours.smoothing_levels[0]
    attention, smoothing = torch.sigmoid(10**first - 6), torch.sigmoid(10 ** (2.2 - second) - 6)
    adj = torch.zeros(40, 40)
    adj[data.edge_index[1], data.edge_index[0]] = 1
    smooth = attention * (torch.eye(40) + smoothing * adj) / (1 + smoothing * adj.sum(1))[:, None]
    left, right = data.x @ ours.source_weights[0], data.x @ ours.target_weights[0]
    pairs = F.leaky_relu((smooth @ right)[:, None] + (smooth @ left)[None], 0.2) @ ours.scores[0].view(-1)
    weight = pairs.masked_fill((adj + torch.eye(40)) == 0, -torch.inf).softmax(1)
    expected = weight @ left + ours.biases[0]
    torch.testing.assert_close(ours(inputs), expected, rtol=1e-4, atol=1e-4)
    # A known port smooths in its first forward pass only.
    torch.testing.assert_close(ours(inputs), expected, rtol=1e-4, atol=1e-4)
    gradients = torch.autograd.grad(ours(inputs).square().sum(), [ours.attention_levels, ours.smoothing_levels])
    assert all(bool(g.abs() > 0) for g in gradients)
    fresh = backbones.build("lcat", 20, 4)
    assert torch.allclose(torch.sigmoid(10**fresh.attention_levels - 6), torch.tensor(0.5))
    assert torch.allclose(torch.sigmoid(10 ** (2.2 - fresh.smoothing_levels) - 6), torch.tensor(0.5), atol=1e-5)


def test_the_tuned_gcn_equals_its_formula(data):
    ours = backbones.build("tuned", 20, 4, hidden_channels=16).eval()
    shake(ours)
    h = data.x
    for i in range(2):
        layer = GCNConv(h.shape[1], 16, bias=False)
        layer.lin.weight = nn.Parameter(ours.weights[i].t())
        h = F.relu(ours.norms[i](layer(h, data.edge_index) + h @ ours.residuals[i] + ours.biases[i]))
    expected = h @ ours.head[0] + ours.head_bias[0]
    torch.testing.assert_close(ours(backbones.GraphInputs.from_data(data)), expected, rtol=1e-4, atol=1e-4)
    assert backbones.build("tuned", 20, 4).hidden_channels == 256


@pytest.mark.parametrize("backbone", ["gin", "gatv2", "lcat", "tuned"])
@pytest.mark.parametrize("settings", [{}, {"pairs": "exact", "warmup": 5}, {"batch_size": 32}], ids=str)
def test_modern_backbones_learn(backbone, settings):
    noisy = pignn.corrupt(graphs.csbm(num_nodes=240, num_classes=3, signal=2.0, seed=0), "symmetric", 0.3, seed=0)
    model = pignn.make("vanilla", backbone=backbone, epochs=40, **settings).fit(noisy)
    assert model.score(noisy) > 0.6
