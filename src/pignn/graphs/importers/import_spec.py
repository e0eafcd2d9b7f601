"""What a graph is to be made of, and what came in."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from ...core import validation as settings
from ...core.errors import ConfigError, unknown
from ..tables.formats import file_suffix, list_suffixes
from ..tables.text_files import parse_delimiter
from .features import FeatureEncoder
from .ids import Ids
from .origin import Origin

Features: TypeAlias = str | os.PathLike[str] | Sequence[str] | np.ndarray | None


@dataclass
class ImportSpec:
    """What a graph is to be made of; see :func:`read_graph`."""

    label: str | None = None
    id: str | None = None
    features: Features = None
    trusted: str | None = None
    source: str | None = None
    edge_columns: str | Sequence[str] | None = None
    delimiter: str | None = None
    drop_unknown: bool = False
    directed: bool = False
    val: float = 0.0
    seed: int = 0
    encoder: FeatureEncoder | None = None
    class_names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        settings.number("val", self.val, below=1.0)
        settings.seed("seed", self.seed)
        self.delimiter = parse_delimiter(self.delimiter)
        if isinstance(self.features, str) and not _is_file(self.features):
            self.features = _names(self.features)
        if isinstance(self.edge_columns, str):
            self.edge_columns = _names(self.edge_columns)

    def roles(self) -> dict[str, str]:
        """Columns that are no features, and what they are."""
        named = {"id": self.id, "label": self.label, "label's trust": self.trusted, "label's source": self.source}
        return {column: role for role, column in named.items() if column is not None}

    def as_trained(self, columns: Sequence[str]) -> None:
        """Take the columns that a model was trained with, where nothing else is said and they are there."""
        reading: Mapping[str, Any] = self.encoder.reading if self.encoder else {}
        for name in ("id", "label", "trusted", "source"):
            if getattr(self, name) is None and reading.get(name) in columns:
                setattr(self, name, reading[name])


@dataclass
class RawGraph:
    """A graph as it came in."""

    frame: pd.DataFrame
    ids: Ids
    ends: np.ndarray
    weight: np.ndarray | None
    origin: Origin
    x: np.ndarray | None = None
    masks: dict[str, np.ndarray] = field(default_factory=dict)
    class_names: list[str] | None = None
    y_true: np.ndarray | None = None
    label_weight: np.ndarray | None = None


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _is_file(text: str) -> bool:
    return file_suffix(text) in (".npy", ".npz", *list_suffixes("table")) and Path(text).exists()


def check_columns(frame: pd.DataFrame, spec: ImportSpec, title: str) -> None:
    for option in ("id", "label", "trusted", "source"):
        column = getattr(spec, option)
        if column is not None and column not in frame.columns:
            raise unknown(f"{option} column of {title}", column, list(frame.columns))
    given = [column for column in (spec.id, spec.label, spec.trusted, spec.source) if column is not None]
    for column in given:
        if given.count(column) > 1 and column in (spec.id, spec.trusted):
            raise ConfigError(f"column '{column}' cannot be two things; it is the {spec.roles()[column]}")
    if (spec.trusted or spec.source) and spec.label is None:
        raise ConfigError("trusted and source are about labels: say with label which column has them")
