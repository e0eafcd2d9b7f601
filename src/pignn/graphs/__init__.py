"""A graph comes in: files of your own, named datasets, synthetic graphs, checks, splits, edges, stores on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import make_lazy_getattr_and_dir

if TYPE_CHECKING:
    from .checks import copy_checked_graph, has_csr_edges, num_classes
    from .datasets import DATASETS, Dataset, find_dataset_location_or_empty, get_dataset, is_available, list_datasets
    from .datasets.digits_graph import digits
    from .datasets.loading import load
    from .edges import SimpleEdges, simplify_edges
    from .homophily import compute_adjusted_homophily_or_none, compute_homophily_or_none
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
    from .splits import copy_with_random_trusted_labels
    from .store import Conversion, convert, open_graph_store, open_graph_store_with_masks
    from .summary import compute_graph_statistics
    from .synthetic import csbm
    from .view import LabeledGraph
    from .votes import convert_label_rows_to_votes

__all__ = [
    "DATASETS",
    "Conversion",
    "Dataset",
    "FeatureEncoder",
    "LabeledGraph",
    "Origin",
    "SimpleEdges",
    "compute_adjusted_homophily_or_none",
    "compute_graph_statistics",
    "compute_homophily_or_none",
    "convert",
    "convert_label_rows_to_votes",
    "copy_checked_graph",
    "copy_with_random_trusted_labels",
    "csbm",
    "digits",
    "find_dataset_location_or_empty",
    "from_networkx",
    "from_pandas",
    "from_scipy",
    "get_dataset",
    "has_csr_edges",
    "is_available",
    "list_datasets",
    "load",
    "load_feature_encoder",
    "num_classes",
    "open_graph_store",
    "open_graph_store_with_masks",
    "read_graph",
    "simplify_edges",
    "summarize_import",
]

# Imported on first use, so that listing things does not wait for torch.
__getattr__, __dir__ = make_lazy_getattr_and_dir(__name__, __file__)
