"""`auto`, `denoised` and `prototypes` beside networks and the published PI-GNN, under label noise.

Needs the datasets' files (PIGNN_DATA, or a download). Every finished run is one line of the CSV, so that an interrupted
table goes on where it stopped:

    python benchmarks/beyond.py --datasets cora,citeseer,pubmed --seeds 10
    python benchmarks/beyond.py --table
    python benchmarks/beyond.py --ablation --seeds 3
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
    "auto, noisy-val": ("auto", {"labels": "noisy-val"}),
    "auto, given": ("auto", {"labels": "train+val"}),
    "class mean, train": ("prototypes", {"noise": "none"}),
    "class mean, given": ("prototypes", {"noise": "none", "labels": "train+val"}),
    "mixture, train": ("prototypes", {}),
    "mixture, given": ("prototypes", {"labels": "train+val"}),
    "denoised, train": ("denoised", {}),
    "denoised, given": ("denoised", {"labels": "train+val"}),
    "low-density, train": ("low-density", {}),
    "low-density, given": ("low-density", {"labels": "train+val"}),
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
TITLES = {
    "cora": "Cora",
    "citeseer": "CiteSeer",
    "pubmed": "PubMed",
    "photo": "Photo, 20 labels a class",
    "dblp": "DBLP, 20 labels a class",
    "actor": "Actor, its own splits",
    "chameleon": "Chameleon, its own splits",
    "cora-gpt": "Cora with labels of GPT-3.5 on the training nodes",
}
MOST_NAMED = 4  # cells by name, in a list of those below the published ones
COLUMNS = ("dataset", "noise", "rate", "method", "seed", "accuracy", "ece", "seconds", "chosen")


def one(dataset: str, noise: str, rate: float, method: str, seed: int) -> tuple[object, ...]:
    import torch

    import pignn
    from pignn.methods.core.network import NetworkMethod
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
        record = pignn.noise.load_recorded_labels(Path(pignn.graphs.dataset_path("cora")) / "llm_labels.npz")
        data = pignn.load("cora")
        data.val_mask = data.val_mask & False
        return pignn.corrupt(data, record, splits=("train",))
    if dataset in HETEROPHILOUS:
        data = pignn.load(dataset, split="own", split_index=seed)
    else:
        data = pignn.load(dataset, split_seed=seed)
    if trusted:
        data = pignn.graphs.sample_trusted(data, 1, seed=seed)
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
    """One line a cell and method, in the order of datasets and noises."""
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
    datasets, order = list(TITLES), [*NOISES, ("recorded", 0.0)]
    lines.sort(key=lambda line: (datasets.index(line["dataset"]), order.index((line["noise"], line["rate"]))))
    return lines


def table(lines: list[dict[str, Any]]) -> None:
    """One table a dataset: methods down, noises across."""
    for dataset in dict.fromkeys(line["dataset"] for line in lines):
        mine = [line for line in lines if line["dataset"] == dataset]
        across = list(dict.fromkeys((line["noise"], line["rate"]) for line in mine))
        heads = [noise if not rate else f"{noise} {rate}" for noise, rate in across]
        print(f"**{TITLES.get(dataset, dataset)}**\n")
        print("| method | " + " | ".join(heads) + " | seeds | ece | seconds |\n" + "|---" * (len(heads) + 4) + "|")
        if dataset in PUBLISHED:
            known = dict(zip(CELLS, PUBLISHED[dataset], strict=True))
            cells = [short(*known[cell]) if cell in known else "" for cell in across]
            print("| *PI-GNN, published* | " + " | ".join(cells) + " | 10 | | |")
        most = max(line["seeds"] for line in mine)
        sure = [line for line in mine if line["seeds"] > 1 or most == 1]  # one seed is no best
        best = {
            cell: max((line["mean"] for line in sure if (line["noise"], line["rate"]) == cell), default=None)
            for cell in across
        }
        for method in dict.fromkeys(line["method"] for line in sorted(mine, key=place)):
            found = {(line["noise"], line["rate"]): line for line in mine if line["method"] == method}
            cells = [told(found[cell], best[cell]) if cell in found else "" for cell in across]
            seeds = {line["seeds"] for line in found.values()}
            rest = [statistics.mean(line[name] for line in found.values()) for name in ("ece", "seconds")]
            count = "-".join(str(each) for each in sorted({min(seeds), max(seeds)}))
            print(f"| {method} | {' | '.join(cells)} | {count} | {short(rest[0])} | {rest[1]:.1f} |")
        print()


def alike(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """The published cells of the parts, of those seeds that every part has in every cell."""
    mine = [row for row in rows if row["method"] in ABLATION and (row["noise"], float(row["rate"])) in CELLS]
    mine = [row for row in mine if row["dataset"] in PUBLISHED]
    seeds: dict[tuple[str, str, float, str], set[int]] = {}
    for row in mine:
        seeds.setdefault(key(row)[:4], set()).add(int(row["seed"]))
    common = set.intersection(*seeds.values()) if seeds else set()
    print(f"seeds: {', '.join(map(str, sorted(common)))}\n")
    return [row for row in mine if int(row["seed"]) in common]


def place(line: dict[str, Any]) -> int:
    return list(METHODS).index(line["method"])


def told(line: dict[str, Any], best: float | None) -> str:
    text = short(line["mean"], line["spread"] if line["seeds"] > 1 else None)
    return f"**{text}**" if line["mean"] == best else text


def short(mean: float, spread: float | None = None) -> str:
    """.835 ± .007: all of it lies below 1."""
    return " ± ".join(f"{value:.3f}".removeprefix("0") for value in (mean, spread) if value is not None)


def gains(lines: list[dict[str, Any]]) -> None:
    print("| method | cells | mean accuracy | over published, mean | cells below published |\n|---|---|---|---|---|")
    for method in METHODS:
        mine = [line for line in lines if line["method"] == method and "gain" in line]
        if mine:
            lower = [f"{line['dataset']} {line['noise']} {line['rate']}" for line in mine if line["gain"] < 0]
            accuracy, gain = (statistics.mean(line[name] for line in mine) for name in ("mean", "gain"))
            which = f"{len(lower)} of them" if len(lower) > MOST_NAMED else ", ".join(lower) or "none"
            print(f"| {method} | {len(mine)} of 15 | {accuracy:.3f} | {gain:+.3f} | {which} |")


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
        "--ablation", action="store_true", help="parts only, on the published cells, over the seeds that all have"
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
                if dataset != "cora-gpt" or not method.endswith("noisy-val")  # it has no validation labels
            ],
            options.out,
            options.minutes,
        )
    rows = read(options.out)
    if options.ablation:
        rows = alike(rows)
    lines = summary(rows)
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
