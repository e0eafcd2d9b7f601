"""Graphs by name. Listing them needs no torch."""

from __future__ import annotations

from .base import Dataset
from .registry import DATASETS, dataset_path, get_dataset, is_available, list_datasets

__all__ = ["DATASETS", "Dataset", "dataset_path", "get_dataset", "is_available", "list_datasets"]
