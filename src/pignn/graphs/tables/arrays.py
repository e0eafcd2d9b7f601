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


def is_array(value: ArrayOrFile) -> bool:
    """Whether it is an array, or the name of a file with one."""
    return isinstance(value, np.ndarray) or str(value).lower().endswith(".npy")


def load_array(value: ArrayOrFile) -> np.ndarray:
    """An array as it is, or memory-mapped from its file."""
    if isinstance(value, np.ndarray):
        return value
    if Path(value).suffix.lower() != ".npy":
        raise DataError(f"cannot read {value}: expected a .npy file")
    return read_npy(Path(value), memory_map=True)
