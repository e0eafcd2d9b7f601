"""Consensus of simulated annotators against majority vote and Dawid–Skene without the graph; a line per dataset.

PIGNN_DATA=data python benchmarks/votes.py cora photo computers --seeds 3
"""

from __future__ import annotations

import argparse
import os
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np


def draw_transition(kind: str, rate: float, num_classes: int, rng: np.random.Generator) -> np.ndarray:
    """How one annotator errs: `random` to any other class alike, `confused` mostly to one or two of them."""
    spread = (
        np.ones((num_classes, num_classes)) if kind == "random" else rng.dirichlet([0.3] * num_classes, num_classes)
    )
    np.fill_diagonal(spread, 0)
    matrix = rate * spread / np.maximum(spread.sum(axis=1, keepdims=True), 1e-12)
    return matrix + (1 - rate) * np.eye(num_classes)


def draw_votes(
    truth: np.ndarray, num_classes: int, kind: str, rates: list[float], share: float, seed: int
) -> np.ndarray:
    """[annotators, nodes]: the class that each annotator gives; −1 where they do not vote."""
    rng = np.random.default_rng(seed)
    rows = []
    for rate in rates:
        matrix = draw_transition(kind, rate, num_classes, rng)
        labels = (rng.random(len(truth))[:, None] > matrix.cumsum(axis=1)[truth]).sum(axis=1).clip(max=num_classes - 1)
        rows.append(np.where(rng.random(len(truth)) < share, labels, -1))
    return np.stack(rows)


def measure(dataset: str, kind: str, rates: list[float], share: float, seed: int) -> dict[str, float]:
    """Accuracy of the three ways on nodes with votes, and the largest error of an annotator's error rate."""
    import torch

    import pignn
    from pignn.auditing.votes import fit_vote_model_by_em

    graph = pignn.load(dataset)
    truth = (graph.y if graph.get("y_true") is None else graph.y_true).numpy().copy()
    labels = draw_votes(truth, int(truth.max()) + 1, kind, rates, share, seed)
    graph.votes = pignn.graphs.convert_label_rows_to_votes(torch.from_numpy(labels))
    graph.y, graph.y_true, graph.train_mask = torch.full_like(graph.y, -1), None, None
    consensus = pignn.auditing.combine_votes(graph, seed=seed)
    alone = fit_vote_model_by_em(consensus.votes).posterior.argmax(axis=1)
    nodes = consensus.nodes
    wrong = [(row[row >= 0] != truth[row >= 0]).mean() for row in labels]
    told = [summary.error_rate for summary in consensus.annotator_summaries]
    return {
        "majority": float((consensus.plurality == truth)[nodes].mean()),
        "dawid_skene": float((alone == truth)[nodes].mean()),
        "consensus": float((consensus.labels == truth)[nodes].mean()),
        "expected": consensus.expected_accuracy,
        "rate_error": float(np.abs(np.array(told) - wrong).max()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="*", default=["cora"])
    parser.add_argument("--kinds", nargs="*", default=["random", "confused"])
    parser.add_argument("--rates", nargs="*", type=float, default=[0.3, 0.3, 0.3], help="error rates of annotators")
    parser.add_argument("--share", type=float, default=1.0, help="share of nodes that each annotator votes on")
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for dataset in args.datasets:
        for kind in args.kinds:
            rows = [measure(dataset, kind, args.rates, args.share, seed) for seed in range(args.seeds)]
            means = {name: np.mean([row[name] for row in rows]) for name in rows[0]}
            means["rate_error"] = max(row["rate_error"] for row in rows)
            print(f"{dataset:<10} {kind:<9}", *(f"{name} {value:.3f}" for name, value in means.items()), flush=True)


if __name__ == "__main__":
    main()
