"""How often the accuracy that `train` claims contains the true one, and how wide its interval is.

    PIGNN_DATA=data python benchmarks/worth.py --runs 8
    PIGNN_DATA=data python benchmarks/worth.py --runs 2 --datasets debian --debian FOLDER
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
from functools import cache
from pathlib import Path

import pandas as pd
import torch
from torch_geometric.data import Data

import pignn
from pignn.graphs.splits import build_masks_from_indices
from pignn.runs.assessment import assess

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


def measure(dataset: str, noise: str, method: str, seed: int, debian: Path | None) -> dict[str, object]:
    data = pignn.corrupt(sample_labels(load(dataset, debian), seed), noise, RATE, seed=seed)
    start = time.perf_counter()
    model = pignn.make(method, seed=seed, **METHODS[method]).fit(data)
    fitted = time.perf_counter()
    found = assess(model, data, seed=seed)
    return {
        **{"dataset": dataset, "noise": noise, "method": method, "seed": seed, "labels": found.num_labels},
        **{"true": model.score(data), "claimed": found.accuracy, "low": found.interval[0], "high": found.interval[1]},
        **{"agreement": found.agreement, "noise_rate": found.estimate.noise_rate},
        **{"fit_seconds": fitted - start, "assess_seconds": found.seconds},
    }


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
    parser.add_argument("--runs", type=int, default=2, help="seeds per graph, noise and method")
    parser.add_argument("--datasets", default=",".join(DATASETS), help="those to run, separated by commas")
    parser.add_argument("--debian", type=Path, help="folder with the tables of Debian's packages")
    parser.add_argument("--table", action="store_true", help="print what was measured")
    arguments = parser.parse_args()
    if arguments.table:
        print_table()
        return
    warnings.simplefilter("ignore")
    lines = FILE.read_text(encoding="utf-8").splitlines() if FILE.exists() else []
    done = {tuple(json.loads(line)[key] for key in ("dataset", "noise", "method", "seed")) for line in lines}
    datasets = arguments.datasets.split(",")
    for seed, noise, dataset, method in itertools.product(range(arguments.runs), NOISES, datasets, METHODS):
        if (dataset, noise, method, seed) not in done:
            run = measure(dataset, noise, method, seed, arguments.debian)
            with FILE.open("a", encoding="utf-8") as file:
                file.write(json.dumps(run) + "\n")
            print(f"{dataset} {noise} {method} {seed}: {run['true']:.3f} in {run['low']:.3f} to {run['high']:.3f}")


if __name__ == "__main__":
    main()
