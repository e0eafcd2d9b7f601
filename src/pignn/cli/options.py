"""Options that several commands share, and how their texts become values."""

from __future__ import annotations

import json
from collections.abc import Container
from pathlib import Path
from typing import Annotated, Any

import typer

from ..core.errors import ConfigError

Dataset = Annotated[str | None, typer.Option(help="A named dataset (`pignn datasets`), or a store (`pignn convert`).")]
Nodes = Annotated[
    Path | None,
    typer.Option(help="Your own graph: CSV, TSV, JSON lines or Parquet, one node a row; or .npz, .pt, .graphml, .gml."),
]
Edges = Annotated[Path | None, typer.Option(help="Its edges, one a row: CSV, TSV, JSON lines, Parquet or .npy.")]
Label = Annotated[str | None, typer.Option(help="Column of --nodes with the labels; empty or -1 for none.")]
Id = Annotated[str | None, typer.Option(help="Column of --nodes with the ids that --edges uses; 'id' if absent.")]
Trusted = Annotated[str | None, typer.Option(help="Column of --nodes: 1 where the label was verified.")]
Source = Annotated[str | None, typer.Option(help="Column of --nodes: who or what gave the label.")]
EdgeColumns = Annotated[
    str | None, typer.Option(metavar="FROM,TO[,WEIGHT]", help="Columns of --edges; by name or order if absent.")
]
Delimiter = Annotated[str | None, typer.Option(help="Of --nodes and --edges: one character, tab or space.")]
DropUnknown = Annotated[
    bool, typer.Option("--drop-unknown", help="Leave out edges to nodes that --nodes does not have.")
]
Val = Annotated[
    float,
    typer.Option(help="Share of the labels of --nodes to hold out, to choose the epoch by; drawn by --split-seed."),
]
Root = Annotated[Path | None, typer.Option(help="Folder with raw files; else PIGNN_DATA, else the cache.")]
Split = Annotated[str, typer.Option(help="default, own or random.")]
SplitSeed = Annotated[int, typer.Option(help="Seed of a random split; independent of --seed.")]
SplitIndex = Annotated[int | None, typer.Option(help="Which split, where the graph comes with several.")]
Features = Annotated[
    str | None,
    typer.Option(
        help="Columns of --nodes ('age,x*,note:text'; all others if absent), 'structure', or a file. "
        "With --dataset: 'stand-in' makes features up (ogbn-arxiv)."
    ),
]
DataOption = Annotated[
    list[str] | None,
    typer.Option("--data", metavar="KEY=VALUE", help="An option of the dataset; may be repeated."),
]
Noise = Annotated[
    str,
    typer.Option(
        help="none, symmetric, pair, flip, instance, one-sided, rule, cluster, or a file: recorded labels or a matrix."
    ),
]
Rate = Annotated[float | None, typer.Option(help="Share of labels to make wrong, in [0, 1].")]
Setting = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Any other setting of the method; may be repeated."),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def settings(pairs: list[str] | None, flag: str, *, texts: Container[str] = ()) -> dict[str, Any]:
    """KEY=VALUE texts as a dictionary; values are JSON where they can be, else text, as those of ``texts`` always."""
    found = {}
    for pair in pairs or []:
        key, equals, text = pair.partition("=")
        if not equals or not key:
            raise ConfigError(f"{flag} takes KEY=VALUE, not '{pair}'")
        key = key.replace("-", "_")
        found[key] = text if key in texts else as_value(text)
    return found


def of_method(pairs: list[str] | None) -> dict[str, Any]:
    """Settings of a method, as --set gives them."""
    # Of pair_labels "true" is a name, not JSON's true.
    found = settings(pairs, "--set", texts=("pair_labels",))
    if "seed" in found:
        raise ConfigError("--set seed=... would leave all else that is drawn with another seed; use --seed")
    return found


def as_value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
