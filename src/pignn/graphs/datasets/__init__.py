"""Graphs by name. Listing them needs no torch."""

from __future__ import annotations

from .base import Dataset, FileDataset
from .registry import DATASETS, find_dataset_location_or_empty, get_dataset, is_available, list_datasets

__all__ = [
    "DATASETS",
    "Dataset",
    "FileDataset",
    "find_dataset_location_or_empty",
    "get_dataset",
    "is_available",
    "list_datasets",
]
