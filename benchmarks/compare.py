"""Whether `pignn compare` picks a method that is as good as the best one by true labels.

    PIGNN_DATA=data python benchmarks/compare.py --draws 0-1
    PIGNN_DATA=data python benchmarks/compare.py --table

On every dataset of the any-graph study (20 training and 30 validation labels per class, 30 % of them wrong), methods
are compared by given labels alone. Then each of them learns from all labels and is scored on all test nodes by their
true labels. The loss is the accuracy of the best one less that of the recommended one. Where test classes are far from
balanced, as the labels are, it is the loss of balanced accuracy. A line per cell (dataset, noise, draw of split and
noise) is in benchmarks/results/compare.jsonl; those that are there are not repeated. The loss on a dataset is the mean
over its cells. With --folds FOLDER the fits stay there, and --again compares and recommends anew from them.
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
NOISES, RATE = ("symmetric", "pair"), 0.3
METHODS = ("auto", "GCN", "GraphSAGE", "MLP", "class mean")
SETTINGS = {"epochs": 100}
FOLDS, REPEATS = 5, 2
MAX_LOSS = 0.02
UNBALANCED = ("minesweeper", "tolokers")  # four nodes in five are of one class


def measure(dataset: str, noise: str, draw: int, folder: Path | None, true: Any) -> dict[str, object]:
    data = pignn.corrupt(pignn.load(dataset, split="random", split_seed=draw), noise, RATE, seed=draw)
    start = time.perf_counter()
    out = None if folder is None else folder / f"{dataset}-{noise}-{draw}"
    found = pignn.compare(data, METHODS, settings=SETTINGS, folds=FOLDS, repeats=REPEATS, seed=draw, out=out)
    seconds = time.perf_counter() - start
    metric = "balanced_accuracy" if dataset in UNBALANCED else "accuracy"
    if true is None:
        chosen = build_checked_compared_methods(METHODS, SETTINGS, draw)
        true = {each.label: each.method.fit(data).score(data, metric=metric) for each in chosen}
    scores = {
        score.method: (score.accuracy, score.agreement, score.difference, score.error, score.seconds)
        for score in found.scores
    }
    taken = found.recommended_method_score.method
    return {
        **{"dataset": dataset, "noise": noise, "rate": RATE, "draw": draw, "repeats": REPEATS},
        **{
            "labels": found.num_labels,
            "seconds": seconds,
            "metric": metric,
            "recommended": taken,
            "loss": max(true.values()) - true[taken],
        },
        **{"recommendation": found.recommendation, "true": true, "estimated": scores},
    }


def print_table() -> None:
    runs = pd.DataFrame([json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()])
    runs["taken"] = [run.true[run.recommended] for run in runs.itertuples()]
    runs["best"] = [max(run.true, key=run.true.get) for run in runs.itertuples()]
    runs["as_good"] = [
        max(run.true.values()) - max(run.true[name] for name in list_as_good(run)) for run in runs.itertuples()
    ]
    print(
        "| dataset | noise | draw | labels | recommended | its accuracy | best by true labels | its accuracy | loss |"
    )
    print("|" + "---|" * 9)
    for run in runs.sort_values(["noise", "dataset", "draw"]).itertuples():
        print(
            f"| {run.dataset} | {run.noise} {run.rate} | {run.draw} | {run.labels} | {run.recommended} "
            f"| {run.taken:.3f} | {run.best} | {run.true[run.best]:.3f} | {run.loss:.3f} |"
        )
    print("\n| dataset | cells | mean loss | largest loss |\n" + "|---" * 4 + "|")
    losses = runs.groupby("dataset").loss.agg(["size", "mean", "max"])
    for name, loss in losses.sort_values("mean", ascending=False).iterrows():
        print(f"| {name} | {loss['size']:.0f} | {loss['mean']:.3f} | {loss['max']:.3f} |")
    print(f"\nmean loss at most {MAX_LOSS}: {(losses['mean'] <= MAX_LOSS).sum()} of {len(losses)} datasets")
    print(f"loss at most {MAX_LOSS}: {(runs.loss <= MAX_LOSS).sum()} of {len(runs)} cells; mean {runs.loss.mean():.3f}")
    for name in METHODS:
        always = pd.Series([max(run.true.values()) - run.true[name] for run in runs.itertuples()], runs.dataset)
        good = (always.groupby(level=0).mean() <= MAX_LOSS).sum()
        print(f"always {name}: {good} datasets, {(always <= MAX_LOSS).sum()} cells; mean {always.mean():.3f}")
    print(f"a method within {MAX_LOSS} of the best is among those as good within the error: ", end="")
    print(f"{(runs.as_good <= MAX_LOSS).sum()} of {len(runs)} cells")


def list_as_good(run: Any) -> list[str]:
    """The recommended method and those that are as good within the error."""
    quantile = compute_t_quantile(FOLDS * run.repeats)
    return [name for name, (_, _, gap, error, _) in run.estimated.items() if gap + quantile * error >= 0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", help="those to run, separated by commas; by default those of the study")
    parser.add_argument("--draws", default="0-1", help="of split and noise, as 0-1 or 3")
    parser.add_argument("--folds", type=Path, help="folder that keeps all fits")
    parser.add_argument("--again", action="store_true", help="compare anew what was measured, from the fits in --folds")
    parser.add_argument("--table", action="store_true", help="print what was measured")
    arguments = parser.parse_args()
    if arguments.table:
        print_table()
        return
    warnings.simplefilter("ignore")
    lines = FILE.read_text(encoding="utf-8").splitlines() if FILE.exists() else []
    runs = {tuple(run[key] for key in ("dataset", "noise", "draw")): run for run in map(json.loads, lines)}
    if arguments.again:
        again = [measure(*cell, arguments.folds, run["true"]) for cell, run in runs.items()]
        FILE.write_text("".join(json.dumps(run) + "\n" for run in again), encoding="utf-8")
        return
    study = [dataset.name for dataset in get_study("any-graph").datasets]
    datasets = arguments.datasets.split(",") if arguments.datasets else study
    first, _, last = arguments.draws.partition("-")
    for draw, dataset, noise in itertools.product(range(int(first), int(last or first) + 1), datasets, NOISES):
        if (dataset, noise, draw) not in runs:
            run = measure(dataset, noise, draw, arguments.folds, None)
            with FILE.open("a", encoding="utf-8") as file:
                file.write(json.dumps(run) + "\n")
            print(f"{dataset} {noise} {draw}: {run['recommendation']}; loss {run['loss']:.3f}", flush=True)


if __name__ == "__main__":
    main()
