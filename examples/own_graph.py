"""Your own graph in: a robust classifier and the labels it disagrees with out."""

import numpy as np
import torch
from sklearn.datasets import load_wine
from sklearn.neighbors import kneighbors_graph
from torch_geometric.data import Data
from torch_geometric.utils import from_scipy_sparse_matrix

import pignn

# 178 wines, joined to those with the most similar analysis; a third of the labels is made wrong.
wine = load_wine()
x = (wine.data - wine.data.mean(0)) / wine.data.std(0)
near = kneighbors_graph(x, 8)
edge_index, _ = from_scipy_sparse_matrix(near.maximum(near.T))
rng = np.random.default_rng(0)
given = wine.target.copy()
wrong = rng.random(len(given)) < 0.33
given[wrong] = (given[wrong] + rng.integers(1, 3, wrong.sum())) % 3

graph = Data(
    x=torch.tensor(x, dtype=torch.float32),
    edge_index=edge_index,
    y=torch.tensor(given),
    train_mask=torch.tensor(rng.random(len(given)) < 0.7),
    class_names=[str(name) for name in wine.target_names],
)
graph.val_mask = ~graph.train_mask
model = pignn.PIGNN(epochs=150, seed=0).fit(graph)

predicted = model.predict(graph)
suspects = predicted != given
print(f"given labels that are right: {(~wrong).mean():.2f}")
print(f"predictions that are right: {(predicted == wine.target).mean():.2f}")
print(f"labels it disagrees with: {suspects.sum()}, of which really wrong: {(suspects & wrong).sum()} of {wrong.sum()}")
