"""Noise that depends on the true class alone: a transition matrix T with T[i, j] = P(given = j | true = i)."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import ArrayLike

from ..core.errors import ConfigError, DataError
from .kinds import Floats, Ints, LabelsToCorrupt, NoiseKind, make_generator, parse_rate
from .registry import make_noise_kind


class MatrixNoise(NoiseKind):
    """Noise that draws each given label from the row of T that belongs to the true class."""

    has_transition_matrix: ClassVar[bool] = True

    @abstractmethod
    def build_matrix(self, rate: float, num_classes: int, seed: int) -> Floats:
        """T, [classes, classes]; its rows sum to 1."""

    def corrupt_labels(self, labels_to_corrupt: LabelsToCorrupt) -> Ints:
        matrix = self.build_matrix(labels_to_corrupt.rate, labels_to_corrupt.num_classes, labels_to_corrupt.seed)
        return _draw_labels(matrix, labels_to_corrupt.true_labels, labels_to_corrupt.uniform_draws[0])


class SymmetricNoise(MatrixNoise):
    """1 − ε on the diagonal, ε/(n − 1) elsewhere."""

    name = "symmetric"

    def build_matrix(self, rate: float, num_classes: int, seed: int) -> Floats:
        matrix = np.full((num_classes, num_classes), rate / (num_classes - 1))
        np.fill_diagonal(matrix, 1.0 - rate)
        return matrix


class PairNoise(MatrixNoise):
    """1 − ε on the diagonal, ε at (i, i + 1 mod n)."""

    name = "pair"

    def build_matrix(self, rate: float, num_classes: int, seed: int) -> Floats:
        return _build_shift_matrix(rate, np.ones(num_classes, dtype=np.int64))


class FlipToRandomClassNoise(MatrixNoise):
    """1 − ε on the diagonal, ε at (i, one other class, drawn uniformly once per seed)."""

    name = "flip"

    def build_matrix(self, rate: float, num_classes: int, seed: int) -> Floats:
        return _build_shift_matrix(rate, make_generator("flip-targets", seed).integers(1, num_classes, num_classes))


class PreviousPairNoise(MatrixNoise):
    """1 − ε on the diagonal, ε at (i, i − 1 mod n): what the NoisyGL benchmark calls pair noise."""

    name = "pair-previous"

    def build_matrix(self, rate: float, num_classes: int, seed: int) -> Floats:
        return _build_shift_matrix(rate, np.full(num_classes, -1))


class RandomMatrixNoise(MatrixNoise):
    """1 − ε on the diagonal, ε shared out at random elsewhere: uniform numbers per row, scaled, once per seed."""

    name = "random"

    def build_matrix(self, rate: float, num_classes: int, seed: int) -> Floats:
        matrix = make_generator("random-matrix", seed).random((num_classes, num_classes))
        np.fill_diagonal(matrix, 0.0)
        matrix *= rate / matrix.sum(axis=1, keepdims=True)
        np.fill_diagonal(matrix, 1.0 - rate)
        return matrix


class FlipToFirstClassNoise(MatrixNoise):
    """1 − ε on the diagonal, ε at (i, 0), for i > 0. Class 0 keeps its labels: other classes are sometimes missed."""

    name = "one-sided"

    def build_matrix(self, rate: float, num_classes: int, seed: int) -> Floats:
        matrix = np.eye(num_classes) * (1.0 - rate)
        matrix[1:, 0] = rate
        matrix[0, 0] = 1.0
        return matrix


class NoNoise(NoiseKind):
    """Given labels are the true ones."""

    name = "none"
    takes_rate: ClassVar[bool] = False

    def corrupt_labels(self, labels_to_corrupt: LabelsToCorrupt) -> Ints:
        return labels_to_corrupt.true_labels


class CustomMatrixNoise(MatrixNoise):
    """A transition matrix of the user's own."""

    name = "matrix"
    takes_rate: ClassVar[bool] = False

    def __init__(self, matrix: ArrayLike | torch.Tensor) -> None:
        self.matrix = parse_transition_matrix(matrix)

    def build_matrix(self, rate: float, num_classes: int, seed: int) -> Floats:
        size = len(self.matrix)
        if size != num_classes:
            raise DataError(f"the transition matrix is {size} × {size}, the graph has {num_classes} classes")
        return self.matrix

    def to_record(self) -> dict[str, Any]:
        return {"kind": self.name, "matrix": self.matrix.tolist()}


def build_transition_matrix(kind: str, rate: float, num_classes: int, seed: int = 0) -> Floats:
    """T of a kind of noise that has one, such as `symmetric`: [classes, classes], float64, rows sum to 1.

    The seed matters to `flip` and `random` only.
    """
    noise = make_noise_kind(kind)
    if not isinstance(noise, MatrixNoise):
        raise ConfigError(f"noise '{kind}' has no transition matrix; choose a kind that depends on the class alone")
    if num_classes < 2:
        raise DataError(f"label noise needs at least two classes, not {num_classes}")
    return noise.build_matrix(parse_rate(rate), num_classes, seed)


def parse_transition_matrix(values: ArrayLike | torch.Tensor) -> Floats:
    """A user's transition matrix as an array, or an error that says what is wrong with it."""
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


def _build_shift_matrix(rate: float, shift_by_class: Ints) -> Floats:
    """T in which class i becomes class i + shift_by_class[i] mod n."""
    num_classes = len(shift_by_class)
    classes = np.arange(num_classes)
    matrix = np.zeros((num_classes, num_classes))
    matrix[classes, (classes + shift_by_class) % num_classes] = rate
    matrix[classes, classes] = 1.0 - rate
    return matrix


def _draw_labels(matrix: Floats, true_labels: Ints, uniform_draws: Floats) -> Ints:
    """One class per node from the row of its true class, by inverting the distribution function.

    A row is read from the diagonal on: draws below T[i, i] keep the label, so flips are nested in the rate.
    """
    given = true_labels.copy()
    for true_class, row in enumerate(matrix):
        nodes = true_labels == true_class
        total = np.roll(row, -true_class).cumsum()
        # Dividing makes the last value exactly 1, above every draw: an entry of 0 can never be drawn.
        chosen = np.searchsorted(total / total[-1], uniform_draws[nodes], side="right")
        given[nodes] = (true_class + chosen) % len(matrix)
    return given
