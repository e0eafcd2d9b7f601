"""`auto`, `denoised` and `prototypes` beside networks and the published PI-GNN, under label noise.

Needs the datasets' files (PIGNN_DATA, or a download). Every finished run is one line of the CSV, so that an interrupted
table goes on where it stopped:

    python benchmarks/beyond.py --datasets cora,citeseer,pubmed --seeds 10
    python benchmarks/beyond.py --table
    python benchmarks/beyond.py --ablation --first 10 --seeds 3 --out ablation.csv
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
    "denoised, train": ("denoised", {}),
    "denoised, given": ("denoised", {"labels": "given"}),
    "low-density, train": ("low-density", {}),
    "low-density, given": ("low-density", {"labels": "given"}),
    "GCN": ("vanilla", {}),
    "PI-GNN": ("pi-gnn", {}),
    "MLP": ("mlp", {}),
    "SGC": ("sgc", {}),
    "APPNP": ("appnp", {}),
    "Label propagation": ("label-propagation", {}),
    "ICA": ("ica", {}),
    "Planetoid-T": ("planetoid-t", {}),
    "GCE": ("gce", {}),
    "SCE": ("sce", {}),
    "APL": ("apl", {}),
    "Forward": ("forward", {}),
    "Backward": ("backward", {}),
    "S-model": ("s-model", {}),
    "T-revision": ("t-revision", {}),
    "Co-teaching": ("co-teaching", {}),
    "Decoupling": ("decoupling", {}),
    "JoCoR": ("jocor", {}),
    "DivideMix": ("dividemix", {}),
    "LPM, 1 trusted": ("lpm", {}),
}
ABLATION = [
    name for name in METHODS if name.split(",")[0] in ("class mean", "mixture", "denoised", "low-density", "auto")
]
HETEROPHILOUS = ("actor", "chameleon")  # with their own splits, one a seed; the others have 20 labels a class
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
    data = noisy(dataset, noise, rate, seed, trusted=name == "lpm")
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


def noisy(dataset: str, noise: str, rate: float, seed: int, trusted: bool = False) -> Any:
    """The graph with noisy labels; ``trusted`` for the one method that cannot do without: a true label a class."""
    import pignn

    if dataset == "cora-gpt":  # the labels that GPT-3.5 gave the training nodes; validation nodes have none
        record = pignn.noise.load_recorded(Path(pignn.graphs.where("cora")) / "llm_labels.npz")
        data = pignn.load("cora")
        data.val_mask = data.val_mask & False
        return pignn.corrupt(data, record, splits=("train",))
    if dataset in HETEROPHILOUS:
        data = pignn.load(dataset, split="own", split_index=seed)
    else:
        data = pignn.load(dataset, split_seed=seed)
    if trusted:
        data = pignn.graphs.trust(data, 1, seed=seed)
    return pignn.corrupt(data, noise, rate or None, seed=seed)


def noises(dataset: str) -> tuple[tuple[str, float], ...]:
    return (("recorded", 0.0),) if dataset == "cora-gpt" else NOISES


def read(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open() as file:
        return list(csv.DictReader(file))


def key(row: dict[str, str]) -> tuple[str, str, float, str, int]:
    return row["dataset"], row["noise"], float(row["rate"]), row["method"], int(row["seed"])


def summary(rows: list[dict[str, str]]) -> list[dict[str, Any]]:
    """One line a cell and method, in the order of datasets, noises and methods."""
    cells: dict[tuple[str, str, float, str], list[dict[str, str]]] = {}
    for row in rows:
        cells.setdefault(key(row)[:4], []).append(row)
    lines = []
    for (dataset, noise, rate, method), found in cells.items():
        values = [float(row["accuracy"]) for row in found]
        mean, spread = statistics.mean(values), statistics.stdev(values) if len(values) > 1 else 0.0
        line: dict[str, Any] = {"dataset": dataset, "noise": noise, "rate": rate, "method": method}
        line |= {"seeds": len(values), "mean": mean, "spread": spread}
        line |= {name: statistics.mean(float(row[name]) for row in found) for name in ("ece", "seconds")}
        if dataset in PUBLISHED and (noise, rate) in CELLS:
            published, deviation = PUBLISHED[dataset][CELLS.index((noise, rate))]
            line["gain"] = mean - published
            line["below"] = mean < published - math.sqrt(deviation**2 / 10 + spread**2 / len(values))
        lines.append(line)
    place = [*PUBLISHED, "photo", "dblp", *HETEROPHILOUS, "cora-gpt"]
    order = [*NOISES, ("recorded", 0.0)]
    methods = list(METHODS)
    lines.sort(
        key=lambda line: (
            place.index(line["dataset"]),
            order.index((line["noise"], line["rate"])),
            methods.index(line["method"]),
        )
    )
    return lines


def table(lines: list[dict[str, Any]]) -> None:
    print("| dataset | noise | method | seeds | accuracy | ece | seconds | over published |")
    print("|---|---|---|---|---|---|---|---|")
    for line in lines:
        gain = f"{line['gain']:+.3f}{' **below**' if line['below'] else ''}" if "gain" in line else ""
        noise = line["noise"] if not line["rate"] else f"{line['noise']} {line['rate']}"
        spread = f" ± {line['spread']:.3f}" if line["seeds"] > 1 else ""
        print(
            f"| {line['dataset']} | {noise} | {line['method']} | {line['seeds']} | {line['mean']:.3f}{spread} "
            f"| {line['ece']:.3f} | {line['seconds']:.1f} | {gain} |"
        )


def gains(lines: list[dict[str, Any]]) -> None:
    print("| method | cells | mean accuracy | over published, mean | cells below published |\n|---|---|---|---|---|")
    for method in METHODS:
        mine = [line for line in lines if line["method"] == method and "gain" in line]
        if mine:
            lower = [f"{line['dataset']} {line['noise']} {line['rate']}" for line in mine if line["gain"] < 0]
            accuracy, gain = (statistics.mean(line[name] for line in mine) for name in ("mean", "gain"))
            print(f"| {method} | {len(mine)} of 15 | {accuracy:.3f} | {gain:+.3f} | {', '.join(lower) or 'none'} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/beyond.csv"))
    parser.add_argument(
        "--datasets", default="cora,citeseer,pubmed", help="also photo, dblp, actor, chameleon, cora-gpt"
    )
    parser.add_argument("--methods", default=";".join(METHODS), help="names separated by ;")
    parser.add_argument("--noises", default="", help="such as 'none,symmetric 0.4'; all if empty")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no run after so many")
    parser.add_argument("--table", action="store_true", help="print the table and run nothing")
    parser.add_argument(
        "--ablation", action="store_true", help="parts only, on the published cells; give --out and --first"
    )
    options = parser.parse_args()
    methods = ABLATION if options.ablation else options.methods.split(";")
    if not options.table:
        # Seeds outside, cells inside: a table that was cut short is even.
        run(
            [
                (dataset, noise, rate, method, seed)
                for seed in range(options.first, options.first + options.seeds)
                for dataset in options.datasets.split(",")
                for noise, rate in (CELLS if options.ablation else noises(dataset))
                if not options.noises or f"{noise} {rate or ''}".strip() in options.noises.split(",")
                for method in methods
            ],
            options.out,
            options.minutes,
        )
    lines = summary(read(options.out))
    if not options.ablation:
        table(lines)
        print()
    gains(lines)


def run(plan: list[tuple[str, str, float, str, int]], out: Path, minutes: float) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    done = {key(row) for row in read(out)}
    start, new = time.monotonic(), not out.exists()
    with out.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(COLUMNS)
        for each in plan:
            if each in done or time.monotonic() - start > 60 * minutes:
                continue
            writer.writerow(one(*each))
            file.flush()


if __name__ == "__main__":
    main()
