"""Smoothing and the embedding, against dense linear algebra."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

from pignn import graphs
from pignn.core import errors
from pignn.propagation import Embedding, smooth


def dense(data: Data, alpha: float, num_hops: int) -> torch.Tensor:
    n = data.num_nodes
    a = torch.zeros(n, n)
    a[data.edge_index[0], data.edge_index[1]] = 1.0
    a = ((a + a.T) > 0).float().fill_diagonal_(1.0)
    d = a.sum(1).rsqrt()
    a = d[:, None] * a * d
    s = torch.eye(n)
    for _ in range(num_hops):
        s = (1 - alpha) * a @ s + alpha * torch.eye(n)
    return s


@pytest.fixture
def graph() -> Data:
    return graphs.csbm(num_nodes=120, num_classes=3, num_features=40, signal=2.0, seed=0)


def test_smoothing_is_the_dense_product(graph: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pignn.propagation.smoothing.MAX_COLUMNS_PER_PASS", 7)  # several blocks of columns
    torch.testing.assert_close(smooth(graph, alpha=0.2, num_hops=6), dense(graph, 0.2, 6) @ graph.x)
    torch.testing.assert_close(smooth(graph, graph.x[:, 0]), dense(graph, 0.1, 20) @ graph.x[:, 0])
    assert torch.equal(smooth(graph, alpha=1), graph.x)


def test_the_embedding_is_the_svd_of_the_smoothed_features(graph: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pignn.propagation.smoothing.MAX_CHUNK_VALUES", 400)  # ten rows at a time
    full = dense(graph, 0.1, 20) @ (graph.x / graph.x.abs().sum(1, keepdim=True))
    _, values, v = torch.linalg.svd(full, full_matrices=False)
    found = Embedding(5, scale=False).fit_transform(graph)
    torch.testing.assert_close(found.norm(dim=0), values[:5], rtol=1e-3, atol=1e-5)
    torch.testing.assert_close((found.abs() - (full @ v[:5].T).abs()).abs().max(), torch.tensor(0.0), atol=1e-3, rtol=0)


def test_it_applies_to_other_graphs_and_to_rows_without_anything(graph: Data) -> None:
    embedding = Embedding(8).fit(graph)
    other = graphs.csbm(num_nodes=50, num_classes=3, num_features=40, seed=5)
    other.x[3] = 0.0
    other.edge_index = other.edge_index[:, (other.edge_index != 3).all(0)]
    h = embedding.transform(other)
    assert h.shape == (50, 8)
    assert not h.isnan().any()
    assert not h[3].any()
    torch.testing.assert_close(h[4].norm(), torch.tensor(1.0))
    with pytest.raises(errors.DataError, match="fitted on 40 features"):
        embedding.transform(graphs.csbm(num_nodes=60, num_classes=3, num_features=7))


def test_mistakes_are_named(graph: Data) -> None:
    with pytest.raises(errors.ConfigError, match="alpha"):
        smooth(graph, alpha=0)
    with pytest.raises(errors.DataError, match="120 nodes"):
        smooth(graph, torch.ones(3))
    with pytest.raises(errors.NotFittedError):
        Embedding().transform(graph)
