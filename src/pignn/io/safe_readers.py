"""Readers of other people's files: they cannot run code, and errors name the file that is damaged."""

from __future__ import annotations

import pickle
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..core.errors import DataError
from ..core.text import format_error_in_one_line

NPY_MAGIC = b"\x93NUMPY"
MAX_UNPACKED_BYTES = 2**32
MAX_COMPRESSION = 200  # unpacked bytes per byte on disk; more is no data

# What NumPy arrays, SciPy matrices and plain containers need in a pickle, under old and new names.
_ALLOWED_NAMES = {
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
        if (module, name) not in _ALLOWED_NAMES:
            raise CodeInPickle(f"{module}.{name}")
        return super().find_class(module, name)


def read_pickle_without_code(path: Path, title: str) -> Any:
    """The arrays and containers in a pickle. Anything else in it is refused before it can run."""
    try:
        with open(path, "rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # old pickles spell NumPy's arguments the old way
            return _DataUnpickler(file, encoding="latin1").load()
    except CodeInPickle as error:
        raise DataError(f"{title} contains code, refused (it asks for {error}); get the file from its source") from None
    except Exception as error:
        raise build_damaged_file_error(title, error) from None


def read_npz(path: Path, *required: str, title: str = "") -> dict[str, np.ndarray]:
    """All arrays of an .npz file by name. Nothing is unpickled, and no archive may unpack to an absurd size."""
    title = title or str(path)
    arrays: dict[str, np.ndarray] = {}
    name = ""
    try:
        if path.is_file() and not zipfile.is_zipfile(path):
            raise DataError(f"{title} is damaged or not an .npz file; save it with numpy.savez")
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist())
        if unpacked > max(MAX_UNPACKED_BYTES, MAX_COMPRESSION * path.stat().st_size):
            raise DataError(f"{title} would unpack to {unpacked >> 30:,} GiB; that is refused")
        with np.load(path, allow_pickle=False) as file:
            for name in file.files:
                arrays[name] = file[name]
    except DataError:
        raise
    except Exception as error:
        raise _build_pickled_or_damaged_file_error(f"{title}: '{name}'" if name else title, title, error) from None
    if missing := [key for key in required if key not in arrays]:
        raise DataError(f"{title} is damaged or another file: it has no {', '.join(missing)}")
    return arrays


def read_npy(path: Path, *, title: str = "", memory_map: bool = False) -> np.ndarray:
    """The array of an .npy file, never unpickled."""
    title = title or str(path)
    try:
        with open(path, "rb") as file:
            if file.read(len(NPY_MAGIC)) != NPY_MAGIC:  # NumPy would take anything else for a pickle
                raise DataError(f"cannot read {title}: it is not an .npy file")
        return np.load(path, mmap_mode="r" if memory_map else None, allow_pickle=False)
    except DataError:
        raise
    except Exception as error:
        raise _build_pickled_or_damaged_file_error(title, title, error) from None


def _build_pickled_or_damaged_file_error(array_title: str, title: str, error: Exception) -> DataError:
    if "pickle" in str(error) or "Python objects" in str(error):
        return DataError(f"{array_title} holds pickled Python objects, which are refused; save plain arrays")
    return build_damaged_file_error(title, error)


def read_tsv(path: Path, title: str, num_columns: int) -> pd.DataFrame:
    """A tab-separated file with a header, if every line has as many columns as it should."""
    try:
        rows = pd.read_csv(path, sep="\t", header=0, dtype=str)
    except Exception as error:
        raise build_damaged_file_error(title, error) from None
    if rows.shape[1] != num_columns or rows.isna().any(axis=None):
        raise DataError(f"{title} is damaged: not every line has {num_columns} columns; get the file again")
    return rows


def read_integer_lines(path: Path, title: str) -> np.ndarray:
    """A text file with one integer per line."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an empty file needs no warning
            return np.loadtxt(path, dtype=np.int64, ndmin=1)
    except Exception as error:
        raise build_damaged_file_error(title, error) from None


def build_damaged_file_error(title: str, error: Exception) -> DataError:
    """The error for a file that cannot be read."""
    return DataError(f"{title} is damaged ({format_error_in_one_line(error)}); get the file again")
