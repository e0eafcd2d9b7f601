"""What the runner of studies costs, and whether it can be killed: prints ratios and counts.

    python benchmarks/studies.py cached     # 10,000 runs that are there: plan and tables
    python benchmarks/studies.py overhead   # two workers against two bare processes on the same runs
    python benchmarks/studies.py faults     # workers and driver killed twenty times, then rows counted

None of them needs data.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

GRAPH = {"num_nodes": 2700, "num_classes": 7, "num_features": 700}  # about the size of Cora
EPOCHS = 100


def cached(cells: int) -> None:
    """Plan and tabulate runs that are all in the store."""
    from pignn.studies import DatasetSpec, NoiseSpec, Study, StudyRow, build_tables, collect_results, open_results
    from pignn.studies.planning import plan_runs
    from pignn.studies.run_spec import RunResult

    each = max(round((cells / 10) ** (1 / 3)), 1)
    study = Study(
        name="cached",
        datasets=tuple(DatasetSpec("csbm", {"num_nodes": 200 + 10 * i}) for i in range(each)),
        noises=tuple(NoiseSpec("symmetric", round(0.9 * i / each, 3)) for i in range(each)),
        rows=tuple(StudyRow(f"warm-up {i}", "pi-gnn", {"warmup": i}) for i in range(each)),
    )
    with tempfile.TemporaryDirectory() as folder, open_results(folder) as store:
        start = time.perf_counter()
        runs = plan_runs(study, store)
        first = time.perf_counter() - start
        draw = random.Random(0)
        numbers = ("accuracy", "balanced_accuracy", "macro_f1", "average_precision", "seconds")
        results = [RunResult(metrics={name: draw.random() for name in numbers}) for _ in runs]
        store.save_runs((run.key, run.spec, result) for run, result in zip(runs, results, strict=True))
        start = time.perf_counter()
        found = collect_results(study, store)
        text = "\n".join(table.to_text() for table in build_tables(found))
        seconds = time.perf_counter() - start
    assert found.num_done == len(study)
    assert "–" not in text.replace("seeds 0–9", "")
    print(
        f"{len(study):,} cached runs planned and tabulated in {seconds:.2f} s; planned the first time in {first:.2f} s"
    )


BARE = """
import sys, time
import torch
import pignn
from pignn import graphs
torch.set_num_threads(1)
first, last, epochs = map(int, sys.argv[1:4])
graph = dict(num_nodes={num_nodes}, num_classes={num_classes}, num_features={num_features})
warm = pignn.corrupt(graphs.load("csbm", **graph), "symmetric", 0.4, seed=0)
pignn.make("pi-gnn", preset="paper", epochs=2).fit(warm, progress=False)
print("ready", flush=True)
sys.stdin.readline()
start = time.perf_counter()
data = graphs.load("csbm", **graph)
for seed in range(first, last):
    noisy = pignn.corrupt(data, "symmetric", 0.4, seed=seed)
    model = pignn.make("pi-gnn", preset="paper", epochs=epochs, selection="clean-val", seed=seed)
    model.fit(noisy, progress=False).score(noisy)
print(time.perf_counter() - start, flush=True)
"""


def overhead(runs: int) -> None:
    """The same trainings by two bare processes and by the runner with two workers; both without their start."""
    program = BARE.format(**GRAPH)
    half = runs // 2
    bare = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(first), str(first + half), str(EPOCHS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for first in (0, half)
    ]
    for process in bare:
        process.stdout.readline()
    for process in bare:
        process.stdin.write("go\n")
        process.stdin.flush()
    seconds = max(float(process.communicate()[0]) for process in bare)

    from pignn.studies import DatasetSpec, NoiseSpec, Protocol, Study, StudyRow, open_results
    from pignn.studies.planning import plan_runs
    from pignn.studies.pool import LocalPool
    from pignn.studies.sweep import iter_results_and_retry_dead_runs

    study = Study(
        name="overhead",
        datasets=(DatasetSpec("csbm", GRAPH),),
        noises=(NoiseSpec("symmetric", 0.4),),
        rows=(StudyRow("PI-GNN", "pi-gnn"),),
        seeds=tuple(range(2 * half)),
        settings={"epochs": EPOCHS},
        protocol=Protocol.from_preset("paper"),
    )
    with tempfile.TemporaryDirectory() as folder, open_results(folder) as store:
        todo = {run.key: run for run in plan_runs(study, store)}
        pool = LocalPool(2, {(run.spec.work, run.spec.method): run.spec.code for run in todo.values()})
        while not pool.are_all_workers_started:
            pool.wait_for_results(0.1)
        start = time.perf_counter()
        for key, result in iter_results_and_retry_dead_runs(pool, todo):
            store.save_run(key, todo[key].spec, result)
        mine = time.perf_counter() - start
        pool.close()
        assert all(record.is_done for record in store.list_all_records())
        training = sum(record.metrics["seconds"] for record in store.list_all_records())
    ratio = mine / seconds - 1
    print(f"{2 * half} runs, two at a time: bare {seconds:.1f} s, runner {mine:.1f} s, overhead {ratio:+.1%}")
    print(f"of the time of its two workers, all but {1 - training / (2 * mine):.1%} is training")


def faults(kills: int) -> None:
    """Kill a worker or the driver at random, again and again; then let the sweep end and count."""
    draw = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pignn", "study", "run", "low-noise", "--datasets", "csbm,digits"]
        command += ["--seeds", "0-7", "--set", "epochs=30", "--workers", "2", "--out", folder]
        planned = 2 * 2 * 3 * 8
        done = {"worker": 0, "driver": 0}
        while True:
            driver = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
            before = _rows(folder)
            while driver.poll() is None and sum(done.values()) < kills:
                time.sleep(draw.uniform(0.05, 0.5))
                workers = _children(driver.pid)
                # Not before the sweep is under way again, else the driver would only ever die while it starts.
                if _rows(folder) <= before or not workers:
                    continue
                before = _rows(folder)
                kind = "driver" if draw.random() < 0.4 else "worker"
                try:
                    os.kill(driver.pid if kind == "driver" else draw.choice(workers), signal.SIGKILL)
                except ProcessLookupError:
                    continue
                done[kind] += 1
            driver.communicate()
            if driver.returncode == 0:
                break
        with sqlite3.connect(Path(folder, "runs.sqlite")) as store:
            rows, keys, good = store.execute(
                "SELECT count(*), count(DISTINCT key), sum(status = 'done') FROM runs"
            ).fetchone()
    print(
        f"{done['worker']} workers and {done['driver']} drivers killed: {planned} runs planned, {rows} rows, ", end=""
    )
    print(f"{keys} different, {good} done: {'as planned' if rows == keys == good == planned else 'WRONG'}")


def _rows(folder: str) -> int:
    try:
        with sqlite3.connect(f"file:{folder}/runs.sqlite?mode=ro", uri=True) as store:
            return int(store.execute("SELECT count(*) FROM runs").fetchone()[0])
    except sqlite3.Error:
        return 0


def _children(process: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("cached", "overhead", "faults"))
    parser.add_argument("--cells", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--kills", type=int, default=20)
    chosen = parser.parse_args()
    if chosen.what == "cached":
        cached(chosen.cells)
    elif chosen.what == "overhead":
        overhead(chosen.runs)
    else:
        faults(chosen.kills)


if __name__ == "__main__":
    main()
