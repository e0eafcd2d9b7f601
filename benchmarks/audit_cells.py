"""The audit against simpler scores, cell by cell (dataset × noise): average precision, calibration, noise rate.

python benchmarks/audit_cells.py cora,citeseer --seed 7 --out cells.csv    # goes on where it stopped
python benchmarks/audit_cells.py --graphs made --seed 7 --out made.csv     # graphs that nothing was chosen on
python benchmarks/audit_cells.py --show cells.csv                          # the table of a file
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import sklearn.datasets
import torch
from sklearn.metrics import average_precision_score
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import StandardScaler
from torch_geometric.data import Data

import pignn
from pignn.auditing import Audit, audit_labels
from pignn.auditing.label_scorers import SCORERS
from pignn.auditing.views import compute_own_features

NOISES = {"symmetric": 0.1, "pair": 0.2, "instance": 0.2, "rule": 0.2, "cluster": 0.2}
BASELINES = ("logistic", "features", "margin", "neighbors", "gcn+cleanlab")


def link_similar_rows(x: np.ndarray, y: np.ndarray) -> Data:
    """A graph of a table: every row with the eight nearest ones."""
    scaled = StandardScaler().fit_transform(x)
    near = kneighbors_graph(scaled, 8).tocoo()
    edges = np.unique(np.stack([np.r_[near.row, near.col], np.r_[near.col, near.row]]), axis=1)
    return build_graph(scaled - scaled.min(axis=0), edges, y)


def write_texts(num_classes: int = 20, num_nodes: int = 4000, num_words: int = 5000) -> Data:
    """Short texts of unequal classes; a third of the words is of the class, and 6 in 10 links join one class."""
    rng = np.random.default_rng(0)
    y = rng.choice(num_classes, num_nodes, p=rng.dirichlet(np.full(num_classes, 1.5)))
    topics, common = rng.dirichlet(np.full(num_words, 0.03), num_classes), rng.dirichlet(np.full(num_words, 0.3))
    x = np.stack([rng.multinomial(rng.integers(8, 40), 0.35 * topics[c] + 0.65 * common) for c in y])
    source, members = rng.integers(0, num_nodes, 2 * num_nodes), [np.flatnonzero(y == c) for c in range(num_classes)]
    alike = np.array([rng.choice(members[c]) for c in y[source]])
    target = np.where(rng.random(len(source)) < 0.6, alike, rng.integers(0, num_nodes, len(source)))
    ends = np.stack([source, target])[:, source != target]
    return build_graph(x, np.unique(np.concatenate([ends, ends[::-1]], axis=1), axis=1), y)


def build_graph(x: np.ndarray, edges: np.ndarray, y: np.ndarray) -> Data:
    return Data(x=torch.from_numpy(x).float(), edge_index=torch.from_numpy(edges).long(), y=torch.from_numpy(y))


def make_csbm(nodes: int, classes: int, homophily: float, degree: float, signal: float) -> Data:
    return pignn.graphs.csbm(nodes, classes, homophily=homophily, degree=degree, signal=signal, num_features=50)


MADE: dict[str, Callable[[], Data]] = {
    "wine": lambda: link_similar_rows(*sklearn.datasets.load_wine(return_X_y=True)),
    "breast-cancer": lambda: link_similar_rows(*sklearn.datasets.load_breast_cancer(return_X_y=True)),
    "texts": write_texts,
    "csbm weak": lambda: make_csbm(3000, 5, 0.6, 6, 1.0),
    "csbm links": lambda: make_csbm(3000, 3, 0.8, 4, 0.5),
    "csbm features": lambda: make_csbm(4000, 8, 0.3, 15, 2.0),
    "csbm heterophily": lambda: make_csbm(3000, 4, 0.05, 10, 1.5),
}


def compute_baselines(found: Audit, data: Data, with_network: bool) -> dict[str, np.ndarray]:
    """The score of each label by the simpler ways, in the order of the audit's nodes and with its folds."""
    evidence, rows = found.evidence, np.arange(len(found.nodes))
    own = compute_own_features(evidence.inputs, evidence.num_classes, evidence.seed)
    smoothed, features = (
        evidence.make_cross_fit_classifier(view).fit_predict_proba() for view in (evidence.embedding, own)
    )
    others = smoothed.copy()
    others[rows, evidence.given] = -1
    votes = evidence.neighbor_class_counts
    scores = {
        "logistic": 1 - smoothed[rows, evidence.given],
        "features": 1 - features[rows, evidence.given],
        "margin": others.max(axis=1) - smoothed[rows, evidence.given],
        "neighbors": 1 - votes[rows, evidence.given] / np.maximum(votes.sum(axis=1), 1),
    }
    if with_network:
        scores["gcn+cleanlab"] = SCORERS.get("gcn-cleanlab")().compute_suspicion_scores_and_measures(data)[0]
    return scores


def measure_cell(clean: Data, noise: str, seed: int, with_network: bool) -> dict[str, float]:
    data = pignn.corrupt(clean, noise, NOISES[noise], seed=seed, splits=("all",))
    start = time.process_time()
    found = audit_labels(data, intervals=True)
    seconds = time.process_time() - start
    issues = found.issues.sort_values("node")
    wrong, p_wrong = data.y.numpy() != data.y_true.numpy(), issues["p_wrong"].to_numpy()
    scores = {"audit": p_wrong, "quality": 1 - issues["quality"].to_numpy()}
    scores |= compute_baselines(found, data, with_network)
    assert found.noise.rate_interval is not None
    return {
        **{name: average_precision_score(wrong, score) for name, score in scores.items()},
        "wrong": wrong.mean(),
        "rate": found.noise.rate,
        "low": found.noise.rate_interval[0],
        "high": found.noise.rate_interval[1],
        "calibration": compute_binned_error(wrong, p_wrong),
        "cpu seconds": seconds,
    }


def compute_binned_error(wrong: np.ndarray, p_wrong: np.ndarray, num_bins: int = 15) -> float:
    """Mean distance of p_wrong from the share of wrong labels, over bins of p_wrong."""
    bins = np.minimum((p_wrong * num_bins).astype(int), num_bins - 1)
    off = np.bincount(bins, weights=p_wrong - wrong, minlength=num_bins)
    return float(np.abs(off).sum() / len(wrong))


def show(table: pd.DataFrame) -> None:
    table["best other"] = table[[name for name in BASELINES if name in table]].max(axis=1)
    table["ahead"] = table["audit"] - table["best other"]
    inside = (table["low"] <= table["wrong"]) & (table["wrong"] <= table["high"])
    table["interval"] = [f"{low:.2f}–{high:.2f}" for low, high in zip(table["low"], table["high"], strict=True)]
    print("| dataset | noise | audit | quality | best other | ahead | wrong | rate | interval | calibration |")
    print("|---" * 10 + "|")
    for row in table.to_dict("records"):
        numbers = " | ".join(f"{row[name]:.3f}" for name in ("audit", "quality", "best other"))
        told = f"{row['wrong']:.3f} | {row['rate']:.3f} | {row['interval']} | {row['calibration']:.3f}"
        print(f"| {row['dataset']} | {row['noise']} | {numbers} | {row['ahead']:+.3f} | {told} |")
    by_class = table["noise"].isin(["symmetric", "pair"])
    behind = (table["ahead"] < -0.02).sum()
    behind_quality = (table["audit"] < table["quality"] - 0.02).sum()
    print(
        f"{len(table)} cells: ahead by {table['ahead'].mean():+.3f} on the mean, {behind} behind by more than .02, "
        f"{behind_quality} behind quality; calibration error {table['calibration'].mean():.3f}"
    )
    off, wide = (table["rate"] - table["wrong"]).abs(), (table["high"] - table["low"])[~by_class]
    print(
        f"symmetric and pair: rate off by at most .05 in {(off[by_class] <= 0.05).sum()} of {by_class.sum()}; others: "
        f"interval covers in {inside[~by_class].sum()} of {(~by_class).sum()}, at most {wide.max():.2f} wide"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="?", default="")
    parser.add_argument("--graphs", choices=("named", "made"), default="named")
    parser.add_argument("--noises", default=",".join(NOISES))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--network", action="store_true", help="also cleanlab on a cross-validated GCN (slow)")
    parser.add_argument("--out", type=Path, default=Path("audit_cells.csv"))
    parser.add_argument("--show", type=Path)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    if chosen.show is not None:
        show(pd.read_csv(chosen.show))
        return
    names = list(MADE) if chosen.graphs == "made" else chosen.datasets.split(",")
    for name, noise in ((name, noise) for name in names for noise in chosen.noises.split(",")):
        before = pd.read_csv(chosen.out).to_dict("records") if chosen.out.exists() else []
        cell = {"dataset": name, "noise": noise, "seed": chosen.seed}
        if any(cell.items() <= row.items() for row in before):
            continue
        clean = MADE[name]() if chosen.graphs == "made" else pignn.load(name)
        cell |= measure_cell(clean, noise, chosen.seed, chosen.network)
        pd.DataFrame([*before, cell]).to_csv(chosen.out, index=False)
        print(cell, flush=True)


if __name__ == "__main__":
    main()
