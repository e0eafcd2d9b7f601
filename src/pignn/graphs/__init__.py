"""A graph comes in: files of your own, named datasets, synthetic graphs, checks, splits, edges, stores on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import import_on_first_use

if TYPE_CHECKING:
    from .checks import check_graph, has_csr_edges, num_classes
    from .datasets import DATASETS, Dataset, dataset_path, get_dataset, is_available, list_datasets
    from .datasets.digits_graph import digits
    from .datasets.loading import load
    from .edges import SimpleEdges, simplify_edges
    from .homophily import compute_adjusted_homophily, compute_homophily
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
    from .view import LabeledGraph

__all__ = [
    "DATASETS",
    "Conversion",
    "Dataset",
    "FeatureEncoder",
    "LabeledGraph",
    "Origin",
    "SimpleEdges",
    "check_graph",
    "compute_adjusted_homophily",
    "compute_homophily",
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

# Imported on first use, so that listing things does not wait for torch.
__getattr__, __dir__ = import_on_first_use(__name__, __file__)
