"""Graphs by name. Listing them needs no torch."""

from __future__ import annotations

from .base import Dataset, FileDataset
from .registry import DATASETS, get_dataset, get_dataset_location_text, is_available, list_datasets

__all__ = [
    "DATASETS",
    "Dataset",
    "FileDataset",
    "get_dataset",
    "get_dataset_location_text",
    "is_available",
    "list_datasets",
]
