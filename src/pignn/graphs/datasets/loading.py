"""Graphs by name."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from numbers import Integral
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from ...core import validation as settings
from ...core.errors import ConfigError, DataError, PignnWarning, unknown
from ...io import safe_readers
from ..splits import Masks, split_first_per_class, split_per_class
from ..synthetic import csbm
from . import cache, catalog, download, raw_ogb, raw_pyg
from .catalog import RAW
from .digits import digits
from .download import Unreachable

Root = str | os.PathLike[str] | None

_SPLITS = ("default", "own", "random")
_OFFICIAL = ("cora", "citeseer", "pubmed", "ogbn-arxiv", "ogbn-products")
_BUILT_IN: dict[str, Callable[..., Data]] = {"digits": digits, "csbm": csbm}
_CLASS_NAMES = {
    "cora": [
        "Theory",
        "Reinforcement_Learning",
        "Genetic_Algorithms",
        "Neural_Networks",
        "Probabilistic_Methods",
        "Case_Based",
        "Rule_Learning",
    ]
}


def load(
    name: str,
    *,
    root: Root = None,
    split: str = "default",
    split_seed: int = 0,
    split_index: int | None = None,
    features: str | None = None,
    **options: Any,
) -> Data:
    """A graph by name (see `list_datasets`): `x`, `edge_index`, `y`, three masks, `class_names` and `name`.

    Raw files are taken from `root`, else the folder PIGNN_DATA, else the cache, and downloaded only if none
    has them.

    `split`: "default" is the public split (Planetoid, OGB), the first 20 nodes of each class for training and
    the next 20 for validation (wikics), or 20 + 30 nodes a class drawn by `split_seed` (all others); "own" is
    what the dataset comes with, column `split_index` or all of them as masks of shape [nodes, k]; "random" is
    20 + 30 a class by `split_seed` for any dataset.

    `features="stand-in"` (ogbn-arxiv only) makes features from the structure where the real ones are not at
    hand. Options: `num_neighbors` for digits, `variant="filtered"` for chameleon, the arguments of `csbm` for
    csbm.
    """
    info = catalog.info(name)
    if split not in _SPLITS:
        raise unknown("split", split, _SPLITS)
    settings.seed("split_seed", split_seed)
    if split_index is not None and not isinstance(split_index, Integral):
        raise ConfigError(f"split_index must be an integer, not {split_index!r}")
    _check_options(
        info.name, options | ({} if features is None or info.name == "ogbn-arxiv" else {"features": features})
    )
    if features not in (None, "stand-in"):
        raise unknown("features of ogbn-arxiv", features, ("stand-in",))

    if info.name in _BUILT_IN:
        data = _BUILT_IN[info.name](**options)
        own = None
    else:
        data = _published(info, root, features == "stand-in", options)
        own = Masks(data.train_mask, data.val_mask, data.test_mask) if "train_mask" in data else None
    masks = _masks(info.name, data.y, own, split, split_seed, split_index)
    data.train_mask, data.val_mask, data.test_mask = masks
    data.name = info.name
    if features == "stand-in":
        _warn("ogbn-arxiv: STAND-IN FEATURES made from the structure; accuracies do not compare with published ones")
    if info.name not in _BUILT_IN and "variant" not in options and data.num_nodes != info.nodes:
        _warn(f"{info.name}: the raw files have {data.num_nodes:,} nodes, the published ones {info.nodes:,}")
    return data


def _check_options(name: str, options: Mapping[str, Any]) -> None:
    if name in _BUILT_IN:
        known = list(inspect.signature(_BUILT_IN[name]).parameters)
    else:
        known = ["variant"] if name == "chameleon" else []
    for option in options:
        if option not in known:
            hint = f"known: {', '.join(known)}" if known else "it has none"
            raise ConfigError(f"unknown option '{option}' for dataset '{name}'; {hint}")
    if name == "chameleon" and options.get("variant", "full") not in ("full", "filtered"):
        raise unknown("variant of chameleon", options["variant"], ("full", "filtered"))


def _published(info: catalog.DatasetInfo, root: Root, stand_in: bool, options: Mapping[str, Any]) -> Data:
    names: dict[str, list[str]] = {}
    if info.name == "chameleon":
        data = _chameleon("chameleon filtered" if options.get("variant") == "filtered" else "chameleon", root)
    elif info.name.startswith("ogbn-"):
        data = _ogb(info.name, root, stand_in)
    else:
        data, names = _pyg(info.name, root)
    known = names.get("class_names") or _CLASS_NAMES.get(info.name) or []
    fits = len(known) == info.classes
    data.class_names = list(known) if fits else [str(c) for c in range(info.classes)]
    return data


def _pyg(name: str, root: Root) -> tuple[Data, dict[str, list[str]]]:
    source = catalog.find(name, root)
    if source is not None:
        kept = cache.get(name, cache.fingerprint({file: source / file for file in RAW[name].files}))
        if kept is not None:
            return Data.from_dict(kept[0]), kept[1]
    try:
        data, names, key = raw_pyg.read(name, source)
    except Unreachable as error:
        raise _absent(name, root, error) from None
    data = _verified(name, data, source)
    cache.put(name, key, data.to_dict(), names)
    return data, names


def _chameleon(key: str, root: Root) -> Data:
    with _source(key, root, download.chameleon) as source:
        path = source / RAW[key].files[0]
        masks = ("train_masks", "val_masks", "test_masks")
        arrays = safe_readers.read_npz(path, "node_features", "node_labels", "edges", *masks)
        tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
        edges = tensors["edges"].long().t()
        data = Data(
            x=tensors["node_features"].float(),
            edge_index=torch.cat([edges, edges.flip(0)], dim=1),  # the file has every undirected edge once
            y=tensors["node_labels"].long(),
        )
        for name in masks:
            data[name[:-1]] = tensors[name].bool().t().contiguous()
        return _verified("chameleon", data, source)


def _ogb(name: str, root: Root, stand_in: bool) -> Data:
    structure = catalog.find("ogbn-arxiv structure", root) if name == "ogbn-arxiv" else None
    if structure is not None and (stand_in or catalog.find(name, root) is None):
        path = structure / RAW["ogbn-arxiv structure"].files[0]
        if not stand_in:
            raise DataError(
                f"ogbn-arxiv: {path} has no features; put OGB's raw folder at <root>/ogbn_arxiv, "
                "or pass features='stand-in' (accuracies then do not compare with published ones)"
            )
        data = _verified(name, raw_ogb.read_structure(path), structure)
    else:
        with _source(name, root, download.ogb) as source:
            key = cache.fingerprint({file: source / file for file in RAW[name].files})
            kept = cache.get(name, key)
            if kept is not None:
                data = Data.from_dict(kept[0])
            else:
                data = _verified(name, raw_ogb.read(name, source), source)
                cache.put(name, key, data.to_dict(), {})
    if stand_in:
        data.x = raw_ogb.stand_in(data.edge_index, data.y.numel())
    return data


@contextmanager
def _source(key: str, root: Root, download: Callable[[str, Path], Path]) -> Iterator[Path]:
    """The folder with the raw files; downloaded ones stay in the cache if they could be read."""
    found = catalog.find(key, root)
    if found is not None:
        yield found
        return
    with cache.open_workspace() as folder:
        try:
            source = download(key, folder)
        except Unreachable as error:
            raise _absent(key, root, error) from None
        yield source
        cache.move_in(source, RAW[key].files, RAW[key].folders[0])


def _absent(key: str, root: Root, error: Exception) -> DataError:
    raw = RAW[key]
    some = catalog.incomplete(key, root)
    found = f"raw files not complete ({some})" if some else "raw files not found"
    return DataError(
        f"{key}: {found} and the download failed ({error}); "
        f"put {raw.names()} into {raw.place} and pass root= or set PIGNN_DATA"
    )


def _verified(name: str, data: Data, source: Path | None) -> Data:
    """Only what a graph has here, in canonical types, if its parts fit together."""
    place = "the downloaded files" if source is None else str(source)
    nodes, classes = data.y.numel(), catalog.info(name).classes
    masks = {key: data[key].bool() for key in ("train_mask", "val_mask", "test_mask") if key in data}
    edge_index, y = data.edge_index.long().contiguous(), data.y.long()
    in_range = not edge_index.numel() or (int(edge_index.min()) >= 0 and int(edge_index.max()) < nodes)
    features = {"x": data.x.float().contiguous()} if data.get("x") is not None else {}
    sizes = {nodes, *(part.size(0) for part in (*features.values(), *masks.values()))}
    if sizes != {nodes} or not in_range:
        raise DataError(f"{name}: features, labels, masks and edges in {place} do not fit; get the raw files again")
    if nodes and (int(y.min()) < 0 or int(y.max()) >= classes):
        raise DataError(f"{name}: labels in {place} are not all in 0 to {classes - 1}; get the raw files again")
    return Data(**features, edge_index=edge_index, y=y, **masks)


def _masks(name: str, y: Tensor, own: Masks | None, split: str, seed: int, index: int | None) -> Masks:
    if split == "default" and name == "wikics":
        chosen = split_first_per_class(y)
    elif own is not None and (split == "own" or (split == "default" and name in _OFFICIAL)):
        chosen = own
    elif split == "own":
        raise ConfigError(f"{name} comes with no split of its own; use split='default' or split='random'")
    else:
        chosen = split_per_class(y, seed=seed)

    splits = max(mask.size(1) if mask.dim() == 2 else 1 for mask in chosen)
    if index is not None and not 0 <= index < splits:
        hint = "" if split == "own" or own is None else "; the splits of its own need split='own'"
        raise ConfigError(f"split_index {index} is out of range: {name} has {splits} here{hint}")
    if splits == 1:
        return Masks(*(mask.reshape(-1) for mask in chosen))
    several = [mask if mask.dim() == 2 else mask[:, None].expand(-1, splits) for mask in chosen]
    if index is None:
        return Masks(*(mask.contiguous() for mask in several))
    return Masks(*(mask[:, index].contiguous() for mask in several))


def _warn(message: str) -> None:
    warnings.warn(message, PignnWarning, stacklevel=3)
