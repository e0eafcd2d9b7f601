"""Features smoothed over the graph, and embeddings of them."""

from .smoothing import Embedding, as_inputs, smooth, unit_rows

__all__ = ["Embedding", "as_inputs", "smooth", "unit_rows"]
