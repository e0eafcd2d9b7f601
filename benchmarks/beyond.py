"""`auto`, `denoised` and `prototypes` beside networks and the published PI-GNN, under label noise.

Needs the datasets' files (PIGNN_DATA, or a download). Every finished run is one line of the CSV, so that an interrupted
table goes on where it stopped:

    python benchmarks/beyond.py --datasets cora,citeseer,pubmed --seeds 10
    python benchmarks/beyond.py --table
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import statistics
import time
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "auto, train": ("auto", {"labels": "train"}),
    "auto, given": ("auto", {"labels": "given"}),
    "class mean, train": ("prototypes", {"noise": "none"}),
    "class mean, given": ("prototypes", {"noise": "none", "labels": "given"}),
    "mixture, train": ("prototypes", {}),
    "mixture, given": ("prototypes", {"labels": "given"}),
    "ridge, train": ("denoised", {"head": "ridge"}),
    "ridge, given": ("denoised", {"head": "ridge", "labels": "given"}),
    "ridge + logistic, train": ("denoised", {}),
    "ridge + logistic, given": ("denoised", {"labels": "given"}),
    "GCN": ("vanilla", {}),
    "PI-GNN": ("pi-gnn", {}),
    "MLP": ("mlp", {}),
    "GCE": ("gce", {}),
    "APL": ("apl", {}),
    "Co-teaching": ("co-teaching", {}),
}
NOISES = (
    ("none", 0.0),
    *(("symmetric", rate) for rate in (0.2, 0.4, 0.6)),
    *((kind, rate) for kind in ("flip", "pair") for rate in (0.2, 0.4)),
)
# Table 1 of the paper, PI-GNN with GCN: symmetric 0.2, 0.4, 0.6, flip 0.2, 0.4, as (mean, standard deviation).
PUBLISHED = {
    "cora": ((0.739, 0.02), (0.664, 0.03), (0.515, 0.03), (0.723, 0.03), (0.587, 0.07)),
    "citeseer": ((0.642, 0.03), (0.591, 0.03), (0.432, 0.07), (0.628, 0.03), (0.531, 0.06)),
    "pubmed": ((0.724, 0.03), (0.638, 0.04), (0.470, 0.08), (0.723, 0.03), (0.583, 0.07)),
}
CELLS = NOISES[1:6]
COLUMNS = ("dataset", "noise", "rate", "method", "seed", "accuracy", "ece", "seconds", "chosen")


def one(dataset: str, noise: str, rate: float, method: str, seed: int) -> tuple[object, ...]:
    import torch

    import pignn
    from pignn.methods.network import NetworkMethod
    from pignn.training.metrics import calibration_error

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    name, settings = METHODS[method]
    data = pignn.corrupt(pignn.load(dataset), noise, rate or None, seed=seed)
    model = pignn.make(name, seed=seed, **settings)
    start = time.perf_counter()
    model.fit(data, **({"progress": False} if isinstance(model, NetworkMethod) else {}))
    seconds = time.perf_counter() - start
    test = data.test_mask.numpy()
    proba = model.predict_proba(data)[test]
    truth = data.y_true.numpy()[test]
    accuracy = float((proba.argmax(1) == truth).mean())
    error = calibration_error(truth, proba)
    chosen = getattr(model, "chosen_", "")
    return (dataset, noise, rate, method, seed, round(accuracy, 4), round(error, 4), round(seconds, 2), chosen)


def read(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open() as file:
        return list(csv.DictReader(file))


def key(row: dict[str, str]) -> tuple[str, str, float, str, int]:
    return row["dataset"], row["noise"], float(row["rate"]), row["method"], int(row["seed"])


def table(rows: list[dict[str, str]]) -> None:
    print("| dataset | noise | method | seeds | accuracy | ece | seconds | over published |")
    print("|---|---|---|---|---|---|---|---|")
    cells: dict[tuple[str, str, float, str], list[dict[str, str]]] = {}
    for row in rows:
        cells.setdefault(key(row)[:4], []).append(row)
    over: dict[str, list[float]] = {}
    for (dataset, noise, rate, method), found in sorted(cells.items()):
        values = [float(row["accuracy"]) for row in found]
        mean, spread = statistics.mean(values), statistics.stdev(values) if len(values) > 1 else 0.0
        error, seconds = (statistics.mean(float(row[name]) for row in found) for name in ("ece", "seconds"))
        gain = ""
        if dataset in PUBLISHED and (noise, rate) in CELLS:
            published, deviation = PUBLISHED[dataset][CELLS.index((noise, rate))]
            over.setdefault(method, []).append(mean - published)
            below = mean < published - math.sqrt(deviation**2 / 10 + spread**2 / len(values))
            gain = f"{mean - published:+.3f}{' **below**' if below else ''}"
        print(
            f"| {dataset} | {noise} {rate} | {method} | {len(values)} | {mean:.3f} ± {spread:.3f} | {error:.3f} "
            f"| {seconds:.1f} | {gain} |"
        )
    print("\n| method | cells | mean difference to the published PI-GNN |\n|---|---|---|")
    for method, gains in over.items():
        print(f"| {method} | {len(gains)} of 15 | {statistics.mean(gains):+.3f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/beyond.csv"))
    parser.add_argument("--datasets", default="cora,citeseer,pubmed")
    parser.add_argument("--methods", default=";".join(METHODS), help="names separated by ;")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no run after so many")
    parser.add_argument("--table", action="store_true", help="print the table and run nothing")
    options = parser.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    done = {key(row) for row in read(options.out)}
    # Seeds outside, cells inside: a table that was cut short is even.
    plan = [
        (dataset, noise, rate, method, seed)
        for seed in range(options.seeds)
        for dataset in options.datasets.split(",")
        for noise, rate in NOISES
        for method in options.methods.split(";")
    ]
    start, new = time.monotonic(), not options.out.exists()
    with options.out.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(COLUMNS)
        for run in plan:
            if run in done or options.table or time.monotonic() - start > 60 * options.minutes:
                continue
            writer.writerow(one(*run))
            file.flush()
    table(read(options.out))


if __name__ == "__main__":
    main()
