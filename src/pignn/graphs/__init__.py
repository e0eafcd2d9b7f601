"""A graph comes in: files of your own, named datasets, synthetic graphs, checks, splits, edges, stores on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import on_first_use

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

__getattr__, __dir__ = on_first_use(__name__, _HOMES)
