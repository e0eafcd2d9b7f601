"""Time of a fit with one thread, with all threads, and with what pignn chooses; alone and beside a busy core.

    python benchmarks/threads.py [--json FILE]

Each cell is a process of its own, since OpenMP reads how threads wait only once. "all, spinning" is what torch does by
itself. The busy neighbor is a process that computes without pause, one per half of the cores. The last row is all of
`pignn demo`, which is what `make demo` runs.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

WORK = {
    "GCN, 500 nodes": ("vanilla", 500, 64),
    "GCN, 2,708 nodes": ("vanilla", 2708, 1433),
    "PI-GNN, 2,708 nodes": ("pi-gnn", 2708, 1433),
    "GCN, 20,000 nodes": ("vanilla", 20_000, 128),
    "denoised, 20,000 nodes": ("denoised", 20_000, 128),
}
EPOCHS, REPEATS = 30, 3
WAYS = ("one", "all, spinning", "all, sleeping", "chosen")


def measure_fit_seconds(method: str, num_nodes: int, num_features: int, way: str) -> float:
    """The median of some fits, in this process."""
    from unittest import mock

    import pignn
    from pignn.core import threads

    warnings.simplefilter("ignore")
    data = pignn.graphs.csbm(num_nodes=num_nodes, num_classes=4, num_features=num_features, seed=0)
    data = pignn.corrupt(data, "symmetric", 0.3, seed=0)
    settings = {"epochs": EPOCHS} if method in ("vanilla", "pi-gnn") else {}
    settings |= {"warmup": 5} if method == "pi-gnn" else {}
    keep_all = mock.patch.object(threads, "choose_num_threads", lambda size, available: available)
    with nullcontext() if way == "chosen" else keep_all:
        seconds = []
        for _ in range(1 + REPEATS):  # the first one is not counted
            start = time.perf_counter()
            pignn.make(method, **settings).fit(data)
            seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[1:])


def run_cell(work: str, way: str) -> float:
    environment = _build_neutral_environment()
    if way == "one":
        environment["OMP_NUM_THREADS"] = "1"
    if way == "all, spinning":
        environment["GOMP_SPINCOUNT"] = "300000"  # GNU's default
    command = [sys.executable, __file__, "--cell", work, way]
    return float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)


def run_demo() -> float:
    """Seconds of the whole program."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        command = [sys.executable, "-m", "pignn", "demo", "--out", f"{folder}/demo"]
        subprocess.run(command, env=_build_neutral_environment(), capture_output=True, check=True)
        return time.perf_counter() - start


def _build_neutral_environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith(("OMP_", "GOMP_", "KMP_"))}


@contextmanager
def busy_neighbor() -> Iterator[None]:
    count = max(1, (os.cpu_count() or 2) // 2)
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()


def measure_all() -> dict[str, dict[str, float]]:
    """Seconds of a fit by work and, within it, by machine and way."""
    rows: dict[str, dict[str, float]] = {work: {} for work in WORK}
    for work in WORK:
        for way in WAYS:
            rows[work][f"idle, {way}"] = run_cell(work, way)
        with busy_neighbor():
            for way in WAYS:
                rows[work][f"busy, {way}"] = run_cell(work, way)
        print_row(work, rows[work])
    rows["pignn demo"] = {"idle, chosen": run_demo()}
    with busy_neighbor():
        rows["pignn demo"]["busy, chosen"] = run_demo()
    print_row("pignn demo", rows["pignn demo"])
    return rows


def print_row(work: str, seconds: dict[str, float]) -> None:
    print(f"{work:32s}" + "".join(f"  {key}: {value:.3g} s" for key, value in seconds.items()), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="also write the seconds to this file")
    parser.add_argument("--cell", nargs=2, metavar=("WORK", "WAY"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cell:
        work, way = options.cell
        print(measure_fit_seconds(*WORK[work], way))
        return
    rows = measure_all()
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
