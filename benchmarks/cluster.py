"""Blocks of columns on a Ray cluster whose nodes all run here; each part leaves a JSON file in benchmarks/results/.

    python benchmarks/cluster.py faults weak limits constants model [--scale 0.1]

- ``faults``: three nodes; a worker, a node and the driver are killed. What is computed again, and what differs.
- ``weak``: one worker, and two workers with twice the columns. Each has one thread.
- ``limits``: training and prediction on one machine with and without ``--memory``, in processes of their own.
- ``constants``: seconds and bytes of a block, by nodes and columns, in processes of their own.
- ``model``: what 10⁸ and 10⁹ nodes would cost by these constants. A calculation.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scale_audit import RESULTS, describe_machine, make_store, peak_gb

NUM_HOPS = 20


@contextmanager
def ray_cluster(num_workers: int) -> Iterator[Any]:
    """A cluster of nodes with object stores of their own: a head that computes nothing, and workers of one CPU each."""
    import ray
    from ray.cluster_utils import Cluster

    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    try:
        for _ in range(num_workers):
            cluster.add_node(num_cpus=1, object_store_memory=400_000_000)
        cluster.wait_for_nodes()
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()


def alone(part: str, *arguments: object) -> dict[str, Any]:
    """Run one measurement in a process of its own."""
    command = [sys.executable, __file__, "--alone", part, *map(str, arguments)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def compute_memory(num_nodes: int, columns: int) -> int:
    """So much that blocks have so many columns."""
    return 2 * (24 * num_nodes + 12 * num_nodes * columns)


# ---- faults ----


def faults(scale: float) -> list[dict[str, Any]]:
    """Three nodes: the same results as here, whoever is killed, and only lost blocks again."""
    num_nodes, num_features = int(60_000 * scale), 32
    with tempfile.TemporaryDirectory() as name, ray_cluster(3) as cluster:
        folder = Path(name)
        make_store(folder, num_nodes, 20, num_features, num_nodes // 10, memory=500_000_000)
        rows = compare_runs(folder, cluster.address, compute_memory(num_nodes, 8))
        work = (str(folder / "store"), num_nodes, cluster.address)
        here, _ = smooth(str(folder / "store"), num_nodes, None, folder / "here")
        kills = {"a worker": lambda: kill_a_worker(cluster), "a node": lambda: remove_a_worker_node(cluster)}
        for who, kill in kills.items():
            threading.Thread(target=call_when_busy, args=(folder / who, kill)).start()
            found, counts = smooth(*work, folder / who)
            rows.append({"killed": who, **counts, "largest_difference": float(np.abs(found - here).max())})
        driver = [sys.executable, __file__, "--alone", "smooth_alone", *map(str, work), str(folder / "driver")]
        with subprocess.Popen(driver, stdout=subprocess.DEVNULL) as process:
            call_when_busy(folder / "driver", lambda: os.kill(process.pid, signal.SIGKILL))
        found, counts = smooth(*work, folder / "driver")
        rows.append({"killed": "the driver", **counts, "largest_difference": float(np.abs(found - here).max())})
    return rows


def compare_runs(folder: Path, address: str, memory: int) -> list[dict[str, Any]]:
    """An audit, a training and a prediction, on the cluster and here."""
    from pignn import runs

    store, limits = str(folder / "store"), {"here": {}, "there": {"ray": address}}
    options = {"method": "auto", "settings": {"networks": "never"}, "assess": False}
    audits, models, predictions = {}, {}, {}
    for place, limit in limits.items():
        run = runs.audit(store, warn=False, memory=memory, **limit)
        audits[place] = run.issues.sort_values("node")["p_wrong"].to_numpy()
        models[place] = runs.train(store, memory=memory, **limit, **options)
        predictions[place] = runs.predict(models["here"].model, store, memory=memory, **limit).probs
    fitted = {place: run.predictions.probs for place, run in models.items()}
    pairs = {"audit": audits, "train --method auto": fitted, "predict": predictions}
    return [
        {"run": name, "largest_difference": float(np.abs(pair["here"] - pair["there"]).max())}
        for name, pair in pairs.items()
    ]


def smooth(store: str, num_nodes: int, address: str | None, folder: Path) -> tuple[np.ndarray, dict[str, int]]:
    """Smoothed features of every third node by blocks of two columns, and how many blocks took part."""
    from pignn.propagation import BlockWork

    work = BlockWork(Path(store), folder, compute_memory(num_nodes, 2), address)
    rows = work.smooth_rows_and_save_blocks(np.arange(0, num_nodes, 3), 0.1)
    work.close()
    return rows, {"computed": work.computed, "kept": work.reused, "again": work.repeated}


def smooth_alone(store: str, num_nodes: str, address: str, folder: str) -> dict[str, Any]:
    return smooth(store, int(num_nodes), address, Path(folder))[1]


def call_when_busy(folder: Path, function: Callable[[], None]) -> None:
    """Call a function when the first blocks are done."""
    while len(list(folder.glob("*.npy"))) < 3:
        time.sleep(0.01)
    function()


def kill_a_worker(cluster: Any) -> None:
    """Kill one process of the cluster that computes a block."""
    raylets = {each.process.pid for node in cluster.list_all_nodes() for each in node.all_processes["raylet"]}
    while True:
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                if parent in raylets and b"_check_version_and_compute" in (folder / "cmdline").read_bytes():
                    os.kill(int(folder.name), signal.SIGKILL)
                    return
            except (OSError, ValueError):
                continue


def remove_a_worker_node(cluster: Any) -> None:
    """Kill all processes of one node."""
    node = next(each for each in cluster.list_all_nodes() if not each.head)
    cluster.remove_node(node, allow_graceful=False)


# ---- weak scaling ----


def weak(scale: float) -> list[dict[str, Any]]:
    """Twice the columns on twice the workers: how much longer it takes."""
    num_nodes, columns = int(500_000 * scale), 32
    rows = []
    with tempfile.TemporaryDirectory() as name:
        make_store(Path(name), num_nodes, 20, 2 * columns, num_nodes // 10, memory=1_000_000_000)
        for workers in (1, 2):
            with ray_cluster(workers) as cluster:
                seconds = smooth_columns(Path(name), num_nodes, workers * columns, cluster.address, f"{workers}")
            rows.append({"workers": workers, "columns": workers * columns, "nodes": num_nodes, "seconds": seconds})
    rows.append({"time_of_2_over_1": rows[1]["seconds"] / rows[0]["seconds"]})
    return rows


def smooth_columns(folder: Path, num_nodes: int, columns: int, address: str, name: str) -> float:
    """Seconds for blocks of eight columns, after every worker has loaded its libraries."""
    from pignn.propagation import BlockWork
    from pignn.propagation.blocks import SmoothedBlock

    work = BlockWork(folder / "store", folder / name, compute_memory(num_nodes, 8), address)
    nodes = np.arange(0, num_nodes, 10)
    warm = {k: (SmoothedBlock(*work.location, (k, k + 1), 0), nodes) for k in range(8)}
    for _ in work.iter_results(warm):
        pass
    start = time.perf_counter()
    work.compute_and_save_blocks(
        lambda block: SmoothedBlock(*work.location, block, NUM_HOPS, 0.1), columns, nodes, "smoothing"
    )
    seconds = time.perf_counter() - start
    work.close()
    return seconds


# ---- one machine ----


def limits(scale: float) -> list[dict[str, Any]]:
    """Training by auto and prediction on one machine: time and peak memory with and without --memory."""
    num_nodes, rows = int(600_000 * scale), []
    with tempfile.TemporaryDirectory() as name:
        make_store(Path(name), num_nodes, 20, 64, num_nodes // 30, memory=500_000_000)
        for memory in (0, compute_memory(num_nodes, 8)):
            row = {"nodes": num_nodes, "labels": num_nodes // 30, "memory_GB": memory / 1e9}
            rows.append(row | alone("train_alone", name, memory) | alone("predict_alone", name, memory))
    return rows


def train_alone(folder: str, memory: str) -> dict[str, Any]:
    from pignn import runs

    start, before = time.process_time(), peak_gb()
    options = {"settings": {"networks": "never"}, "assess": False, "memory": int(memory) or None}
    run = runs.train(f"{folder}/store", "auto", out=f"{folder}/model-{memory}", **options)
    seconds, peak = time.process_time() - start, peak_gb()
    return {"libraries_GB": before, "train_cpu_s": seconds, "train_peak_GB": peak, "chosen": run.model.chosen_}


def predict_alone(folder: str, memory: str) -> dict[str, Any]:
    from pignn import runs

    start, model = time.process_time(), f"{folder}/model-{memory}"
    runs.predict(model, f"{folder}/store", out=f"{folder}/{memory}.csv", memory=int(memory) or None)
    return {"predict_cpu_s": time.process_time() - start, "predict_peak_GB": peak_gb()}


# ---- constants and model ----


def constants(scale: float) -> list[dict[str, Any]]:
    """Seconds and bytes of a block of columns, each in a process of its own with one thread. Neighbors are random."""
    rows = []
    for size, degree, features in ((250_000, 20, 32), (1_000_000, 8, 32), (4_000_000, 4, 8)):
        num_nodes = int(size * scale)
        with tempfile.TemporaryDirectory() as name:
            alone("make_store_alone", name, num_nodes, degree, features)
            for columns in (columns for columns in (2, 4, 8, 32) if columns <= features):
                rows.append({"nodes": num_nodes, "columns": columns} | alone("block_alone", name, columns))
    return rows


def make_store_alone(folder: str, num_nodes: str, degree: str, features: str) -> dict[str, Any]:
    make_store(Path(folder), int(num_nodes), int(degree), int(features), int(num_nodes) // 10, memory=1_000_000_000)
    return {}


def block_alone(folder: str, columns: str) -> dict[str, Any]:
    """One block: CPU seconds, per entry and step, and memory beyond that of libraries."""
    import torch

    from pignn.propagation.blocks import Block, SmoothedBlock, StoredGraph

    torch.set_num_threads(1)
    graph = StoredGraph(f"{folder}/store")
    entries, num_nodes = int(graph.crow[-1]), graph.num_nodes
    location, digest = str(graph.folder), graph.digest
    del graph
    nodes = np.arange(0, num_nodes, 10)
    SmoothedBlock(location, digest, Block(0, 1), 1, 0.1).compute(nodes[:1])
    before, start = peak_gb(), time.process_time()
    SmoothedBlock(location, digest, Block(0, int(columns)), NUM_HOPS, 0.1).compute(nodes)
    seconds = time.process_time() - start
    return {
        "edges": entries // 2,
        "bytes_per_edge": (Path(location) / "col.i32").stat().st_size / (entries // 2),
        "block_cpu_s": seconds,
        "ns_per_entry_and_step": seconds / NUM_HOPS / entries * 1e9,
        "peak_GB": peak_gb(),
        "beyond_libraries_bytes_per_node": (peak_gb() - before) * 2**30 / num_nodes,
    }


def model(scale: float) -> list[dict[str, Any]]:
    """Blocks, CPU hours and memory of one smoothing at 10⁸ and 10⁹ nodes, ten edges each, 100 columns."""
    from pignn.propagation.blocks import plan_column_blocks

    measured = json.loads((RESULTS / "cluster_constants.json").read_text())["rows"]
    compute_ns = fit_ns_per_entry(measured)
    rows: list[dict[str, Any]] = []
    for num_nodes, memory in ((10**8, 16e9), (10**8, 64e9), (10**9, 160e9), (10**9, 640e9)):
        blocks = plan_column_blocks(num_nodes, 100, int(memory))
        entries, width = 20 * num_nodes, blocks[0].stop - blocks[0].start
        hours = NUM_HOPS * entries * compute_ns(width) * 1e-9 / 3600
        row = {"nodes": num_nodes, "edges": 10 * num_nodes, "memory_GB": memory / 1e9, "blocks": len(blocks)}
        row |= {"columns_per_block": width, "ns_per_entry": compute_ns(width), "hours_per_block": hours}
        row |= {"cpu_hours": len(blocks) * hours, "neighbors_GB": 4 * entries / 1e9}
        row["TB_read_if_not_in_memory"] = len(blocks) * NUM_HOPS * 4 * entries / 1e12
        row["one_column_needs_GB"] = 2 * 36 * num_nodes / 1e9
        rows.append(row)
    return rows


def fit_ns_per_entry(measured: list[dict[str, Any]]) -> Callable[[int], float]:
    """Nanoseconds per entry and step by columns, on the largest graph; wider blocks by the slope on a smaller one."""

    def list_points(num_nodes: int) -> list[tuple[int, float]]:
        return [(row["columns"], row["ns_per_entry_and_step"]) for row in measured if row["nodes"] == num_nodes]

    largest = list_points(max(row["nodes"] for row in measured))
    widest = max(measured, key=lambda row: (row["columns"], row["nodes"]))
    (before, low), (after, high) = list_points(widest["nodes"])[-2:]
    columns, values = zip(*largest, strict=True)
    slope = (high - low) / (after - before)
    return lambda width: float(np.interp(width, columns, values)) + max(width - columns[-1], 0) * slope


PARTS: dict[str, Callable[[float], list[dict[str, Any]]]] = {
    part.__name__: part for part in (faults, weak, limits, constants, model)
}
ALONE = {part.__name__: part for part in (smooth_alone, train_alone, predict_alone, make_store_alone, block_alone)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies all sizes, for a busy or small machine")
    parser.add_argument("--alone", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.alone:
        print(json.dumps(ALONE[options.alone[0]](*options.alone[1:])))
        return
    for name in options.parts or PARTS:
        content: dict[str, Any] = {"what": PARTS[name].__doc__, "machine": describe_machine(), "scale": options.scale}
        content["rows"] = PARTS[name](options.scale)
        (RESULTS / f"cluster_{name}.json").write_text(json.dumps(content, indent=1) + "\n")
        for row in content["rows"]:
            print("  ", {key: round(value, 8) if isinstance(value, float) else value for key, value in row.items()})


if __name__ == "__main__":
    main()
