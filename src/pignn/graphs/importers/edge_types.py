"""Types of edges: as weights, or one graph of some of them."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ...core.errors import ConfigError

TYPE_NAMES = ("type", "edge_type", "relation", "relationship", "rel", "kind")
MAX_SHOWN_TYPES = 12


@dataclass
class EdgeTypes:
    """The column that says of which type an edge is, and what each type weighs; types without a weight are left out.

    Without ``weights`` all count alike.
    """

    column: str
    weights: dict[str, float] | None = None
    counts: Counter[str] = field(default_factory=Counter)

    @classmethod
    def parse(cls, text: str) -> EdgeTypes:
        """``"relation"``, or ``"relation:cites=1,mentions=0.5"``; a type without a number weighs 1."""
        column, colon, rest = text.partition(":")
        weights: dict[str, float] = {}
        for part in filter(None, (each.strip() for each in rest.split(","))):
            name, equals, number = part.rpartition("=")
            try:
                weights[name if equals else part] = weight = float(number) if equals else 1.0
            except ValueError:
                weight = math.nan
            if not 0 < weight < math.inf:
                raise ConfigError(
                    f"edge types: '{part}' has no weight above 0; write relation:cites=1,mentions=0.5, and leave out a "
                    "type that shall not count"
                )
        if colon and not weights:
            raise ConfigError(f"edge types: '{text}' names no type; write {column}:cites=1,mentions=0.5")
        return cls(column.strip(), weights or None)

    def count_types_and_get_weights(self, column: pd.Series[Any]) -> np.ndarray:
        """The weight of each edge by its type; 0 where its type is left out."""
        texts = column.astype(str).where(column.notna(), "").str.strip()
        self.counts.update(texts.tolist())
        if self.weights is None:
            return np.ones(len(texts), np.float32)
        return texts.map(self.weights).fillna(0.0).to_numpy(np.float32)

    def check_named_types_occur_and_describe(self) -> str:
        """The types with their counts and weights, for people; a type that is named and not there is an error."""
        names = [name for name, _ in self.counts.most_common()]
        if self.weights is None:
            example = ",".join(f"{name}={1 / (i + 1):g}" for i, name in enumerate(names[:2]))
            return (
                f"edges: column '{self.column}' has {len(names):,} types ({self._format_types(names)}), "
                f"which all count alike; --edge-types '{self.column}:{example}' (edge_types=) weighs them, and "
                "leaves out types that it does not name"
            )
        if self.counts and (unknown := [name for name in self.weights if name not in self.counts]):
            raise ConfigError(
                f"no edge has the type '{unknown[0]}'; types in '{self.column}': {self._format_types(names)}"
            )
        left_out = [name for name in names if name not in self.weights]
        kept = ", ".join(f"{name or 'empty'} × {weight:g}" for name, weight in self.weights.items())
        rest = f"; left out: {self._format_types(left_out)}" if left_out else ""
        return f"edges: weighed by column '{self.column}': {kept}{rest}"

    def _format_types(self, names: list[str]) -> str:
        shown = ", ".join(f"{name or 'empty'} {self.counts[name]:,}" for name in names[:MAX_SHOWN_TYPES])
        return shown + (f" and {len(names) - MAX_SHOWN_TYPES:,} more" if len(names) > MAX_SHOWN_TYPES else "")


def parse_or_find_edge_types_or_none(text: str | None, columns: list[str]) -> EdgeTypes | None:
    """The types that are asked for, else those of a column that is called so."""
    if text is not None:
        return EdgeTypes.parse(text)
    name = next((name for name in columns if name.lower() in TYPE_NAMES), None)
    return None if name is None else EdgeTypes(name)
