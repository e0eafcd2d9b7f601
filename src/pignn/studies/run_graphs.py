"""The graph of a run: loaded, split, made noisy; and digests of what came out."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch_geometric.data import Data

from .. import graphs, noise
from ..core.errors import ConfigError
from ..graphs.datasets import get_dataset
from ..graphs.splits import split_by_shares
from ..io.digests import compute_digest_of_parts
from ..noise.registry import NOISES
from . import noisygl
from .code_hash import hash_all_files_of_package
from .run_spec import GraphSpec
from .study import is_named_dataset

MAX_CACHED_GRAPHS = 4  # that a process holds on to
_cached_graphs: dict[str, tuple[Data, str]] = {}

BEGIN_SHARES = (0.5, 0.1)  # of all nodes, for training and validation (Kim et al., KDD 2025)

GRAPH_KEYS = ("x", "edge_index", "crow", "col", "edge_weight", "label_weight")
LABEL_KEYS = ("y", "y_true", "train_mask", "val_mask", "test_mask", "trusted_mask")


def load_clean_graph_and_digest(spec: GraphSpec) -> tuple[Data, str]:
    """The graph before noise, with its masks, and the digest of features and edges. The last few are cached."""
    key = str((spec.dataset, spec.options, spec.split, spec.split_seed))
    if key not in _cached_graphs:
        while len(_cached_graphs) >= MAX_CACHED_GRAPHS:
            del _cached_graphs[next(iter(_cached_graphs))]
        data = _load_split_graph(spec)
        # Of the graph as a method gets it, so that a change of the checks matters only where it changes something.
        _cached_graphs[key] = data, _hash_tensors(graphs.copy_checked_graph(data), GRAPH_KEYS)
    _cached_graphs[key] = _cached_graphs.pop(key)  # the newest last
    return _cached_graphs[key]


def _load_split_graph(spec: GraphSpec) -> Data:
    name, split, seed, options = spec.dataset, spec.split, spec.split_seed, spec.options
    if not is_named_dataset(name):
        if options:
            raise ConfigError(f"{name} is a graph store: it has no option '{next(iter(options))}'")
        if split not in ("default", "random"):
            raise ConfigError(f"{name} is a graph store: split '{split}' is for named datasets")
        return graphs.open_graph_store_with_masks(name, split=split, split_seed=seed)
    if split == "own":
        data = graphs.load(name, split="own", **options)
        num_splits = data.train_mask.shape[1] if data.train_mask.dim() == 2 else 1
        if num_splits > 1:
            data = graphs.load(name, split="own", split_index=seed % num_splits, **options)
        return data
    if split == "noisygl":
        data = graphs.load(name, **options)
        masks = noisygl.draw_masks_or_none(name, data.y, seed)
        if masks is not None:
            data.train_mask, data.val_mask, data.test_mask = masks
        return data
    if split == "begin":
        data = graphs.load(name, **options)
        data.train_mask, data.val_mask, data.test_mask = split_by_shares(data.y, BEGIN_SHARES, seed)
        return data
    data = graphs.load(name, split="default" if split == "no-val" else split, split_seed=seed, **options)
    if split == "no-val":
        data.val_mask = torch.zeros_like(data.val_mask)
    return data


def load_noisy_graph_and_digest(spec: GraphSpec) -> tuple[Data, str]:
    """The graph of a run as a method sees it, and the digest of its labels and masks."""
    data = _corrupt_as_planned(_copy_with_trusted_labels_if_needed(load_clean_graph_and_digest(spec)[0], spec), spec)
    return data, _hash_tensors(data, LABEL_KEYS)


def _copy_with_trusted_labels_if_needed(data: Data, spec: GraphSpec) -> Data:
    """With as many trusted labels per class as the method cannot do without."""
    return graphs.copy_with_random_trusted_labels(data, spec.trusted, seed=spec.seed) if spec.trusted else data


def _corrupt_as_planned(data: Data, spec: GraphSpec) -> Data:
    draws = spec.draws
    if draws == "noisygl":
        if spec.noise in noisygl.DRAWN_KINDS:
            labels = noisygl.draw_noisy_labels(
                data.y, spec.noise, spec.rate or 0.0, graphs.num_classes(data), spec.seed
            )
            return noise.corrupt(data, noise.RecordedLabels(labels), splits=spec.noisy)
        draws = "ours"
    kind = noise.load_labels_or_matrix_or_check_noise_name(complete_path_if_noise_file(spec.noise, spec.dataset))
    return noise.corrupt(data, kind, spec.rate, seed=spec.seed, splits=spec.noisy, draws=draws)


def complete_path_if_noise_file(kind: str, dataset: str) -> str:
    """Recorded labels may lie in the dataset's own folder: ``llm_labels.npz``. Other kinds stay as they are."""
    if Path(kind).suffix and not Path(kind).exists() and is_named_dataset(dataset):
        path = Path(get_dataset(dataset).find_location_or_empty(), kind)
        return str(path) if path.is_file() else kind
    return kind


def compute_labels_digest(spec: GraphSpec) -> str:
    """The digest that :func:`load_noisy_graph_and_digest` gives, without features and edges where noise needs none."""
    if spec.noise in NOISES and NOISES.get(spec.noise).depends_on_graph:
        return load_noisy_graph_and_digest(spec)[1]
    data = _copy_with_trusted_labels_if_needed(load_clean_graph_and_digest(spec)[0], spec)
    small = Data(
        x=torch.zeros(data.num_nodes, 1),
        edge_index=torch.zeros(2, 0, dtype=torch.long),
        **{key: data[key] for key in (*LABEL_KEYS, "class_names") if data.get(key) is not None},
    )
    return _hash_tensors(_corrupt_as_planned(small, spec), LABEL_KEYS)


def _hash_tensors(data: Data, keys: tuple[str, ...]) -> str:
    # A graph store knows the digest of its features and edges. Labels differ from run to run, as those of any graph.
    own = data.get("digest") if keys is GRAPH_KEYS and data.get("checked") else None
    parts: list[Any] = [str(own)]
    for key in keys:
        if data.get(key) is not None and not (own and key in ("x", "crow", "col", "edge_weight")):
            parts += [key, torch.as_tensor(data[key])]
    return compute_digest_of_parts(*parts, length=16)


def compute_cache_key_of_graph_digest_or_none(spec: GraphSpec) -> str | None:
    """What a graph's digest may be remembered by: its raw files and the code that reads them, if they are known."""
    if not is_named_dataset(spec.dataset):
        return None
    # Raw files by their size and time: reading them all again would take longer than many a run.
    raw = get_dataset(spec.dataset).get_raw_files(spec.options)
    paths = [] if raw is None else raw.list_paths_or_empty()
    if raw is not None and not paths:
        return None
    files = [[str(path), path.stat().st_size, path.stat().st_mtime_ns] for path in paths]
    parts = [spec.dataset.lower(), sorted(spec.options.items()), spec.split, spec.split_seed, files]
    return compute_digest_of_parts("graph", str(parts), _hash_loading_code())


def compute_cache_key_of_labels_digest(spec: GraphSpec, graph_digest: str) -> str:
    """What the digest of noisy labels may be remembered by."""
    path = Path(complete_path_if_noise_file(spec.noise, spec.dataset))
    content = path.read_bytes() if path.is_file() else b""
    return compute_digest_of_parts("labels", graph_digest, str(spec), content, _hash_loading_code())


@cache
def _hash_loading_code() -> str:
    return compute_digest_of_parts(
        *(
            hash_all_files_of_package(name)
            for name in ("pignn.graphs", "pignn.noise", "pignn.studies.run_graphs", "pignn.studies.noisygl")
        )
    )
