"""A graph of the user's own comes in: from tables, from files that hold a whole graph, or from objects.

`tables`, `files` and `whole` read; `ids`, `labels` and `edges` understand; `columns`, `parts`, `structure` and
`features` make numbers of columns; `reading` puts it all together; `summary` says what was understood.
"""

from .features import FeatureEncoder, load_feature_encoder
from .from_objects import from_networkx, from_pandas, from_scipy
from .origin import Origin
from .reading import read_graph
from .summary import ImportSummary, summarize_import

__all__ = [
    "FeatureEncoder",
    "ImportSummary",
    "Origin",
    "from_networkx",
    "from_pandas",
    "from_scipy",
    "load_feature_encoder",
    "read_graph",
    "summarize_import",
]
