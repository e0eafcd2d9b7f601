"""Sentence embeddings of texts, by a model in a folder of this machine (extra ``texts``)."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import Any, Self

import numpy as np

from ...core.errors import ConfigError, DataError
from ...core.text import format_error_in_one_line
from .column_kinds import compute_missing_mask
from .encoders import SingleColumnEncoder
from .raw_graph import RawGraph

BATCH_SIZE = 64
PICKLED = ("*.bin", "*.pt", "*.pth", "*.pkl", "*.ckpt")
INSTALL = "sentence embeddings need sentence-transformers: pip install 'pignn[texts]', or leave text_model out"


class SentenceEncoder(SingleColumnEncoder, tag="sentences"):
    """The embedding of each text by a sentence-transformers model, of length 1; zeros where there is no text."""

    model: str  # its folder
    num_dimensions: int

    @classmethod
    def fit_with_model(cls, column_name: str, folder: str) -> Self:
        path = str(Path(folder).absolute())
        dimensions = load_sentence_model(path).encode(["a"], show_progress_bar=False).shape[1]
        return cls(column_name, path, int(dimensions))

    @property
    def feature_names(self) -> list[str]:
        return [f"{self.name}: embedding {i}" for i in range(self.num_dimensions)]

    def describe(self, reason: str) -> str:
        return f"sentence embeddings of {self.num_dimensions} numbers by {Path(self.model).name}: {reason}"

    def encode_into(self, raw_graph: RawGraph, out: np.ndarray) -> None:
        column = raw_graph.frame[self.name]
        filled = ~compute_missing_mask(column)
        model, texts = load_sentence_model(self.model), column[filled].astype(str).tolist()
        out[:] = 0
        if texts:
            options = {"normalize_embeddings": True, "show_progress_bar": False, "convert_to_numpy": True}
            vectors = model.encode(texts, batch_size=BATCH_SIZE, **options)
            if vectors.shape[1] != self.num_dimensions:
                raise DataError(
                    f"{self.model} gives {vectors.shape[1]} numbers per text, the model was trained on "
                    f"{self.num_dimensions}; give the folder of the same sentence model as text_model="
                )
            out[filled] = vectors


def check_sentence_model_folder_exists(folder: str | os.PathLike[str]) -> None:
    """Refuse what is no folder: models are not fetched."""
    if not Path(folder).is_dir():
        raise ConfigError(f"no folder of a sentence model at {folder}; give it with --text-model (text_model=)")


@functools.cache
def load_sentence_model(folder: str) -> Any:
    """A sentence model, which is neither fetched nor unpickled."""
    check_sentence_model_folder_exists(folder)
    path = Path(folder)
    if pickled := next((file for pattern in PICKLED for file in path.rglob(pattern)), None):
        raise ConfigError(f"{pickled} is pickled, which could run code; save the sentence model as safetensors")
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise ConfigError(INSTALL) from None
    try:
        return SentenceTransformer(folder, device="cpu", local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
        reason = format_error_in_one_line(error)
        raise ConfigError(f"{folder} is no folder of a sentence-transformers model: {reason}") from None
