"""What a conversion read, changed and wrote."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ...core.text import format_count


@dataclass
class Conversion:
    """Counts of a conversion. ``edges`` counts both directions of an edge once."""

    out: str
    nodes: int = 0
    edges: int = 0
    features: int = 0
    classes: int = 0
    class_names: list[str] | None = None
    weighted: bool = False
    rows_read: int = 0
    unknown_dropped: int = 0
    self_loops_dropped: int = 0
    duplicates_merged: int = 0
    made_two_way: int = 0
    larger_weight_taken: int = 0
    labeled: int = 0
    bytes: int = 0
    column_notes: dict[str, str] | None = None  # what became of each column of the node table

    @property
    def notes(self) -> list[str]:
        """What was changed, for people."""
        edges = format_count(self.larger_weight_taken, "edge")
        changes = {
            f"left out {format_count(self.unknown_dropped, 'edge')} to unknown nodes": self.unknown_dropped,
            f"dropped {format_count(self.self_loops_dropped, 'self-loop')}": self.self_loops_dropped,
            f"merged {format_count(self.duplicates_merged, 'duplicate edge')}": self.duplicates_merged,
            f"made {format_count(self.made_two_way, 'one-way edge')} two-way": self.made_two_way,
            f"took the larger weight of {edges} whose two directions differ": self.larger_weight_taken,
        }
        left_out = [
            f"column '{name}': {note}" for name, note in (self.column_notes or {}).items() if "left out" in note
        ]
        return [*(text for text, count in changes.items() if count), *left_out]

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values, for JSON."""
        return asdict(self)
