"""Options that several commands share, and how their texts become values."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Container
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError, PignnWarning

if TYPE_CHECKING:
    from torch_geometric.data import Data

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
SplitIndex = Annotated[int | None, typer.Option(help="Which split, where the dataset comes with several.")]
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
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


WHOLE = (".npz", ".pt", ".pth", ".graphml", ".gml")  # files that hold a graph and name its parts
_FILES = (".csv", ".tsv", ".txt", ".gz", ".jsonl", ".ndjson", ".json", ".parquet", ".pq", *WHOLE)


def settings(pairs: list[str] | None, flag: str, *, texts: Container[str] = ()) -> dict[str, Any]:
    """KEY=VALUE texts as a dictionary; values are JSON where they can be, else text, as those of ``texts`` always."""
    found = {}
    for pair in pairs or []:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise ConfigError(f"{flag} takes KEY=VALUE, not '{pair}'")
        key = key.replace("-", "_")
        found[key] = value if key in texts else _value(value)
    return found


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def graph_options(
    split: str, split_seed: int, split_index: int | None, features: str | None, data: list[str] | None
) -> dict[str, Any]:
    """What the flags say about a named graph, as `graphs.load` takes it."""
    flags = {
        "split": split,
        "split_seed": split_seed,
        "split_index": split_index,
        "features": None if features is None else _value(features),
    }
    options = settings(data, "--data")
    for name in ("name", "root", *flags):
        if name in options and name != "features":
            flag = "dataset" if name == "name" else name.replace("_", "-")
            raise ConfigError(f"--data {name}=... is not an option of a dataset; use --{flag}")
    if features is not None and "features" in options:
        raise ConfigError("features are given twice: by --features and by --data")
    return flags | options


def own_options(
    command: str,
    dataset: str | None,
    *,
    nodes: Path | None,
    edges: Path | None,
    features: str | None,
    edge_columns: str | None,
    drop_unknown: bool,
    val: float = 0.0,
    split: str = "default",
    split_seed: int = 0,
    split_index: int | None = None,
    data: list[str] | None = None,
    **columns: str | None,
) -> dict[str, Any] | None:
    """What the flags say about a graph of the user's own, as `graphs.read_graph` takes it; None for a named one.

    `columns` are label, id, trusted, source and delimiter.
    """
    given = {"edges": edges, "edge-columns": edge_columns, "drop-unknown": drop_unknown, "val": val, **columns}
    if nodes is None:
        if unused := [name for name, value in given.items() if value]:
            raise ConfigError(f"--{unused[0]} is about a graph of your own: give its nodes with --nodes FILE")
        if dataset is None:
            raise ConfigError(
                "which graph? your own with --nodes and --edges, or a named one with '--dataset' "
                f"(see pignn {command} --help)"
            )
        return None
    if dataset is not None:
        raise ConfigError("--dataset is a named graph, --nodes is your own; give one of them")
    for name, value in (("split", split != "default"), ("split-index", split_index is not None), ("data", data)):
        if value:
            raise ConfigError(f"--{name} is for named datasets; of --nodes, --val holds labels out")
    return {
        "nodes": nodes,
        "edges": edges,
        "features": features,
        "edge_columns": None if edge_columns is None else [name.strip() for name in edge_columns.split(",")],
        "drop_unknown": drop_unknown,
        "val": val,
        "seed": split_seed,
        **columns,
    }


def load_graph(dataset: str | None, root: Path | None, options: dict[str, Any]) -> Data:
    """The named graph, or the one in the store at this path, with one split; a name wins."""
    from .. import graphs

    dataset = dataset or ""
    if _is_store(dataset):
        return _load_store(dataset, **options)
    if Path(dataset).suffix.lower() in _FILES:
        raise ConfigError(
            f"{dataset} is no name of a dataset; your own graph: --nodes FILE --edges FILE --label COLUMN"
        )
    graph = graphs.load(dataset, root=root, **options)
    if options["split"] == "own" and graph.train_mask.dim() == 2:
        splits = graph.train_mask.shape[1]
        told = f"{dataset} comes with {splits} splits: taking the first; --split-index 0 to {splits - 1} chooses"
        warnings.warn(told, PignnWarning, stacklevel=2)
        for name in ("train_mask", "val_mask", "test_mask"):
            graph[name] = graph[name][:, 0].contiguous()
    return graph


def _is_store(dataset: str) -> bool:
    from ..graphs.catalogue import list_datasets

    named = dataset.lower() in {info.name for info in list_datasets()}
    return bool(dataset) and not named and (os.sep in dataset or Path(dataset).is_dir())


def _load_store(
    path: str, *, split: str, split_seed: int, split_index: int | None, features: Any = None, **others: Any
) -> Data:
    from .. import graphs

    if features is not None or others:
        what = "--features" if features is not None else f"--data {next(iter(others))}=..."
        raise ConfigError(f"{what} is for named datasets; {path} is a store")
    if split_index not in (None, 0):
        raise ConfigError(f"split_index {split_index} is out of range: {path} has 1 split")
    return graphs.load_store(path, split=split, split_seed=split_seed)
