"""A whole PI-GNN epoch on a Cora-sized graph: exact pairs against dense pairs, in one run.

    python benchmarks/epoch.py [--json FILE]

Both sides run the same loop, networks, optimizers and evaluation; only the pair losses differ. The graph is Cora where
PIGNN_DATA has it, else a synthetic one of its size.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.data import Data

import pignn
from pignn import graphs, pairs


def graph() -> Data:
    if graphs.is_available("cora"):
        return pignn.corrupt(pignn.load("cora"), "symmetric", 0.4, seed=0)
    data = graphs.csbm(num_nodes=2708, num_classes=7, degree=3.9, num_features=1433, seed=0)
    data.x = (data.x > 2.24).float()  # about as many words a document
    data.name = "a graph of Cora's size"
    return pignn.corrupt(data, "symmetric", 0.4, seed=0)


def adjacency(edges: pairs.PairGraph) -> Tensor:
    if not hasattr(edges, "dense"):
        edges.dense = torch.zeros(edges.num_nodes, edges.num_nodes)  # type: ignore[attr-defined]
        edges.dense[edges.row, edges.col] = 1  # type: ignore[attr-defined]
    return edges.dense  # type: ignore[attr-defined]


def dense_structure(h: Tensor, edges: pairs.PairGraph, **unused: object) -> Tensor:
    weight = torch.tensor(edges.w)
    return edges.c * F.binary_cross_entropy_with_logits(h @ h.t(), adjacency(edges), pos_weight=weight)


def dense_regularizer(h: Tensor, labels: pairs.EstimatedPairLabels, edges: pairs.PairGraph, **unused: object) -> Tensor:
    a = adjacency(edges)
    p = torch.sigmoid(labels.h @ labels.h.t())
    weight = torch.tensor(edges.w)
    terms = F.binary_cross_entropy_with_logits(h @ h.t(), a, pos_weight=weight, reduction="none")
    return edges.c * (terms * (a * p + (1 - a) * (1 - p))).mean()


def dense_both(h_e: Tensor, h: Tensor, edges: pairs.PairGraph, **unused: object) -> tuple[Tensor, Tensor]:
    return dense_structure(h_e, edges), dense_regularizer(h, pairs.EstimatedPairLabels(h_e), edges)


@contextmanager
def dense_pairs() -> Iterator[None]:
    """Here the pair losses are those of the usual N × N program."""
    with (
        mock.patch.object(pairs, "structure_loss", dense_structure),
        mock.patch.object(pairs, "regularizer", dense_regularizer),
        mock.patch.object(pairs, "compute_structure_loss_and_regularizer", dense_both),
    ):
        yield


def epoch_ms(model: pignn.PIGNN, data: Data) -> tuple[float, float]:
    """Median epoch during warm-up and after it, the first few left out."""
    model.fit(data, progress=False)
    seconds = [row["seconds"] for row in model.history_]
    warm = model.warmup + 1
    return 1e3 * statistics.median(seconds[2:warm]), 1e3 * statistics.median(seconds[warm + 2 :])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    data = graph()
    fast = epoch_ms(pignn.PIGNN(preset="paper", pairs="exact", epochs=60, warmup=30), data)
    plain = pignn.make("vanilla", preset="paper", epochs=60).fit(data, progress=False)
    gcn = 1e3 * statistics.median(row["seconds"] for row in plain.history_[2:])
    with dense_pairs():
        slow = epoch_ms(pignn.PIGNN(preset="paper", pairs="exact", epochs=16, warmup=7), data)
    print(f"{data.name}: {data.num_nodes} nodes, {torch.get_num_threads()} threads, torch {torch.__version__}")
    print("| epoch | exact ms | dense ms | dense / exact |\n|---|---|---|---|")
    for name, ours, theirs in zip(("warm-up", "after it"), fast, slow, strict=True):
        print(f"| {name} | {ours:.1f} | {theirs:.1f} | {theirs / ours:.1f} |")
    print(f"(an epoch of the plain GCN: {gcn:.1f} ms)")
    if options.json:
        row = {
            "exact_ms": fast,
            "dense_ms": slow,
            "gcn_ms": gcn,
            "ratio": [s / f for s, f in zip(slow, fast, strict=True)],
        }
        options.json.write_text(json.dumps(row, indent=1) + "\n")


if __name__ == "__main__":
    main()
