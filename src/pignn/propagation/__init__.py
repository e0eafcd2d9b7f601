"""Features smoothed over the graph, and embeddings of them."""

from .smoothing import Embedding, scale_rows_to_unit_length, smooth, to_graph_inputs

__all__ = ["Embedding", "scale_rows_to_unit_length", "smooth", "to_graph_inputs"]
