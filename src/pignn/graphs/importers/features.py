"""Columns become features. What was learnt for that (scalings, categories, words) applies to other nodes and graphs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from ...core.errors import ConfigError, DataError, ModelFileError, unknown
from ...core.text import pluralize
from ..tables.arrays import PathLike
from .column_kinds import KINDS, guess
from .encoders import CategoryEncoder, ColumnEncoder, NumericEncoder, PassthroughEncoder, StructureEncoder, TfidfEncoder
from .structure import structural

FORMAT = 1
JSON, TENSORS = "features.json", "features.safetensors"
_PARTS: dict[str, type[ColumnEncoder]] = {
    part.kind: part for part in (PassthroughEncoder, NumericEncoder, CategoryEncoder, TfidfEncoder, StructureEncoder)
}


@dataclass
class Rows:
    """A graph before its features are made: a table of nodes, and their neighbours row by row."""

    frame: pd.DataFrame
    title: str  # of the table
    crow: np.ndarray
    col: np.ndarray
    x: np.ndarray | None = None  # features that are numbers already
    first: int = 1  # number of the table's first row, in messages

    @property
    def nodes(self) -> int:
        return len(self.crow) - 1

    @cached_property
    def structure(self) -> np.ndarray:
        return structural(self.crow, self.col)


@dataclass(eq=False, repr=False)
class FeatureEncoder:
    """How the columns of a node table become features, learnt once and applied to any table with these columns.

    `columns` says for each column what was done and why, `reading` how the files were read (id, label, ...).
    """

    parts: list[ColumnEncoder]
    columns: dict[str, str]
    reading: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def learn(cls, rows: Rows, columns: Sequence[str], kinds: Mapping[str, str], *, structure: bool) -> FeatureEncoder:
        """From these columns, of the kinds that are told, else guessed; structural features where nothing else is."""
        done: dict[str, str] = {}
        parts: list[ColumnEncoder] = []
        if rows.x is not None:
            parts.append(PassthroughEncoder.learn(rows))
            done["(given)"] = f"{pluralize(rows.x.shape[1], 'number')} a node, as they are"
        chosen: dict[str, list[str]] = {kind: [] for kind in KINDS}
        why: dict[str, str] = {}
        for name in columns:
            kind, why[name] = guess(rows.frame[name])
            if name in kinds:
                kind, why[name] = kinds[name], "as told"
            chosen[kind].append(name)
        done |= {name: f"left out: {why[name]}" for name in chosen["none"]}
        flat = {name: kind for kind in ("number", "date", "vector") for name in chosen[kind]}
        if flat:
            numbers = NumericEncoder.learn(rows, {name: flat[name] for name in columns if name in flat})
            done |= numbers.words
            parts.append(numbers)
        budget = max(2**29 // max(rows.nodes, 1), 64)  # features of texts, so that they fit into about 2 GB
        for name in chosen["category"]:
            category = CategoryEncoder.learn(rows, name)
            done[name] = f"{category.words}: {why[name]}"
            parts.append(category)
        for name in chosen["text"]:
            words = TfidfEncoder.learn(rows, name, most=min(1000, budget))
            done[name] = f"{words.words}: {why[name]}" if words.width else "left out: no word is in two nodes"
            parts += [words] if words.width else []
        if structure or not parts:
            reason = "as told" if structure else "there are no other features"
            parts.append(StructureEncoder.learn(rows))
            done["(structure)"] = f"degrees, triangles, random walks: {reason}"
        return cls(parts, done)

    def __repr__(self) -> str:
        return f"FeatureEncoder({pluralize(len(self.needed), 'column')}, {pluralize(self.width, 'feature')})"

    @property
    def width(self) -> int:
        return sum(part.width for part in self.parts)

    @property
    def is_given(self) -> bool:
        """Whether the features are numbers as they came, and nothing was learnt."""
        return all(isinstance(part, PassthroughEncoder) for part in self.parts)

    @property
    def needed(self) -> list[str]:
        """Columns that a table must have."""
        return [name for part in self.parts for name in part.needs]

    @property
    def names(self) -> list[str]:
        """What each feature is."""
        return [name for part in self.parts for name in part.names]

    def check_columns(self, columns: Iterable[str], title: str) -> None:
        """Whether a table has what the model was trained on."""
        there = set(columns)
        if missing := [name for name in self.needed if name not in there]:
            raise DataError(f"{title} lacks the column '{missing[0]}', which the model was trained on")

    def transform(self, rows: Rows) -> Tensor:
        """Features [N, width] in float32."""
        self.check_columns(rows.frame.columns, rows.title)
        given = next((part.width for part in self.parts if isinstance(part, PassthroughEncoder)), None)
        if given is not None and (rows.x is None or rows.x.shape[1] != given):
            has = "none" if rows.x is None else str(rows.x.shape[1])
            raise DataError(f"{rows.title}: the model was trained on {given} given features, here there are {has}")
        x, start = np.empty((rows.nodes, self.width), np.float32), 0
        for part in self.parts:
            part.write(rows, x[:, start : start + part.width])
            start += part.width
        return torch.from_numpy(x)

    def unknown(self, rows: Rows, x: np.ndarray) -> str:
        """What of `rows` the features `x` made of them do not tell, in words; empty if nothing."""
        found, start = [], 0
        for part in self.parts:
            found.append(part.unknown(rows, x[:, start : start + part.width]))
            start += part.width
        return "; ".join(words for words in found if words)

    # ---- on disk ----

    def save(self, folder: PathLike) -> None:
        """Write `features.json` and `features.safetensors` into the folder of a model."""
        from ...io import files

        about = {"format": FORMAT, "columns": self.columns, "reading": self.reading}
        about["parts"] = [{"kind": part.kind, **part.about()} for part in self.parts]
        tensors = {
            f"{i}.{name}": torch.from_numpy(np.ascontiguousarray(array))
            for i, part in enumerate(self.parts)
            for name, array in part.arrays().items()
        }
        files.write_json(Path(folder) / JSON, about)
        files.write_tensors(Path(folder) / TENSORS, tensors, {"kind": "features"})


def load_feature_encoder(path: PathLike) -> FeatureEncoder | None:
    """The encoder in the folder of a model or of a run; None where there is none."""
    from ...io import files

    folder = Path(path)
    folder = folder / "model" if (folder / "model" / "model.json").exists() else folder
    if not (folder / JSON).exists():
        return None
    try:
        about = json.loads((folder / JSON).read_text(encoding="utf-8"))
        version = about["format"]
    except OSError as error:
        raise ModelFileError(f"cannot read {folder / JSON}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ModelFileError(f"{folder / JSON} is damaged: not a description of features") from None
    if version != FORMAT:
        raise ModelFileError(f"{folder} has features of format {version}, this pignn reads {FORMAT}")
    tensors, _ = files.read_tensors(folder / TENSORS)
    arrays: dict[str, dict[str, np.ndarray]] = {}
    for key, tensor in tensors.items():
        arrays.setdefault(key.partition(".")[0], {})[key.partition(".")[2]] = tensor.numpy()
    try:
        parts = [
            _PARTS[part.pop("kind")].restore(part, arrays.get(str(i), {})) for i, part in enumerate(about["parts"])
        ]
        return FeatureEncoder(parts, dict(about["columns"]), dict(about["reading"]))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise ModelFileError(f"{folder / JSON} is damaged: {type(error).__name__} {error}") from None


def parse_feature_spec(
    features: Sequence[str], columns: Sequence[str], taken: Mapping[str, str]
) -> tuple[list[str], dict[str, str]]:
    """Columns that `features` names, by name or pattern, and the kinds told by `name:kind`."""
    chosen: list[str] = []
    kinds: dict[str, str] = {}
    for text in features:
        pattern, colon, kind = text.rpartition(":")
        if text in columns or not colon:
            pattern, kind = text, ""
        if kind and kind not in KINDS:
            raise unknown("kind of column", kind, KINDS)
        found = [name for name in columns if fnmatchcase(name, pattern) and name not in taken]
        if not found and pattern in taken:
            raise ConfigError(f"column '{pattern}' is the {taken[pattern]}, not a feature")
        if not found:
            raise unknown("features column", pattern, columns)
        chosen += found
        kinds |= dict.fromkeys(found, kind) if kind else {}
    return list(dict.fromkeys(chosen)), kinds
