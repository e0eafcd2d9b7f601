"""Pair losses, exact, against the dense way, in one run: ratios of time, and memory above the inputs.

    python benchmarks/pairs.py [--json FILE] [--sizes 2708 19717] [--targets structure masked soft]

Targets with a plus are both losses of a step of PI-GNN, in one pass. `dense` is the leanest N × N program that we could
write: logits, cross-entropy with a positive weight, autograd. `released` does the same in the way of the authors'
program, which picks the pair labels of connected and of other pairs out by their positions (and has no soft target).
`bound` is what the target cannot do without for half of the pairs: the matrix products and sigmoids, bare. `gradient`
leaves out the value of the loss, which training reads in every tenth epoch only.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from pignn import pairs

EDGES = {2708: 5278, 19717: 44324}  # undirected: Cora and PubMed
STEPS = {"structure + masked": "masked", "structure + soft": "soft"}  # all pairs of a step of PI-GNN
TARGETS = ("structure", "masked", "soft", *STEPS)
BOUND_TILE = 768  # a tile that stays in the caches


def inputs(n: int, d: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    h = 0.5 * torch.randn(n, d, generator=generator)
    h_e = 0.5 * torch.randn(n, d, generator=generator)
    return h, h_e, torch.randint(0, n, (2, EDGES.get(n, 5 * n)), generator=generator)


def ours(target: str, h: Tensor, h_e: Tensor, graph: pairs.PairGraph, needs_value: bool = True) -> list[Tensor]:
    """The gradients."""
    h = h.detach().requires_grad_()
    if target in STEPS:
        h_e = h_e.detach().requires_grad_()
        structure, loss = pairs.compute_structure_loss_and_regularizer(
            h_e, h, graph, target=STEPS[target], needs_value=needs_value
        )
        loss = structure + loss
    elif target == "structure":
        loss = pairs.structure_loss(h, graph, needs_value=needs_value)
    else:
        loss = pairs.regularizer(h, h_e, graph, target=target, needs_value=needs_value)
    loss.backward()
    return [each.grad for each in (h, h_e) if each.grad is not None]


def dense(
    target: str, h: Tensor, h_e: Tensor, graph: pairs.PairGraph, adjacency: Tensor, released: bool = False
) -> list[Tensor]:
    h, h_e = h.detach().requires_grad_(), h_e.detach().requires_grad_(target in STEPS)
    weight = torch.tensor(graph.w)
    loss = torch.zeros(())
    z = h @ h.t()
    z_e = None if target == "structure" else h_e @ h_e.t()
    if target in STEPS:
        assert z_e is not None
        loss = F.binary_cross_entropy_with_logits(z_e, adjacency, pos_weight=weight)
        if released:  # the estimator takes its step before the classifier's loss is made
            (graph.c * loss).backward()
            loss = torch.zeros(())
    p = None if z_e is None else torch.sigmoid(z_e.detach())
    kind = STEPS.get(target, target)
    if kind == "soft":
        assert p is not None
        terms = F.binary_cross_entropy_with_logits(z, p, reduction="none") * (1 + (graph.w - 1) * adjacency)
    else:
        terms = F.binary_cross_entropy_with_logits(z, adjacency, pos_weight=weight, reduction="none")
        if kind == "masked":
            assert p is not None
            terms = terms * (selected(p, adjacency) if released else adjacency * p + (1 - adjacency) * (1 - p))
    (graph.c * (loss + terms.mean())).backward()
    return [each.grad for each in (h, h_e) if each.grad is not None]


def selected(p: Tensor, adjacency: Tensor) -> Tensor:
    """p of connected pairs and 1 − p of the others, picked one by one."""
    chosen, flat = torch.zeros_like(p).view(-1), adjacency.view(-1)
    for positions, values in ((flat.bool(), p), ((1 - flat).bool(), 1 - p)):
        chosen[positions] = values.view(-1)[positions]
    return chosen.view_as(p)


def bound(target: str, h: Tensor, h_e: Tensor) -> None:
    """Half of the tiles, nothing but the products and sigmoids that the gradient is made of."""
    size = min(BOUND_TILE, h.shape[0])
    tiles = round((h.shape[0] / size) ** 2 / 2)
    a, at, e, et = h[:size], h[:size].t().contiguous(), h_e[:size], h_e[:size].t().contiguous()
    z, p = torch.empty(size, size), torch.empty(size, size)
    for _ in range(tiles):
        torch.mm(a, at, out=z)
        z.sigmoid_()
        if target != "structure":
            torch.mm(e, et, out=p)
            p.sigmoid_()
        torch.mm(z, a)
        if target in STEPS:
            torch.mm(p, e)


def seconds(runs: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The least of each. They take turns, so that what else the machine does falls on all of them."""
    least = {name: float("inf") for name in runs}
    for _ in range(1 + rounds):  # one more, to warm up
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            least[name] = min(least[name], time.perf_counter() - start)
    return least


def free_gigabytes() -> float:
    """What a program may take: free memory, and that which only caches files."""
    about = Path("/proc/meminfo")
    if about.exists():
        return int(next(line.split()[1] for line in about.read_text().splitlines() if "MemAvailable" in line)) / 2**20
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30


def peak_megabytes(target: str, n: int, d: int) -> float:
    """Peak memory above the inputs of one exact loss and gradient, measured in a process of its own."""
    command = [sys.executable, __file__, "--peak", target, str(n), str(d)]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(result.stdout)


def _peak(target: str, n: int, d: int) -> None:
    small_h, small_e, small_edges = inputs(600, d)
    ours(target, small_h, small_e, pairs.PairGraph(small_edges, 600))  # libraries load on first use
    h, h_e, edge_index = inputs(n, d)
    before = _peak_kb()
    ours(target, h, h_e, pairs.PairGraph(edge_index, n))
    print((_peak_kb() - before) / 1024)


def _peak_kb() -> int:
    """Peak memory of this process. (ru_maxrss would include the peak of the process that started it.)"""
    status = Path("/proc/self/status")
    if status.exists():
        return int(next(line.split()[1] for line in status.read_text().splitlines() if line.startswith("VmHWM")))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def measure(target: str, n: int, d: int) -> dict[str, object]:
    h, h_e, edge_index = inputs(n, d)
    graph = pairs.PairGraph(edge_index, n)
    row: dict[str, object] = {"N": n, "d": d, "target": target, "peak_MB": peak_megabytes(target, n, d)}
    runs: dict[str, Callable[[], object]] = {
        "exact": lambda: ours(target, h, h_e, graph),
        "gradient": lambda: ours(target, h, h_e, graph, needs_value=False),
        "bound": lambda: bound(target, h, h_e),
    }
    needed = 12 * n * n * 4 / 2**30
    if needed <= free_gigabytes():
        adjacency = torch.zeros(n, n)
        adjacency[graph.row, graph.col] = 1
        found, expected = ours(target, h, h_e, graph), dense(target, h, h_e, graph, adjacency)
        torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-6)
        runs["dense"] = lambda: dense(target, h, h_e, graph, adjacency)
        if "masked" in target:
            torch.testing.assert_close(dense(target, h, h_e, graph, adjacency, released=True), expected)
            runs["released"] = lambda: dense(target, h, h_e, graph, adjacency, released=True)
    else:
        print(
            f"N = {n}: the dense way needs about {needed:.0f} GB, {free_gigabytes():.0f} are free: skipped",
            file=sys.stderr,
        )
    taken = seconds(runs, 20 if n < 5000 else 3)
    row |= {f"{name}_ms": 1e3 * taken[name] for name in ("exact", "gradient")}
    row["gradient / bound"] = taken["gradient"] / taken["bound"]
    for way in ("dense", "released"):
        row[f"{way}_ms"] = 1e3 * taken[way] if way in taken else None
        for name in ("exact", "gradient"):
            row[f"{way} / {name}"] = taken[way] / taken[name] if way in taken else None
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[2708, 19717])
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=TARGETS)
    parser.add_argument("--dim", type=int, default=16)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--peak", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        _peak(options.peak[0], int(options.peak[1]), int(options.peak[2]))
        return
    print(f"{platform.processor() or platform.machine()}, {torch.get_num_threads()} threads, torch {torch.__version__}")
    names = [
        "N",
        "target",
        "exact_ms",
        "gradient_ms",
        "released_ms",
        "dense_ms",
        "released / gradient",
        "dense / gradient",
        "dense / exact",
        "gradient / bound",
        "peak_MB",
    ]
    print("| " + " | ".join(names) + " |\n|" + "---|" * len(names))
    rows = []
    for n in options.sizes:
        for target in options.targets:
            row = measure(target, n, options.dim)
            rows.append(row)
            cells = [row[name] for name in names]
            texts = ["–" if c is None else f"{c:.1f}" if isinstance(c, float) else str(c) for c in cells]
            print("| " + " | ".join(texts) + " |", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
