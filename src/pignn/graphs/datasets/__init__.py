"""Graphs by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.lazy import on_first_use

if TYPE_CHECKING:
    from .catalog import DatasetInfo, available, list_datasets, where
    from .digits import digits
    from .loading import load

# Imported on first use: listing the datasets must not wait for torch.
_HOMES = {
    "DatasetInfo": "catalog",
    "available": "catalog",
    "digits": "digits",
    "list_datasets": "catalog",
    "load": "loading",
    "where": "catalog",
}

__all__ = ["DatasetInfo", "available", "digits", "list_datasets", "load", "where"]

__getattr__, __dir__ = on_first_use(__name__, _HOMES)
