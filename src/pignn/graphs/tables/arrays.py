"""Arrays in memory and in .npy files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeAlias

import numpy as np

from ...core.errors import DataError
from ...io.safe_readers import read_npy

PathLike: TypeAlias = str | os.PathLike[str]
ArrayOrFile: TypeAlias = PathLike | np.ndarray


def is_array_or_npy_path(array_or_path: ArrayOrFile) -> bool:
    """Whether it is an array, or the name of a file with one."""
    return isinstance(array_or_path, np.ndarray) or str(array_or_path).lower().endswith(".npy")


def load_or_map_array(array_or_path: ArrayOrFile) -> np.ndarray:
    """An array as it is, or memory-mapped from its file."""
    if isinstance(array_or_path, np.ndarray):
        return array_or_path
    if Path(array_or_path).suffix.lower() != ".npy":
        raise DataError(f"cannot read {array_or_path}: expected a .npy file")
    return read_npy(Path(array_or_path), memory_map=True)
