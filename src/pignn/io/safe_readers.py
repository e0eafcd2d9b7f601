"""Raw files are somebody else's: read them so that they cannot run code, and name the one that is damaged."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..core.errors import DataError
from ..core.text import one_line_text

# What NumPy arrays, SciPy matrices and plain containers need in a pickle, under old and new names.
_ADMITTED = {
    *((module, name) for module in ("builtins", "__builtin__") for name in ("list", "dict", "set", "object")),
    *((module, "_reconstructor") for module in ("copyreg", "copy_reg")),
    *((f"numpy.{core}.multiarray", name) for core in ("core", "_core") for name in ("_reconstruct", "scalar")),
    *((f"numpy.{core}.numeric", "_frombuffer") for core in ("core", "_core")),
    *((f"scipy.sparse.{module}", "csr_matrix") for module in ("csr", "_csr")),
    ("collections", "defaultdict"),
    ("collections", "OrderedDict"),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("_codecs", "encode"),  # bytes, as Python 3 writes them for Python 2
}


class CodeInPickle(Exception):
    """A pickle asks for something other than data."""


class _DataUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ADMITTED:
            raise CodeInPickle(f"{module}.{name}")
        return super().find_class(module, name)


def read_pickle(path: Path, label: str) -> Any:
    """The arrays and containers in a pickle; anything else in it is refused before it can run."""
    try:
        with open(path, "rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # old pickles spell NumPy's arguments the old way
            return _DataUnpickler(file, encoding="latin1").load()
    except CodeInPickle as error:
        raise DataError(f"{label} contains code, refused (it asks for {error}); get the file from its source") from None
    except Exception as error:
        raise damaged_file_error(label, error) from None


def read_npz(path: Path, label: str, *needed: str) -> dict[str, np.ndarray]:
    """All arrays of an .npz file, never unpickled."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files}
    except Exception as error:
        raise damaged_file_error(label, error) from None
    if missing := [key for key in needed if key not in arrays]:
        raise DataError(f"{label} is damaged or another file: it has no {', '.join(missing)}")
    return arrays


def read_tsv(path: Path, label: str, columns: int) -> pd.DataFrame:
    """A tab-separated file with a heading, if it has as many columns as it should in every line."""
    try:
        rows = pd.read_csv(path, sep="\t", header=0, dtype=str)
    except Exception as error:
        raise damaged_file_error(label, error) from None
    if rows.shape[1] != columns or rows.isna().any(axis=None):
        raise DataError(f"{label} is damaged: not every line has {columns} columns; get the file again")
    return rows


def read_integers(path: Path, label: str) -> np.ndarray:
    """A text file with one integer a line."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an empty file is no reason for NumPy to speak
            return np.loadtxt(path, dtype=np.int64, ndmin=1)
    except Exception as error:
        raise damaged_file_error(label, error) from None


def damaged_file_error(label: str, error: Exception) -> DataError:
    return DataError(f"{label} is damaged ({one_line_text(error)}); get the file again")
