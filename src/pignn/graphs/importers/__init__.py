"""A graph of the user's own comes in: from tables, from files that hold a whole graph, or from objects.

`tables`, `files` and `whole` read; `ids`, `labels` and `edges` understand; `columns`, `parts`, `structure` and
`features` make numbers of columns; `reading` puts it all together; `summary` says what was understood.
"""

from .features import Encoder, load_encoder
from .from_objects import from_networkx, from_pandas, from_scipy
from .origin import Origin
from .reading import read_graph
from .summary import Understood, understood

__all__ = [
    "Encoder",
    "Origin",
    "Understood",
    "from_networkx",
    "from_pandas",
    "from_scipy",
    "load_encoder",
    "read_graph",
    "understood",
]
