"""A graph comes in: files of your own, named datasets, synthetic graphs, checks, splits, edges, stores on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import on_first_use

if TYPE_CHECKING:
    from .checks import check, is_csr, num_classes
    from .datasets import load
    from .datasets.catalog import DatasetInfo, available, list_datasets, where
    from .datasets.digits import digits
    from .edges import SimpleEdges, simple_edges
    from .importers import Encoder, Origin, from_networkx, from_pandas, from_scipy, load_encoder, read_graph, understood
    from .splits import trust
    from .store import Conversion, convert, load_store, open_store
    from .summary import describe
    from .synthetic import csbm

# Imported on first use: listing the datasets must not wait for torch.
_HOMES = {
    "Conversion": "store",
    "DatasetInfo": "datasets.catalog",
    "Encoder": "importers",
    "Origin": "importers",
    "SimpleEdges": "edges",
    "available": "datasets.catalog",
    "check": "checks",
    "convert": "store",
    "csbm": "synthetic",
    "describe": "summary",
    "digits": "datasets.digits",
    "from_networkx": "importers",
    "from_pandas": "importers",
    "from_scipy": "importers",
    "is_csr": "checks",
    "list_datasets": "datasets.catalog",
    "load": "datasets.loading",
    "load_encoder": "importers",
    "load_store": "store",
    "num_classes": "checks",
    "open_store": "store",
    "read_graph": "importers",
    "simple_edges": "edges",
    "trust": "splits",
    "understood": "importers",
    "where": "datasets.catalog",
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

__getattr__, __dir__ = on_first_use(__name__, _HOMES)
