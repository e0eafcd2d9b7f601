"""`load()`: graphs by name."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from torch import Tensor
from torch_geometric.data import Data

from ...core.errors import ConfigError, build_unknown_name_error, warn_user
from ...core.settings import SEED
from ..splits import Masks, split_first_per_class, split_per_class
from .base import Dataset, Root
from .registry import get_dataset

SPLITS = ("default", "own", "random")


def load(
    name: str,
    *,
    root: Root = None,
    split: str = "default",
    split_seed: int = 0,
    split_index: int | None = None,
    **options: Any,
) -> Data:
    """A graph by name (see `list_datasets`): `x`, `edge_index`, `y`, three masks, `class_names` and `name`.

    Raw files are taken from `root`, else from the folder PIGNN_DATA, else from the cache. They are downloaded only if
    none has them.

    Args:
        name: name of the dataset. Upper and lower case do not matter.
        root: folder to look for raw files first.
        split: "default" is the official split (Planetoid, OGB), the first 20 nodes of each class for training and the
            next 20 for validation (wikics), or 20 + 30 nodes per class drawn by `split_seed` (all others). "own" is
            what the dataset comes with: column `split_index`, or all of them as masks of shape [nodes, k]. "random" is
            20 + 30 nodes per class drawn by `split_seed` for any dataset.
        split_seed: seed of a random split.
        split_index: which split to take where there are several.
        **options: options of the dataset: `num_neighbors` for digits, `variant="filtered"` for chameleon, the
            arguments of `csbm` for csbm, `features="stand-in"` for ogbn-arxiv, which makes features from the structure
            where the real ones are not at hand.
    """
    dataset = get_dataset(name)
    if split not in SPLITS:
        raise build_unknown_name_error("split", split, SPLITS)
    SEED.raise_unless_valid("split_seed", split_seed)
    if split_index is not None and not isinstance(split_index, Integral):
        raise ConfigError(f"split_index must be an integer, not {split_index!r}")
    options = {name: value for name, value in options.items() if value is not None}
    dataset.check_options(options)
    data = dataset.read(root, **options)
    if data.get("class_names") is None:
        has_names = len(dataset.class_names) == dataset.num_classes
        data.class_names = list(dataset.class_names if has_names else map(str, range(dataset.num_classes)))
    own_masks = Masks(data.train_mask, data.val_mask, data.test_mask) if "train_mask" in data else None
    masks = _choose_masks(dataset, data.y, own_masks, split, split_seed)
    data.train_mask, data.val_mask, data.test_mask = _select_split_or_keep_all(
        dataset.name, masks, split, split_index, own_masks
    )
    data.name = dataset.name
    if not options and data.num_nodes != dataset.num_nodes:
        warn_user(
            f"{dataset.name}: the raw files have {data.num_nodes:,} nodes, the published ones {dataset.num_nodes:,}"
        )
    return data


def _choose_masks(dataset: Dataset, y: Tensor, own_masks: Masks | None, split: str, seed: int) -> Masks:
    """The masks of one split, or of all the splits that the dataset comes with."""
    if split == "default" and dataset.default_split == "first":
        return split_first_per_class(y)
    if own_masks is not None and (split == "own" or (split == "default" and dataset.has_official_split)):
        return own_masks
    if split == "own":
        raise ConfigError(f"{dataset.name} comes with no split of its own; use split='default' or split='random'")
    return split_per_class(y, seed=seed)


def _select_split_or_keep_all(name: str, masks: Masks, split: str, index: int | None, own_masks: Masks | None) -> Masks:
    """Masks of shape [nodes], or [nodes, k] where there are several splits and none is chosen."""
    num_splits = max(mask.size(1) if mask.dim() == 2 else 1 for mask in masks)
    if index is not None and not 0 <= index < num_splits:
        hint = "" if split == "own" or own_masks is None else "; the splits of its own need split='own'"
        raise ConfigError(f"split_index {index} is out of range: {name} has {num_splits} here; choose from 0 on{hint}")
    if num_splits == 1:
        return Masks(*(mask.reshape(-1) for mask in masks))
    wide = [mask if mask.dim() == 2 else mask[:, None].expand(-1, num_splits) for mask in masks]
    return Masks(*((mask if index is None else mask[:, index]).contiguous() for mask in wide))
