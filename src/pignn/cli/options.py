"""Options that several commands share, and how their texts become values."""

from __future__ import annotations

import json
import os
from collections.abc import Container
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError

if TYPE_CHECKING:
    from torch_geometric.data import Data

Dataset = Annotated[str, typer.Option(help="A named dataset (`pignn datasets`), or a store (`pignn convert`).")]
Root = Annotated[Path | None, typer.Option(help="Folder with raw files; else PIGNN_DATA, else the cache.")]
Split = Annotated[str, typer.Option(help="default, own or random.")]
SplitSeed = Annotated[int, typer.Option(help="Seed of a random split; independent of --seed.")]
SplitIndex = Annotated[int | None, typer.Option(help="Which split, where the dataset comes with several.")]
Features = Annotated[
    str | None, typer.Option(help="'stand-in': make features up for a dataset that lacks them (ogbn-arxiv).")
]
DataOption = Annotated[
    list[str] | None,
    typer.Option("--data", metavar="KEY=VALUE", help="An option of the dataset; may be repeated."),
]
Noise = Annotated[
    str,
    typer.Option(help="none, symmetric, pair, flip, instance, or a file: recorded labels or a transition matrix."),
]
Rate = Annotated[float | None, typer.Option(help="Share of labels to make wrong, in [0, 1].")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


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
        "split_index": 0 if split_index is None and split == "own" else split_index,
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


def load_graph(dataset: str, root: Path | None, options: dict[str, Any]) -> Data:
    """The named graph, or the one in the store at this path, with one split; a name wins."""
    from .. import graphs

    if _is_store(dataset):
        return _load_store(dataset, **options)
    return graphs.load(dataset, root=root, **options)


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
