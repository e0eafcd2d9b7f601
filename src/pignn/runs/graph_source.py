"""Where the graph of a run comes from: an object, a named dataset, a graph store, or files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch_geometric.data import Data

from .. import graphs
from ..core.errors import ConfigError, DataError, warn_user
from ..graphs.checks import check_is_homogeneous_pyg_graph
from ..noise import Corrupt, load_labels_or_matrix_or_check_noise_name
from .early_checks import check_dataset_name_is_no_file, is_graph_store

MASKS = ("train_mask", "val_mask", "test_mask")


@dataclass(frozen=True, eq=False)
class GraphSource:
    """The graph of a run.

    Args:
        graph: a graph, the name of a dataset, the folder of a graph store, or None for files.
        options: of files, the arguments of :func:`pignn.read_graph`; of a dataset, those of :func:`pignn.load`, some of
            which may be in a dictionary ``dataset_options``. ``split_seed`` and ``split_index`` are of both.
        adds_noise: whether the run corrupts labels. Then those of a graph store are true, else they are the user's own.
    """

    graph: Data | str | Path | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    adds_noise: bool = False

    def __post_init__(self) -> None:
        if self.graph is None and self.options.get("nodes") is None:
            raise ConfigError("which graph? pass one, the name of a dataset, or files with nodes= and edges=")
        if isinstance(self.graph, pd.DataFrame):
            raise DataError("a table of nodes is not a graph by itself; give both tables by name: nodes=..., edges=...")
        if self.graph is not None and not isinstance(self.graph, str | Path):
            check_is_homogeneous_pyg_graph(self.graph)
        if isinstance(self.graph, Data) and (others := set(self.options) - {"split_index"}):
            raise ConfigError(
                f"{min(others)} does not apply to a graph that is loaded already; leave it out, or put it into "
                "settings={...} if it is one of the method"
            )

    @property
    def is_dataset_or_experiment_store(self) -> bool:
        """Whether it is a dataset, or a graph store in an experiment, whose labels are known to be true."""
        return isinstance(self.graph, str | Path) and (self.adds_noise or not is_graph_store(str(self.graph)))

    @property
    def input_paths(self) -> list[Path]:
        """Files that the graph is read from, and that no output may replace."""
        values = () if isinstance(self.graph, Data) else self.options.values()
        return [Path(value) for value in values if isinstance(value, str | Path) and os.path.isfile(value)]

    def load(self, **more_options: Any) -> Data:
        """The graph with one split; ``more_options`` go to :func:`pignn.read_graph`."""
        options = self._flatten_options()
        if isinstance(self.graph, Data):
            graph = self.graph.__copy__()
            for name in ("val_mask", "test_mask"):
                if graph.get(name) is None:
                    graph[name] = torch.zeros(graph.num_nodes, dtype=torch.bool)
            return reduce_masks_to_split_in_place(graph, options.get("split_index"), graph.get("name") or "the graph")
        if self.graph is not None:
            return _load_dataset_or_store(str(self.graph), options, self.adds_noise)
        index = options.pop("split_index", None)
        if "split_seed" in options:
            options["seed"] = options.pop("split_seed")
        nodes = options["nodes"]
        title = "the graph" if isinstance(nodes, pd.DataFrame) else str(nodes)
        return reduce_masks_to_split_in_place(graphs.read_graph(**options, **more_options), index, title)

    def to_json_dict(self) -> dict[str, Any]:
        """The options as run.json holds them."""
        return {key: _to_json_value(value) for key, value in self._flatten_options().items()}

    def _flatten_options(self) -> dict[str, Any]:
        options = dict(self.options)
        return options | dict(options.pop("dataset_options", None) or {})


def is_no_noise(noise: Any) -> bool:
    """Whether a run adds no noise to the labels."""
    return isinstance(noise, str) and noise == "none"


def build_corruption_or_none(
    noise: Any, rate: float | None, seed: int, source: GraphSource, **options: Any
) -> Corrupt | None:
    """The label noise to add, checked; None for none. ``noise`` may be a file of labels or of a transition matrix."""
    kind = load_labels_or_matrix_or_check_noise_name(str(noise)) if isinstance(noise, str | Path) else noise
    is_none = is_no_noise(kind)
    if is_none and rate is not None and not source.is_dataset_or_experiment_store:
        raise ConfigError("noise 'none' takes no rate; leave the rate out or choose a kind of noise")
    corruption = Corrupt(kind, rate, seed=seed, **options)
    # The labels of a dataset are true, and go to y_true; nobody knows the true labels of the user's own graph.
    return corruption if source.is_dataset_or_experiment_store or not is_none else None


def reduce_masks_to_split_in_place(graph: Data, split_index: int | None, title: str) -> Data:
    """Reduce masks that have several splits to one: column ``split_index``, or the first with a warning."""
    several = {name: graph[name] for name in MASKS if graph.get(name) is not None and graph[name].dim() == 2}
    count = min((mask.shape[1] for mask in several.values()), default=1)
    if split_index is not None and not 0 <= split_index < count:
        splits = "1 split" if count == 1 else f"{count} splits"
        raise ConfigError(f"split_index {split_index} is out of range: {title} comes with {splits}, numbered from 0")
    if split_index is None and count > 1:
        message = (
            f"{title} comes with {count} splits: using the first; choose another with split_index= (0 to {count - 1})"
        )
        warn_user(message)
    for name, mask in several.items():
        graph[name] = mask[:, split_index or 0].contiguous()
    return graph


def _load_dataset_or_store(name_or_path: str, options: dict[str, Any], adds_noise: bool) -> Data:
    if is_graph_store(name_or_path):
        return _load_graph_store(name_or_path, options, adds_noise)
    check_dataset_name_is_no_file(name_or_path)
    graph = graphs.load(name_or_path, **options)
    # An index was used while loading.
    return reduce_masks_to_split_in_place(graph, None, name_or_path) if options.get("split") == "own" else graph


def _load_graph_store(path: str, options: dict[str, Any], adds_noise: bool) -> Data:
    options.pop("root", None)
    split = {key: options.pop(key) for key in ("split", "split_seed") if key in options}
    if split.get("split", "default") == "default" and not adds_noise:
        split["split"] = "labeled"
    index = options.pop("split_index", None)
    if unused := [key for key, value in options.items() if value is not None]:
        raise ConfigError(f"{unused[0]} is an option of named datasets; {path} is a graph store")
    if index not in (None, 0):
        raise DataError(f"split_index {index} is out of range: {path} has 1 split")
    return graphs.open_graph_store_with_masks(path, **split)


def _to_json_value(value: Any) -> Any:
    if value is None or isinstance(value, str | int | float | bool | list | dict):
        return value
    return str(value) if isinstance(value, Path) else f"<{type(value).__name__}>"
