"""Column encoders: each is fitted on one graph and encodes the nodes of any other.

The fields of an encoder are what it has learned, as JSON keeps them. scikit-learn's transformers do the fitting.
"""

from __future__ import annotations

import warnings
from typing import Annotated, Any, NamedTuple, Self

import msgspec
import numpy as np
import pandas as pd

from ...core.errors import DataError, PignnWarning
from ...core.text import pluralize
from ..tables.cells import quote_cell_for_message
from .column_kinds import (
    MISSING_WORDS,
    format_first_wrong_value,
    mark_non_numbers_and_count_filled,
    stack_number_lists,
    to_days_since_1970,
    to_float_column,
)
from .raw_graph import RawGraph
from .structure import STRUCTURE_NAMES

MAX_CATEGORIES = 100
MAX_DEVIATIONS = 10.0  # from the mean; values further out are clipped
MIN_MISSING_FRACTION = 0.01  # from which on a feature says where values are missing
MAX_TERMS, MAX_TERM_VALUES = 1000, 2**29  # of a column of texts, and of all nodes together: about 2 GB
TEXT_BLOCK_ROWS = 1 << 16


class ColumnEncoder(msgspec.Struct, tag_field="kind", forbid_unknown_fields=True):
    """Encodes a column, or what a graph has besides columns, as features."""

    @property
    def feature_names(self) -> list[str]:
        raise NotImplementedError

    @property
    def width(self) -> int:
        return len(self.feature_names)

    def encode_into(self, raw_graph: RawGraph, out: np.ndarray) -> None:
        """Write the features of all nodes into ``out`` [N, width]."""
        raise NotImplementedError

    def describe_unseen_values(self, raw_graph: RawGraph, features: np.ndarray) -> str:
        """Which values the encoder did not see when it was fitted, for people. Empty if there are few."""
        return ""


class SingleColumnEncoder(ColumnEncoder):
    """Encodes one column of the table of nodes."""

    name: str

    @classmethod
    def fit(cls, raw_graph: RawGraph, name: str, kind: str) -> Self:
        """Fit a column of one of ``COLUMN_KINDS``."""
        raise NotImplementedError

    def describe(self, reason: str) -> str:
        """What the encoder does and for which reason, for people."""
        raise NotImplementedError


class PassthroughEncoder(ColumnEncoder, tag="passthrough"):
    """Features that are numbers already, as they are."""

    num_features: int

    @property
    def feature_names(self) -> list[str]:
        return [f"x{i}" for i in range(self.num_features)]

    def encode_into(self, raw_graph: RawGraph, out: np.ndarray) -> None:
        if raw_graph.x is None or raw_graph.x.shape[1] != self.num_features:
            expected, actual = self.num_features, "none" if raw_graph.x is None else raw_graph.x.shape[1]
            raise DataError(
                f"{raw_graph.title}: the model was trained on {expected} given features, here there are {actual}"
            )
        with np.errstate(over="ignore"):
            out[:] = raw_graph.x


class Scale(NamedTuple):
    """How one number becomes a feature."""

    median: float  # in place of a missing value
    is_logarithmic: bool
    mean: float
    deviation: float


class NumericEncoder(SingleColumnEncoder, tag="numeric"):
    """Numbers, dates and lists of numbers.

    Values from 0 to 1 stay as they are. Others are standardized, on a logarithmic scale if they are not negative and
    very uneven (standard deviation above twice the mean). A missing value becomes the median. Where more than 1 % of
    the values were missing at fitting, one more feature says so.
    """

    column_kind: str  # number, date or vector
    scales: list[Scale]
    has_missing_flag: bool

    @classmethod
    def fit(cls, raw_graph: RawGraph, name: str, kind: str) -> Self:
        values = _read_numeric_column(raw_graph, name, kind, None)
        has_missing_flag = float(np.isnan(values).any(axis=1).mean()) > MIN_MISSING_FRACTION
        return cls(name, kind, [_fit_scale(column) for column in values.T], has_missing_flag)

    @property
    def feature_names(self) -> list[str]:
        numbers = [self.name] if len(self.scales) == 1 else [f"{self.name}[{i}]" for i in range(len(self.scales))]
        return numbers + [f"{self.name} is missing"] * self.has_missing_flag

    def describe(self, reason: str) -> str:
        noun = {"date": "days, ", "vector": f"{len(self.scales):,} numbers, "}.get(self.column_kind, "")
        flag = "; one more feature says where it is missing" * self.has_missing_flag
        if all(scale[1:] == (False, 0, 1) for scale in self.scales):
            return f"{noun}as they are: values are between 0 and 1{flag}"
        if all(scale.is_logarithmic for scale in self.scales):
            return f"{noun}logarithm, then mean 0 and deviation 1: values are very uneven{flag}"
        return f"{noun}scaled to mean 0 and deviation 1{flag}"

    def encode_into(self, raw_graph: RawGraph, out: np.ndarray) -> None:
        values = _read_numeric_column(raw_graph, self.name, self.column_kind, len(self.scales))
        if self.column_kind == "number":
            _warn_about_non_numbers(raw_graph, self.name)
        is_missing = np.isnan(values)
        for i, scale in enumerate(self.scales):
            value = np.where(is_missing[:, i], scale.median, values[:, i])
            value = np.log1p(np.maximum(value, 0)) if scale.is_logarithmic else value
            out[:, i] = np.clip((value - scale.mean) / scale.deviation, -MAX_DEVIATIONS, MAX_DEVIATIONS)
        if self.has_missing_flag:
            out[:, -1] = is_missing.any(axis=1)


def _read_numeric_column(raw_graph: RawGraph, column_name: str, kind: str, width: int | None) -> np.ndarray:
    title, column = f"{raw_graph.title}, column '{column_name}'", raw_graph.frame[column_name]
    if kind == "vector":
        return stack_number_lists(column, title, width)
    return (to_days_since_1970 if kind == "date" else to_float_column)(
        column, title, raw_graph.origin.first_row_number
    )[:, None]


def _warn_about_non_numbers(raw_graph: RawGraph, column_name: str) -> None:
    column = raw_graph.frame[column_name]
    wrong, num_filled = mark_non_numbers_and_count_filled(column)
    if count := int(wrong.sum()):
        verb = "is not a number" if count == 1 else "are no numbers, first"
        first = format_first_wrong_value(column, wrong, raw_graph.origin.first_row_number)
        warnings.warn(
            f"{raw_graph.title}, column '{column_name}': {count:,} of {num_filled:,} values {verb} ({first}); "
            f"taken for missing. If the column holds categories, say so: --features '*,{column_name}:category'",
            PignnWarning,
            stacklevel=2,
        )


def _fit_scale(values: np.ndarray) -> Scale:
    from sklearn.preprocessing import StandardScaler

    known = values[~np.isnan(values)]
    if not len(known):
        return Scale(0.0, False, 0.0, 1.0)
    median = float(np.median(known))
    if known.min() >= 0 and known.max() <= 1:
        return Scale(median, False, 0.0, 1.0)
    is_logarithmic = bool(known.min() >= 0 and known.std() > 2 * known.mean())
    scaler = StandardScaler().fit((np.log1p(known) if is_logarithmic else known)[:, None])
    return Scale(median, is_logarithmic, float(scaler.mean_[0]), float(scaler.scale_[0]))


class CategoryEncoder(SingleColumnEncoder, tag="category"):
    """One feature per value: the 100 most frequent ones, and one for all others if there are more."""

    values: list[str]
    has_other: bool  # whether rare and new values share one more feature

    @classmethod
    def fit(cls, raw_graph: RawGraph, column_name: str, kind: str) -> Self:
        counts = _to_texts(raw_graph.frame[column_name]).dropna().value_counts()
        values = [str(value) for value in sorted(counts.head(MAX_CATEGORIES).index)]
        return cls(column_name, values, len(counts) > len(values))

    @property
    def feature_names(self) -> list[str]:
        return [f"{self.name} = {value}" for value in self.values] + [f"{self.name} is another"] * self.has_other

    def describe(self, reason: str) -> str:
        rest = ", one for the rest" if self.has_other else ""
        return f"one feature for each of {pluralize(len(self.values), 'value')}{rest}: {reason}"

    def encode_into(self, raw_graph: RawGraph, out: np.ndarray) -> None:
        texts = _to_texts(raw_graph.frame[self.name])
        positions = pd.Index(self.values, dtype=object).get_indexer(pd.Index(texts))
        rows = np.flatnonzero(positions >= 0)
        out[:] = 0
        out[rows, positions[rows]] = 1
        if self.has_other:
            out[:, -1] = texts.notna() & (positions < 0)

    def describe_unseen_values(self, raw_graph: RawGraph, features: np.ndarray) -> str:
        name, texts = self.name, _to_texts(raw_graph.frame[self.name])
        if self.has_other:  # rare values are not remembered, so a new one looks like them: only many are news
            num_filled, num_rare = int(texts.notna().sum()), int(features[:, -1].sum())
            is_much = 2 * num_rare > num_filled
            return f"{num_rare:,} of {num_filled:,} values in '{name}' are rare or new" if is_much else ""
        new = texts[~texts.isin(self.values)].dropna().value_counts().index
        more = f" and {len(new) - 1:,} more are" if len(new) > 1 else " is"
        return f"{quote_cell_for_message(new[0])}{more} new in '{name}'" if len(new) else ""


def _to_texts(column: pd.Series[Any]) -> pd.Series[Any]:
    """A column as texts, NaN where a value is missing."""
    text = column.astype(str).str.strip().astype(object)
    return text.where(column.notna() & ~text.str.lower().isin(MISSING_WORDS))


class TfidfEncoder(SingleColumnEncoder, tag="tfidf"):
    """TF-IDF: (1 + log of the word's frequency) · log((1 + N)/(1 + nodes with it)) + 1, each node's to length 1."""

    idf: dict[str, float]  # by word

    @classmethod
    def fit(cls, raw_graph: RawGraph, column_name: str, kind: str) -> Self:
        max_terms = min(MAX_TERMS, max(MAX_TERM_VALUES // max(raw_graph.num_nodes, 1), 64))
        vectorizer = _build_vectorizer(max_features=max_terms, min_df=2, max_df=0.9)
        try:
            vectorizer.fit(_to_documents(raw_graph.frame[column_name]))
        except ValueError:  # no word is left
            return cls(column_name, {})
        return cls(
            column_name, dict(zip(vectorizer.get_feature_names_out().tolist(), vectorizer.idf_.tolist(), strict=True))
        )

    @property
    def feature_names(self) -> list[str]:
        return [f"{self.name}: {term}" for term in self.idf]

    def describe(self, reason: str) -> str:
        if not self.idf:
            return "left out: no word is in two nodes"
        return f"TF-IDF of {pluralize(len(self.idf), 'word')}: {reason}"

    def encode_into(self, raw_graph: RawGraph, out: np.ndarray) -> None:
        vectorizer = _build_vectorizer(vocabulary={term: i for i, term in enumerate(self.idf)})
        vectorizer.idf_ = np.array(list(self.idf.values()))
        column = raw_graph.frame[self.name]
        for start in range(0, len(column), TEXT_BLOCK_ROWS):
            rows = slice(start, start + TEXT_BLOCK_ROWS)
            out[rows] = vectorizer.transform(_to_documents(column.iloc[rows])).toarray()

    def describe_unseen_values(self, raw_graph: RawGraph, features: np.ndarray) -> str:
        is_filled = _to_texts(raw_graph.frame[self.name]).notna().to_numpy()
        num_filled, num_bare = int(is_filled.sum()), int((is_filled & ~features.any(axis=1)).sum())
        is_much = 10 * num_bare > num_filled  # in any graph some texts have only words that are not in the vocabulary
        return f"{num_bare:,} of {num_filled:,} nodes have no known word in '{self.name}'" if is_much else ""


def _to_documents(column: pd.Series[Any]) -> np.ndarray:
    return column.astype(str).where(column.notna(), "").to_numpy(object)


def _build_vectorizer(**options: Any) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(sublinear_tf=True, strip_accents="unicode", dtype=np.float64, **options)


_ONE_PER_FEATURE = msgspec.Meta(min_length=len(STRUCTURE_NAMES), max_length=len(STRUCTURE_NAMES))


class StructureEncoder(ColumnEncoder, tag="structure"):
    """Features from the graph alone, see :mod:`.structure`, standardized."""

    means: Annotated[list[float], _ONE_PER_FEATURE]
    deviations: Annotated[list[float], _ONE_PER_FEATURE]

    @classmethod
    def fit(cls, raw_graph: RawGraph) -> Self:
        x = raw_graph.structural_features.astype(np.float64)
        deviations = x.std(axis=0)
        return cls(x.mean(axis=0).tolist(), np.where(deviations > 1e-6, deviations, 1.0).tolist())

    @property
    def feature_names(self) -> list[str]:
        return [f"(structure) {name}" for name in STRUCTURE_NAMES]

    def encode_into(self, raw_graph: RawGraph, out: np.ndarray) -> None:
        scaled = (raw_graph.structural_features - np.array(self.means)) / np.array(self.deviations)
        out[:] = np.clip(scaled, -MAX_DEVIATIONS, MAX_DEVIATIONS)


AnyEncoder = PassthroughEncoder | NumericEncoder | CategoryEncoder | TfidfEncoder | StructureEncoder
