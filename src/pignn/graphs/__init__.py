"""A graph comes in: named datasets, synthetic graphs, checks, splits and edges."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .bundled import digits
    from .catalogue import DatasetInfo, available, list_datasets, where
    from .checks import check, num_classes
    from .datasets import load
    from .edges import SimpleEdges, simple_edges
    from .summary import describe
    from .synthetic import csbm

# Imported on first use: listing the datasets must not wait for torch.
_HOMES = {
    "DatasetInfo": "catalogue",
    "SimpleEdges": "edges",
    "available": "catalogue",
    "check": "checks",
    "csbm": "synthetic",
    "describe": "summary",
    "digits": "bundled",
    "list_datasets": "catalogue",
    "load": "datasets",
    "num_classes": "checks",
    "simple_edges": "edges",
    "where": "catalogue",
}

__all__ = [
    "DatasetInfo",
    "SimpleEdges",
    "available",
    "check",
    "csbm",
    "describe",
    "digits",
    "list_datasets",
    "load",
    "num_classes",
    "simple_edges",
    "where",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'pignn.graphs' has no attribute '{name}'")
    value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
