"""Arrays in memory and in .npy files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeAlias

import numpy as np

from ...core.errors import DataError
from .text_files import translate_read_errors

PathLike: TypeAlias = str | os.PathLike[str]
ArrayOrFile: TypeAlias = PathLike | np.ndarray


def is_array(value: ArrayOrFile) -> bool:
    """Whether it is an array, or the name of a file with one."""
    return isinstance(value, np.ndarray) or str(value).lower().endswith(".npy")


def load_array(value: ArrayOrFile) -> np.ndarray:
    """An array as it is, or memory-mapped from its file."""
    if isinstance(value, np.ndarray):
        return value
    path = Path(value)
    if path.suffix.lower() != ".npy":
        raise DataError(f"cannot read {path}: expected a .npy file")
    with translate_read_errors(path):
        with open(path, "rb") as file:
            if file.read(6) != b"\x93NUMPY":  # NumPy would take anything else for a pickle
                raise DataError(f"cannot read {path}: not a .npy file")
        try:
            return np.load(path, mmap_mode="r", allow_pickle=False)
        except ValueError as error:
            if "Python objects" in str(error):
                raise DataError(f"{path} holds pickled Python objects, which are refused: save numbers") from None
            raise
