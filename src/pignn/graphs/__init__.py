"""A graph comes in: files of your own, named datasets, synthetic graphs, checks, splits, edges, stores on disk."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .bundled import digits
    from .catalogue import DatasetInfo, available, list_datasets, where
    from .checks import check, is_csr, num_classes
    from .datasets import load
    from .disk import Conversion, convert, load_store, open_store
    from .edges import SimpleEdges, simple_edges
    from .own import Encoder, Origin, from_networkx, from_pandas, from_scipy, load_encoder, read_graph, understood
    from .splits import trust
    from .summary import describe
    from .synthetic import csbm

# Imported on first use: listing the datasets must not wait for torch.
_HOMES = {
    "Conversion": "disk",
    "DatasetInfo": "catalogue",
    "Encoder": "own",
    "Origin": "own",
    "SimpleEdges": "edges",
    "available": "catalogue",
    "check": "checks",
    "convert": "disk",
    "csbm": "synthetic",
    "describe": "summary",
    "digits": "bundled",
    "from_networkx": "own",
    "from_pandas": "own",
    "from_scipy": "own",
    "is_csr": "checks",
    "list_datasets": "catalogue",
    "load": "datasets",
    "load_encoder": "own",
    "load_store": "disk",
    "num_classes": "checks",
    "open_store": "disk",
    "read_graph": "own",
    "simple_edges": "edges",
    "trust": "splits",
    "understood": "own",
    "where": "catalogue",
}

__all__ = [
    "Conversion",
    "DatasetInfo",
    "Encoder",
    "Origin",
    "SimpleEdges",
    "available",
    "check",
    "convert",
    "csbm",
    "describe",
    "digits",
    "from_networkx",
    "from_pandas",
    "from_scipy",
    "is_csr",
    "list_datasets",
    "load",
    "load_encoder",
    "load_store",
    "num_classes",
    "open_store",
    "read_graph",
    "simple_edges",
    "trust",
    "understood",
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
