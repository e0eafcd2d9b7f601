"""How well the audit finds wrong labels, beside simpler ways: `python benchmarks/audit.py run`, then `table`.

Labels on all nodes, five folds. Every way gives each label a score; "ap" is the area under the precision-recall curve
for the labels that are wrong, "p@k" the precision among the k highest, k being the number of wrong labels. Rows
are appended to results/audit.csv, and what is there already is not measured again.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.metrics import average_precision_score
from torch_geometric.data import Data
from torch_geometric.utils import subgraph

import pignn
from pignn.auditing import audit_labels, crossfit, estimate_from_review, evidence, mark_trusted, sample_for_review
from pignn.backbones import GraphInputs

OUT = Path(__file__).parent / "results" / "audit.csv"
DATASETS = ("cora", "citeseer", "digits", "photo", "pubmed")
RATES = [(kind, rate) for kind in ("symmetric", "pair") for rate in (0.1, 0.2, 0.3)]
NOISES = [("none", 0.0), *RATES, ("instance", 0.2), ("rule", 0.2), ("cluster", 0.2), ("one-sided", 0.3)]
FIELDS = ("dataset", "noise", "rate", "seed", "way", "wrong", "ap", "p@k", "seconds")
# What the audit says besides: two estimates of the rate, and how many labels are right after correction.
TOLD = ("estimated", "dawid_skene", "corrected", "corrected_probable")
LIMITS = {"cora": 0.05, "citeseer": 0.10, "digits": 0.05, "photo": 0.05, "pubmed": 0.10}  # of the error of a rate
WAYS = ("audit", "logistic", "margin", "neighbours", "gcn+cleanlab")


def settings(datasets: list[str], seeds: int) -> Iterator[tuple[str, str, float, int]]:
    for seed in range(seeds):
        for dataset in datasets:
            for kind, rate in NOISES:
                yield dataset, kind, rate, seed
            if dataset == "cora" and seed == 0:
                yield dataset, "gpt-3.5", 0.0, 0


def noisy_graph(dataset: str, kind: str, rate: float, seed: int) -> Data:
    data = pignn.load(dataset)
    if kind == "gpt-3.5":
        path = Path(pignn.graphs.dataset_path("cora")) / "llm_labels.npz"
        return pignn.corrupt(data, pignn.noise.load_recorded_labels(path), splits=("all",))
    return pignn.corrupt(data, kind, rate if rate else None, seed=seed, splits=("all",))


def scores(data: Data, ways: set[str]) -> Iterator[tuple[str, np.ndarray, dict[str, float], float]]:
    """(way, score of each label, what else it says, seconds)."""
    given = data.y.numpy()
    n, nodes = pignn.graphs.num_classes(data), np.arange(len(given))
    fold = crossfit.assign_folds(given, 5, 0)
    truth = data.y_true.numpy()
    if "audit" in ways:
        start = time.perf_counter()
        found = audit_labels(data)
        table = found.issues.sort_values("node")
        extra = {"estimated": found.noise.rate, "dawid_skene": found.rate_dawid_skene or float("nan")}
        for name, chosen in (("corrected", table["suspect"]), ("corrected_probable", table["p_wrong"] > 0.5)):
            fixed = np.where(chosen, table["suggested"], table["given"])
            extra[name] = float((fixed == truth).mean())
        yield "audit", table["p_wrong"].to_numpy(), extra, time.perf_counter() - start
    checked = data.clone()
    checked.train_mask = torch.ones(data.num_nodes, dtype=torch.bool)
    inputs = GraphInputs.from_data(pignn.graphs.check_graph(checked))
    if ways & {"logistic", "margin"}:
        start = time.perf_counter()
        z = evidence.coordinates(inputs, nodes, 0.1, 0)
        q = crossfit.CrossFitLogistic(z, given, fold, n, np.zeros(len(given), dtype=bool))()
        best = q.copy()
        best[nodes, given] = -1
        yield "logistic", 1 - q[nodes, given], {}, time.perf_counter() - start
        yield "margin", best.max(axis=1) - q[nodes, given], {}, time.perf_counter() - start
    if "neighbours" in ways:
        start = time.perf_counter()
        votes = evidence.counts(evidence.labelled_edges(inputs, nodes), given, n)
        agree = votes[nodes, given] / np.maximum(votes.sum(axis=1), 1)
        # Finer than "disagrees with the majority", and better: how large the share is that disagrees.
        yield "neighbours", 1 - agree, {}, time.perf_counter() - start
    if "gcn+cleanlab" in ways:
        from cleanlab.rank import get_label_quality_scores

        start = time.perf_counter()
        q = np.empty((len(given), n))
        for train, test in crossfit.splits(fold):
            graph = data.clone()
            graph.y[torch.from_numpy(test)] = -1
            graph.train_mask = torch.zeros(data.num_nodes, dtype=torch.bool)
            graph.train_mask[torch.from_numpy(train)] = True
            graph.val_mask = graph.test_mask = torch.zeros(data.num_nodes, dtype=torch.bool)
            q[test] = pignn.make("vanilla", epochs=200, selection="last").fit(graph).predict_proba(graph)[test]
        yield "gcn+cleanlab", 1 - get_label_quality_scores(given, q), {}, time.perf_counter() - start


def run(datasets: list[str], seeds: int, ways: list[str], minutes: float) -> None:
    end = time.time() + 60 * minutes
    OUT.parent.mkdir(exist_ok=True)
    done = set()
    if OUT.exists():
        with OUT.open() as file:
            done = {tuple(row[name] for name in FIELDS[:5]) for row in csv.DictReader(file)}
    else:
        OUT.write_text(",".join(FIELDS + TOLD) + "\n")
    for dataset, kind, rate, seed in settings(datasets, seeds):
        key = (dataset, kind, str(rate), str(seed))
        missing = {way for way in ways if (*key, way) not in done and (kind != "none" or way == "audit")}
        if not missing:
            continue
        if time.time() > end:
            return
        data = noisy_graph(dataset, kind, rate, seed)
        wrong = data.y.numpy() != data.y_true.numpy()
        for way, score, extra, seconds in scores(data, missing):
            if way not in missing:
                continue
            row: dict[str, Any] = dict(zip(FIELDS, (*key, way), strict=False)) | {"wrong": wrong.mean()}
            if wrong.any():
                top = np.argsort(-score, kind="stable")[: wrong.sum()]
                row |= {"ap": average_precision_score(wrong, score), "p@k": wrong[top].mean()}
            row |= extra | {"seconds": seconds}
            with OUT.open("a") as file:
                text = [f"{v:.4f}" if isinstance(v, float) else str(v) for v in (row.get(f, "") for f in FIELDS + TOLD)]
                file.write(",".join(text) + "\n")
        print(*key, flush=True)


def table() -> None:
    rows = pd.read_csv(OUT)
    rows["noise"] = np.where(rows["rate"] > 0, rows["noise"] + " " + rows["rate"].astype(str), rows["noise"])
    order = [f"{kind} {rate}" if rate else kind for kind, rate in [*NOISES, ("gpt-3.5", 0.0)]]
    print(seeds(rows))
    for measure in ("ap", "p@k"):
        wide = rows.pivot_table(index=["dataset", "noise"], columns="way", values=measure)
        wide = wide.reindex(columns=[way for way in WAYS if way in wide.columns]).dropna(how="all")
        wide = wide.reindex([(d, k) for d in DATASETS for k in order if (d, k) in wide.index])
        print(f"\n| dataset | noise | {' | '.join(f'{way} {measure}' for way in wide.columns)} |")
        print("|---" * (2 + len(wide.columns)) + "|")
        for (dataset, noise), values in wide.iterrows():
            cells = ["" if np.isnan(v) else f"{v:.3f}".lstrip("0") for v in values]
            print(f"| {dataset} | {noise} | {' | '.join(cells)} |")
        simulated = wide.drop(index=[i for i in wide.index if i[1] == "gpt-3.5"])
        for way in wide.columns[1:]:
            both = simulated[["audit", way]].dropna()
            ahead = (both["audit"] > both[way]).mean()
            means = f"{both['audit'].mean():.3f} against {both[way].mean():.3f}"
            of = f"{len(both)} rows of simulated noise (the GPT-3.5 row is apart)"
            print(f"\n{measure}: audit ahead of {way} in {ahead:.0%} of {of}; mean {means}")
    own = rows[rows["way"] == "audit"].copy()
    own["off"] = (own["estimated"] - own["wrong"]).abs()
    names = ["wrong", "estimated", "off", "dawid_skene", "corrected_probable", "corrected"]
    wide = own.groupby(["dataset", "noise"])[names].mean()
    wide["seconds"] = own.groupby(["dataset", "noise"])["seconds"].median()
    wide["seeds"] = own.groupby(["dataset", "noise"]).size()
    wide = wide.reindex([(d, k) for d in DATASETS for k in order if (d, k) in wide.index])
    titles = "wrong | estimated | mean error | by three views | right with p_wrong > 0.5 corrected | suspects corrected"
    print(f"\n| dataset | noise | {titles} | seconds | seeds |")
    print("|---" * 10 + "|")
    for (dataset, noise), v in wide.iterrows():
        cells = [f"{v[c]:.3f}" for c in names]
        print(f"| {dataset} | {noise} | {' | '.join(cells)} | {v['seconds']:.1f} | {v['seeds']:.0f} |")
    plain = own[own["noise"].str.startswith(("symmetric", "pair"))]
    within = plain["off"] <= plain["dataset"].map(LIMITS)
    rows_within = [off <= LIMITS[d] for (d, _), off in plain.groupby(["dataset", "noise"])["off"].mean().items()]
    limits = ", ".join(f"{dataset} {limit:.2f}" for dataset, limit in LIMITS.items())
    print(f"\nrate within its limit ({limits}): {within.mean():.0%} of {len(plain)} runs", end=", ")
    print(f"{np.mean(rows_within):.0%} of {len(rows_within)} rows of symmetric and pair noise")


def seeds(rows: pd.DataFrame) -> str:
    """How many noise seeds stand behind the rows of each dataset; the recorded labels of GPT-3.5 are there once."""
    count = rows[rows["noise"] != "gpt-3.5"].groupby(["dataset", "way", "noise"]).size()
    parts = []
    for dataset in (name for name in DATASETS if name in count.index):
        least = {way: (n.min(), n.max()) for way, n in count[dataset].groupby("way")}
        if "audit" not in least:
            continue
        own = least.pop("audit")
        other = [f"{way} {low}" for way, (low, high) in least.items() if high < own[0]]
        text = f"{own[0]}" if own[0] == own[1] else f"{own[0]} or {own[1]}"
        parts.append(f"{dataset} {text}" + (f" ({', '.join(other)})" if other else ""))
    return f"noise seeds: {'; '.join(parts)}"


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
        again = audit_labels(mark_trusted(data, decisions)).issues
        area = []
        for found in (table, again):
            rest = found[~found["node"].isin(chosen["node"])]
            area.append(average_precision_score(truth[rest["node"]] != rest["given"], rest["p_wrong"]))
        print(f"{kind}: {told}\n  ap of the labels not reviewed: {area[0]:.3f} before, {area[1]:.3f} after")


def rules(datasets: list[str]) -> None:
    """Labels that are right after correction by several rules (the last is ours), and what can be seen of labels."""
    names = ("flagged", "p_wrong > 0.5", "another class leads by 0.5", "model, neighbours, similar agree", "suspect")
    seen = ("homophily", "features agree", "neighbours agree")
    print(f"| dataset | noise | given | {' | '.join([*names, *seen])} |")
    print("|---" * 11 + "|")
    for dataset, kind in [("cora", "gpt-3.5"), *((dataset, "none") for dataset in datasets)]:
        data = noisy_graph(dataset, kind, 0.0, 10)
        truth, given, nodes = data.y_true.numpy(), data.y.numpy(), np.arange(data.num_nodes)
        n, fold = pignn.graphs.num_classes(data), crossfit.assign_folds(given, 5, 0)
        found = audit_labels(data)
        table = found.issues.sort_values("node")
        p = table[[f"p_{c}" for c in range(n)]].to_numpy()
        other = p.argmax(axis=1) != given
        against = other & (table["neighbor_agreement"] < 0.5) & (table["similar_agreement"] < 0.5)
        leads = p.max(axis=1) - p[nodes, given] > 0.5
        chosen = (table["flagged"], table["p_wrong"] > 0.5, leads, against, table["suspect"])
        right = [(given == truth).mean()]
        right += [(np.where(rule, table["suggested"], given) == truth).mean() for rule in chosen]
        checked = data.clone()
        checked.train_mask = torch.ones(data.num_nodes, dtype=torch.bool)
        views = evidence.own_and_around(GraphInputs.from_data(pignn.graphs.check_graph(checked)), nodes, nodes, 0)
        nobody = np.zeros(len(given), dtype=bool)
        agree = [(crossfit.CrossFitLogistic(z, given, fold, n, nobody)().argmax(axis=1) == given).mean() for z in views]
        cells = [f"{v:.3f}" for v in (*right, found.homophily or 0.0, *agree)]
        print(f"| {dataset} | {kind} | {' | '.join(cells)} |", flush=True)


def methods(datasets: list[str]) -> None:
    """The audit by its own model and by `auto`, noise seed 10."""
    print("| dataset | noise | smoothed ap | auto ap | seconds | auto seconds |")
    print("|---|---|---|---|---|---|")
    for dataset in datasets:
        for kind, rate in (("symmetric", 0.1), ("symmetric", 0.3), ("pair", 0.2), ("rule", 0.2), ("cluster", 0.2)):
            data = noisy_graph(dataset, kind, rate, 10)
            areas, times = [], []
            for method in ("smoothed", "auto"):
                start = time.perf_counter()
                table = audit_labels(data, method).issues
                times.append(f"{time.perf_counter() - start:.0f}")
                wrong = data.y_true.numpy()[table["node"]] != table["given"]
                areas.append(f"{average_precision_score(wrong, table['p_wrong']):.3f}".lstrip("0"))
            print(f"| {dataset} | {kind} {rate} | {' | '.join(areas + times)} |", flush=True)


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
    measures = ("p_wrong ap", "ratio ap", "within the class ap", "logistic ap", "neighbours ap", "p@k within")
    print(f"| dataset | positive class | missed | expected wrong | {' | '.join(measures)} |")
    print("|---" * 10 + "|")
    for dataset in datasets:
        for positive in range(3):
            rows = []
            for seed in range(seeds):
                data = rare(dataset, positive, seed)
                other = {way: score for way, score, _, _ in scores(data, {"logistic", "neighbours"})}
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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("run", "table", "review", "large", "methods", "imbalance", "rules"))
    parser.add_argument("--datasets", default=",".join(DATASETS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--minutes", type=float, default=1e6, help="begin no further row after that")
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--degree", type=float, default=20.0)
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument("--labels", type=int, default=20_000)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    if chosen.what == "run":
        run(chosen.datasets.split(","), chosen.seeds, chosen.ways.split(","), chosen.minutes)
    elif chosen.what == "table":
        table()
    elif chosen.what == "review":
        reviewed()
    elif chosen.what == "methods":
        methods(chosen.datasets.split(","))
    elif chosen.what == "rules":
        rules(chosen.datasets.split(","))
    elif chosen.what == "imbalance":
        imbalance(chosen.datasets.split(","), chosen.seeds)
    else:
        large(chosen.nodes, chosen.degree, chosen.features, chosen.labels)
