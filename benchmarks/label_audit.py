"""Audits beyond `audit_cells.py` and the study `audit-judges` (`pignn study run audit-judges`).

python benchmarks/label_audit.py review      # 100 reviewed labels: what they tell, and what they help
python benchmarks/label_audit.py recorded    # the labels that GPT-3.5 gave to Cora
python benchmarks/label_audit.py rules       # labels that are right after correction by several rules
python benchmarks/label_audit.py imbalance   # finding the missed labels of a rare class
python benchmarks/label_audit.py large       # seconds and memory of one audit of a large synthetic graph
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from sklearn.metrics import average_precision_score
from torch_geometric.data import Data
from torch_geometric.utils import subgraph

import pignn
from pignn.auditing import apply_decisions_to_graph, audit_labels, estimate_from_review, sample_for_review
from pignn.auditing.evidence import build_checked_evidence
from pignn.auditing.label_scorers import SCORERS
from pignn.auditing.views import average_neighbor_features, compute_own_features

DATASETS = ("cora", "citeseer", "digits", "photo", "pubmed")


def noisy_graph(dataset: str, kind: str, rate: float, seed: int) -> Data:
    data = pignn.load(dataset)
    if kind == "gpt-3.5":
        path = Path(pignn.graphs.find_dataset_location_or_empty("cora")) / "llm_labels.npz"
        return pignn.corrupt(data, pignn.noise.load_recorded_labels(path), splits=("all",))
    return pignn.corrupt(data, kind, rate if rate else None, seed=seed, splits=("all",))


def reviewed() -> None:
    """100 labels of Cora reviewed by somebody who knows, half drawn at random: what they tell, and what they help."""
    for kind, rate in (("rule", 0.2), ("gpt-3.5", 0.0)):
        data = noisy_graph("cora", kind, rate, 0)
        truth = data.y_true.numpy()
        table = audit_labels(data).issues
        chosen = sample_for_review(table, 100)
        wrong = truth[chosen["node"]] != chosen["given"]
        told = estimate_from_review(chosen.assign(decision=np.where(wrong, "relabel", "keep")))
        decisions = pd.DataFrame({"node": chosen["node"].astype(str), "decision": np.where(wrong, "relabel", "keep")})
        decisions["label"] = [data.class_names[c] for c in truth[chosen["node"]]]
        again = audit_labels(apply_decisions_to_graph(data, decisions)).issues
        area = []
        for found in (table, again):
            rest = found[~found["node"].isin(chosen["node"])]
            area.append(average_precision_score(truth[rest["node"]] != rest["given"], rest["p_wrong"]))
        print(f"{kind}: {told}\n  ap of the labels not reviewed: {area[0]:.3f} before, {area[1]:.3f} after")


def recorded() -> None:
    """The labels of GPT-3.5: how many are wrong, as the audit says it, and how well it finds them."""
    data = noisy_graph("cora", "gpt-3.5", 0.0, 0)
    found = audit_labels(data, intervals=True)
    table = found.issues
    wrong = data.y_true.numpy()[table["node"]] != table["given"].to_numpy()
    p_wrong, quality = (average_precision_score(wrong, score) for score in (table["p_wrong"], 1 - table["quality"]))
    print(f"ap {p_wrong:.3f}, of quality {quality:.3f}; wrong {wrong.mean():.3f}, told {found.noise.rate:.3f}")
    print(f"by class alone {found.rate_by_class_alone:.3f}, by votes {found.rate_dawid_skene:.3f}")
    print(f"interval {found.noise.rate_interval}")


def rules(datasets: list[str]) -> None:
    """Labels that are right after correction by several rules (the last is ours), and what can be seen of labels."""
    names = ("flagged", "p_wrong > 0.5", "another class leads by 0.5", "model, neighbors, similar agree", "suspect")
    seen = ("homophily", "features agree", "neighbors agree")
    print(f"| dataset | noise | given | {' | '.join([*names, *seen])} |")
    print("|---" * 11 + "|")
    for dataset, kind in [("cora", "gpt-3.5"), *((dataset, "none") for dataset in datasets)]:
        data = noisy_graph(dataset, kind, 0.0, 10)
        truth, given, nodes = data.y_true.numpy(), data.y.numpy(), np.arange(data.num_nodes)
        n, known = pignn.graphs.num_classes(data), build_checked_evidence(data, 5, 0)
        found = audit_labels(data)
        table = found.issues.sort_values("node")
        p = table[[f"p_{c}" for c in range(n)]].to_numpy()
        other = p.argmax(axis=1) != given
        against = other & (table["neighbor_agreement"] < 0.5) & (table["similar_agreement"] < 0.5)
        leads = p.max(axis=1) - p[nodes, given] > 0.5
        chosen = (table["flagged"], table["p_wrong"] > 0.5, leads, against, table["suspect"])
        right = [(given == truth).mean()]
        right += [(np.where(rule, table["suggested"], given) == truth).mean() for rule in chosen]
        own = compute_own_features(known.inputs, n, 0)
        views = (own, average_neighbor_features(known.inputs, own, nodes, 0))
        agree = [
            (known.make_cross_fit_classifier(view).fit_predict_proba().argmax(axis=1) == given).mean() for view in views
        ]
        cells = [f"{v:.3f}" for v in (*right, found.homophily or 0.0, *agree)]
        print(f"| {dataset} | {kind} | {' | '.join(cells)} |", flush=True)


def rare(dataset: str, positive: int, seed: int) -> Data:
    """One class against the rest, thinned to 1 % of the nodes; 40 % of its labels are missed."""
    data = pignn.load(dataset)
    rng = np.random.default_rng(seed)
    rest = np.flatnonzero(data.y.numpy() != positive)
    some = rng.choice(np.flatnonzero(data.y.numpy() == positive), round(len(rest) / 99), replace=False)
    kept = torch.from_numpy(np.sort(np.concatenate([rest, some])))
    edges, _ = subgraph(kept, data.edge_index, relabel_nodes=True, num_nodes=data.num_nodes)
    true = (data.y[kept] == positive).long()
    given = true.clone()
    given[torch.from_numpy(rng.choice(np.flatnonzero(true), round(0.4 * len(some)), replace=False))] = 0
    return Data(x=data.x[kept], edge_index=edges, y=given, y_true=true, class_names=["rest", "positive"])


def imbalance(datasets: list[str], seeds: int) -> None:
    """Finding the missed positives: all labels by p_wrong and by ratio, and within the given class by its rank."""
    measures = ("p_wrong ap", "ratio ap", "within the class ap", "logistic ap", "neighbors ap", "p@k within")
    print(f"| dataset | positive class | missed | expected wrong | {' | '.join(measures)} |")
    print("|---" * 10 + "|")
    for dataset in datasets:
        for positive in range(3):
            rows = []
            for seed in range(seeds):
                data = rare(dataset, positive, seed)
                other = {
                    name: SCORERS.get(name)().compute_suspicion_scores_and_measures(data)[0]
                    for name in ("logistic", "neighbors")
                }
                table = audit_labels(data).issues
                node = table["node"].to_numpy()
                wrong = data.y_true.numpy()[node] != table["given"].to_numpy()
                ranks = [table["p_wrong"], table["class_ratio"], other["logistic"][node], other["num_neighbors"][node]]
                all_, ratio, logistic, near = (average_precision_score(wrong, rank) for rank in ranks)
                inside = (table["given"] == 0).to_numpy()
                first = np.argsort(table["class_rank"].to_numpy()[inside])
                within = average_precision_score(wrong[inside], -table["class_rank"][inside])
                at_k = wrong[inside][first[: wrong.sum()]].mean()
                rows.append([wrong.sum(), table["p_wrong"].sum(), all_, ratio, within, logistic, near, at_k])
            mean = np.mean(rows, axis=0)
            cells = [f"{mean[0]:.0f}", f"{mean[1]:.1f}", *(f"{v:.3f}".lstrip("0") for v in mean[2:])]
            print(f"| {dataset} | {positive} | {' | '.join(cells)} |", flush=True)


def large(nodes: int, degree: float, features: int, labels: int) -> None:
    """One audit of a synthetic graph: seconds and the peak of memory."""
    data = pignn.graphs.csbm(nodes, 10, homophily=0.7, degree=degree, signal=1.0, num_features=features)
    data = pignn.corrupt(data, "symmetric", 0.2, splits=("all",))
    hidden = torch.ones(nodes, dtype=torch.bool)
    hidden[torch.randperm(nodes, generator=torch.Generator().manual_seed(0))[:labels]] = False
    data.y[hidden] = -1
    print(f"made {nodes:,} nodes, {data.num_edges // 2:,} edges; peak {peak():.2f} GB", flush=True)
    start = time.perf_counter()
    found = audit_labels(data)
    table = found.issues
    wrong = data.y_true.numpy()[table["node"]] != table["given"].to_numpy()
    seconds, area = time.perf_counter() - start, average_precision_score(wrong, table["p_wrong"])
    print(f"{seconds:.0f} s, peak {peak():.2f} GB, ap {area:.3f}")
    print(f"rate {found.noise.rate:.3f}, in truth {wrong.mean():.3f}")


def peak() -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 2**20


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("review", "recorded", "rules", "imbalance", "large"))
    parser.add_argument("--datasets", default=",".join(DATASETS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--degree", type=float, default=20.0)
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument("--labels", type=int, default=20_000)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    if chosen.what == "review":
        reviewed()
    elif chosen.what == "recorded":
        recorded()
    elif chosen.what == "rules":
        rules(chosen.datasets.split(","))
    elif chosen.what == "imbalance":
        imbalance(chosen.datasets.split(","), chosen.seeds)
    else:
        large(chosen.nodes, chosen.degree, chosen.features, chosen.labels)
