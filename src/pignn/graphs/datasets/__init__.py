"""Graphs by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.lazy import import_on_first_use

if TYPE_CHECKING:
    from .base import Dataset
    from .digits_graph import digits
    from .loading import load
    from .registry import DATASETS, dataset_path, get_dataset, is_available, list_datasets

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

# Imported on first use, so that listing things does not wait for torch.
__getattr__, __dir__ = import_on_first_use(__name__, __file__)
