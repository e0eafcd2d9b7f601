"""Where a graph came from, so that results find their way back to the rows of the user's file."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(repr=False)
class Origin:
    """Files and columns. Node i is row i of the node file: rows in their order, the header and blank lines not counted.

    `read` says in words what was guessed and changed, `missing` how many values each column lacks.
    """

    nodes: str
    edges: str | None = None
    id: str | None = None
    label: str | None = None
    trusted: str | None = None
    source: str | None = None
    delimiter: str | None = None
    header: bool = True
    sha256: str = ""  # of the node file, if it is text
    read: list[str] = field(default_factory=list)
    missing: dict[str, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Origin({self.nodes})"

    @property
    def first_row(self) -> int:
        """The number of the first node's row, as a spreadsheet shows it: 2 below a header of a text file, else 1."""
        return 2 if self.header and self.delimiter is not None else 1

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values, for JSON."""
        return asdict(self)
