"""The ways in which columns become features. Each learns what it needs from one graph and applies it to any."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import pandas as pd

from ...core.errors import PignnWarning
from ...core.text import pluralize
from ..tables.cells import format_cell
from .column_kinds import MISSING, days, first_of, no_numbers, numbers, vectors
from .structure import NAMES

if TYPE_CHECKING:
    from .features import Rows

MOST_CATEGORIES = 100
MOST_SCALED = 10.0  # standard deviations from the mean; what is further out is set there
BLOCK = 1 << 16  # texts at a time


class ColumnEncoder(ABC):
    """Some features, and the columns they come from."""

    kind: ClassVar[str]
    width: int
    needs: list[str]
    names: list[str]

    @abstractmethod
    def write(self, rows: Rows, out: np.ndarray) -> None:
        """Put the features of all nodes into `out`, [N, width]."""

    def unknown(self, rows: Rows, out: np.ndarray) -> str:
        """What of these nodes the features in `out` do not tell, in words: it was not there when this was learnt."""
        return ""

    def about(self) -> dict[str, Any]:
        """What JSON holds of it."""
        return {}

    def arrays(self) -> dict[str, np.ndarray]:
        """What safetensors hold of it."""
        return {}

    @classmethod
    @abstractmethod
    def restore(cls, about: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        """From `about` and `arrays`."""


class PassthroughEncoder(ColumnEncoder):
    """Features that are numbers already, as they are."""

    kind = "given"

    def __init__(self, width: int) -> None:
        self.width, self.needs, self.names = width, [], [f"x{i}" for i in range(width)]

    @classmethod
    def learn(cls, rows: Rows) -> Self:
        assert rows.x is not None
        return cls(rows.x.shape[1])

    def write(self, rows: Rows, out: np.ndarray) -> None:
        with np.errstate(over="ignore"):
            out[:] = rows.x

    def about(self) -> dict[str, Any]:
        return {"width": self.width}

    @classmethod
    def restore(cls, about: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        return cls(int(about["width"]))


class NumericEncoder(ColumnEncoder):
    """Numbers, dates and lists of numbers.

    Values from 0 to 1 stay as they are, others are standardised, on a logarithmic scale if they are not negative and
    very uneven (standard deviation above twice the mean). A missing value becomes the median, and where more than 1 %
    were missing when this was learnt, one more feature says that it was.
    """

    kind = "numbers"

    def __init__(self, columns: list[dict[str, Any]], scale: np.ndarray) -> None:
        self.columns, self.scale = columns, scale  # scale: [fill, logarithm, mean, deviation] of each value
        self.needs = [column["name"] for column in columns]
        self.names = []
        self.words: dict[str, str] = {}
        for column in columns:
            name, width = column["name"], column["width"]
            self.names += [name] if width == 1 else [f"{name}[{i}]" for i in range(width)]
            self.names += [f"{name} is missing"] * column["missing"]
        self.width = len(self.names)
        if len(scale) != sum(column["width"] for column in columns) or scale.shape[1:] != (4,):
            raise ValueError("scalings do not fit the columns")

    @classmethod
    def learn(cls, rows: Rows, kinds: Mapping[str, str]) -> Self:
        columns, scales, words = [], [], {}
        for name, kind in kinds.items():
            values = _values(rows, name, kind, None)
            missing = float(np.isnan(values).any(axis=1).mean())
            scale = np.array([_scaling(values[:, i]) for i in range(values.shape[1])])
            columns.append({"name": name, "kind": kind, "width": len(scale), "missing": missing > 0.01})
            scales.append(scale)
            words[name] = _scaled(scale, kind) + (
                "; one more feature says where it is missing" if missing > 0.01 else ""
            )
        made = cls(columns, np.concatenate(scales))
        made.words = words
        return made

    def write(self, rows: Rows, out: np.ndarray) -> None:
        at = start = 0
        for column in self.columns:
            width = column["width"]
            values = _values(rows, column["name"], column["kind"], width)
            if column["kind"] == "number":
                _say_what_is_none(rows, column["name"])
            empty = np.isnan(values)
            for i, (fill, logarithm, mean, deviation) in enumerate(self.scale[start : start + width]):
                value = np.where(empty[:, i], fill, values[:, i])
                value = np.log1p(np.maximum(value, 0)) if logarithm else value
                out[:, at + i] = np.clip((value - mean) / deviation, -MOST_SCALED, MOST_SCALED)
            if column["missing"]:
                out[:, at + width] = empty.any(axis=1)
            at += width + column["missing"]
            start += width

    def about(self) -> dict[str, Any]:
        return {"columns": self.columns}

    def arrays(self) -> dict[str, np.ndarray]:
        return {"scale": self.scale}

    @classmethod
    def restore(cls, about: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        return cls(about["columns"], arrays["scale"])


def _values(rows: Rows, name: str, kind: str, width: int | None) -> np.ndarray:
    title, column = f"{rows.title}, column '{name}'", rows.frame[name]
    if kind == "vector":
        return vectors(column, title, width)
    return (days if kind == "date" else numbers)(column, title, rows.first)[:, None]


def _say_what_is_none(rows: Rows, name: str) -> None:
    column = rows.frame[name]
    wrong, filled = no_numbers(column)
    if count := int(wrong.sum()):
        which = (
            f"{'is not a number' if count == 1 else 'are no numbers, first'} ({first_of(column, wrong, rows.first)})"
        )
        warnings.warn(
            f"{rows.title}, column '{name}': {count:,} of {filled:,} values {which}; taken for missing. If the column "
            f"holds categories, say so: --features '*,{name}:category'",
            PignnWarning,
            stacklevel=2,
        )


def _scaling(values: np.ndarray) -> tuple[float, float, float, float]:
    known = values[~np.isnan(values)]
    if not len(known):
        return 0.0, 0.0, 0.0, 1.0
    fill = float(np.median(known))
    if known.min() >= 0 and known.max() <= 1:
        return fill, 0.0, 0.0, 1.0
    logarithm = bool(known.min() >= 0 and known.std() > 2 * known.mean())
    known = np.log1p(known) if logarithm else known
    return fill, float(logarithm), float(known.mean()), float(known.std()) or 1.0


def _scaled(scale: np.ndarray, kind: str) -> str:
    noun = {"date": "days, ", "vector": f"{len(scale):,} numbers, "}.get(kind, "")
    if bool((scale[:, 1:] == [0, 0, 1]).all()):
        return f"{noun}as they are: values are between 0 and 1"
    if bool(scale[:, 1].all()):
        return f"{noun}logarithm, then mean 0 and deviation 1: values are very uneven"
    return f"{noun}scaled to mean 0 and deviation 1"


class CategoryEncoder(ColumnEncoder):
    """One feature for each of the most frequent values, one for all others; none of them where it is missing."""

    kind = "category"

    def __init__(self, name: str, values: list[str], other: bool) -> None:
        self.name, self.values, self.other, self.needs = name, values, other, [name]
        self.names = [f"{name} = {value}" for value in values] + [f"{name} is another"] * other
        self.width = len(self.names)
        self.words = f"one feature for each of {pluralize(len(values), 'value')}{', one for the rest' if other else ''}"

    @classmethod
    def learn(cls, rows: Rows, name: str) -> Self:
        counts = _texts(rows.frame[name]).dropna().value_counts()
        kept = sorted(counts.head(MOST_CATEGORIES).index)
        return cls(name, [str(value) for value in kept], len(counts) > len(kept))

    def write(self, rows: Rows, out: np.ndarray) -> None:
        codes, different = pd.factorize(_texts(rows.frame[self.name]))
        place = pd.Index(self.values, dtype=object).get_indexer(pd.Index(different, dtype=object))
        where = np.append(np.where(place < 0, len(self.values), place), -1)[codes]
        out[:] = 0
        hit = (where >= 0) & (where < self.width)
        out[np.flatnonzero(hit), where[hit]] = 1

    def unknown(self, rows: Rows, out: np.ndarray) -> str:
        texts = _texts(rows.frame[self.name])
        if self.other:  # rare values are not remembered, so that a new one looks like them: only many are news
            given, rare = int(texts.notna().sum()), int(out[:, -1].sum())
            return f"{rare:,} of {given:,} values in '{self.name}' are rare or new" if 2 * rare > given else ""
        new = texts[~texts.isin(self.values)].dropna().value_counts().index
        more = f" and {len(new) - 1:,} more are" if len(new) > 1 else " is"
        return f"{format_cell(new[0])}{more} new in '{self.name}'" if len(new) else ""

    def about(self) -> dict[str, Any]:
        return {"name": self.name, "values": self.values, "other": self.other}

    @classmethod
    def restore(cls, about: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        return cls(str(about["name"]), [str(value) for value in about["values"]], bool(about["other"]))


def _texts(column: pd.Series[Any]) -> pd.Series[Any]:
    """Text, NaN where nothing is there."""
    text = column.astype(str).str.strip().astype(object)
    return text.where(column.notna() & ~text.str.lower().isin(MISSING))


class TfidfEncoder(ColumnEncoder):
    """TF-IDF: (1 + log of the word's frequency) · log((1 + N)/(1 + nodes with it)) + 1, each node's to length 1."""

    kind = "text"

    def __init__(self, name: str, terms: list[str], idf: np.ndarray) -> None:
        self.name, self.terms, self.idf, self.needs = name, terms, idf, [name]
        self.names, self.width = [f"{name}: {term}" for term in terms], len(terms)
        self.words = f"TF-IDF of {pluralize(len(terms), 'word')}"
        if idf.shape != (len(terms),):
            raise ValueError("the weights of words do not fit the words")

    @classmethod
    def learn(cls, rows: Rows, name: str, most: int) -> Self:
        vectorizer = _vectorizer(max_features=most, min_df=2, max_df=0.9)
        try:
            vectorizer.fit(_documents(rows.frame[name]))
        except ValueError:  # no word is left
            return cls(name, [], np.zeros(0))
        return cls(name, [str(term) for term in vectorizer.get_feature_names_out()], vectorizer.idf_)

    def write(self, rows: Rows, out: np.ndarray) -> None:
        vectorizer = _vectorizer(vocabulary={term: i for i, term in enumerate(self.terms)})
        vectorizer.idf_ = self.idf
        column = rows.frame[self.name]
        for start in range(0, len(column), BLOCK):
            out[start : start + BLOCK] = vectorizer.transform(_documents(column.iloc[start : start + BLOCK])).toarray()

    def unknown(self, rows: Rows, out: np.ndarray) -> str:
        texts = _texts(rows.frame[self.name])
        given, bare = int(texts.notna().sum()), int((texts.notna().to_numpy() & ~out.any(axis=1)).sum())
        # Some texts are of other words than the vocabulary in any graph.
        return f"{bare:,} of {given:,} nodes have no known word in '{self.name}'" if 10 * bare > given else ""

    def about(self) -> dict[str, Any]:
        return {"name": self.name, "terms": self.terms}

    def arrays(self) -> dict[str, np.ndarray]:
        return {"idf": self.idf}

    @classmethod
    def restore(cls, about: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        return cls(str(about["name"]), [str(term) for term in about["terms"]], arrays["idf"])


def _documents(column: pd.Series[Any]) -> np.ndarray:
    return column.astype(str).where(column.notna(), "").to_numpy(object)


def _vectorizer(**options: Any) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(sublinear_tf=True, strip_accents="unicode", dtype=np.float64, **options)


class StructureEncoder(ColumnEncoder):
    """Features from the graph alone, see :mod:`.structure`, to mean 0 and deviation 1."""

    kind = "structure"

    def __init__(self, scale: np.ndarray) -> None:
        self.scale, self.needs = scale, []
        self.names, self.width = [f"(structure) {name}" for name in NAMES], len(NAMES)
        if scale.shape != (len(NAMES), 2):
            raise ValueError("scalings do not fit the structural features")

    @classmethod
    def learn(cls, rows: Rows) -> Self:
        x = rows.structure.astype(np.float64)
        deviation = x.std(axis=0)
        return cls(np.stack([x.mean(axis=0), np.where(deviation > 1e-6, deviation, 1.0)], axis=1))

    def write(self, rows: Rows, out: np.ndarray) -> None:
        mean, deviation = self.scale.T
        out[:] = np.clip((rows.structure - mean) / deviation, -MOST_SCALED, MOST_SCALED)

    def arrays(self) -> dict[str, np.ndarray]:
        return {"scale": self.scale}

    @classmethod
    def restore(cls, about: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        return cls(arrays["scale"])
