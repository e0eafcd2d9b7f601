"""A graph comes in: files of your own, named datasets, synthetic graphs, checks, splits, edges, stores on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import on_first_use

if TYPE_CHECKING:
    from .checks import check_graph, has_csr_edges, num_classes
    from .datasets import DATASETS, Dataset, dataset_path, digits, get_dataset, is_available, list_datasets, load
    from .edges import SimpleEdges, simplify_edges
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
    from .splits import sample_trusted
    from .store import Conversion, convert, load_graph_store, open_graph_store
    from .summary import describe_graph
    from .synthetic import csbm

# Imported on first use: listing the datasets must not wait for torch.
_HOMES = {
    "Conversion": "store",
    "DATASETS": "datasets",
    "Dataset": "datasets",
    "FeatureEncoder": "importers",
    "Origin": "importers",
    "SimpleEdges": "edges",
    "is_available": "datasets",
    "check_graph": "checks",
    "convert": "store",
    "csbm": "synthetic",
    "describe_graph": "summary",
    "digits": "datasets",
    "from_networkx": "importers",
    "get_dataset": "datasets",
    "from_pandas": "importers",
    "from_scipy": "importers",
    "has_csr_edges": "checks",
    "list_datasets": "datasets",
    "load": "datasets",
    "load_feature_encoder": "importers",
    "load_graph_store": "store",
    "num_classes": "checks",
    "open_graph_store": "store",
    "read_graph": "importers",
    "simplify_edges": "edges",
    "sample_trusted": "splits",
    "summarize_import": "importers",
    "dataset_path": "datasets",
}

__all__ = [
    "DATASETS",
    "Conversion",
    "Dataset",
    "FeatureEncoder",
    "Origin",
    "SimpleEdges",
    "check_graph",
    "convert",
    "csbm",
    "dataset_path",
    "describe_graph",
    "digits",
    "from_networkx",
    "from_pandas",
    "from_scipy",
    "get_dataset",
    "has_csr_edges",
    "is_available",
    "list_datasets",
    "load",
    "load_feature_encoder",
    "load_graph_store",
    "num_classes",
    "open_graph_store",
    "read_graph",
    "sample_trusted",
    "simplify_edges",
    "summarize_import",
]

__getattr__, __dir__ = on_first_use(__name__, _HOMES)
