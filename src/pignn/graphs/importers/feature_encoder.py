"""All columns of a node table as features. What was learned (scales, categories, words) applies to other graphs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np
import scipy.sparse as sp

from ...core.errors import ConfigError, DataError, ModelFileError, build_unknown_name_error, warn_user
from ...core.text import format_count, format_error_in_one_line
from ...io.files import read_tensors_and_metadata, write_bytes_atomically, write_tensors_and_metadata
from ..tables.arrays import PathLike
from ..tables.formats import get_format_suffix
from .column_kinds import COLUMN_KINDS, KindGuess, guess_column_kinds
from .encoders import (
    CategoryEncoder,
    ColumnEncoder,
    NumericEncoder,
    PassthroughEncoder,
    SingleColumnEncoder,
    StructureEncoder,
    TfidfEncoder,
)
from .raw_graph import RawGraph
from .sentences import SentenceEncoder

if TYPE_CHECKING:
    from torch import Tensor

AnyEncoder = PassthroughEncoder | NumericEncoder | CategoryEncoder | TfidfEncoder | SentenceEncoder | StructureEncoder
FILE_NAME, TENSORS_FILE = "features.json", "features.safetensors"
MAX_WORD_ENTRIES = 30_000_000  # of the words of all nodes that are kept beside their topics
_ENCODERS: dict[tuple[str, ...], type[NumericEncoder | CategoryEncoder | TfidfEncoder]] = {
    ("number", "date", "vector"): NumericEncoder,
    ("category",): CategoryEncoder,
    ("text",): TfidfEncoder,
}


@dataclass(frozen=True, eq=False, repr=False)
class WordFeatures:
    """Features of all nodes with the words of texts in place of their topics: `data.x_words`."""

    matrix: sp.csr_array  # [N, words and other features]

    def __repr__(self) -> str:  # a matrix would fill the screen where PyG shows a graph
        return f"WordFeatures({list(self.matrix.shape)})"


class FeatureEncoder(msgspec.Struct, eq=False):
    """Encodes the columns of a node table as features. It is fitted once and encodes any table with these columns.

    ``column_notes`` say for each column what was done and why, ``column_kinds`` what it was taken for. ``roles`` are
    the columns of the training table that are no features: id, label, trusted and source.
    """

    encoders: list[AnyEncoder]
    column_notes: dict[str, str]
    roles: dict[str, Any] = {}
    column_kinds: dict[str, str] = {}
    format: Literal[1] = 1

    @classmethod
    def fit(
        cls,
        raw_graph: RawGraph,
        columns: Sequence[str],
        kinds_by_column: Mapping[str, str],
        *,
        with_structural_features: bool,
        text_model: str | None = None,
    ) -> FeatureEncoder:
        """Fit these columns, of the kinds that are given, else guessed. Without any, structural features are used.

        ``text_model`` is the folder of a sentence model, which texts then become embeddings of.
        """
        notes: dict[str, str] = {}
        encoders: list[AnyEncoder] = []
        if raw_graph.x is not None:
            encoders.append(PassthroughEncoder(raw_graph.x.shape[1]))
            notes["(given)"] = f"{format_count(raw_graph.x.shape[1], 'number')} per node, as they are"
        decimal_hint = "," if raw_graph.origin.delimiter == ";" else ""
        guesses = guess_column_kinds(raw_graph.frame, list(columns), kinds_by_column, decimal_hint)
        _warn_about_doubtful_kinds(guesses, raw_graph.title)
        notes |= {name: f"left out: {reason}" for name, (kind, reason, *_) in guesses.items() if kind == "none"}
        for encoder_kinds, encoder_type in _ENCODERS.items():
            for name, guess in guesses.items():
                if guess.kind in encoder_kinds:
                    encoder = (
                        SentenceEncoder.fit_with_model(name, text_model)
                        if text_model is not None and encoder_type is TfidfEncoder
                        else encoder_type.fit(raw_graph, name, guess)
                    )
                    encoders += [encoder] if encoder.width else []
                    notes[name] = encoder.describe(guess.reason)
        if with_structural_features or not encoders:
            encoders.append(StructureEncoder.fit(raw_graph))
            reason = "as given" if with_structural_features else "there are no other features"
            notes["(structure)"] = f"degrees, triangles, random walks: {reason}"
        if text_model is not None and not any(isinstance(encoder, SentenceEncoder) for encoder in encoders):
            warn_user(
                f"{raw_graph.title}: no column is text, so text_model is not used; --features 'name:text' takes one in"
            )
        _warn_if_most_columns_dropped({name: notes[name] for name in guesses}, raw_graph.title)
        return cls(encoders, notes, column_kinds={name: guess.kind for name, guess in guesses.items()})

    def __repr__(self) -> str:
        columns, features = format_count(len(self.input_columns), "column"), format_count(self.width, "feature")
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
        return [encoder.name for encoder in self.encoders if isinstance(encoder, SingleColumnEncoder)]

    @property
    def feature_names(self) -> list[str]:
        return [name for encoder in self.encoders for name in encoder.feature_names]

    def count_features_per_column(self) -> dict[str, int]:
        """How many features each column gives."""
        others: dict[type, str] = {PassthroughEncoder: "(given)", StructureEncoder: "(structure)"}
        return {getattr(encoder, "name", others.get(type(encoder), "")): encoder.width for encoder in self.encoders}

    @property
    def sentence_model_folder(self) -> str | None:
        """The folder of the sentence model, where texts are embedded by one."""
        return next((each.model for each in self.encoders if isinstance(each, SentenceEncoder)), None)

    def set_sentence_model_folder(self, folder: str) -> None:
        """Read the sentence model from another folder than where it was when the columns were fitted."""
        for encoder in self.encoders:
            if isinstance(encoder, SentenceEncoder):
                encoder.model = folder

    def check_has_columns(self, columns: Iterable[str], title: str) -> None:
        """Check that a table has the columns that the model was trained on."""
        present = set(columns)
        if missing := [name for name in self.input_columns if name not in present]:
            raise DataError(f"{title} lacks the column '{missing[0]}', which the model was trained on")

    def encode(self, raw_graph: RawGraph) -> Tensor:
        """Features [N, width] in float32."""
        return self.encode_with_words(raw_graph, max_entries=0)[0]

    def encode_with_words(
        self, raw_graph: RawGraph, max_entries: int = MAX_WORD_ENTRIES
    ) -> tuple[Tensor, WordFeatures | None]:
        """Features [N, width] in float32, and the same with the words of texts in place of their topics.

        The second is None where no text was summed up in topics, and where it would have more entries than this.
        """
        self.check_has_columns(raw_graph.frame.columns, raw_graph.title)
        x = np.empty((raw_graph.num_nodes, self.width), np.float32)
        blocks = list[sp.csr_array]()
        for encoder, features in self._iter_encoders_with_features(x):
            if max_entries and isinstance(encoder, TfidfEncoder) and encoder.num_components:
                parts = list[Any]()
                for rows, words in encoder.iter_rows_and_words(raw_graph):
                    encoder.write_features(words, features[rows])
                    parts.append(words.astype(np.float32))
                blocks.append(sp.csr_array(sp.vstack(parts)))
            else:
                encoder.encode_into(raw_graph, features)
        import torch

        return torch.from_numpy(x), self._join_words_and_other_features_or_none(blocks, x, max_entries)

    def _join_words_and_other_features_or_none(
        self, word_blocks: list[sp.csr_array], x: np.ndarray, max_entries: int
    ) -> WordFeatures | None:
        if not word_blocks:
            return None
        reduced = {int(index) for index, _ in self._iter_reduced_text_encoders_by_index()}
        others = [features for i, (_, features) in enumerate(self._iter_encoders_with_features(x)) if i not in reduced]
        num_entries = sum(block.nnz for block in word_blocks) + sum(np.count_nonzero(block) for block in others)
        if num_entries > max_entries:
            return None
        return WordFeatures(sp.csr_array(sp.hstack([*word_blocks, *map(sp.csr_array, others)], format="csr")))

    def describe_unseen_values_or_empty(self, raw_graph: RawGraph, x: np.ndarray) -> str:
        """Which values of a graph the model did not see at training, for people. Empty if there are few."""
        texts = [
            encoder.describe_unseen_values_or_empty(raw_graph, features)
            for encoder, features in self._iter_encoders_with_features(x)
        ]
        return "; ".join(text for text in texts if text)

    def _iter_encoders_with_features(self, x: np.ndarray) -> Iterator[tuple[ColumnEncoder, np.ndarray]]:
        """Each encoder with its columns of the features."""
        start = 0
        for encoder in self.encoders:
            yield encoder, x[:, start : start + encoder.width]
            start += encoder.width

    def save(self, folder: PathLike) -> None:
        """Write ``features.json`` into the folder of a model, and ``features.safetensors`` if there are matrices."""
        import torch

        tensors = {
            name: torch.from_numpy(encoder.components) for name, encoder in self._iter_reduced_text_encoders_by_index()
        }
        if tensors:
            write_tensors_and_metadata(Path(folder) / TENSORS_FILE, tensors, {"kind": "features"})
        write_bytes_atomically(Path(folder) / FILE_NAME, msgspec.json.encode(self))

    def _iter_reduced_text_encoders_by_index(self) -> Iterator[tuple[str, TfidfEncoder]]:
        for i, encoder in enumerate(self.encoders):
            if isinstance(encoder, TfidfEncoder) and encoder.num_components:
                yield str(i), encoder

    def load_text_components(self, path: Path) -> None:
        """Load what is not in ``features.json``."""
        for name, encoder in self._iter_reduced_text_encoders_by_index():
            components = read_tensors_and_metadata(path)[0].get(name)
            if components is None or list(components.shape) != [encoder.num_components, len(encoder.idf)]:
                raise ModelFileError(f"{path} does not fit {FILE_NAME}; train the model again")
            encoder.components = components.numpy()


def load_feature_encoder(path: PathLike) -> FeatureEncoder | None:
    """Load the encoder from the folder of a model or of a run. None where there is none."""
    folder = Path(path)
    folder = folder / "model" if (folder / "model" / "model.json").exists() else folder
    file = folder / FILE_NAME
    if not file.exists():
        return None
    try:
        encoder = msgspec.json.decode(file.read_bytes(), type=FeatureEncoder)
    except OSError as error:
        raise ModelFileError(f"cannot read {file}: {error.strerror}") from None
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise ModelFileError(f"cannot read {file}: {format_error_in_one_line(error)}; train the model again") from None
    encoder.load_text_components(folder / TENSORS_FILE)
    return encoder


def _warn_about_doubtful_kinds(guesses: Mapping[str, KindGuess], title: str) -> None:
    """Say what could be meant otherwise; columns that are written alike in one line."""
    groups: dict[str, list[str]] = {}
    for name, guess in guesses.items():
        if guess.doubt:
            groups.setdefault(guess.kind if guess.kind in ("number", "date") else name, []).append(name)
    for kind, names in groups.items():
        others = f" (and {format_count(len(names) - 1, 'column')} alike, first '{names[1]}')" if len(names) > 1 else ""
        advice = (
            ", which the table does not tell; write it unmistakably if that is wrong" if kind in COLUMN_KINDS else ""
        )
        warn_user(f"{title}, column '{names[0]}'{others}: {guesses[names[0]].doubt}{advice}")


def _warn_if_most_columns_dropped(notes: Mapping[str, str], title: str) -> None:
    left_out = [f"'{name}' ({note.partition(': ')[2]})" for name, note in notes.items() if note.startswith("left out")]
    if len(left_out) > max(len(notes) / 2, 1):
        listing = ", ".join(left_out[:20]) + (f" and {len(left_out) - 20:,} more" if len(left_out) > 20 else "")
        warn_user(
            f"{title}: {len(left_out):,} of {len(notes):,} columns are left out of the features: {listing}; "
            "--features 'name:kind' (features=) takes one in"
        )


def select_feature_columns_and_kinds(
    feature_patterns: Sequence[str], columns: Sequence[str], roles: Mapping[str, str]
) -> tuple[list[str], dict[str, str]]:
    """The columns that are named, by name or pattern, and the kinds given as ``"name:kind"``.

    ``roles`` are the columns that cannot be features, and what they are.
    """
    chosen: list[str] = []
    kinds: dict[str, str] = {}
    for text in feature_patterns:
        pattern, colon, kind = text.rpartition(":")
        if text in columns or not colon:
            pattern, kind = text, ""
        if kind and kind not in COLUMN_KINDS:
            raise build_unknown_name_error("kind of column", kind, COLUMN_KINDS)
        names = [name for name in columns if fnmatchcase(name, pattern) and name not in roles]
        if not names and pattern in roles:
            raise ConfigError(f"column '{pattern}' is the {roles[pattern]}, not a feature")
        if not names and get_format_suffix(pattern):
            raise DataError(f"cannot read {pattern}: no such file of features; check the path")
        if not names:
            raise build_unknown_name_error("features column", pattern, columns)
        chosen += names
        kinds |= dict.fromkeys(names, kind) if kind else {}
    return list(dict.fromkeys(chosen)), kinds
