"""Column encoders: each is fitted on one graph and encodes the nodes of any other.

What an encoder has learned is a header (JSON) and arrays (safetensors). scikit-learn's transformers do the fitting.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import msgspec
import numpy as np
import pandas as pd

from ...core.errors import PignnWarning
from ...core.text import pluralize
from ..tables.cells import quote_cell_for_message
from .column_kinds import MISSING_WORDS, find_non_numbers, format_first_wrong, to_days, to_float_column, to_matrix
from .raw_graph import RawGraph
from .structure import STRUCTURE_NAMES

MAX_CATEGORIES = 100
MAX_DEVIATIONS = 10.0  # from the mean; values further out are clipped
MIN_MISSING_FRACTION = 0.01  # from which on a feature says where values are missing
TEXT_BLOCK_ROWS = 1 << 16


class EncoderHeader(msgspec.Struct, tag_field="kind", forbid_unknown_fields=True):
    """What JSON holds of an encoder."""


class PassthroughHeader(EncoderHeader, tag="passthrough"):
    width: int


class NumericColumn(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    kind: str  # number, date or vector
    width: int
    has_missing_flag: bool


class NumericHeader(EncoderHeader, tag="numeric"):
    columns: list[NumericColumn]


class CategoryHeader(EncoderHeader, tag="category"):
    name: str
    values: list[str]
    has_other: bool  # whether rare and new values share one more feature


class TfidfHeader(EncoderHeader, tag="tfidf"):
    name: str
    terms: list[str]


class StructureHeader(EncoderHeader, tag="structure"):
    pass


class ColumnEncoder(ABC):
    """Encodes some columns as features."""

    input_columns: list[str]
    feature_names: list[str]
    array_shapes: ClassVar[dict[str, int]] = {}  # names of arrays, and their number of columns; 0 for one dimension

    def __init__(self, header: Any, arrays: Mapping[str, np.ndarray]) -> None:
        self.header, self.arrays = header, {name: arrays[name] for name in self.array_shapes}

    @property
    def width(self) -> int:
        return len(self.feature_names)

    @abstractmethod
    def encode(self, raw: RawGraph, out: np.ndarray) -> None:
        """Write the features of all nodes into ``out`` [N, width]."""

    def describe_unknown(self, raw: RawGraph, features: np.ndarray) -> str:
        """Which values the encoder did not see when it was fitted, for people. Empty if there are few."""
        return ""

    def _check_length(self, name: str, length: int) -> None:
        width = self.array_shapes[name]
        if self.arrays[name].shape != ((length, width) if width else (length,)):
            raise ValueError(f"'{name}' does not fit the columns")


class PassthroughEncoder(ColumnEncoder):
    """Features that are numbers already, as they are."""

    def __init__(self, header: PassthroughHeader, arrays: Mapping[str, np.ndarray]) -> None:
        super().__init__(header, arrays)
        self.input_columns, self.feature_names = [], [f"x{i}" for i in range(header.width)]

    @classmethod
    def fit(cls, x: np.ndarray) -> Self:
        return cls(PassthroughHeader(x.shape[1]), {})

    def encode(self, raw: RawGraph, out: np.ndarray) -> None:
        with np.errstate(over="ignore"):
            out[:] = raw.x


class NumericEncoder(ColumnEncoder):
    """Numbers, dates and lists of numbers.

    Values from 0 to 1 stay as they are. Others are standardized, on a logarithmic scale if they are not negative and
    very uneven (standard deviation above twice the mean). A missing value becomes the median. Where more than 1 % of
    the values were missing at fitting, one more feature says so.
    """

    array_shapes: ClassVar[dict[str, int]] = {"scale": 4}  # median, whether on a logarithmic scale, mean, deviation

    def __init__(self, header: NumericHeader, arrays: Mapping[str, np.ndarray]) -> None:
        super().__init__(header, arrays)
        self.input_columns = [column.name for column in header.columns]
        self.feature_names = []
        for column in header.columns:
            indices = range(column.width)
            self.feature_names += [column.name] if column.width == 1 else [f"{column.name}[{i}]" for i in indices]
            self.feature_names += [f"{column.name} is missing"] * column.has_missing_flag
        self._check_length("scale", sum(column.width for column in header.columns))

    @classmethod
    def fit(cls, raw: RawGraph, kinds: Mapping[str, str]) -> tuple[Self, dict[str, str]]:
        """Fit columns of these kinds; returns the encoder, and per column what it does."""
        columns, scales, notes = [], [], {}
        for name, kind in kinds.items():
            values = _read_values(raw, name, kind, None)
            has_flag = float(np.isnan(values).any(axis=1).mean()) > MIN_MISSING_FRACTION
            scale = np.array([_fit_column_scaling(values[:, i]) for i in range(values.shape[1])])
            columns.append(NumericColumn(name, kind, len(scale), has_flag))
            scales.append(scale)
            notes[name] = _describe_scale(scale, kind) + ("; one more feature says where it is missing" * has_flag)
        return cls(NumericHeader(columns), {"scale": np.concatenate(scales)}), notes

    def encode(self, raw: RawGraph, out: np.ndarray) -> None:
        target = value_index = 0
        for column in self.header.columns:
            values = _read_values(raw, column.name, column.kind, column.width)
            if column.kind == "number":
                _warn_about_non_numbers(raw, column.name)
            is_missing = np.isnan(values)
            for i, scale in enumerate(self.arrays["scale"][value_index : value_index + column.width]):
                median, logarithmic, mean, deviation = scale
                value = np.where(is_missing[:, i], median, values[:, i])
                value = np.log1p(np.maximum(value, 0)) if logarithmic else value
                out[:, target + i] = np.clip((value - mean) / deviation, -MAX_DEVIATIONS, MAX_DEVIATIONS)
            if column.has_missing_flag:
                out[:, target + column.width] = is_missing.any(axis=1)
            target += column.width + column.has_missing_flag
            value_index += column.width


def _read_values(raw: RawGraph, name: str, kind: str, width: int | None) -> np.ndarray:
    title, column = f"{raw.title}, column '{name}'", raw.frame[name]
    if kind == "vector":
        return to_matrix(column, title, width)
    return (to_days if kind == "date" else to_float_column)(column, title, raw.origin.first_row_number)[:, None]


def _warn_about_non_numbers(raw: RawGraph, name: str) -> None:
    column = raw.frame[name]
    wrong, num_filled = find_non_numbers(column)
    if count := int(wrong.sum()):
        verb = "is not a number" if count == 1 else "are no numbers, first"
        first = format_first_wrong(column, wrong, raw.origin.first_row_number)
        warnings.warn(
            f"{raw.title}, column '{name}': {count:,} of {num_filled:,} values {verb} ({first}); taken for missing. If "
            f"the column holds categories, say so: --features '*,{name}:category'",
            PignnWarning,
            stacklevel=2,
        )


def _fit_column_scaling(values: np.ndarray) -> tuple[float, float, float, float]:
    """Median, whether the scale is logarithmic, mean and deviation of the values that are not missing."""
    from sklearn.preprocessing import StandardScaler

    known = values[~np.isnan(values)]
    if not len(known):
        return 0.0, 0.0, 0.0, 1.0
    median = float(np.median(known))
    if known.min() >= 0 and known.max() <= 1:
        return median, 0.0, 0.0, 1.0
    logarithmic = bool(known.min() >= 0 and known.std() > 2 * known.mean())
    scaler = StandardScaler().fit((np.log1p(known) if logarithmic else known)[:, None])
    return median, float(logarithmic), float(scaler.mean_[0]), float(scaler.scale_[0])


def _describe_scale(scale: np.ndarray, kind: str) -> str:
    noun = {"date": "days, ", "vector": f"{len(scale):,} numbers, "}.get(kind, "")
    if bool((scale[:, 1:] == [0, 0, 1]).all()):
        return f"{noun}as they are: values are between 0 and 1"
    if bool(scale[:, 1].all()):
        return f"{noun}logarithm, then mean 0 and deviation 1: values are very uneven"
    return f"{noun}scaled to mean 0 and deviation 1"


class CategoryEncoder(ColumnEncoder):
    """One feature per value: the 100 most frequent ones, and one for all others if there are more."""

    def __init__(self, header: CategoryHeader, arrays: Mapping[str, np.ndarray]) -> None:
        super().__init__(header, arrays)
        name = header.name
        self.input_columns = [name]
        self.feature_names = [f"{name} = {value}" for value in header.values] + [
            f"{name} is another"
        ] * header.has_other

    @classmethod
    def fit(cls, raw: RawGraph, name: str) -> Self:
        counts = _to_texts(raw.frame[name]).dropna().value_counts()
        values = [str(value) for value in sorted(counts.head(MAX_CATEGORIES).index)]
        return cls(CategoryHeader(name, values, len(counts) > len(values)), {})

    def describe(self) -> str:
        rest = ", one for the rest" if self.header.has_other else ""
        return f"one feature for each of {pluralize(len(self.header.values), 'value')}{rest}"

    def encode(self, raw: RawGraph, out: np.ndarray) -> None:
        from sklearn.preprocessing import OneHotEncoder

        texts, values = _to_texts(raw.frame[self.header.name]), np.array(self.header.values, dtype=object)
        out[:] = 0
        if len(values):
            encoder = OneHotEncoder(categories=[values], handle_unknown="ignore").fit(values[:, None])
            hot = encoder.transform(texts.fillna("").to_numpy(object)[:, None]).tocoo()
            out[hot.row, hot.col] = 1
        if self.header.has_other:
            out[:, -1] = texts.notna() & ~texts.isin(self.header.values)

    def describe_unknown(self, raw: RawGraph, features: np.ndarray) -> str:
        name, texts = self.header.name, _to_texts(raw.frame[self.header.name])
        if self.header.has_other:  # rare values are not remembered, so a new one looks like them: only many are news
            num_filled, num_rare = int(texts.notna().sum()), int(features[:, -1].sum())
            is_much = 2 * num_rare > num_filled
            return f"{num_rare:,} of {num_filled:,} values in '{name}' are rare or new" if is_much else ""
        new = texts[~texts.isin(self.header.values)].dropna().value_counts().index
        more = f" and {len(new) - 1:,} more are" if len(new) > 1 else " is"
        return f"{quote_cell_for_message(new[0])}{more} new in '{name}'" if len(new) else ""


def _to_texts(column: pd.Series[Any]) -> pd.Series[Any]:
    """A column as texts, NaN where a value is missing."""
    text = column.astype(str).str.strip().astype(object)
    return text.where(column.notna() & ~text.str.lower().isin(MISSING_WORDS))


class TfidfEncoder(ColumnEncoder):
    """TF-IDF: (1 + log of the word's frequency) · log((1 + N)/(1 + nodes with it)) + 1, each node's to length 1."""

    array_shapes: ClassVar[dict[str, int]] = {"idf": 0}

    def __init__(self, header: TfidfHeader, arrays: Mapping[str, np.ndarray]) -> None:
        super().__init__(header, arrays)
        self.input_columns, self.feature_names = [header.name], [f"{header.name}: {term}" for term in header.terms]
        self._check_length("idf", len(header.terms))

    @classmethod
    def fit(cls, raw: RawGraph, name: str, max_terms: int) -> Self:
        vectorizer = _build_vectorizer(max_features=max_terms, min_df=2, max_df=0.9)
        try:
            vectorizer.fit(_to_documents(raw.frame[name]))
        except ValueError:  # no word is left
            return cls(TfidfHeader(name, []), {"idf": np.zeros(0)})
        terms = [str(term) for term in vectorizer.get_feature_names_out()]
        return cls(TfidfHeader(name, terms), {"idf": vectorizer.idf_})

    def describe(self) -> str:
        return f"TF-IDF of {pluralize(len(self.header.terms), 'word')}"

    def encode(self, raw: RawGraph, out: np.ndarray) -> None:
        vectorizer = _build_vectorizer(vocabulary={term: i for i, term in enumerate(self.header.terms)})
        vectorizer.idf_ = self.arrays["idf"]
        column = raw.frame[self.header.name]
        for start in range(0, len(column), TEXT_BLOCK_ROWS):
            rows = slice(start, start + TEXT_BLOCK_ROWS)
            out[rows] = vectorizer.transform(_to_documents(column.iloc[rows])).toarray()

    def describe_unknown(self, raw: RawGraph, features: np.ndarray) -> str:
        name, texts = self.header.name, _to_texts(raw.frame[self.header.name])
        num_filled = int(texts.notna().sum())
        num_bare = int((texts.notna().to_numpy() & ~features.any(axis=1)).sum())
        is_much = 10 * num_bare > num_filled  # in any graph some texts have only words that are not in the vocabulary
        return f"{num_bare:,} of {num_filled:,} nodes have no known word in '{name}'" if is_much else ""


def _to_documents(column: pd.Series[Any]) -> np.ndarray:
    return column.astype(str).where(column.notna(), "").to_numpy(object)


def _build_vectorizer(**options: Any) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(sublinear_tf=True, strip_accents="unicode", dtype=np.float64, **options)


class StructureEncoder(ColumnEncoder):
    """Features from the graph alone, see :mod:`.structure`, standardized."""

    array_shapes: ClassVar[dict[str, int]] = {"scale": 2}  # mean, deviation

    def __init__(self, header: StructureHeader, arrays: Mapping[str, np.ndarray]) -> None:
        super().__init__(header, arrays)
        self.input_columns, self.feature_names = [], [f"(structure) {name}" for name in STRUCTURE_NAMES]
        self._check_length("scale", len(STRUCTURE_NAMES))

    @classmethod
    def fit(cls, raw: RawGraph) -> Self:
        x = raw.structural_features.astype(np.float64)
        deviation = x.std(axis=0)
        scale = np.stack([x.mean(axis=0), np.where(deviation > 1e-6, deviation, 1.0)], axis=1)
        return cls(StructureHeader(), {"scale": scale})

    def encode(self, raw: RawGraph, out: np.ndarray) -> None:
        mean, deviation = self.arrays["scale"].T
        out[:] = np.clip((raw.structural_features - mean) / deviation, -MAX_DEVIATIONS, MAX_DEVIATIONS)


AnyHeader = PassthroughHeader | NumericHeader | CategoryHeader | TfidfHeader | StructureHeader
ENCODERS: dict[type, type[ColumnEncoder]] = {
    PassthroughHeader: PassthroughEncoder,
    NumericHeader: NumericEncoder,
    CategoryHeader: CategoryEncoder,
    TfidfHeader: TfidfEncoder,
    StructureHeader: StructureEncoder,
}
