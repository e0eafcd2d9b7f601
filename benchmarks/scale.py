"""How cost grows, in separate parts; each leaves a JSON file and a picture in benchmarks/results/.

    python benchmarks/scale.py epoch growth arxiv pubmed products kill accuracy

`epoch` and `pubmed` print ratios of times measured in one run; memory is the peak of a process of its own.
ogbn-arxiv has its real structure and labels here but made-up features: its accuracies mean nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def peak_gb() -> float:
    """Peak memory of this process. (ru_maxrss would include the peak of the process that started it.)"""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) / 2**20


def alone(part: str, *arguments: object) -> Any:
    """Run one measurement in a process of its own, so that its peak memory is its own."""
    command = [sys.executable, __file__, "--alone", part, *map(str, arguments)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def quiet_load(name: str, **options: Any) -> Any:
    import pignn

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pignn.load(name, **options)


def graph(name: str) -> Any:
    """A named graph under 40 % symmetric noise; synthetic ones of the same size where files are missing."""
    import pignn
    from pignn import graphs

    sizes = {"cora": (2708, 3.9, 1433, 7), "pubmed": (19717, 4.5, 500, 3), "ogbn-arxiv": (169343, 13.7, 128, 40)}
    if graphs.is_available(name):
        data = quiet_load(name, features="stand-in" if name == "ogbn-arxiv" else None)
    else:
        nodes, degree, features, classes = sizes[name]
        data = graphs.csbm(num_nodes=nodes, num_classes=classes, degree=degree, num_features=features, seed=0)
        data.name = f"a graph of {name}'s size"
    return pignn.corrupt(data, "symmetric", 0.4, seed=0)


def median_ms(history: list[dict[str, Any]], after: int) -> float:
    return 1e3 * statistics.median(row["seconds"] for row in history[after:])


def fitted(data: Any, method: str, **settings: Any) -> Any:
    import pignn

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pignn.make(method, **settings).fit(data, progress=False)


# ---- parts ----


def epoch() -> list[dict[str, Any]]:
    """A sampled PI-GNN epoch against a plain GCN epoch on the same graph: at most 2.5×."""
    rows = []
    for name in ("cora", "pubmed", "ogbn-arxiv"):
        data = graph(name)
        count = 10 if name == "ogbn-arxiv" else 60
        plains, samples = [], []
        for _ in range(3):  # in turns, because a machine is not equally fast at all times
            plains += fitted(data, "vanilla", epochs=count).history_[3:]
            samples += fitted(data, "pi-gnn", pairs="sampled", epochs=count, warmup=3).history_[6:]
        plain, sampled = median_ms(plains, 0), median_ms(samples, 0)
        rows.append(
            {
                "graph": data.name,
                "nodes": data.num_nodes,
                "gcn_ms": plain,
                "sampled_ms": sampled,
                "ratio": sampled / plain,
            }
        )
    return rows


def pubmed() -> list[dict[str, Any]]:
    """Exact pairs on PubMed: memory of 400 epochs; sampled epochs at least 5× faster."""
    return [alone("pubmed", "exact", 400), alone("pubmed", "sampled", 400)]


def pubmed_alone(pairs: str, epochs: str) -> dict[str, Any]:
    data = graph("pubmed")
    start = time.perf_counter()
    model = fitted(data, "pi-gnn", pairs=pairs, epochs=int(epochs))
    seconds = time.perf_counter() - start
    return {"pairs": pairs, "seconds": seconds, "epoch_ms": median_ms(model.history_, 60), "peak_GB": peak_gb()}


def arxiv() -> list[dict[str, Any]]:
    """400 epochs of both networks on ogbn-arxiv: under 10 minutes and 4 GB."""
    return [alone("arxiv", 400)]


def arxiv_alone(epochs: str) -> dict[str, Any]:
    data = graph("ogbn-arxiv")
    start = time.perf_counter()
    model = fitted(data, "pi-gnn", pairs="sampled", epochs=int(epochs))
    seconds = time.perf_counter() - start
    return {
        "graph": data.name,
        "features": "stand-in",
        "epochs": int(epochs),
        "seconds": seconds,
        "epoch_ms": median_ms(model.history_, 60 if int(epochs) > 60 else 2),
        "peak_GB": peak_gb(),
    }


def growth() -> list[dict[str, Any]]:
    """Time and memory of a sampled epoch at 10³ … 10⁶ nodes of degree 10: slopes at most 1.1 on log-log axes."""
    return [alone("growth", nodes) for nodes in (1_000, 10_000, 100_000, 1_000_000)]


def growth_alone(nodes: str) -> dict[str, Any]:
    import pignn
    from pignn import graphs

    fitted(
        pignn.corrupt(graphs.csbm(num_nodes=200), "symmetric", 0.4), "pi-gnn", epochs=2
    )  # libraries load on first use
    before = peak_gb()
    data = pignn.corrupt(graphs.csbm(num_nodes=int(nodes), degree=10, num_features=32, seed=0), "symmetric", 0.4)
    count = 30 if int(nodes) <= 10_000 else 6
    model = fitted(data, "pi-gnn", pairs="sampled", epochs=count, warmup=1)
    return {
        "nodes": int(nodes),
        "epoch_ms": median_ms(model.history_, 3),
        "peak_GB": peak_gb(),
        "above_start_GB": peak_gb() - before,
    }


def products() -> list[dict[str, Any]]:
    """A graph of ogbn-products' size (2,449,029 nodes, 61,859,140 edges): one epoch and inference under 10 GB."""
    return [alone("products", 1.0)]


def products_alone(scale: str) -> dict[str, Any]:
    """Made in chunks and converted, as a user's would be; neighbors are mostly of one class."""
    from collections.abc import Iterator

    import numpy as np
    import torch

    import pignn
    from pignn import graphs
    from pignn.graphs import splits

    nodes, edges = int(2_449_029 * float(scale)), int(61_859_140 * float(scale))
    features, classes = 100, 47
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, nodes)
    by_class = np.argsort(y, kind="stable")
    start = np.searchsorted(y[by_class], np.arange(classes + 1))
    means = rng.standard_normal((classes, features)).astype(np.float32)

    def chunks() -> Iterator[np.ndarray]:
        for a in range(0, edges, 5_000_000):
            count = min(5_000_000, edges - a)
            left = rng.integers(0, nodes, count)
            first, last = start[y[left]], start[y[left] + 1]
            alike = by_class[first + (rng.random(count) * (last - first)).astype(np.int64)]
            yield np.stack([left, np.where(rng.random(count) < 0.7, alike, rng.integers(0, nodes, count))], axis=1)

    with tempfile.TemporaryDirectory() as folder:
        x = np.lib.format.open_memmap(f"{folder}/x.npy", mode="w+", dtype=np.float32, shape=(nodes, features))
        for a in range(0, nodes, 250_000):
            part = y[a : a + 250_000]
            x[a : a + 250_000] = 0.5 * means[part] + rng.standard_normal((len(part), features), dtype=np.float32)
        x.flush()
        del x
        began = time.perf_counter()
        graphs.convert(f"{folder}/store", edges=chunks(), features=f"{folder}/x.npy", labels=y, progress=False)
        converted = time.perf_counter() - began
        data = graphs.open_graph_store(f"{folder}/store")
        data.train_mask, data.val_mask, data.test_mask = splits.split_per_class(data.y, seed=0)
        noisy = pignn.corrupt(data, "symmetric", 0.4)
        began = time.perf_counter()
        model = fitted(noisy, "pi-gnn", pairs="sampled", epochs=1, warmup=-1)
        trained = time.perf_counter() - began
        began = time.perf_counter()
        model.predict(noisy)
        predicted = time.perf_counter() - began
    return {
        "nodes": nodes,
        "edges": edges,
        "convert_s": converted,
        "fit_one_epoch_s": trained,
        "epoch_s": model.history_[0]["seconds"],
        "inference_s": predicted,
        "threads": torch.get_num_threads(),
        "peak_GB": peak_gb(),
    }


def kill() -> list[dict[str, Any]]:
    """`kill -9` at ten random moments, each time resumed: ten times the weights of an uninterrupted run."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "pignn",
            "train",
            "--dataset",
            "digits",
            "--noise",
            "symmetric",
            "--rate",
            "0.4",
        ]
        command += ["--epochs", "200", "--checkpoint-every", "7", "--json", "--out"]
        began = time.perf_counter()
        subprocess.run([*command, f"{folder}/whole"], check=True, stdout=subprocess.DEVNULL)
        length = time.perf_counter() - began
        whole = Path(f"{folder}/whole/model/model.safetensors").read_bytes()
        for i in range(10):
            moment = random.Random(i).uniform(0.3, 1.0) * length
            out = f"{folder}/run{i}"
            process = subprocess.Popen([*command, out], stdout=subprocess.DEVNULL)
            time.sleep(moment)
            process.send_signal(signal.SIGKILL)
            process.wait()
            subprocess.run([*command, out, "--resume"], check=True, stdout=subprocess.DEVNULL)
            same = Path(f"{out}/model/model.safetensors").read_bytes() == whole
            rows.append({"killed_after_s": moment, "of_s": length, "same_weights": same})
            shutil.rmtree(out)
    return rows


def accuracy() -> list[dict[str, Any]]:
    """Sampled against exact pairs, symmetric 0.4, `clean-val`: mean accuracies within 0.01."""
    from concurrent.futures import ProcessPoolExecutor

    os.environ["OMP_NUM_THREADS"] = "1"
    rows = []
    with ProcessPoolExecutor(2) as pool:
        for name, seeds in (("cora", 10), ("citeseer", 10), ("pubmed", 3)):
            means = {}
            for pairs in ("exact", "sampled"):
                found = list(pool.map(_accuracy, [name] * seeds, [pairs] * seeds, range(seeds)))
                means[pairs] = found
            gaps = [s - e for s, e in zip(means["sampled"], means["exact"], strict=True)]
            spread = statistics.stdev(gaps) / len(gaps) ** 0.5
            row = {"dataset": name, "seeds": seeds, "gap": statistics.mean(gaps), "standard_error": spread}
            rows.append(row | {pairs: statistics.mean(found) for pairs, found in means.items()})
            print(rows[-1], file=sys.stderr, flush=True)
    return rows


def _accuracy(name: str, pairs: str, seed: int) -> float:
    import torch

    import pignn

    torch.set_num_threads(1)
    noisy = pignn.corrupt(quiet_load(name), "symmetric", 0.4, seed=seed)
    return fitted(noisy, "pi-gnn", pairs=pairs, seed=seed, selection="clean-val").score(noisy)


PARTS: dict[str, Callable[[], list[dict[str, Any]]]] = {
    part.__name__: part for part in (epoch, growth, arxiv, pubmed, products, kill, accuracy)
}
ALONE = {"pubmed": pubmed_alone, "arxiv": arxiv_alone, "growth": growth_alone, "products": products_alone}


# ---- out ----


def machine() -> dict[str, Any]:
    import torch

    cpu = platform.processor()
    if os.path.exists("/proc/cpuinfo"):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next((line.split(":")[1].strip() for line in lines if "model name" in line), cpu)
    return {"cpu": cpu, "cores": os.cpu_count(), "threads": torch.get_num_threads(), "torch": torch.__version__}


def picture(name: str, rows: list[dict[str, Any]]) -> None:
    """Bars of every number, or lines where there are sizes to draw over."""
    from matplotlib.figure import Figure

    numbers = [
        key
        for key, value in rows[0].items()
        if isinstance(value, int | float) and key not in ("nodes", "edges", "seeds")
    ]
    labels = [
        str(row.get("graph") or row.get("dataset") or row.get("pairs") or row.get("nodes") or i + 1)
        for i, row in enumerate(rows)
    ]
    figure = Figure(figsize=(3.2 * len(numbers), 3.0), layout="constrained")
    for axis, key in zip(figure.subplots(1, len(numbers), squeeze=False)[0], numbers, strict=True):
        values = [float(row[key]) for row in rows]
        if name == "growth":
            axis.loglog([row["nodes"] for row in rows], values, "o-", color="#1f5fa8")
            axis.set_xlabel("nodes")
        else:
            bars = axis.bar(range(len(rows)), values, color="#1f5fa8")
            axis.bar_label(bars, fmt="%.3g", fontsize=8)
            axis.set_xticks(range(len(rows)), labels, fontsize=8, rotation=20)
        axis.set_title(key, fontsize=9)
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(RESULTS / f"{name}.png", dpi=110)


def slopes(rows: list[dict[str, Any]]) -> dict[str, float]:
    import numpy as np

    x = np.log([row["nodes"] for row in rows])
    return {
        key: float(np.polyfit(x, np.log([row[key] for row in rows]), 1)[0]) for key in ("epoch_ms", "above_start_GB")
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--alone", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        print(json.dumps(ALONE[options.alone[0]](*options.alone[1:])))
        return
    RESULTS.mkdir(exist_ok=True)
    for name in options.parts or PARTS:
        print(f"{name}: {PARTS[name].__doc__}", flush=True)
        rows = PARTS[name]()
        content: dict[str, Any] = {"what": PARTS[name].__doc__, "machine": machine(), "rows": rows}
        if name == "growth":
            content["slopes"] = slopes(rows)
        (RESULTS / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")
        picture(name, rows)
        for row in rows:
            print("  ", {key: round(value, 4) if isinstance(value, float) else value for key, value in row.items()})
        if name == "growth":
            print("   slopes", content["slopes"])


if __name__ == "__main__":
    main()
