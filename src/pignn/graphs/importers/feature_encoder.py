"""All columns of a node table as features. What was learned (scales, categories, words) applies to other graphs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from torch import Tensor

from ...core.errors import ConfigError, DataError, ModelFileError, unknown
from ...core.text import one_line_text, pluralize
from ...io import files
from ..tables.arrays import PathLike
from .column_kinds import COLUMN_KINDS, guess_kind
from .encoders import (
    ENCODERS,
    AnyHeader,
    CategoryEncoder,
    ColumnEncoder,
    NumericEncoder,
    PassthroughEncoder,
    StructureEncoder,
    TfidfEncoder,
)
from .raw_graph import RawGraph

FORMAT = 1
JSON_NAME, TENSORS_NAME = "features.json", "features.safetensors"


class _Format(msgspec.Struct):
    format: int


class FeaturesHeader(_Format):
    """What features.json holds."""

    column_notes: dict[str, str]
    roles: dict[str, str | bool | None]
    encoders: list[AnyHeader]


@dataclass(eq=False, repr=False)
class FeatureEncoder:
    """Encodes the columns of a node table as features. It is fitted once and encodes any table with these columns.

    ``column_notes`` say for each column what was done and why. ``roles`` are the columns of the training table that
    are no features: id, label, trusted and source.
    """

    encoders: list[ColumnEncoder]
    column_notes: dict[str, str]
    roles: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def fit(
        cls, raw: RawGraph, columns: Sequence[str], kinds: Mapping[str, str], *, use_structure: bool
    ) -> FeatureEncoder:
        """Fit these columns, of the kinds that are given, else guessed. Without any, structural features are used."""
        notes: dict[str, str] = {}
        encoders: list[ColumnEncoder] = []
        if raw.x is not None:
            encoders.append(PassthroughEncoder.fit(raw.x))
            notes["(given)"] = f"{pluralize(raw.x.shape[1], 'number')} per node, as they are"
        guesses = {name: guess_kind(raw.frame[name]) for name in columns}
        kind_of = {name: kinds.get(name, guess.kind) for name, guess in guesses.items()}
        reasons = {name: "as given" if name in kinds else guess.reason for name, guess in guesses.items()}
        notes |= {name: f"left out: {reasons[name]}" for name in columns if kind_of[name] == "none"}
        numeric = {name: kind for name, kind in kind_of.items() if kind in ("number", "date", "vector")}
        if numeric:
            encoder, numeric_notes = NumericEncoder.fit(raw, numeric)
            encoders.append(encoder)
            notes |= numeric_notes
        for name in (name for name in columns if kind_of[name] == "category"):
            category = CategoryEncoder.fit(raw, name)
            encoders.append(category)
            notes[name] = f"{category.describe()}: {reasons[name]}"
        max_terms = min(1000, max(2**29 // max(raw.num_nodes, 1), 64))  # so that texts take about 2 GB at most
        for name in (name for name in columns if kind_of[name] == "text"):
            tfidf = TfidfEncoder.fit(raw, name, max_terms)
            encoders += [tfidf] if tfidf.width else []
            notes[name] = f"{tfidf.describe()}: {reasons[name]}" if tfidf.width else "left out: no word is in two nodes"
        if use_structure or not encoders:
            encoders.append(StructureEncoder.fit(raw))
            reason = "as given" if use_structure else "there are no other features"
            notes["(structure)"] = f"degrees, triangles, random walks: {reason}"
        return cls(encoders, notes)

    def __repr__(self) -> str:
        columns, features = pluralize(len(self.input_columns), "column"), pluralize(self.width, "feature")
        return f"FeatureEncoder({columns}, {features})"

    @property
    def width(self) -> int:
        """The number of features."""
        return sum(encoder.width for encoder in self.encoders)

    @property
    def is_passthrough(self) -> bool:
        """Whether the features are numbers as they came, and nothing was learned."""
        return all(isinstance(encoder, PassthroughEncoder) for encoder in self.encoders)

    @property
    def input_columns(self) -> list[str]:
        """The columns that a table must have."""
        return [name for encoder in self.encoders for name in encoder.input_columns]

    @property
    def feature_names(self) -> list[str]:
        return [name for encoder in self.encoders for name in encoder.feature_names]

    def check_has_columns(self, columns: Iterable[str], title: str) -> None:
        """Check that a table has the columns that the model was trained on."""
        present = set(columns)
        if missing := [name for name in self.input_columns if name not in present]:
            raise DataError(f"{title} lacks the column '{missing[0]}', which the model was trained on")

    def encode(self, raw: RawGraph) -> Tensor:
        """Features [N, width] in float32."""
        self.check_has_columns(raw.frame.columns, raw.title)
        given = next((encoder.width for encoder in self.encoders if isinstance(encoder, PassthroughEncoder)), None)
        if given is not None and (raw.x is None or raw.x.shape[1] != given):
            has = "none" if raw.x is None else str(raw.x.shape[1])
            raise DataError(f"{raw.title}: the model was trained on {given} given features, here there are {has}")
        x = np.empty((raw.num_nodes, self.width), np.float32)
        for encoder, features in self._split(x):
            encoder.encode(raw, features)
        return torch.from_numpy(x)

    def describe_unknown(self, raw: RawGraph, x: np.ndarray) -> str:
        """Which values of a graph the model did not see at training, for people. Empty if there are few."""
        texts = [encoder.describe_unknown(raw, features) for encoder, features in self._split(x)]
        return "; ".join(text for text in texts if text)

    def _split(self, x: np.ndarray) -> Iterable[tuple[ColumnEncoder, np.ndarray]]:
        """Each encoder with its columns of the features."""
        start = 0
        for encoder in self.encoders:
            yield encoder, x[:, start : start + encoder.width]
            start += encoder.width

    def save(self, folder: PathLike) -> None:
        """Write ``features.json`` and ``features.safetensors`` into the folder of a model."""
        headers = [encoder.header for encoder in self.encoders]
        header = FeaturesHeader(FORMAT, self.column_notes, self.roles, headers)
        tensors = {
            f"{i}.{name}": torch.from_numpy(np.ascontiguousarray(array))
            for i, encoder in enumerate(self.encoders)
            for name, array in encoder.arrays.items()
        }
        files.write_json(Path(folder) / JSON_NAME, msgspec.to_builtins(header))
        files.write_tensors(Path(folder) / TENSORS_NAME, tensors, {"kind": "features"})


def load_feature_encoder(path: PathLike) -> FeatureEncoder | None:
    """Load the encoder from the folder of a model or of a run. None where there is none."""
    folder = Path(path)
    folder = folder / "model" if (folder / "model" / "model.json").exists() else folder
    json_path = folder / JSON_NAME
    if not json_path.exists():
        return None
    try:
        content = json_path.read_bytes()
        version = msgspec.json.decode(content, type=_Format).format
        if version != FORMAT:
            raise ModelFileError(f"{folder} has features of format {version}, this pignn reads {FORMAT}")
        header = msgspec.json.decode(content, type=FeaturesHeader)
        tensors, _ = files.read_tensors(folder / TENSORS_NAME)
        encoders = []
        for i, encoder in enumerate(header.encoders):
            arrays = {key.partition(".")[2]: t.numpy() for key, t in tensors.items() if key.partition(".")[0] == str(i)}
            encoders.append(ENCODERS[type(encoder)](encoder, arrays))
        return FeatureEncoder(encoders, header.column_notes, dict(header.roles))
    except OSError as error:
        raise ModelFileError(f"cannot read {json_path}: {error.strerror}") from None
    except (msgspec.MsgspecError, KeyError, ValueError, RecursionError) as error:
        raise ModelFileError(f"{json_path} is damaged: {one_line_text(error)}; train the model again") from None


def parse_feature_spec(
    features: Sequence[str], columns: Sequence[str], roles: Mapping[str, str]
) -> tuple[list[str], dict[str, str]]:
    """The columns that are named, by name or pattern, and the kinds given as ``"name:kind"``.

    ``roles`` are the columns that cannot be features, and what they are.
    """
    chosen: list[str] = []
    kinds: dict[str, str] = {}
    for text in features:
        pattern, colon, kind = text.rpartition(":")
        if text in columns or not colon:
            pattern, kind = text, ""
        if kind and kind not in COLUMN_KINDS:
            raise unknown("kind of column", kind, COLUMN_KINDS)
        names = [name for name in columns if fnmatchcase(name, pattern) and name not in roles]
        if not names and pattern in roles:
            raise ConfigError(f"column '{pattern}' is the {roles[pattern]}, not a feature")
        if not names:
            raise unknown("features column", pattern, columns)
        chosen += names
        kinds |= dict.fromkeys(names, kind) if kind else {}
    return list(dict.fromkeys(chosen)), kinds
