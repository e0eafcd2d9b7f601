"""The datasets by name. Other packages add theirs through the entry-point group ``pignn.datasets``. Needs no torch."""

from __future__ import annotations

import tomllib
from importlib import resources

import msgspec

from ...core.errors import build_unknown_name_error
from ...core.registry import Registry
from .base import Dataset, FileDataset, GeneratedDataset, Root

DATASETS: Registry[Dataset] = Registry("dataset", "pignn.datasets")


def _register_catalog() -> None:
    """Register the built-in datasets, which catalog.toml describes."""
    catalog = tomllib.loads((resources.files(__package__) / "catalog.toml").read_text(encoding="utf-8"))
    for name, facts in catalog.items():
        summary = facts.pop("summary")
        dataset_type = GeneratedDataset if "function" in facts else FileDataset
        DATASETS.register(name, msgspec.convert({"name": name, **facts}, dataset_type), summary)


_register_catalog()


def get_dataset(name: str) -> Dataset:
    """The dataset called `name`. Upper and lower case do not matter."""
    names = {known.lower(): known for known in DATASETS.list_names()}
    if str(name).lower() not in names:
        raise build_unknown_name_error("dataset", name, names.values())
    return DATASETS.get(names[str(name).lower()])


def list_datasets() -> list[Dataset]:
    """All datasets that `load` knows by name, built in or from an installed package."""
    return [DATASETS.get(name) for name in DATASETS]


def is_available(name: str, root: Root = None) -> bool:
    """Whether the dataset can be loaded without a download (ogbn-arxiv perhaps with stand-in features)."""
    return find_dataset_location_or_empty(name, root) != ""


def find_dataset_location_or_empty(name: str, root: Root = None) -> str:
    """Where the raw files are: a path, "built in" if there are none to find, or "" if they are not here."""
    return get_dataset(name).find_location_or_empty(root)
