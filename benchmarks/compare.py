"""Whether `pignn compare` picks a method that is as good as the best one by true labels.

    PIGNN_DATA=data python benchmarks/compare.py
    PIGNN_DATA=data python benchmarks/compare.py --table

On every dataset of the any-graph study (20 training and 30 validation labels per class, 30 % of them wrong), methods
are compared by given labels alone. Then each of them learns from all labels and is scored on all test nodes by their
true labels. The loss is the accuracy of the best one less that of the recommended one. Where test classes are far from
balanced, as the labels are, it is the loss of balanced accuracy. A line per dataset and noise is in
benchmarks/results/compare.jsonl; those that are there are not repeated.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
import warnings
from pathlib import Path
from typing import Any

import pandas as pd

import pignn
from pignn.runs.comparison import build_checked_compared_methods
from pignn.runs.comparison_result import compute_t_quantile
from pignn.studies import get_study

FILE = Path(__file__).parent / "results" / "compare.jsonl"
NOISES = (("symmetric", 0.3), ("pair", 0.3))
METHODS = ("auto", "GCN", "GraphSAGE", "MLP", "class mean")
SETTINGS = {"epochs": 100}
FOLDS, REPEATS, SEED = 5, 1, 0
MAX_LOSS = 0.02
UNBALANCED = ("minesweeper", "tolokers")  # four nodes in five are of one class


def measure(dataset: str, noise: str, rate: float) -> dict[str, object]:
    data = pignn.corrupt(pignn.load(dataset, split="random", split_seed=SEED), noise, rate, seed=SEED)
    start = time.perf_counter()
    found = pignn.compare(data, METHODS, settings=SETTINGS, folds=FOLDS, repeats=REPEATS, seed=SEED)
    seconds = time.perf_counter() - start
    chosen = build_checked_compared_methods(METHODS, SETTINGS, SEED)
    taken = found.recommended_method_score.method
    metric = "balanced_accuracy" if dataset in UNBALANCED else "accuracy"
    truth = {each.label: each.method.fit(data).score(data, metric=metric) for each in chosen}
    scores = {score.method: (score.accuracy, score.agreement, score.error, score.seconds) for score in found.scores}
    return {
        **{"dataset": dataset, "noise": noise, "rate": rate, "labels": found.num_labels, "seconds": seconds},
        **{"metric": metric, "recommended": taken, "loss": max(truth.values()) - truth[taken]},
        **{"recommendation": found.recommendation, "true": truth, "estimated": scores},
    }


def print_table() -> None:
    runs = pd.DataFrame([json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()])
    print("| dataset | noise | labels | recommended | its accuracy | best by true labels | its accuracy | loss |")
    print("|" + "---|" * 8)
    for run in runs.sort_values(["noise", "dataset"]).itertuples():
        best = max(run.true, key=run.true.get)
        print(
            f"| {run.dataset} | {run.noise} {run.rate} | {run.labels} | {run.recommended} "
            f"| {run.true[run.recommended]:.3f} | {best} | {run.true[best]:.3f} | {run.loss:.3f} |"
        )
    as_good = [max(row.true.values()) - max(row.true[name] for name in list_as_good(row)) for row in runs.itertuples()]
    print(f"\nwithin {MAX_LOSS} of the best: {(runs.loss <= MAX_LOSS).sum()} of {len(runs)} cells")
    print(f"mean loss: {runs.loss.mean():.3f}")
    print(f"the best, or one within {MAX_LOSS}, is among those as good within the error: ", end="")
    print(f"{sum(loss <= MAX_LOSS for loss in as_good)} of {len(runs)} cells")


def list_as_good(run: Any) -> list[str]:
    """The recommended method and those that are as good within the error."""
    quantile = compute_t_quantile(FOLDS * REPEATS)
    best = max(accuracy for accuracy, *_ in run.estimated.values())
    return [name for name, (mean, _, error, _) in run.estimated.items() if best - mean <= quantile * error]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", help="those to run, separated by commas; by default those of the study")
    parser.add_argument("--table", action="store_true", help="print what was measured")
    arguments = parser.parse_args()
    if arguments.table:
        print_table()
        return
    warnings.simplefilter("ignore")
    lines = FILE.read_text(encoding="utf-8").splitlines() if FILE.exists() else []
    done = {tuple(json.loads(line)[key] for key in ("dataset", "noise")) for line in lines}
    study = [dataset.name for dataset in get_study("any-graph").datasets]
    datasets = arguments.datasets.split(",") if arguments.datasets else study
    for dataset, (noise, rate) in itertools.product(datasets, NOISES):
        if (dataset, noise) not in done:
            run = measure(dataset, noise, rate)
            with FILE.open("a", encoding="utf-8") as file:
                file.write(json.dumps(run) + "\n")
            print(f"{dataset} {noise}: {run['recommendation']}; loss {run['loss']:.3f}", flush=True)


if __name__ == "__main__":
    main()
