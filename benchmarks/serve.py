"""Load of `pignn serve`: requests from several clients on 127.0.0.1, how many were lost, and how long they took.

OMP_NUM_THREADS=1 python benchmarks/serve.py --requests 1000 --clients 8
"""

from __future__ import annotations

import argparse
import http.client
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

import pignn


def train_model(folder: Path) -> Path:
    """A small PI-GNN, as `pignn serve` takes it."""
    data = pignn.corrupt(pignn.load("csbm", num_nodes=240, num_classes=3, signal=2.0), "symmetric", 0.3, seed=0)
    pignn.PIGNN(epochs=20, warmup=5).fit(data, progress=False).save(folder)
    return folder


def start_server(model: Path, *options: str) -> tuple[subprocess.Popen[str], str, int]:
    """The process, host and port of a server that answers."""
    command = [sys.executable, "-m", "pignn", "serve", str(model), "--port", "0", *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    line = process.stderr.readline()
    if "listening on http://" not in line:
        raise SystemExit(f"the server did not start: {line}{process.stderr.read()}")
    host, _, port = line.strip().rpartition("/")[2].rpartition(":")
    return process, host, int(port)


def build_request(num_features: int, num_nodes: int) -> bytes:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(num_nodes, num_features)).round(3).tolist()
    edges = rng.integers(0, num_nodes, (3 * num_nodes, 2)).tolist()
    return json.dumps({"x": x, "edges": edges}).encode()


def send_requests(host: str, port: int, body: bytes, num_requests: int, num_clients: int) -> tuple[list[float], int]:
    """Seconds of every answered request, and how many got no right answer."""
    seconds: list[float] = []
    counts = [num_requests // num_clients + (i < num_requests % num_clients) for i in range(num_clients)]

    def run_client(count: int) -> None:
        connection = http.client.HTTPConnection(host, port, timeout=60)
        for _ in range(count):
            start = time.perf_counter()
            try:
                connection.request("POST", "/predict", body)
                response = connection.getresponse()
                content = json.loads(response.read())
            except (OSError, http.client.HTTPException, ValueError):
                connection.close()
                continue
            if response.status == 200 and content["predictions"]:
                seconds.append(time.perf_counter() - start)

    clients = [threading.Thread(target=run_client, args=(count,)) for count in counts]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    return seconds, num_requests - len(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=1000, help="requests of all clients together")
    parser.add_argument("--clients", type=int, default=8, help="clients at the same time")
    parser.add_argument("--nodes", type=int, default=50, help="nodes of a request, with three edges each")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = train_model(Path(folder) / "model")
        body = build_request(pignn.load_model(model).num_features_, options.nodes)
        process, host, port = start_server(model)
        try:
            start = time.perf_counter()
            seconds, lost = send_requests(host, port, body, options.requests, options.clients)
            total = time.perf_counter() - start
        finally:
            process.terminate()
            process.wait(timeout=30)
    p50, p99 = np.percentile(seconds, [50, 99]) * 1000
    print(f"{options.requests:,} requests of {options.nodes} nodes from {options.clients} clients: {lost} lost")
    print(f"p50 {p50:.0f} ms, p99 {p99:.0f} ms, {len(seconds) / total:.0f} requests per second")


if __name__ == "__main__":
    main()
