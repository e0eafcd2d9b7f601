"""Labels that somebody really gave, and files that hold them or a transition matrix."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from ..core.errors import DataError
from ..io.safe_readers import read_npy, read_npz
from .kinds import Floats, Ints, LabelsToCorrupt, NoiseKind
from .matrix_kinds import parse_transition_matrix
from .registry import check_and_tell_if_noise_file, make_noise_kind

LABEL_KEYS = ("noisy_label", "labels", "y")
MATRIX_KEYS = ("matrix", "transition")


class RecordedLabels(NoiseKind):
    """Labels that somebody really gave, as a kind of noise for `corrupt`.

    Args:
        labels: one class number per node, -1 where there is none.
        class_names: names of the classes that the numbers stand for.
        source: where the labels come from, for messages and records.
        true_labels: the true labels that were recorded beside them, if known. `corrupt` compares these with the true
            labels of the graph, which catches labels recorded for another order of nodes.
    """

    name = "recorded"
    takes_rate: ClassVar[bool] = False

    def __init__(
        self,
        labels: ArrayLike | torch.Tensor,
        class_names: Sequence[str] | None = None,
        source: str = "",
        true_labels: ArrayLike | torch.Tensor | None = None,
    ) -> None:
        self.source = source
        self.labels = parse_class_numbers(labels, "recorded labels" + (f" in {source}" if source else ""))
        self.class_names = None if class_names is None else [str(name) for name in class_names]
        self.true_labels: Ints | None = None
        if true_labels is not None:
            self.true_labels = parse_class_numbers(true_labels, "true labels" + (f" in {source}" if source else ""))

    def corrupt_labels(self, labels_to_corrupt: LabelsToCorrupt) -> Ints:
        """The recorded labels in the graph's numbering of classes, checked against the graph."""
        graph_labels = labels_to_corrupt.all_true_labels
        recorded, true = self.labels, self.true_labels
        source_text = f" ({self.source})" if self.source else ""
        if len(recorded) != len(graph_labels) or (true is not None and len(true) != len(graph_labels)):
            lengths = f"{len(recorded)} recorded labels" + ("" if true is None else f" and {len(true)} true ones")
            raise DataError(f"{lengths}{source_text} for a graph of {len(graph_labels)} nodes")
        _check_class_numbers_or_unlabeled(recorded, labels_to_corrupt.num_classes, f"recorded labels{source_text}")
        if true is not None:
            _check_class_numbers_or_unlabeled(true, labels_to_corrupt.num_classes, f"true labels{source_text}")
        class_map = self._build_map_to_graph_classes_or_none(
            [str(name) for name in labels_to_corrupt.data.class_names], source_text
        )
        if class_map is not None:
            recorded, true = class_map[recorded], None if true is None else class_map[true]
        if true is not None and (true != graph_labels)[graph_labels >= 0].any():
            raise DataError(
                f"the recorded labels{source_text} were recorded for another order of nodes: the true labels differ"
            )
        return recorded[labels_to_corrupt.nodes]

    def _build_map_to_graph_classes_or_none(self, graph_names: list[str], source_text: str) -> Ints | None:
        """The graph's number of each recorded class, None where they are the same. Entry -1 maps to itself."""
        names = list(self.class_names or [])
        if not names or names == graph_names:
            return None
        if sorted(names) == sorted(graph_names):
            return np.array([*(graph_names.index(name) for name in names), -1])
        if all(name.isdecimal() for name in graph_names):  # mere numbers are no names
            return None
        other = next((name for name in names if name not in graph_names), graph_names[-1])
        raise DataError(
            f"class '{other}' of the recorded labels{source_text} is not a class of the graph; name classes alike"
        )

    def to_record(self) -> dict[str, Any]:
        return {"kind": self.name, "source": self.source}


def load_recorded_labels(path: str | os.PathLike[str]) -> RecordedLabels:
    """Recorded labels from an `.npz` file.

    The labels are under `noisy_label`, `labels` or `y`. There may be true labels under `clean_label`, and
    `class_names`.
    """
    return _build_recorded_labels_from_arrays(_read_noise_file_as_arrays_by_name(Path(path)), Path(path))


def load_labels_or_matrix_or_check_noise_name(name_or_path: str) -> str | RecordedLabels | Floats:
    """What `--noise` accepts: the name of a kind, or a file.

    An `.npz` file holds recorded labels (see `load_recorded_labels`) or a matrix under `matrix` or `transition`.
    `.npy` and `.csv` files (numbers separated by commas, no header) hold a transition matrix.
    """
    path = Path(name_or_path)
    if not check_and_tell_if_noise_file(name_or_path):
        make_noise_kind(name_or_path)
        return name_or_path
    arrays = _read_noise_file_as_arrays_by_name(path)
    for key in MATRIX_KEYS:
        if key in arrays:
            return parse_transition_matrix(arrays[key])
    return _build_recorded_labels_from_arrays(arrays, path)


def _build_recorded_labels_from_arrays(arrays: Mapping[str, NDArray[Any]], path: Path) -> RecordedLabels:
    key = next((key for key in LABEL_KEYS if key in arrays), None)
    if key is None:
        raise DataError(f"{path} holds no labels: none of {', '.join(LABEL_KEYS)} among {', '.join(sorted(arrays))}")
    names = arrays.get("class_names")
    if names is not None and names.ndim != 1:
        raise DataError(f"{path}: class_names must be a list of names, not of shape {list(names.shape)}")
    return RecordedLabels(arrays[key], None if names is None else names.tolist(), path.name, arrays.get("clean_label"))


def _read_noise_file_as_arrays_by_name(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a file by name. A file of one array holds a matrix."""
    check_and_tell_if_noise_file(str(path))
    if path.suffix.lower() == ".npz":
        return read_npz(path)
    if path.suffix.lower() == ".npy":
        return {"matrix": read_npy(path)}
    try:
        return {"matrix": np.loadtxt(path, delimiter=",", ndmin=2)}
    except ValueError:
        raise DataError(f"{path} must be a table of numbers separated by commas with rows of equal length") from None


def parse_class_numbers(values: Any, name: str) -> Ints:
    """One integer per node, or an error that says what `name` holds instead."""
    array = values.detach().cpu().numpy() if isinstance(values, torch.Tensor) else np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise DataError(f"{name} must be one value per node, not of shape {list(array.shape)}")
    if array.dtype.kind not in "iuf" or not np.array_equal(array, np.trunc(array)):
        raise DataError(f"{name} must be integers")
    return array.astype(np.int64)


def _check_class_numbers_or_unlabeled(labels: Ints, num_classes: int, name: str) -> None:
    if len(labels) and (labels.min() < -1 or labels.max() >= num_classes):
        raise DataError(f"{name} must be -1 or 0 to {num_classes - 1}, not {labels.min()} to {labels.max()}")
