"""Graphs by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.lazy import on_first_use

if TYPE_CHECKING:
    from .base import Dataset
    from .digits_graph import digits
    from .loading import load
    from .registry import DATASETS, dataset_path, get_dataset, is_available, list_datasets

# Imported on first use: listing the datasets must not wait for torch.
_HOMES = {
    "DATASETS": "registry",
    "Dataset": "base",
    "dataset_path": "registry",
    "digits": "digits_graph",
    "get_dataset": "registry",
    "is_available": "registry",
    "list_datasets": "registry",
    "load": "loading",
}

__all__ = [
    "DATASETS",
    "Dataset",
    "dataset_path",
    "digits",
    "get_dataset",
    "is_available",
    "list_datasets",
    "load",
]

__getattr__, __dir__ = on_first_use(__name__, _HOMES)
