"""GCN, PI-GNN without predictive confidence, and PI-GNN beside the paper's table 1.

Needs the Planetoid files (PIGNN_DATA, or a download). Every finished run is one line of the CSV, so that an
interrupted table goes on where it stopped:

    python benchmarks/accuracy.py --out runs/accuracy.csv
    python benchmarks/accuracy.py --out runs/accuracy.csv --draws released

The second line makes the very labels wrong that the authors' program does with the same seeds.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch_geometric.data import Data

os.environ.setdefault("OMP_NUM_THREADS", "1")

METHODS = {
    "GCN": ("vanilla", {}),
    "PI-GNN w/o pc": ("pi-gnn", {"pair_labels": "connectivity"}),
    "PI-GNN": ("pi-gnn", {}),
}
# Of table 1 of the paper, whose "asymmetric" is `flip` here.
NOISES = [("none", 0.0), *((kind, rate) for kind in ("symmetric", "flip") for rate in (0.2, 0.4, 0.6, 0.8))]
SOME = [("cora", "symmetric", 0.4), ("cora", "symmetric", 0.6), ("cora", "flip", 0.4), ("citeseer", "symmetric", 0.4)]
DRAWS = ("ours", "released")
COLUMNS = ("draws", "dataset", "noise", "rate", "method", "seed", "accuracy", "wrong", "epoch", "seconds")
Key = tuple[str, str, str, float, str, int]


def released(data: Data, noise: str, rate: float, seed: int) -> Data:
    """With the training labels that the authors' program draws, one after the other, from NumPy's older generator.

    For `flip`, the class that each class goes to is drawn first. Validation labels stay true.
    """
    import numpy as np

    import pignn

    draw = np.random.RandomState(seed)
    classes = np.arange(int(data.y.max()) + 1)
    matrix = pignn.noise.build_transition_matrix("symmetric", rate, len(classes))
    if noise == "flip":
        matrix = np.eye(len(classes)) * (1 - rate)
        for each in classes:
            matrix[each, draw.choice(classes[classes != each])] = rate
    labels = data.y.clone()
    for node in data.train_mask.nonzero().view(-1).tolist():
        labels[node] = int(draw.choice(len(classes), p=matrix[int(data.y[node])]))
    return pignn.corrupt(data, pignn.noise.RecordedLabels(labels), splits=("train",))


def one(draws: str, dataset: str, noise: str, rate: float, method: str, seed: int) -> tuple[object, ...]:
    import torch

    import pignn

    torch.set_num_threads(1)
    name, settings = METHODS[method]
    data = pignn.load(dataset)
    data = released(data, noise, rate, seed) if draws == "released" else pignn.corrupt(data, noise, rate, seed=seed)
    model = pignn.make(name, selection="clean-val", seed=seed, **settings)
    start = time.perf_counter()
    model.fit(data, progress=False)
    seconds = time.perf_counter() - start
    wrong = pignn.noise.summarize_noise(data).split_rates["train"]
    found = (round(model.score(data), 4), round(wrong, 4), model.best_epoch_, round(seconds, 2))
    return (draws, dataset, noise, rate, method, seed, *found)


def read(path: Path) -> dict[Key, tuple[float, float]]:
    """Accuracy and share of wrong training labels of each run that is done."""
    if not path.exists():
        return {}
    with path.open() as file:
        rows = list(csv.DictReader(file))
    if rows and set(rows[0]) != set(COLUMNS):
        sys.exit(f"{path} has other columns than {', '.join(COLUMNS)}; choose another --out")
    return {
        (r["draws"], r["dataset"], r["noise"], float(r["rate"]), r["method"], int(r["seed"])): (
            float(r["accuracy"]),
            float(r["wrong"]),
        )
        for r in rows
    }


def table(done: dict[Key, tuple[float, float]], draws: str, cells: list[tuple[str, str, float]]) -> None:
    from pignn.studies.paper import published
    from pignn.studies.study import NoiseSpec

    print("| dataset | noise | wrong labels | method | seeds | ours | paper | difference | allowed | |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    differences, outside = [], 0
    for dataset, noise, rate in cells:
        for method in METHODS:
            paper = published("effectiveness", dataset, NoiseSpec(noise, rate), method)
            runs = [value for key, value in done.items() if key[:5] == (draws, dataset, noise, rate, method)]
            if not runs:
                continue
            found, wrong = [accuracy for accuracy, _ in runs], sum(share for _, share in runs) / len(runs)
            n = len(found)
            ours = sum(found) / n
            spread = math.sqrt(sum((x - ours) ** 2 for x in found) / (n - 1)) if n > 1 else 0.0
            allowed = max(0.03, 2 * math.sqrt(spread**2 / n + paper.std**2 / 10))
            difference = ours - paper.mean
            verdict = "ok" if abs(difference) <= allowed else "**outside**"
            differences.append(difference)
            outside += abs(difference) > allowed
            print(
                f"| {dataset} | {noise} {rate} | {wrong:.1%} | {method} | {n} | {ours:.3f} ± {spread:.3f} "
                f"| {paper.mean:.3f} ± {paper.std:.2f} | {difference:+.3f} | {allowed:.3f} | {verdict} |"
            )
    if differences:
        mean, most = sum(differences) / len(differences), max(map(abs, differences))
        print(f"\n{len(differences)} cells: mean difference {mean:+.4f}, largest {most:.3f}, {outside} outside")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/accuracy.csv"))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--draws", choices=DRAWS, default="ours", help="whose random numbers make labels wrong")
    parser.add_argument("--all", action="store_true", help="all of table 1 on Cora and CiteSeer, not a part of it")
    options = parser.parse_args()
    cells = [(name, *noise) for name in ("cora", "citeseer") for noise in NOISES] if options.all else SOME
    options.out.parent.mkdir(parents=True, exist_ok=True)
    done = read(options.out)
    # Seeds outside, cells inside: a table that was cut short is even.
    plan = [
        (options.draws, *cell, method, seed) for seed in range(options.seeds) for cell in cells for method in METHODS
    ]
    open_runs = [run for run in plan if run not in done]
    new = not options.out.exists()
    with options.out.open("a", newline="") as file, ProcessPoolExecutor(options.workers) as pool:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(COLUMNS)
        for i, future in enumerate(as_completed([pool.submit(one, *run) for run in open_runs]), 1):
            writer.writerow(future.result())
            file.flush()
            print(f"\r{i}/{len(open_runs)} runs", end="", file=sys.stderr)
    print(file=sys.stderr)
    table(read(options.out), options.draws, cells)


if __name__ == "__main__":
    main()
