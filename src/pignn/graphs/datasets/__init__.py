"""Graphs by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.lazy import on_first_use

if TYPE_CHECKING:
    from .catalog import DatasetInfo, dataset_path, is_available, list_datasets
    from .digits import digits
    from .loading import load

# Imported on first use: listing the datasets must not wait for torch.
_HOMES = {
    "DatasetInfo": "catalog",
    "is_available": "catalog",
    "digits": "digits",
    "list_datasets": "catalog",
    "load": "loading",
    "dataset_path": "catalog",
}

__all__ = ["DatasetInfo", "dataset_path", "digits", "is_available", "list_datasets", "load"]

__getattr__, __dir__ = on_first_use(__name__, _HOMES)
