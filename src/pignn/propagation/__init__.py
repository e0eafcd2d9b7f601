"""Features smoothed over the graph, embeddings of them, and other views of the nodes."""

from .block_runs import BlockWork, block_work_and_cleanup_context, get_block_work_or_none
from .blocks import StoredGraph
from .node_rows import NodeRows, NodeVectors
from .smoothing import Embedding, scale_rows_to_unit_length, smooth, to_graph_inputs
from .views import VIEW_PARTS, NodeViews, is_view_of_fitted_graph_only

__all__ = [
    "VIEW_PARTS",
    "BlockWork",
    "Embedding",
    "NodeRows",
    "NodeVectors",
    "NodeViews",
    "StoredGraph",
    "block_work_and_cleanup_context",
    "get_block_work_or_none",
    "is_view_of_fitted_graph_only",
    "scale_rows_to_unit_length",
    "smooth",
    "to_graph_inputs",
]
