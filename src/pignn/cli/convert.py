"""pignn convert"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from .graph_options import TABLES
from .option_groups import expand_option_groups
from .options import Json, parse_num_bytes, split_at_commas
from .output import show_facts, show_json, show_message_on_stderr

SHOWN = ("nodes", "edges", "features", "classes", "labeled", "weighted", "rows_read", "bytes", "seconds")
Mask = Annotated[str | None, Option(help="Column of --nodes, or .npy file, of 0 and 1.")]


@dataclass(kw_only=True)
class StoreOptions:
    """What goes into the store."""

    edges: Annotated[Path, Argument(help=f"{TABLES}; also compressed, a folder, or a pattern in quotes; or .npy.")]
    out: Annotated[Path, Argument(help="The folder to create.")]
    nodes: Annotated[Path | None, Option(help="Likewise, with a header: one node per row.")] = None
    label: Annotated[str | None, Option(help="Column of --nodes with the labels, numbers or names.")] = None
    id: Annotated[str | None, Option(help="Column of --nodes with the ids that EDGES uses (default: id).")] = None
    columns: Annotated[str | None, Option(help="Feature columns of --nodes: 'age,x*' (default: all others).")] = None
    features: Annotated[Path | None, Option(help="Features as .npy of shape [nodes, features].")] = None
    labels: Annotated[Path | None, Option(help="Labels as .npy; -1 for none.")] = None
    train: Mask = None
    val: Mask = None
    test: Mask = None
    source: Annotated[str | None, Option(help="Column of EDGES (default: source, or the first).")] = None
    target: Annotated[str | None, Option(help="Column of EDGES (default: target, or the second).")] = None
    weight: Annotated[
        str | None, Option(help="Column of EDGES, or none (default: weight, or the third of three without a header).")
    ] = None
    delimiter: Annotated[str | None, Option(help="One character, tab or space (default: guessed).")] = None
    drop_unknown: Annotated[
        bool, Option("--drop-unknown", help="Leave out edges to nodes that are not in --nodes.")
    ] = False
    num_nodes: Annotated[
        int | None, Option(help="Number of nodes; required if no features, labels or node file are given.")
    ] = None
    memory: Annotated[str, Option(help="Memory to stay within, about: 500MB, 4GB.")] = "1GB"
    force: Annotated[bool, Option("--force", help="Replace the store if there is one.")] = False

    def to_arguments(self) -> dict[str, Any]:
        return vars(self) | {"columns": split_at_commas(self.columns), "memory": parse_num_bytes(self.memory)}


@expand_option_groups
def convert(*, options: StoreOptions, json: Json = False) -> None:
    """Convert a graph that may be larger than memory into a store, which audit, train and predict read in place.

    Files are read in chunks. Ids of nodes may be texts, and columns become features as with `pignn train --nodes`. The
    store holds the simple undirected graph: self-loops are dropped, duplicates merged (their weights summed), one-way
    edges made two-way. The folder appears when it is complete, and not before.

    Examples:

    \b
      pignn convert edges.csv store --nodes nodes.csv --label label
      pignn convert 'citations/*.csv.gz' store --nodes papers/ --id paper --label topic --memory 4GB
      pignn convert edges.parquet store --nodes nodes.parquet --label topic --columns 'x*' --train is_train
      pignn convert edges.tsv.gz store --features x.npy --labels y.npy --memory 4GB
      pignn train --dataset store --out runs/large
    """
    from .. import graphs

    start = time.perf_counter()
    conversion = graphs.convert(**options.to_arguments())
    facts = conversion.to_dict() | {"seconds": round(time.perf_counter() - start, 2)}
    if json:
        show_json(facts)
        return
    show_facts({name: facts[name] for name in SHOWN})
    for message in (*conversion.notes, f"written to {options.out}"):
        show_message_on_stderr(message)
