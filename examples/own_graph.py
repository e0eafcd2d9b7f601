"""Your own tables in: a robust classifier, the labels that it contradicts, and predictions for later nodes."""

import numpy as np
import pandas as pd
from sklearn.datasets import load_wine
from sklearn.neighbors import kneighbors_graph

import pignn

# 178 wines, connected to those with the most similar analysis. A third of the labels is made wrong.
wine = load_wine(as_frame=True)
names = np.array(["barolo", "grignolino", "barbera"])
rng = np.random.default_rng(0)
given = wine.target.to_numpy().copy()
is_wrong = rng.random(len(given)) < 0.33
given[is_wrong] = (given[is_wrong] + rng.integers(1, 3, is_wrong.sum())) % 3
nodes = wine.data.assign(wine=[f"bottle {i}" for i in range(len(given))], grape=names[given])
scaled = (wine.data - wine.data.mean()) / wine.data.std()
nearest = kneighbors_graph(scaled, 8).tocoo()
bottles = nodes["wine"].to_numpy()
edges = pd.DataFrame({"from": bottles[nearest.row], "to": bottles[nearest.col]})
nodes.to_csv("wines.csv", index=False)
edges.to_csv("similar.csv", index=False)

# From the files on, this is what you would write.
run = pignn.train(
    nodes="wines.csv",
    edges="similar.csv",
    id="wine",
    label="grape",
    val=0.3,
    method="pi-gnn",
    settings={"epochs": 150},
    out="runs/wine",
)
predictions = run.predictions.table
disagrees = predictions["disagrees"].astype(bool).to_numpy()
true_names = names[wine.target]
print(f"given labels that are right: {(~is_wrong).mean():.2f}")
print(f"predictions that are right: {(predictions['predicted'] == true_names).mean():.2f}")
print(f"labels it contradicts: {disagrees.sum()}; wrong among them: {(disagrees & is_wrong).sum()} of {is_wrong.sum()}")

# Another day, other bottles, no labels: the run folder knows columns, scalings and classes.
nodes.iloc[:60].drop(columns="grape").to_csv("new.csv", index=False)
new = pignn.predict("runs/wine", nodes="new.csv", edges="similar.csv", drop_unknown=True)
print(f"right without labels: {(new.table['predicted'] == true_names[:60]).mean():.2f}")
