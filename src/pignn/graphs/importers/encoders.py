"""Column encoders: each is fitted on one graph and encodes the nodes of any other.

The fields of an encoder are what it has learned, as JSON keeps them. scikit-learn's transformers do the fitting.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple, Self

import msgspec
import numpy as np
import pandas as pd

from ...core.errors import DataError, warn_user
from ...core.text import format_count
from ..tables.cells import quote_cell_for_message
from ..tables.styles import PLAIN, ValueStyle
from .column_kinds import (
    UNSPACED,
    KindGuess,
    ParsedColumn,
    compute_missing_mask,
    format_first_wrong_value,
    has_too_many_wrong_cells,
    is_numeric_column,
    parse_number_or_date_column,
    replace_infinite_by_nan_and_clip,
    stack_number_lists,
)
from .raw_graph import RawGraph
from .structure import STRUCTURE_NAMES

MAX_CATEGORIES = 100  # with a feature each
MAX_HASHED, NUM_HASHES = 256, 2  # features that all other categories share, and how many of them each one has
MAX_DEVIATIONS = 10.0  # from the mean; values further out are clipped
MIN_MISSING_FRACTION = 0.01  # from which on a feature says where values are missing
MAX_TERMS, MAX_VALUES = 1000, 2**29  # of a column of texts, and of all nodes together: about 2 GB
MAX_VOCABULARY, MAX_COMPONENTS = 10_000, 512  # of long texts, whose words are summed up by a truncated SVD
SVD_SAMPLE_ROWS, TEXT_BLOCK_ROWS = 20_000, 1 << 14


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

    def describe_unseen_values_or_empty(self, raw_graph: RawGraph, features: np.ndarray) -> str:
        """Which values the encoder did not see when it was fitted, for people. Empty if there are few."""
        return ""


class SingleColumnEncoder(ColumnEncoder):
    """Encodes one column of the table of nodes."""

    name: str

    @classmethod
    def fit(cls, raw_graph: RawGraph, column_name: str, guess: KindGuess) -> Self:
        """Fit a column of the kind and style that were guessed or given."""
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
    style: ValueStyle = PLAIN

    @classmethod
    def fit(cls, raw_graph: RawGraph, column_name: str, guess: KindGuess) -> Self:
        values = _parse_numeric_column_as_matrix(raw_graph, column_name, guess.kind, guess.style, None)
        has_missing_flag = float(np.isnan(values).any(axis=1).mean()) > MIN_MISSING_FRACTION
        return cls(
            column_name,
            guess.kind,
            [_fit_median_and_scale(column) for column in values.T],
            has_missing_flag,
            guess.style,
        )

    @property
    def feature_names(self) -> list[str]:
        numbers = [self.name] if len(self.scales) == 1 else [f"{self.name}[{i}]" for i in range(len(self.scales))]
        return numbers + [f"{self.name} is missing"] * self.has_missing_flag

    def describe(self, reason: str) -> str:
        noun = {"date": "days, ", "vector": f"{len(self.scales):,} numbers, "}.get(self.column_kind, "")
        noun += f"{style}; " if (style := self.style.describe(self.column_kind)) else ""
        flag = "; one more feature says where it is missing" * self.has_missing_flag
        if all(scale[1:] == (False, 0, 1) for scale in self.scales):
            return f"{noun}as they are: values are between 0 and 1{flag}"
        if all(scale.is_logarithmic for scale in self.scales):
            return f"{noun}logarithm, then mean 0 and deviation 1: values are very uneven{flag}"
        return f"{noun}scaled to mean 0 and deviation 1{flag}"

    def encode_into(self, raw_graph: RawGraph, out: np.ndarray) -> None:
        values = _parse_numeric_column_as_matrix(
            raw_graph, self.name, self.column_kind, self.style, len(self.scales), with_warnings=True
        )
        is_missing = np.isnan(values)
        for i, scale in enumerate(self.scales):
            value = np.where(is_missing[:, i], scale.median, values[:, i])
            value = np.log1p(np.maximum(value, 0)) if scale.is_logarithmic else value
            out[:, i] = np.clip((value - scale.mean) / scale.deviation, -MAX_DEVIATIONS, MAX_DEVIATIONS)
        if self.has_missing_flag:
            out[:, -1] = is_missing.any(axis=1)


def _parse_numeric_column_as_matrix(
    raw_graph: RawGraph, name: str, kind: str, style: ValueStyle, width: int | None, *, with_warnings: bool = False
) -> np.ndarray:
    title, column = f"{raw_graph.title}, column '{name}'", raw_graph.frame[name]
    if kind == "vector":
        return stack_number_lists(column, title, width)
    parsed = parse_number_or_date_column(column, kind, style)
    if has_too_many_wrong_cells(parsed):
        first = format_first_wrong_value(column, parsed.is_wrong, raw_graph.origin.first_row_number)
        raise DataError(f"{title}, {first} is not a {'date such as 2024-01-31' if kind == 'date' else 'number'}")
    if with_warnings:
        _warn_about_wrong_cells_and_other_style(parsed, raw_graph, name, kind, style)
    return replace_infinite_by_nan_and_clip(parsed.values)[:, None]


def _warn_about_wrong_cells_and_other_style(
    parsed: ParsedColumn, raw_graph: RawGraph, name: str, kind: str, style: ValueStyle
) -> None:
    """Say which cells are not read, and whether the column is written in another way than the model knows."""
    column, messages = raw_graph.frame[name], list[str]()
    if parsed.style != style or (style.unit == "%" and is_numeric_column(column)):
        known, here = style.describe(kind) or "none", parsed.style.describe(kind) or "none"
        how = "without %, and taken for percent" if parsed.style == style else f"in another style ({here}, not {known})"
        messages.append(f"it is written {how} than where the model was trained; check that it means the same")
    if count := int(parsed.is_wrong.sum()):
        verb = f"is not a {kind}" if count == 1 else f"are no {kind}s, first"
        first = format_first_wrong_value(column, parsed.is_wrong, raw_graph.origin.first_row_number)
        messages.append(
            f"{count:,} of {parsed.num_filled:,} values {verb} ({first}); taken for missing. If the column holds "
            f"categories, say so: --features '*,{name}:category'"
        )
    for message in messages:
        warn_user(f"{raw_graph.title}, column '{name}': {message}")


def _fit_median_and_scale(values: np.ndarray) -> Scale:
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
    """One feature per value for the 100 most frequent ones. All others are hashed: each has 2 features of at most 256,
    so that two of them hardly ever share both."""

    values: list[str]
    num_hashed: int  # features that rare and new values share, 0 if all values have one of their own

    @classmethod
    def fit(cls, raw_graph: RawGraph, column_name: str, guess: KindGuess) -> Self:
        counts = _to_texts_or_nan(raw_graph.frame[column_name]).dropna().value_counts()
        values = [str(value) for value in sorted(counts.head(MAX_CATEGORIES).index)]
        num_rare = len(counts) - len(values)
        return cls(
            column_name,
            values,
            _limit_width_to_memory(min(MAX_HASHED, max(num_rare, 16)), raw_graph) if num_rare else 0,
        )

    @property
    def feature_names(self) -> list[str]:
        hashed = [f"{self.name} is another ({i})" for i in range(self.num_hashed)]
        return [f"{self.name} = {value}" for value in self.values] + hashed

    def describe(self, reason: str) -> str:
        rest = f", {self.num_hashed} hashed ones for the rest" if self.num_hashed else ""
        return f"one feature for each of {format_count(len(self.values), 'value')}{rest}: {reason}"

    def encode_into(self, raw_graph: RawGraph, out: np.ndarray) -> None:
        texts = _to_texts_or_nan(raw_graph.frame[self.name])
        positions = pd.Index(self.values, dtype=object).get_indexer(pd.Index(texts))
        rows = np.flatnonzero(positions >= 0)
        out[:] = 0
        out[rows, positions[rows]] = 1
        is_other = (texts.notna() & (positions < 0)).to_numpy()
        if self.num_hashed and is_other.any():
            codes, others = pd.factorize(texts[is_other])
            out[is_other, len(self.values) :] = self._hash_to_features(others)[codes]

    def _hash_to_features(self, values: Any) -> np.ndarray:
        from sklearn.feature_extraction import FeatureHasher

        hasher = FeatureHasher(self.num_hashed, input_type="string", dtype=np.float32, alternate_sign=False)
        return (
            hasher.transform([[f"{i}={value}" for i in range(NUM_HASHES)] for value in values]).toarray() / NUM_HASHES
        )

    def describe_unseen_values_or_empty(self, raw_graph: RawGraph, features: np.ndarray) -> str:
        name, texts = self.name, _to_texts_or_nan(raw_graph.frame[self.name])
        if self.num_hashed:  # rare values are not remembered, so a new one looks like them: only many are news
            num_filled, num_rare = int(texts.notna().sum()), int(features[:, len(self.values) :].any(axis=1).sum())
            is_much = 2 * num_rare > num_filled
            return f"{num_rare:,} of {num_filled:,} values in '{name}' are rare or new" if is_much else ""
        new = texts[~texts.isin(self.values)].dropna().value_counts().index
        more = f" and {len(new) - 1:,} more are" if len(new) > 1 else " is"
        return f"{quote_cell_for_message(new[0])}{more} new in '{name}'" if len(new) else ""


def _limit_width_to_memory(width: int, raw_graph: RawGraph) -> int:
    """As many features as memory allows."""
    return min(width, max(MAX_VALUES // max(raw_graph.num_nodes, 1), 64))


def _to_texts_or_nan(column: pd.Series[Any]) -> pd.Series[Any]:
    """A column as texts, NaN where a value is missing."""
    return column.astype(str).str.strip().astype(object).mask(compute_missing_mask(column))


class TfidfEncoder(SingleColumnEncoder, tag="tfidf", dict=True):
    """TF-IDF: (1 + log of the word's frequency) · log((1 + N)/(1 + nodes with it)) + 1, each node's to length 1.

    More than 1,000 words are summed up by a truncated SVD. Its ``components`` [num_components, words] are kept in a
    file of their own.
    """

    idf: dict[str, float]  # by word
    num_components: int = 0

    @property
    def components(self) -> np.ndarray:
        return self.__dict__["components"]

    @components.setter
    def components(self, matrix: np.ndarray) -> None:
        self.__dict__["components"] = matrix

    @classmethod
    def fit(cls, raw_graph: RawGraph, column_name: str, guess: KindGuess) -> Self:
        vectorizer = _build_tfidf_vectorizer(max_features=MAX_VOCABULARY, min_df=2, max_df=0.9)
        documents = _to_texts_or_empty(raw_graph.frame[column_name])
        try:
            matrix = vectorizer.fit_transform(documents)
        except ValueError:  # no word is left
            return cls(column_name, {})
        idf = dict(zip(vectorizer.get_feature_names_out().tolist(), vectorizer.idf_.tolist(), strict=True))
        width = _limit_width_to_memory(MAX_COMPONENTS, raw_graph)
        encoder = cls(column_name, idf, width if len(idf) > _limit_width_to_memory(MAX_TERMS, raw_graph) else 0)
        encoder.num_components = min(encoder.num_components, len(documents) - 1)
        if encoder.num_components:
            encoder.components = _fit_svd_components(matrix, encoder.num_components)
        return encoder

    @property
    def feature_names(self) -> list[str]:
        topics = [f"topic {i}" for i in range(self.num_components)]
        return [f"{self.name}: {term}" for term in topics or self.idf]

    def describe(self, reason: str) -> str:
        if not self.idf:
            return "left out: no word is in two nodes"
        topics = f", summed up in {self.num_components} topics" if self.num_components else ""
        return f"TF-IDF of {format_count(len(self.idf), 'word')}{topics}: {reason}"

    def encode_into(self, raw_graph: RawGraph, out: np.ndarray) -> None:
        for rows, words in self.iter_rows_and_words(raw_graph):
            self.write_features(words, out[rows])

    def iter_rows_and_words(self, raw_graph: RawGraph) -> Iterator[tuple[slice, Any]]:
        """Rows of a block and its TF-IDF [rows, words], block by block."""
        vectorizer = _build_tfidf_vectorizer(vocabulary={term: i for i, term in enumerate(self.idf)})
        vectorizer.idf_ = np.array(list(self.idf.values()))
        column = raw_graph.frame[self.name]
        for start in range(0, len(column), TEXT_BLOCK_ROWS):
            rows = slice(start, start + TEXT_BLOCK_ROWS)
            yield rows, vectorizer.transform(_to_texts_or_empty(column.iloc[rows]))

    def write_features(self, words: Any, out: np.ndarray) -> None:
        """Words as they are, or summed up in topics."""
        from sklearn.preprocessing import normalize

        out[:] = normalize(words @ self.components.T) if self.num_components else words.toarray()

    def describe_unseen_values_or_empty(self, raw_graph: RawGraph, features: np.ndarray) -> str:
        is_filled = _to_texts_or_nan(raw_graph.frame[self.name]).notna().to_numpy()
        num_filled, num_bare = int(is_filled.sum()), int((is_filled & ~features.any(axis=1)).sum())
        is_much = 10 * num_bare > num_filled  # in any graph some texts have only words that are not in the vocabulary
        return f"{num_bare:,} of {num_filled:,} nodes have no known word in '{self.name}'" if is_much else ""


def _fit_svd_components(matrix: Any, num_components: int) -> np.ndarray:
    from sklearn.decomposition import TruncatedSVD

    rows = np.random.default_rng(0).permutation(matrix.shape[0])[:SVD_SAMPLE_ROWS]
    svd = TruncatedSVD(num_components, n_iter=3, random_state=0).fit(matrix[np.sort(rows)])
    return np.ascontiguousarray(svd.components_, np.float32)


def _to_texts_or_empty(column: pd.Series[Any]) -> np.ndarray:
    return column.astype(str).where(column.notna(), "").to_numpy(object)


_WORD, _UNSPACED = re.compile(rf"(?:(?![{UNSPACED}])\w){{2,}}"), re.compile(f"[{UNSPACED}]+")


def _tokenize_words(text: str) -> list[str]:
    """Words of two letters or more. Of scripts that put no blanks between words, characters and pairs of them."""
    words = _WORD.findall(text)
    for run in () if text.isascii() else _UNSPACED.findall(text):
        words += [*run, *(run[i : i + 2] for i in range(len(run) - 1))]
    return words


def _build_tfidf_vectorizer(**options: Any) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    options = {"token_pattern": None, "tokenizer": _tokenize_words, "strip_accents": "unicode"} | options
    return TfidfVectorizer(sublinear_tf=True, dtype=np.float64, **options)


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
