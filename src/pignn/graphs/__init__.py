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
    from .importers import (
        FeatureEncoder,
        Origin,
        from_networkx,
        from_pandas,
        from_scipy,
        load_feature_encoder,
        read_graph,
        summarize_import,
    )
    from .splits import trust
    from .store import Conversion, convert, load_graph_store, open_graph_store
    from .summary import describe
    from .synthetic import csbm

# Imported on first use: listing the datasets must not wait for torch.
_HOMES = {
    "Conversion": "store",
    "DatasetInfo": "datasets.catalog",
    "FeatureEncoder": "importers",
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
    "load_feature_encoder": "importers",
    "load_graph_store": "store",
    "num_classes": "checks",
    "open_graph_store": "store",
    "read_graph": "importers",
    "simple_edges": "edges",
    "trust": "splits",
    "summarize_import": "importers",
    "where": "datasets.catalog",
}

__all__ = [
    "Conversion",
    "DatasetInfo",
    "FeatureEncoder",
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
    "load_feature_encoder",
    "load_graph_store",
    "num_classes",
    "open_graph_store",
    "read_graph",
    "simple_edges",
    "summarize_import",
    "trust",
    "where",
]

__getattr__, __dir__ = on_first_use(__name__, _HOMES)
