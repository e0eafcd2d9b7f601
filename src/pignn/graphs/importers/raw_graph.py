"""A graph as it was read, before its columns are encoded, and where it came from."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from .node_ids import NodeIds


@dataclass(repr=False)
class Origin:
    """The files and columns of a graph, by which results find their way back to the rows of the user's file.

    Node i is row i of the node file, without the header and blank lines. ``notes`` say what was detected and changed,
    ``missing`` how many values each column lacks.
    """

    nodes: str
    edges: str | None = None
    id: str | None = None
    label: str | None = None
    trusted: str | None = None
    source: str | None = None
    delimiter: str | None = None
    has_header: bool = True
    sha256: str = ""  # of the node file, if it is text
    notes: list[str] = field(default_factory=list)
    missing: dict[str, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Origin({self.nodes})"

    @property
    def first_row_number(self) -> int:
        """The number of the first node's row as a spreadsheet shows it: 2 below a header of a text file, else 1."""
        return 2 if self.has_header and self.delimiter is not None else 1

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values, for JSON."""
        return asdict(self)


@dataclass
class RawGraph:
    """A table of nodes, and edges between its rows.

    ``id``, ``label``, ``trusted`` and ``name`` are the columns that say by their names what they are. A graph that
    comes in one piece may bring features, masks, class names, true labels and weights of labels.
    """

    title: str
    frame: pd.DataFrame
    ends: np.ndarray  # [2, edges], as rows of the table
    weight: np.ndarray | None = None
    x: np.ndarray | None = None
    id: str | None = None
    label: str | None = None
    trusted: str | None = None
    name: str | None = None
    masks: dict[str, np.ndarray] = field(default_factory=dict)
    class_names: list[str] | None = None
    y_true: np.ndarray | None = None
    label_weight: np.ndarray | None = None
    ids: NodeIds = field(init=False)
    origin: Origin = field(init=False)
    crow: np.ndarray = field(init=False)  # the simple undirected graph in CSR form
    col: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.origin = Origin(self.title)

    @property
    def num_nodes(self) -> int:
        return len(self.frame)

    @cached_property
    def structural_features(self) -> np.ndarray:
        from .structure import compute_structural_features

        return compute_structural_features(self.crow, self.col)
