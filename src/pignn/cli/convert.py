"""pignn convert"""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Annotated

import typer

from ..core.errors import ConfigError
from .options import Json
from .output import show_facts, show_json, show_message

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
MaskOption = Annotated[str | None, typer.Option(help="Column of --nodes, or .npy file, of 0 and 1.")]


def convert(
    edges: Annotated[Path, typer.Argument(help="CSV, TSV (also .gz), Parquet or .npy; nodes are numbered from 0.")],
    out: Annotated[Path, typer.Argument(help="The folder to make.")],
    nodes: Annotated[Path | None, typer.Option(help="CSV, TSV or Parquet with a header, one node a row.")] = None,
    label: Annotated[str | None, typer.Option(help="Column of --nodes with the labels, numbers or names.")] = None,
    columns: Annotated[
        str | None, typer.Option(help="Columns of --nodes that are features: 'age,x*'; all others if absent.")
    ] = None,
    features: Annotated[Path | None, typer.Option(help="Features as .npy of shape [nodes, features].")] = None,
    labels: Annotated[Path | None, typer.Option(help="Labels as .npy; -1 for none.")] = None,
    train: MaskOption = None,
    val: MaskOption = None,
    test: MaskOption = None,
    source: Annotated[str | None, typer.Option(help="Column of EDGES; 'source' or the first if absent.")] = None,
    target: Annotated[str | None, typer.Option(help="Column of EDGES; 'target' or the second if absent.")] = None,
    weight: Annotated[
        str | None,
        typer.Option(help="Column of EDGES, or 'none'; if absent 'weight', or the third of three without a header."),
    ] = None,
    delimiter: Annotated[str | None, typer.Option(help="One character, tab or space; guessed if absent.")] = None,
    num_nodes: Annotated[int | None, typer.Option(help="Needed where nothing else tells it.")] = None,
    memory: Annotated[str, typer.Option(help="To stay within, about: 500MB, 4GB.")] = "1GB",
    force: Annotated[bool, typer.Option("--force", help="Replace the store if there is one.")] = False,
    json: Json = False,
) -> int:
    """Make a store of a graph that may be larger than memory, for train and predict to read in place.

    Files are read in chunks. The store holds the simple undirected graph: self-loops dropped, duplicates merged (their
    weights summed), one-way edges made two-way. It is there when it is whole, and not before.

    Examples:

    \b
      pignn convert edges.csv store --nodes nodes.csv --label label
      pignn convert edges.parquet store --nodes nodes.parquet --label topic --columns 'x*' --train is_train
      pignn convert edges.tsv.gz store --features x.npy --labels y.npy --memory 4GB
      pignn train --dataset store --out runs/large
    """
    from .. import graphs

    start = time.perf_counter()
    done = graphs.convert(
        out,
        edges=edges,
        nodes=nodes,
        features=features,
        labels=labels,
        label=label,
        train=train,
        val=val,
        test=test,
        columns=None if columns is None else [name.strip() for name in columns.split(",")],
        source=source,
        target=target,
        weight=weight,
        delimiter=delimiter,
        num_nodes=num_nodes,
        memory=_bytes(memory),
        force=force,
    )
    facts = done.to_dict() | {"seconds": round(time.perf_counter() - start, 2)}
    if json:
        show_json(facts)
        return 0
    names = ("nodes", "edges", "features", "classes", "labelled", "weighted", "rows_read", "bytes", "seconds")
    show_facts({name: facts[name] for name in names})
    for note in done.notes:
        show_message(note)
    show_message(f"written to {out}")
    return 0


def _bytes(text: str) -> int:
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)i?b?", text.strip().lower())
    if found is None or not float(found[1]):
        raise ConfigError(f"--memory takes a size such as 500MB or 4GB, not '{text}'")
    return max(int(float(found[1]) * UNITS[found[2]]), 1)
