"""Simulated reviewers, who know the truth but slip: what refitting finds, whether intervals hold, and how fast it is.

OMP_NUM_THREADS=1 python benchmarks/review.py found --graphs Cora:llm,Photo:pair:0.2 --out found.csv
OMP_NUM_THREADS=1 python benchmarks/review.py coverage --noises pair,rule,cluster --reviews 100 --out coverage.csv
OMP_NUM_THREADS=1 python benchmarks/review.py kills --kills 50
OMP_NUM_THREADS=1 python benchmarks/review.py speed --nodes 100000
"""

from __future__ import annotations

import argparse
import csv
import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import uuid
import warnings
from pathlib import Path

import numpy as np

import pignn
from pignn.reviewing.estimates import compute_progress_panel
from pignn.reviewing.live_models import LiveModels
from pignn.reviewing.project import ProjectState, open_project
from pignn.reviewing.project_creation import audit_and_create_project
from pignn.reviewing.queue import Query, ReviewSnapshot, select_label_positions
from pignn.reviewing.verdicts import KEEP, RELABEL, UNDECIDED

SLIPS, REFIT_EVERY, DECISIONS = 0.05, 5, 300
REVIEWS_PER_AUDIT, REVIEWS_PER_REFITTED = 50, 10  # of the coverage; the random order is drawn anew for each


class Reviewer:
    """One who says the truth but for slips: a right label is called wrong, a wrong one is kept."""

    def __init__(self, given: np.ndarray, truth: np.ndarray, seed: int) -> None:
        rng = np.random.default_rng(seed)
        slips = rng.random(len(given)) < SLIPS
        self.is_wrong, self.truth = given != truth, truth
        self.says_wrong = self.is_wrong ^ slips


def review(
    state: ProjectState, reviewer: Reviewer, order: str, *, refits: bool, decisions: int = DECISIONS
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One review: positions in the order in which they were decided, and the status and p_wrong of all labels then."""
    size, models = len(state.nodes), LiveModels(state, 0)
    ranking = models.make_ranking_from_audit()
    status, label = np.zeros(size, dtype=np.int64), np.full(size, -1)
    rank = np.full(size, 10**12)
    rank[state.order] = np.arange(len(state.order))
    none, every, decided = np.zeros(size, dtype=bool), np.ones(size, dtype=bool), []
    while len(decided) < decisions:
        snapshot = ReviewSnapshot(state, ranking, status, every, status != UNDECIDED, none, rank)
        for position in select_label_positions(Query(order=order), snapshot, None)[:REFIT_EVERY]:  # type: ignore[arg-type]
            decided.append(int(position))
            status[position] = RELABEL if reviewer.says_wrong[position] else KEEP
            if reviewer.says_wrong[position]:  # a right label that is called wrong becomes what is suggested
                is_wrong = reviewer.is_wrong[position]
                label[position] = reviewer.truth[position] if is_wrong else ranking.suggested[position]
        if refits:
            ranking = models.refit_and_build_ranking(status, label, ranking.number + 1)
    return np.array(decided), status, ranking.p_wrong


def load_state(text: str, folder: Path, seed: int = 0) -> tuple[ProjectState, np.ndarray]:
    """The project of 'Cora:llm', 'Photo:pair:0.2', ..., and the true labels."""
    name, kind, *rate = text.split(":")
    noise = str(Path(os.environ["PIGNN_DATA"], name, "llm_labels.npz")) if kind == "llm" else kind
    graph = pignn.load(name.lower())
    audit = {"noise": noise, "rate": float(rate[0]) if rate else None, "seed": seed, "intervals": False, "warn": False}
    path = folder / f"{text.replace(':', '-')}-{seed}"
    audit_and_create_project(path, {"graph": name.lower()}, audit=audit)
    state = open_project(path).state
    return state, np.asarray(graph.y)[state.nodes] if graph.get("y_true") is None else np.asarray(graph.y_true)[
        state.nodes
    ]


def write(path: Path | None, row: dict[str, object]) -> None:
    print(row, flush=True)
    if path is not None:
        is_new = not path.exists()
        with path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(row))
            if is_new:
                writer.writeheader()
            writer.writerow(row)


def measure_found(graphs: list[str], seeds: int, out: Path | None) -> None:
    """Wrong labels found by the surest errors, with refits beside the static list.

    `gain` is what refitting finds beyond the static list. `share` is that of what the list leaves to be found: with a
    precision of p it can be beaten by 1/p - 1 at most.
    """
    for text in graphs:
        with tempfile.TemporaryDirectory() as folder:
            state, truth = load_state(text, Path(folder))
            for seed in range(seeds):
                reviewer, found = Reviewer(state.given, truth, seed), {}
                start = time.perf_counter()
                for refits in (False, True):
                    decided, _, _ = review(state, reviewer, "errors", refits=refits)
                    found[refits] = np.cumsum(reviewer.is_wrong[decided])
                row: dict[str, object] = {"graph": text, "seed": seed, "rate": round(reviewer.is_wrong.mean(), 3)}
                for refits, name in ((False, "static"), (True, "refit")):
                    row |= {f"{name}_{n}": int(found[refits][n - 1]) for n in (100, 200, 300)}
                static, refit = int(found[False][-1]), int(found[True][-1])
                row["gain"] = round(refit / static - 1, 3)
                row["share"] = round(
                    (refit - static) / max(min(DECISIONS, int(reviewer.is_wrong.sum())) - static, 1), 3
                )
                write(out, row | {"seconds": round(time.perf_counter() - start, 1)})


def measure_coverage(noises: list[str], graph: str, rate: float, reviews: int, out: Path | None) -> None:
    """How often the interval of the error rate covers the truth after 300 decisions of the mixed queue."""
    for noise in noises:
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(reviews):
                if seed % REVIEWS_PER_AUDIT == 0:
                    text = f"{graph}:llm" if noise == "llm" else f"{graph}:{noise}:{rate}"
                    state, truth = load_state(text, Path(folder), seed)
                rng = np.random.default_rng(seed)
                drawn = ProjectState(**{**vars(state), "order": rng.permutation(state.order)})
                reviewer = Reviewer(state.given, truth, seed)
                _, status, p_wrong = review(drawn, reviewer, "mixed", refits=seed % REVIEWS_PER_REFITTED == 0)
                panel = compute_progress_panel(status, drawn.order, p_wrong, [])
                true_rate = float(reviewer.is_wrong[drawn.order].mean())
                low, high = panel.rate_interval
                row = {"noise": noise, "seed": seed, "drawn": panel.drawn, "true": round(true_rate, 4)}
                write(out, row | {"low": round(low, 4), "high": round(high, 4), "covers": low <= true_rate <= high})


def measure_speed(num_nodes: int, decisions: int) -> None:
    """First page, decisions while models are refitted, and a refit, of a real server."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "project")
        graph = pignn.graphs.csbm(num_nodes, 10, homophily=0.8, degree=8, signal=2.0, num_features=64, seed=0)
        noisy = pignn.corrupt(graph, "pair", 0.2, seed=0, splits=("all",))
        start = time.perf_counter()
        audit_and_create_project(folder, {"graph": noisy}, audit={"intervals": False, "warn": False})
        print(f"audit and project of {num_nodes:,} nodes: {time.perf_counter() - start:.0f} s")
        start = time.perf_counter()
        process, connection = start_server(folder)
        try:
            print(f"server with Python: {time.perf_counter() - start:.2f} s")
            start = time.perf_counter()
            csrf = ask(connection, "/api/session")["csrf"]
            for path, body in (("/", None), ("/api/project", None), ("/api/progress", None), ("/api/queue", {})):
                items = ask(connection, path, body, csrf)
            ask(connection, f"/api/nodes/{items['items'][0]['node']}")
            print(f"first page: {time.perf_counter() - start:.2f} s")
            start = time.perf_counter()
            ask(connection, "/api/map")
            print(f"map: {time.perf_counter() - start:.2f} s")
            nodes = [item["node"] for item in ask(connection, "/api/queue", {"limit": 500}, csrf)["items"]]
            seconds = []
            for i in range(decisions):
                change = {"node": nodes[i % len(nodes)], "decision": ("keep", "unsure")[i // len(nodes) % 2]}
                body = {"key": uuid.uuid4().hex, "changes": [change], "queue": "errors"}
                start = time.perf_counter()
                ask(connection, "/api/decide", body, csrf)
                seconds.append(time.perf_counter() - start)
                time.sleep(0.02)
            ms = 1000 * np.array(seconds)
            late = np.quantile(ms, 0.99)
            print(f"decision: median {np.median(ms):.1f} ms, 99 % {late:.0f} ms, longest {ms.max():.0f} ms")
            progress = ask(connection, "/api/progress")
            print(f"refits meanwhile: {progress['refit']}, the last in {progress['refit_seconds']} s")
        finally:
            process.terminate()
            process.wait(timeout=60)


def measure_kills(kills: int) -> None:
    """Kill a real server at random moments while decisions come in, and count what was lost or doubled."""
    rng = np.random.default_rng(0)
    graph = pignn.graphs.csbm(2000, 3, homophily=0.8, degree=6, signal=2.0, num_features=16, seed=0)
    with tempfile.TemporaryDirectory() as name:
        folder, answered, node = Path(name, "project"), set(), 0
        noisy = pignn.corrupt(graph, "pair", 0.2, seed=0, splits=("all",))
        audit_and_create_project(folder, {"graph": noisy}, audit={"intervals": False, "warn": False})
        for _ in range(kills):
            process, connection = start_server(folder)
            csrf = ask(connection, "/api/session")["csrf"]
            timer = threading.Timer(float(rng.uniform(0.05, 1.0)), process.kill)
            timer.start()
            try:
                while True:
                    body = {"key": f"decision-{node}", "changes": [{"node": node, "decision": "keep"}]}
                    ask(connection, "/api/decide", body, csrf)
                    answered.add(node)
                    node += 1
            except (http.client.HTTPException, OSError):
                process.wait()
        store = open_project(folder).decisions
        nodes = [node for node, *_ in store.list_current_verdicts()]
        num_actions = len(store.list_actions_newest_first(limit=10**6))
        lost, doubled = len(answered - set(nodes)), num_actions - len(set(nodes))
        print(f"{kills} kills: {len(answered):,} decisions answered, {lost} lost, {doubled} doubled")


def start_server(folder: Path) -> tuple[subprocess.Popen[str], http.client.HTTPConnection]:
    command = [sys.executable, "-m", "pignn", "review", str(folder), "--no-browser"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    line = next((text for text in process.stderr if "listening on" in text), "")
    if not line:
        raise SystemExit("the server did not start")
    host, _, port = line.strip().rpartition("/")[2].rpartition(":")
    return process, http.client.HTTPConnection(host, int(port), timeout=60)


def ask(connection: http.client.HTTPConnection, path: str, body: object = None, csrf: str = "") -> dict:  # type: ignore[type-arg]
    headers = {"X-Reviewer": "me"}
    if body is not None:
        headers |= {"Content-Type": "application/json", "X-Csrf": csrf}
    content = None if body is None else json.dumps(body).encode()
    connection.request("GET" if body is None else "POST", path, content, headers)
    response = connection.getresponse()
    answer = response.read()
    if response.status != 200:
        raise SystemExit(f"{path}: {response.status} {answer[:300]!r}")
    return json.loads(answer) if response.headers["Content-Type"].startswith("application/json") else {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("found", "coverage", "kills", "speed"))
    parser.add_argument("--graphs", default="Cora:llm,Photo:pair:0.2,Computers:pair:0.2,Cora:rule:0.3,Cora:cluster:0.2")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--noises", default="pair,symmetric,rule,cluster,llm")
    parser.add_argument("--graph", default="Cora")
    parser.add_argument("--rate", type=float, default=0.2)
    parser.add_argument("--reviews", type=int, default=100)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--decisions", type=int, default=500)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.what == "found":
        measure_found(options.graphs.split(","), options.seeds, options.out)
    elif options.what == "coverage":
        measure_coverage(options.noises.split(","), options.graph, options.rate, options.reviews, options.out)
    elif options.what == "kills":
        measure_kills(options.kills)
    else:
        measure_speed(options.nodes, options.decisions)


if __name__ == "__main__":
    main()
