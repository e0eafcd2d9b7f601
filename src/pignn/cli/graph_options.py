"""Which graph a command is about: a named one, or the user's own from files."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import ConfigError, PignnWarning
from ..graphs.tables import file_suffix, is_graph_file, list_suffixes
from . import options as o

if TYPE_CHECKING:
    from torch_geometric.data import Data

COLUMNS = ("label", "id", "trusted", "source", "delimiter")


@dataclass(kw_only=True)
class Named:
    """Options of a named graph."""

    root: o.Root = None
    split: o.Split = "default"
    split_seed: o.SplitSeed = 0
    split_index: o.SplitIndex = None
    data: o.DataOption = None

    def options(self, features: str | None) -> dict[str, Any]:
        """As `graphs.load` takes them."""
        flags = {
            "split": self.split,
            "split_seed": self.split_seed,
            "split_index": self.split_index,
            "features": None if features is None else o.as_value(features),
        }
        options = o.settings(self.data, "--data")
        for name in ("name", "root", *flags):
            if name in options and name != "features":
                flag = "dataset" if name == "name" else name.replace("_", "-")
                raise ConfigError(f"--data {name}=... is not an option of a dataset; use --{flag}")
        if features is not None and "features" in options:
            raise ConfigError("features are given twice: by --features and by --data")
        return flags | options


@dataclass(kw_only=True)
class Files:
    """Options of a graph of the user's own, and the name of one that is not."""

    dataset: o.Dataset = None
    nodes: o.Nodes = None
    edges: o.Edges = None
    label: o.Label = None
    id: o.Id = None
    features: o.Features = None
    edge_columns: o.EdgeColumns = None
    delimiter: o.Delimiter = None
    drop_unknown: o.DropUnknown = False

    def options(self, command: str, named: Named, val: float = 0.0) -> dict[str, Any] | None:
        """As `graphs.read_graph` takes them; None for a named graph."""
        columns = {name: getattr(self, name) for name in COLUMNS if hasattr(self, name)}
        given = {
            "edges": self.edges,
            "edge-columns": self.edge_columns,
            "drop-unknown": self.drop_unknown,
            "val": val,
            **columns,
        }
        if self.nodes is None:
            if unused := [name for name, value in given.items() if value]:
                raise ConfigError(f"--{unused[0]} is about a graph of your own: give its nodes with --nodes FILE")
            if self.dataset is None:
                raise ConfigError(
                    "which graph? your own with --nodes and --edges, or a named one with '--dataset' "
                    f"(see pignn {command} --help)"
                )
            return None
        if self.dataset is not None:
            raise ConfigError("--dataset is a named graph, --nodes is your own; give one of them")
        of_named = {"split": named.split != "default", "data": named.data}
        for name, value in of_named.items():
            if value:
                raise ConfigError(f"--{name} is for named datasets; of --nodes, --val holds labels out")
        return {
            "nodes": self.nodes,
            "edges": self.edges,
            "features": self.features,
            "edge_columns": self.edge_columns,
            "drop_unknown": self.drop_unknown,
            "val": val,
            "seed": named.split_seed,
            "split_index": named.split_index,
            **columns,
        }


@dataclass(kw_only=True)
class LabelledFiles(Files):
    """The same for commands that learn from labels."""

    trusted: o.Trusted = None
    source: o.Source = None

    def options(self, command: str, named: Named, val: float = 0.0) -> dict[str, Any] | None:
        found = super().options(command, named, val)
        if self.nodes is not None and self.label is None and not is_graph_file(self.nodes):
            raise ConfigError("which column of --nodes has the labels? say so with --label")
        return found


def load_graph(dataset: str | None, root: Path | None, options: dict[str, Any]) -> Data:
    """The named graph, or the one in the store at this path, with one split; a name wins."""
    from .. import graphs

    dataset = dataset or ""
    if _is_store(dataset):
        return _load_store(dataset, **options)
    if file_suffix(dataset) in list_suffixes():
        raise ConfigError(
            f"{dataset} is no name of a dataset; your own graph: --nodes FILE --edges FILE --label COLUMN"
        )
    graph = graphs.load(dataset, root=root, **options)
    # An index was used while loading.
    return _one_split(graph, None, dataset) if options["split"] == "own" else graph


def read_graph(*, split_index: int | None = None, **options: Any) -> Data:
    """The user's own graph, with one split."""
    from .. import graphs

    return _one_split(graphs.read_graph(**options), split_index, str(options["nodes"]))


def _one_split(graph: Data, index: int | None, title: str) -> Data:
    """One column of masks that have several; the first, which is said, unless it is told."""
    several = {name: graph[name] for name in ("train_mask", "val_mask", "test_mask") if graph[name].dim() == 2}
    splits = min((mask.shape[1] for mask in several.values()), default=1)
    if index is not None and not 0 <= index < splits:
        number = "1 split" if splits == 1 else f"{splits} splits"
        raise ConfigError(f"--split-index {index} is out of range: {title} comes with {number}, numbered from 0")
    if index is None and splits > 1:
        told = f"{title} comes with {splits} splits: taking the first; --split-index 0 to {splits - 1} chooses"
        warnings.warn(told, PignnWarning, stacklevel=3)
    for name, mask in several.items():
        graph[name] = mask[:, index or 0].contiguous()
    return graph


def _is_store(dataset: str) -> bool:
    from ..graphs.datasets.catalog import list_datasets

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
    return graphs.load_graph_store(path, split=split, split_seed=split_seed)
