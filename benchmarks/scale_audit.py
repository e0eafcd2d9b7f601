"""Cost of reading large tables and of auditing large graphs; each part leaves a JSON file in benchmarks/results/.

    python benchmarks/scale_audit.py read audit bounded propagation [--scale 0.1] [--old-reader SRC]

`--old-reader` names the `src` folder of another version of pignn, whose reader is measured on the same files. Every
measurement runs in a process of its own, so that its peak memory is its own. Beside other programs, CPU seconds
say more than seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results"
BLOCK_ROWS = 1_000_000


def peak_gb() -> float:
    """Peak memory of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) / 2**20


def alone(part: str, *arguments: object, source: str | None = None) -> dict[str, Any]:
    """Run one measurement in a process of its own, perhaps with the sources of another version."""
    command = [sys.executable, __file__, "--alone", part, *map(str, arguments)]
    environment = dict(os.environ) if source is None else os.environ | {"PYTHONPATH": source}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return json.loads(done.stdout.splitlines()[-1])


# ---- reading ----


def read(scale: float, old_reader: str | None) -> list[dict[str, Any]]:
    """Edges that name nodes by texts: readers into memory against the conversion to a store."""
    num_nodes, num_edges = int(1_000_000 * scale), int(10_000_000 * scale)
    with tempfile.TemporaryDirectory() as folder:
        write_tables(Path(folder), num_nodes, num_edges)
        store, *others = [alone("read_into_store", folder), alone("read_into_memory", folder)]
        if old_reader is not None:
            others.append(alone("read_into_memory", folder, source=old_reader) | {"way": "into memory, old reader"})
    ratios = [
        {
            "against": other["way"],
            "times_as_fast": other["seconds"] / store["seconds"],
            "times_less_cpu": other["cpu_seconds"] / store["cpu_seconds"],
            "share_of_memory": store["peak_GB"] / other["peak_GB"],
            "share_beyond_libraries": (store["peak_GB"] - store["libraries_GB"])
            / (other["peak_GB"] - other["libraries_GB"]),
        }
        for other in others
    ]
    return [{"nodes": num_nodes, "edges": num_edges} | row for row in [store, *others]] + ratios


def write_tables(folder: Path, num_nodes: int, num_edges: int) -> None:
    """nodes.csv with an id, a number and a label, and edges.csv."""
    import pandas as pd

    rng = np.random.default_rng(0)
    ids = np.char.add("https://example.org/paper/", rng.permutation(num_nodes).astype(str))
    names = pd.Series(ids)
    topic = rng.integers(0, 5, num_nodes)
    table = pd.DataFrame({"id": names, "x": (topic + rng.standard_normal(num_nodes)).round(4), "topic": topic})
    table["topic"] = "topic " + table["topic"].astype(str)
    table.to_csv(folder / "nodes.csv", index=False)
    for start in range(0, num_edges, BLOCK_ROWS):
        ends = rng.integers(0, num_nodes, (2, min(BLOCK_ROWS, num_edges - start)))
        block = pd.DataFrame({"source": ids[ends[0]], "target": ids[ends[1]]})
        block.to_csv(folder / "edges.csv", mode="a", index=False, header=start == 0)


def read_into_memory(folder: str) -> dict[str, Any]:
    import pignn

    return measure_reading("into memory", folder, lambda tables, _: pignn.read_graph(**tables, label="topic").num_edges)


def read_into_store(folder: str) -> dict[str, Any]:
    import pignn

    def convert(tables: dict[str, str], out: str) -> int:
        return 2 * pignn.graphs.convert(out, **tables, label="topic", progress=False).edges

    return measure_reading("into a store", folder, convert)


def measure_reading(way: str, folder: str, read_tables: Callable[[dict[str, str], str], int]) -> dict[str, Any]:
    """Time and memory beyond those of libraries, which reading a small graph has loaded."""
    small = Path(tempfile.mkdtemp(dir=folder))
    write_tables(small, 100, 300)
    read_tables({"nodes": f"{small}/nodes.csv", "edges": f"{small}/edges.csv"}, f"{small}/store")
    before, start, cpu_start = peak_gb(), time.perf_counter(), time.process_time()
    entries = read_tables({"nodes": f"{folder}/nodes.csv", "edges": f"{folder}/edges.csv"}, f"{folder}/store")
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu_start
    times = {"seconds": seconds, "cpu_seconds": cpu}
    return {"way": way} | times | {"peak_GB": peak_gb(), "libraries_GB": before, "entries": entries}


# ---- audits ----


def make_store(folder: Path, num_nodes: int, degree: int, num_features: int, num_labels: int, memory: int) -> None:
    """A store of a graph in which seven of ten neighbors share the class; a fifth of the labels is wrong."""
    import pignn

    rng = np.random.default_rng(0)
    num_classes = 10
    y = rng.integers(0, num_classes, num_nodes)
    by_class = np.argsort(y, kind="stable")
    start = np.searchsorted(y[by_class], np.arange(num_classes + 1))
    means = rng.standard_normal((num_classes, num_features)).astype(np.float32)

    def iter_edges() -> Iterator[np.ndarray]:
        for a in range(0, num_nodes * degree // 2, BLOCK_ROWS):
            count = min(BLOCK_ROWS, num_nodes * degree // 2 - a)
            left = rng.integers(0, num_nodes, count)
            first, last = start[y[left]], start[y[left] + 1]
            alike = by_class[first + (rng.random(count) * (last - first)).astype(np.int64)]
            yield np.stack([left, np.where(rng.random(count) < 0.7, alike, rng.integers(0, num_nodes, count))], axis=1)

    x = np.lib.format.open_memmap(folder / "x.npy", mode="w+", dtype=np.float32, shape=(num_nodes, num_features))
    for a in range(0, num_nodes, 250_000):
        part = y[a : a + 250_000]
        x[a : a + 250_000] = 0.5 * means[part] + rng.standard_normal((len(part), num_features), dtype=np.float32)
    x.flush()
    given = np.full(num_nodes, -1)
    labeled = rng.permutation(num_nodes)[:num_labels]
    wrong = rng.random(num_labels) < 0.2
    given[labeled] = np.where(wrong, rng.integers(0, num_classes, num_labels), y[labeled])
    options = {"edges": iter_edges(), "features": folder / "x.npy", "labels": given, "memory": memory}
    pignn.graphs.convert(folder / "store", **options, progress=False)
    (folder / "x.npy").unlink()


def audit(scale: float, _: str | None) -> list[dict[str, Any]]:
    """Audits in memory: 20,000 nodes under 5 s; 200,000 nodes, 2 million edges and 40,000 labels under 40 s."""
    sizes = [(20_000, 20, 100, 20_000), (200_000, 20, 100, 40_000)]
    return [audit_in_process(scale, *size) for size in sizes]


def bounded(scale: float, _: str | None) -> list[dict[str, Any]]:
    """Audits of a store within memory: 5 million nodes, 50 million edges, 100 features, 1 million labels."""
    sizes = [(500_000, 20, 100, 100_000, 1_000_000_000), (5_000_000, 20, 100, 1_000_000, 4_000_000_000)]
    return [audit_in_process(scale, *size) for size in sizes]


def audit_in_process(
    scale: float, num_nodes: int, degree: int, num_features: int, num_labels: int, memory: int = 0
) -> dict[str, Any]:
    num_nodes, num_labels, memory = int(num_nodes * scale), int(num_labels * scale), int(memory * scale)
    with tempfile.TemporaryDirectory() as folder:
        converted = alone("convert_alone", folder, num_nodes, degree, num_features, num_labels)
        row = {"nodes": num_nodes, "edges": num_nodes * degree // 2, "features": num_features, "labels": num_labels}
        return row | converted | alone("audit_alone", folder, memory)


def convert_alone(folder: str, *sizes: str) -> dict[str, Any]:
    start = time.perf_counter()
    make_store(Path(folder), *map(int, sizes), memory=1_000_000_000)
    return {"make_and_convert_s": time.perf_counter() - start}


def audit_alone(folder: str, memory: str) -> dict[str, Any]:
    from pignn import runs

    start = time.perf_counter()
    runs.audit  # noqa: B018  # imports what an audit needs
    imported = time.perf_counter() - start
    limits = {"memory": int(memory)} if int(memory) else {}
    before, start, cpu_start = peak_gb(), time.perf_counter(), time.process_time()
    run = runs.audit(f"{folder}/store", warn=False, **limits)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu_start
    found = {"rate": run.noise.rate, "suspects": int(run.issues["suspect"].sum())}
    row = {"memory_GB": int(memory) / 1e9, "import_s": imported, "audit_s": seconds, "audit_cpu_s": cpu}
    return row | {"peak_GB": peak_gb(), "start_GB": before} | found


# ---- propagation ----


def propagation(scale: float, _: str | None) -> list[dict[str, Any]]:
    """One step over a random graph: at most 2.5 times as long as memory takes to move the bytes that it needs."""
    sizes = [(200_000, 20), (1_000_000, 10)]
    return [alone("propagation_alone", int(num_nodes * scale), degree) for num_nodes, degree in sizes]


def propagation_alone(nodes: str, degree: str) -> dict[str, Any]:
    """Every entry needs its index, its value and a row of the source; every node writes a row."""
    import torch

    from pignn.graphs.sparse import build_csr, spmm
    from pignn.propagation.smoothing import choose_columns_per_pass

    num_nodes, num_entries = int(nodes), int(nodes) * int(degree)
    width = choose_columns_per_pass(num_nodes)
    generator = torch.Generator().manual_seed(0)
    col = torch.randint(0, num_nodes, (num_entries,), dtype=torch.int32, generator=generator)
    crow = torch.arange(0, num_entries + 1, int(degree), dtype=torch.int32)
    matrix = build_csr(crow, col, torch.ones(num_entries), (num_nodes, num_nodes))
    x = torch.rand(num_nodes, width)
    source, target = torch.ones(1 << 26), torch.empty(1 << 26)
    bandwidth = 8 * len(source) / min(_time(lambda: torch.add(source, 1, out=target)) for _ in range(5))
    seconds = min(_time(lambda: spmm(matrix, x)) for _ in range(3))
    zero = torch.zeros(1)
    by_torch = min(_time(lambda: torch.addmm(zero, matrix, x, beta=0)) for _ in range(3))
    num_bytes = num_entries * (8 + 4 * width) + 4 * num_nodes * width
    row = {"nodes": num_nodes, "entries": num_entries, "columns": width, "seconds": seconds}
    row |= {"ns_per_entry_and_column": 1e9 * seconds / num_entries / width, "bandwidth_GB_s": bandwidth / 1e9}
    row["ns_by_torch_sparse"] = 1e9 * by_torch / num_entries / width
    return row | {"ratio_to_bandwidth": seconds / (num_bytes / bandwidth)}


def _time(work: Callable[[], object]) -> float:
    """Seconds that each thread computes: on an idle machine those that pass, on a busy one less."""
    import torch

    start = time.process_time()
    work()
    return (time.process_time() - start) / torch.get_num_threads()


PARTS: dict[str, Callable[[float, str | None], list[dict[str, Any]]]] = {
    part.__name__: part for part in (read, audit, bounded, propagation)
}
ALONE = {
    part.__name__: part for part in (read_into_memory, read_into_store, convert_alone, audit_alone, propagation_alone)
}


def describe_machine() -> dict[str, Any]:
    import torch

    lines = Path("/proc/cpuinfo").read_text().splitlines()
    cpu = next((line.split(":")[1].strip() for line in lines if "model name" in line), "unknown")
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "load_at_start": round(os.getloadavg()[0], 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies all sizes, for a busy or small machine")
    parser.add_argument("--old-reader", metavar="SRC", help="sources of another version, whose reader to compare with")
    parser.add_argument("--alone", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.alone:
        print(json.dumps(ALONE[options.alone[0]](*options.alone[1:])))
        return
    for name in options.parts or PARTS:
        content: dict[str, Any] = {"what": PARTS[name].__doc__, "machine": describe_machine(), "scale": options.scale}
        content["rows"] = PARTS[name](options.scale, options.old_reader)
        (RESULTS / f"scale_{name}.json").write_text(json.dumps(content, indent=1) + "\n")
        for row in content["rows"]:
            print("  ", {key: round(value, 3) if isinstance(value, float) else value for key, value in row.items()})


if __name__ == "__main__":
    main()
