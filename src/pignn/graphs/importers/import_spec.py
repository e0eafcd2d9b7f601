"""The options of an import."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
import pandas as pd

from ...core.errors import ConfigError, build_unknown_name_error
from ...core.settings import SEED, Float
from ..tables.formats import get_format_suffix, list_suffixes
from ..tables.text_files import parse_delimiter

if TYPE_CHECKING:
    from .feature_encoder import FeatureEncoder

Features: TypeAlias = str | os.PathLike[str] | Sequence[str] | np.ndarray | None
STRUCTURE = "structure"  # the word for features of the graph alone
ROLES = ("id", "label", "trusted", "source", "name", "truth")


@dataclass(frozen=True)
class ImportSpec:
    """How files or objects become a graph; see :func:`read_graph` for the options."""

    label: str | None = None  # a list of columns becomes `vote_columns`
    id: str | None = None
    features: Features = None
    text_model: str | os.PathLike[str] | None = None
    trusted: str | None = None
    source: str | None = None
    votes: str | os.PathLike[str] | pd.DataFrame | None = None
    name: str | None = None
    truth: str | None = None
    edge_columns: str | Sequence[str] | None = None
    edge_types: str | None = None
    delimiter: str | None = None
    drop_unknown: bool = False
    directed: bool = False
    val: float = 0.0
    seed: int = 0
    encoder: FeatureEncoder | None = None
    class_names: Sequence[str] | None = None
    vote_columns: tuple[str, ...] = ()  # columns that are one annotator each; `label` is then None or the only one

    def __post_init__(self) -> None:
        Float(max=1.0, open_max=True).raise_unless_valid("val", self.val)
        SEED.raise_unless_valid("seed", self.seed)
        if self.label is not None and not isinstance(self.label, str):
            object.__setattr__(self, "vote_columns", tuple(map(str, self.label)))
            object.__setattr__(self, "label", None)
        if self.text_model is not None:
            object.__setattr__(self, "text_model", os.path.abspath(self.text_model))
        object.__setattr__(self, "delimiter", parse_delimiter(self.delimiter))
        if isinstance(self.features, str) and not _names_existing_features_file(self.features):
            object.__setattr__(self, "features", _split_names(self.features))
        if isinstance(self.edge_columns, str):
            object.__setattr__(self, "edge_columns", _split_names(self.edge_columns))

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """From keyword arguments; one that does not exist is an error of one line."""
        try:
            return cls(**options)
        except TypeError as error:
            raise ConfigError(str(error).replace("ImportSpec.__init__() got an ", "")) from None

    @property
    def feature_file_or_array(self) -> str | os.PathLike[str] | np.ndarray | None:
        """The features, if they are a file or an array of their own."""
        return self.features if isinstance(self.features, str | os.PathLike | np.ndarray) else None

    def map_columns_to_roles(self) -> dict[str, str]:
        """The columns that are no features, and what they are."""
        words = {
            "trusted": "label's trust",
            "source": "label's source",
            "name": "name of the node",
            "truth": "true label",
        }
        columns = {role: getattr(self, role) for role in reversed(ROLES)}
        roles = {column: words.get(role, role) for role, column in columns.items() if column is not None}
        return dict.fromkeys(self.vote_columns, "label") | roles

    @property
    def has_votes(self) -> bool:
        """Whether a node may have labels of several annotators."""
        return self.votes is not None or bool(self.vote_columns)

    def copy_with_label_names_as_vote_columns(self, table_columns: Sequence[str]) -> Self:
        """A copy in which several label columns, or one beside a table of votes, are annotators."""
        label, names = self.label, list(self.vote_columns)
        if label is not None:
            names = [label] if label in table_columns or "," not in label else _split_names(label)
        if len(set(names)) < len(names):
            raise ConfigError(f"label names a column twice: {', '.join(names)[:80]}; name each once")
        only = names[0] if len(names) == 1 else None
        return replace(self, label=only, vote_columns=tuple(names) if len(names) > 1 or self.votes is not None else ())

    def copy_with_default_roles(self, columns: Sequence[str], defaults: Mapping[str, str | None]) -> Self:
        """A copy in which columns that were not given are those of the trained model, else the defaults."""
        trained = {} if self.encoder is None else self.encoder.roles
        changes: dict[str, Any] = {}
        for role in ROLES:
            if getattr(self, role) is None:
                changes[role] = trained[role] if trained.get(role) in columns else defaults.get(role)
        return replace(self, **changes)

    def check_role_columns_exist_and_differ(self, columns: Sequence[str], title: str) -> None:
        """Check that every column with a role exists and has no other role."""
        given = {role: column for role in ROLES if (column := getattr(self, role)) is not None}
        for role, column in given.items():
            if column not in columns:
                raise build_unknown_name_error(f"{role} column of {title}", column, list(columns))
        for column in self.vote_columns:
            if column not in columns:
                raise build_unknown_name_error(f"label column of {title}", column, list(columns))
        others = [column for column in self.vote_columns if column != self.label]
        names = [*given.values(), *others]
        for column in names:
            if names.count(column) > 1 and column in (self.id, self.trusted, self.truth):
                raise ConfigError(
                    f"column '{column}' cannot be two things; it is the {self.map_columns_to_roles()[column]}; "
                    "name another column for one of them"
                )
        if (self.trusted or self.source) and self.label is None and not self.has_votes:
            raise ConfigError("trusted and source are about labels: say with label which column has them")


def _split_names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _names_existing_features_file(text: str) -> bool:
    return get_format_suffix(text) in (".npy", ".npz", *list_suffixes("table")) and Path(text).exists()
