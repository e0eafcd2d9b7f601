"""The structure loss in a training loop of your own: embeddings that show which nodes belong together."""

import torch
from torch_geometric.nn import GCNConv

import pignn

data = pignn.load("digits")
graph = pignn.pairs.PairGraph(data.edge_index, data.num_nodes)  # once per graph
layer = GCNConv(data.num_features, 16)
optimizer = torch.optim.Adam(layer.parameters(), lr=0.01)
for epoch in range(60):
    optimizer.zero_grad()
    loss = pignn.pairs.structure_loss(layer(data.x, data.edge_index), graph)
    loss.backward()
    optimizer.step()
    if epoch % 20 == 0:
        print(f"epoch {epoch}: {loss:.3f}")

with torch.no_grad():
    h = layer(data.x, data.edge_index)
    similar = torch.sigmoid(h @ h.t()).fill_diagonal_(0).topk(5).indices
print(f"of the five most similar nodes, {(data.y[similar] == data.y[:, None]).float().mean():.0%} have the same class")
