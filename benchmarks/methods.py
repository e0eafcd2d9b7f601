"""What an epoch of each method costs, as a multiple of the plain loop's, in one run.

    python benchmarks/methods.py [--json FILE] [--methods erase,nrgnn]

The graph is Cora where PIGNN_DATA has it, else a synthetic one of its size. Every method runs by turns with the plain
one, and the median of its epochs is divided by the median of the plain ones beside it. Preparations before the first
epoch (the estimate of the noise, a second or so) are not in it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import warnings
from pathlib import Path

import torch
from epoch import graph

import pignn
from pignn import graphs
from pignn.methods.core.network import NetworkMethod
from pignn.methods.factory import resolve_method_class

LIMITS = {
    **dict.fromkeys(("gce", "apl", "sce", "forward", "backward", "s-model", "clnode", "tss", "graph-cleaner"), 1.2),
    **dict.fromkeys(("decoupling", "co-teaching", "jocor"), 2.5),
    **dict.fromkeys(("c-gnn", "cr-gnn", "erase", "nrgnn", "rncgln", "rtgnn", "dnd-net", "r2lp", "tfr"), 8.0),
    **dict.fromkeys(("t-revision", "lpm", "dividemix"), 6.0),
}


def epochs(name: str, data: object, count: int) -> list[float]:
    settings = {"epochs": count, "selection": "last", "warm_epochs": 0, "posterior_epochs": 1, "context_epochs": 1}
    settings |= {"pretrain_epochs": 1, "rounds": 1}
    known = resolve_method_class(name)._get_param_names()
    model = pignn.make(name, **{key: value for key, value in settings.items() if key in known})
    model.fit(data)
    return [row["seconds"] for row in model.history_ if row["phase"] == "training"][5:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--methods", help="only these: erase,nrgnn")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")

    clean = graph()
    clean.y = clean.y_true.clone()
    data = pignn.corrupt(graphs.copy_with_random_trusted_labels(clean, 1), "symmetric", 0.4, seed=0)
    names = [info.name for info in pignn.list_methods() if issubclass(resolve_method_class(info.name), NetworkMethod)]
    rows = []
    print(f"{data.name}, {data.num_nodes:,} nodes, {torch.get_num_threads()} threads")
    for name in names:
        if name == "vanilla" or (arguments.methods and name not in arguments.methods.split(",")):
            continue
        ratios, own = [], []
        for _ in range(arguments.rounds):
            plain, mine = epochs("vanilla", data, arguments.epochs), epochs(name, data, arguments.epochs)
            own.append(statistics.median(mine))
            ratios.append(own[-1] / statistics.median(plain))
        row = {"method": name, "ratio": statistics.median(ratios), "ms": 1000 * min(own), "limit": LIMITS.get(name)}
        rows.append(row)
        limit = f"  at most {row['limit']}" if row["limit"] else ""
        print(f"{name:18s} {row['ratio']:5.2f} × plain  {row['ms']:6.1f} ms{limit}", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps({"graph": data.name, "methods": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
