"""Import a user's own graph: from tables, from files that hold a whole graph, or from Python objects.

An :class:`ImportSpec` (the options) turns files or objects into a :class:`RawGraph` (as read), which :func:`build_data`
encodes as PyG's `Data`.
"""

from typing import TYPE_CHECKING

from ...core.lazy import make_lazy_getattr_and_dir

if TYPE_CHECKING:
    from .build_data import build_data
    from .feature_encoder import FeatureEncoder, load_feature_encoder
    from .from_objects import from_networkx, from_pandas, from_scipy
    from .import_spec import ImportSpec
    from .raw_graph import Origin, RawGraph
    from .reading import check_graph_files_can_be_read, read_graph
    from .summary import ImportSummary, summarize_import

__all__ = [
    "FeatureEncoder",
    "ImportSpec",
    "ImportSummary",
    "Origin",
    "RawGraph",
    "build_data",
    "check_graph_files_can_be_read",
    "from_networkx",
    "from_pandas",
    "from_scipy",
    "load_feature_encoder",
    "read_graph",
    "summarize_import",
]

# Imported on first use, so that mistakes in files are told without waiting for torch.
__getattr__, __dir__ = make_lazy_getattr_and_dir(__name__, __file__)
