"""How often the accuracy that `train` claims contains the true one, and how wide its interval is.

    PIGNN_DATA=data python benchmarks/worth.py --seeds 0-4
    PIGNN_DATA=data python benchmarks/worth.py --seeds 0 --datasets debian --debian FOLDER
    PIGNN_DATA=data python benchmarks/worth.py --table

FOLDER has Debian's packages as tables: packages.csv (package, section, description, …) and depends.csv (package,
depends_on). The section is the class, and known to be true.

Of each graph, 1,000 nodes drawn at random are labeled (half of the nodes, where there are fewer), and a fifth of the
labels is made wrong. A method learns from them, its worth is estimated, and compared with its accuracy on all other
nodes by their true labels. Every run is a line in benchmarks/results/worth.jsonl; those that are there are not
repeated.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch_geometric.data import Data

import pignn
from pignn.graphs.splits import build_masks_from_indices
from pignn.runs.accuracy import HeldOutLabels, estimate_accuracy
from pignn.runs.assessment import (
    NUM_FOLDS,
    LabelEvidence,
    build_assessment,
    find_labeled_train_nodes,
    predict_held_out_probs,
)

FILE = Path(__file__).parent / "results" / "worth.jsonl"
DATASETS = ("csbm", "digits", "cora", "photo", "computers", "debian")
NOISES = ("symmetric", "pair", "flip")
METHODS = {
    "auto": {"networks": "never"},
    "denoised": {},
    "vanilla": {"epochs": 100},
}
NUM_LABELS, RATE = 1_000, 0.2


@cache
def load(dataset: str, debian: Path | None) -> Data:
    if dataset != "debian":
        return pignn.load(dataset)
    if debian is None:
        raise SystemExit("debian needs --debian FOLDER, with packages.csv and depends.csv")
    files = {"nodes": debian / "packages.csv", "edges": debian / "depends.csv"}
    return pignn.read_graph(**files, id="package", label="section", drop_unknown=True)


def sample_labels(data: Data, seed: int) -> Data:
    order = torch.randperm(data.num_nodes, generator=torch.Generator().manual_seed(seed))
    order = order[data.y[order] >= 0]  # of some packages the section is not known
    size = min(NUM_LABELS, len(order) // 2)
    masks = build_masks_from_indices(data.num_nodes, order[:size], order[:0], order[size:])
    data = data.__copy__()
    data.update(masks._asdict())
    return data


def iter_runs(dataset: str, noise: str, seed: int, arguments: argparse.Namespace) -> Iterator[dict[str, object]]:
    """One run per method. What the audit says of the labels is asked once for all of them."""
    data = pignn.corrupt(sample_labels(load(dataset, arguments.debian), seed), noise, RATE, seed=seed)
    nodes = find_labeled_train_nodes(data, with_val=False)
    start = time.perf_counter()
    evidence = LabelEvidence.from_audit(data, nodes, data.y[nodes].numpy(), seed)
    audit_seconds = time.perf_counter() - start
    for name in arguments.methods.split(","):
        start = time.perf_counter()
        model = pignn.make(name, seed=seed, **METHODS[name]).fit(data)
        fitted = time.perf_counter()
        probs = predict_held_out_probs(model, evidence, NUM_FOLDS, seed)
        found = build_assessment(model, data, evidence, probs, NUM_FOLDS, seed, fitted - audit_seconds)
        truth = model.score(data)
        if arguments.arrays is not None:
            arguments.arrays.mkdir(parents=True, exist_ok=True)
            arrays = {"given": evidence.given, "true": data.y_true[nodes].numpy(), "probs": probs, "accuracy": truth}
            file = arguments.arrays / f"{dataset}-{noise}-{name}-{seed}.npz"
            np.savez_compressed(file, log_probs=evidence.log_probs, **arrays)
        yield {
            **{"dataset": dataset, "noise": noise, "method": name, "seed": seed, "labels": found.num_labels},
            **{"true": truth, "claimed": found.accuracy, "low": found.interval[0], "high": found.interval[1]},
            **{"agreement": found.agreement, "noise_rate": found.estimate.noise_rate},
            **{"fit_seconds": fitted - start, "assess_seconds": found.seconds},
        }


def estimate_again(run: dict[str, Any], folder: Path) -> dict[str, Any]:
    """A run with the claim that its arrays lead to now."""
    arrays = np.load(folder / f"{run['dataset']}-{run['noise']}-{run['method']}-{run['seed']}.npz")
    given, probs, log_probs = arrays["given"], arrays["probs"], arrays["log_probs"]
    labels = HeldOutLabels(given, probs.argmax(axis=1)[:, None], log_probs, np.zeros(len(given), dtype=bool))
    found = estimate_accuracy(labels, share_learned_from=1 - 1 / NUM_FOLDS, seed=run["seed"])
    low, high = found.interval
    return run | {"claimed": found.accuracy, "low": low, "high": high, "noise_rate": found.noise_rate}


def print_table() -> None:
    runs = pd.DataFrame([json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()])
    runs["inside"] = (runs.low <= runs.true) & (runs.true <= runs.high)
    runs["width"], runs["error"] = runs.high - runs.low, (runs.claimed - runs.true).abs()
    print("| | runs | contains the truth | width, mean | width, largest | error, mean | seconds |\n" + "|---" * 7 + "|")
    groups = [("all", runs), *(pair for key in ("dataset", "noise", "method") for pair in runs.groupby(key))]
    for name, group in groups:
        print(
            f"| {name} | {len(group)} | {group.inside.mean():.1%} | {group.width.mean():.3f} | {group.width.max():.3f} "
            f"| {group.error.mean():.3f} | {group.assess_seconds.mean():.1f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="0-4", help="as 0-4 or 7")
    parser.add_argument("--noises", default=",".join(NOISES), help="those to run, separated by commas")
    parser.add_argument("--methods", default=",".join(METHODS), help="those to run, separated by commas")
    parser.add_argument("--arrays", type=Path, help="folder for what the estimates are made of")
    parser.add_argument("--datasets", default=",".join(DATASETS), help="those to run, separated by commas")
    parser.add_argument("--debian", type=Path, help="folder with the tables of Debian's packages")
    parser.add_argument("--again", action="store_true", help="estimate anew all runs whose arrays are there")
    parser.add_argument("--table", action="store_true", help="print what was measured")
    arguments = parser.parse_args()
    if arguments.table:
        print_table()
        return
    warnings.simplefilter("ignore")
    lines = FILE.read_text(encoding="utf-8").splitlines() if FILE.exists() else []
    if arguments.again:
        again = [estimate_again(run, arguments.arrays) for run in map(json.loads, lines)]
        FILE.write_text("".join(json.dumps(run) + "\n" for run in again), encoding="utf-8")
        return
    done = {tuple(json.loads(line)[key] for key in ("dataset", "noise", "method", "seed")) for line in lines}
    first, _, last = arguments.seeds.partition("-")
    seeds, noises = range(int(first), int(last or first) + 1), arguments.noises.split(",")
    for seed, noise, dataset in itertools.product(seeds, noises, arguments.datasets.split(",")):
        if all((dataset, noise, method, seed) in done for method in arguments.methods.split(",")):
            continue
        for run in iter_runs(dataset, noise, seed, arguments):
            with FILE.open("a", encoding="utf-8") as file:
                file.write(json.dumps(run) + "\n")
            print(
                f"{dataset} {noise} {run['method']} {seed}: {run['true']:.3f} in {run['low']:.3f} to {run['high']:.3f}"
            )


if __name__ == "__main__":
    main()
