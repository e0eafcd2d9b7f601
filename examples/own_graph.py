"""Your own tables in: a robust classifier, the labels it disagrees with, and predictions for nodes that came later."""

import numpy as np
import pandas as pd
from sklearn.datasets import load_wine
from sklearn.neighbors import kneighbors_graph

import pignn
from pignn.graphs import load_feature_encoder, read_graph, summarize_import

# 178 wines, joined to those with the most similar analysis; a third of the labels is made wrong.
wine = load_wine(as_frame=True)
names = np.array(["barolo", "grignolino", "barbera"])
rng = np.random.default_rng(0)
given = wine.target.to_numpy().copy()
wrong = rng.random(len(given)) < 0.33
given[wrong] = (given[wrong] + rng.integers(1, 3, wrong.sum())) % 3
nodes = wine.data.assign(wine=[f"bottle {i}" for i in range(len(given))], grape=names[given])
x = (wine.data - wine.data.mean()) / wine.data.std()
pairs = kneighbors_graph(x, 8).tocoo()
edges = pd.DataFrame({"from": nodes["wine"].to_numpy()[pairs.row], "to": nodes["wine"].to_numpy()[pairs.col]})
nodes.to_csv("wines.csv", index=False)
edges.to_csv("similar.csv", index=False)

# From the files on, this is what you would write.
graph = read_graph("wines.csv", "similar.csv", id="wine", label="grape", val=0.3)
print(summarize_import(graph))
model = pignn.PIGNN(epochs=150, seed=0).fit(graph)
model.save("model")
graph.encoder.save("model")

predicted = model.predict(graph)
suspects = (predicted != graph.y.numpy()) & (graph.y.numpy() >= 0)
true = np.array([graph.class_names.index(name) for name in names[wine.target]])
print(f"given labels that are right: {(~wrong).mean():.2f}")
print(f"predictions that are right: {(predicted == true).mean():.2f}")
print(f"labels it disagrees with: {suspects.sum()}, of which really wrong: {(suspects & wrong).sum()} of {wrong.sum()}")
print(f"the first of them: {list(graph.node_id[suspects][:3])}")

# Another day, other bottles, no labels: the folder knows columns, scalings and classes.
some = nodes.iloc[:60].drop(columns="grape")
some.to_csv("new.csv", index=False)
again = pignn.load_model("model")
new = read_graph(
    "new.csv", "similar.csv", drop_unknown=True, encoder=load_feature_encoder("model"), class_names=again.class_names_
)
print(f"right without labels: {(again.predict(new) == true[:60]).mean():.2f}")
