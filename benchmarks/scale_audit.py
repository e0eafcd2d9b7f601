"""Cost of reading large tables and of auditing large graphs; each part leaves a JSON file in benchmarks/results/.

    python benchmarks/scale_audit.py read audit

Every measurement runs in a process of its own, so that its peak memory is its own.
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
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results"
BLOCK_ROWS = 1_000_000


def peak_gb() -> float:
    """Peak memory of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) / 2**20


def alone(part: str, *arguments: object) -> dict[str, Any]:
    """Run one measurement in a process of its own."""
    command = [sys.executable, __file__, "--alone", part, *map(str, arguments)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


# ---- reading ----


def read(num_nodes: int = 1_000_000, num_edges: int = 10_000_000) -> list[dict[str, Any]]:
    """Edges that name nodes by texts: the reader into memory against the conversion to a store."""
    with tempfile.TemporaryDirectory() as folder:
        write_tables(Path(folder), num_nodes, num_edges)
        rows = [alone("read_into_memory", folder), alone("read_into_store", folder)]
    memory, store = rows
    ratios = {
        "times_as_fast": memory["seconds"] / store["seconds"],
        "share_of_memory": store["peak_GB"] / memory["peak_GB"],
    }
    return [{"nodes": num_nodes, "edges": num_edges} | row for row in rows] + [ratios]


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

    before, start = peak_gb(), time.perf_counter()
    data = pignn.read_graph(f"{folder}/nodes.csv", f"{folder}/edges.csv", label="topic")
    seconds = time.perf_counter() - start
    return {
        "way": "into memory",
        "seconds": seconds,
        "peak_GB": peak_gb(),
        "start_GB": before,
        "entries": data.num_edges,
    }


def read_into_store(folder: str) -> dict[str, Any]:
    import pignn

    before, start = peak_gb(), time.perf_counter()
    tables = {"nodes": f"{folder}/nodes.csv", "edges": f"{folder}/edges.csv"}
    done = pignn.graphs.convert(f"{folder}/store", **tables, label="topic", progress=False)
    seconds = time.perf_counter() - start
    return {
        "way": "into a store",
        "seconds": seconds,
        "peak_GB": peak_gb(),
        "start_GB": before,
        "entries": 2 * done.edges,
    }


PARTS: dict[str, Callable[[], list[dict[str, Any]]]] = {part.__name__: part for part in (read,)}
ALONE = {part.__name__: part for part in (read_into_memory, read_into_store)}


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
    parser.add_argument("--alone", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.alone:
        print(json.dumps(ALONE[options.alone[0]](*options.alone[1:])))
        return
    for name in options.parts or PARTS:
        content: dict[str, Any] = {"what": PARTS[name].__doc__, "machine": describe_machine(), "rows": PARTS[name]()}
        (RESULTS / f"scale_{name}.json").write_text(json.dumps(content, indent=1) + "\n")
        for row in content["rows"]:
            print("  ", {key: round(value, 3) if isinstance(value, float) else value for key, value in row.items()})


if __name__ == "__main__":
    main()
