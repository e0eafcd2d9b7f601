"""Kinds of noise by name, their transition matrices and their random numbers."""

from __future__ import annotations

import zlib
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from ..core.errors import ConfigError, DataError, unknown

MATRIX_KINDS = ("symmetric", "pair", "flip", "one-sided")
KINDS = (*MATRIX_KINDS, "instance", "rule", "cluster", "none")

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]


def transition_matrix(kind: str, rate: float, num_classes: int, seed: int = 0) -> Floats:
    """T of `symmetric`, `pair`, `flip` or `one-sided` noise (see the package): [n, n], float64, rows sum to 1.

    The seed matters to `flip` only: class i goes to one class, uniform among the n − 1 others.
    """
    kind = check_kind(kind)
    if kind not in MATRIX_KINDS:
        raise ConfigError(f"noise '{kind}' has no transition matrix of its own; {', '.join(MATRIX_KINDS)} have")
    rate = check_rate(rate)
    if num_classes < 2:
        raise DataError(f"label noise needs at least two classes, not {num_classes}")
    classes = np.arange(num_classes)
    matrix = np.zeros((num_classes, num_classes))
    if kind == "symmetric":
        matrix += rate / (num_classes - 1)
    elif kind == "one-sided":
        matrix[1:, 0] = rate
        matrix[0, 0] = 1.0
        classes = classes[1:]
    else:
        step = 1 if kind == "pair" else stream("flip-targets", seed).integers(1, num_classes, num_classes)
        matrix[classes, (classes + step) % num_classes] = rate
    matrix[classes, classes] = 1.0 - rate
    return matrix


def check_kind(kind: str) -> str:
    if kind == "asymmetric":
        raise ConfigError("noise 'asymmetric' has two meanings: 'pair' (i to i + 1) and 'flip' (i to a random class)")
    if kind not in KINDS:
        raise unknown("noise kind", kind, KINDS)
    return kind


def check_rate(rate: float) -> float:
    try:
        value = float(rate)
    except (TypeError, ValueError):
        raise ConfigError(f"the noise rate must be a number between 0 and 1, not {rate!r}") from None
    if not 0.0 <= value <= 1.0:  # also refuses NaN
        raise ConfigError(f"the noise rate must be between 0 and 1, not {value}")
    return value


def stream(name: str, seed: int) -> np.random.Generator:
    """The random numbers of one use and seed, independent of those of any other."""
    return np.random.default_rng([seed, zlib.crc32(name.encode())])


def check_transition_matrix(values: ArrayLike | torch.Tensor) -> Floats:
    """A user's transition matrix, checked."""
    if isinstance(values, torch.Tensor):
        values = values.detach().cpu().numpy()
    try:
        matrix = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ConfigError("a transition matrix must be a square table of numbers") from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ConfigError(f"a transition matrix must be square, not of shape {list(matrix.shape)}")
    if not ((matrix >= 0) & (matrix <= 1)).all():
        raise ConfigError("the entries of a transition matrix must be between 0 and 1")
    off = np.abs(matrix.sum(axis=1) - 1)
    if (off > 1e-4).any():
        row = int(off.argmax())
        raise ConfigError(f"the rows of a transition matrix must sum to 1, row {row} sums to {matrix[row].sum():.6g}")
    return matrix
