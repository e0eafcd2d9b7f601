"""Options that several commands share, and how their texts become values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError

if TYPE_CHECKING:
    from torch_geometric.data import Data

Dataset = Annotated[str, typer.Option(help="A named dataset; `pignn datasets` lists them.")]
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


def settings(pairs: list[str] | None) -> dict[str, Any]:
    """KEY=VALUE texts as a dictionary; values are JSON where they can be, else text."""
    found = {}
    for pair in pairs or []:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise ConfigError(f"'{pair}' is not KEY=VALUE")
        try:
            found[key.replace("-", "_")] = json.loads(value)
        except ValueError:
            found[key.replace("-", "_")] = value
    return found


def load_graph(
    dataset: str,
    root: Path | None,
    split: str,
    split_seed: int,
    split_index: int | None,
    features: str | None,
    data: list[str] | None,
) -> Data:
    """The named graph with one split."""
    from .. import graphs

    return graphs.load(
        dataset,
        root=root,
        split=split,
        split_seed=split_seed,
        split_index=0 if split_index is None and split == "own" else split_index,
        features=features,
        **settings(data),
    )
