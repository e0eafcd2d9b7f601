"""Labels that somebody really gave, and files of them or of a transition matrix."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from ..core.errors import ConfigError, DataError
from .kinds import Floats, Ints, check_kind, check_transition_matrix


@dataclass(frozen=True, eq=False)
class RecordedLabels:
    """Labels that somebody really gave, one for each node, -1 where there is none.

    `clean` are the true labels they were recorded beside, if known: `corrupt` compares them with the graph's,
    which catches labels recorded for another order of nodes.
    """

    labels: Ints
    class_names: Sequence[str] | None = None
    source: str = ""
    clean: Ints | None = None

    def __post_init__(self) -> None:
        where = f" in {self.source}" if self.source else ""
        object.__setattr__(self, "labels", check_integers(self.labels, f"recorded labels{where}"))
        if self.class_names is not None:
            object.__setattr__(self, "class_names", [str(name) for name in self.class_names])
        if self.clean is not None:
            object.__setattr__(self, "clean", check_integers(self.clean, f"clean labels{where}"))


def match_recorded_labels(record: RecordedLabels, data: Data, truth: Ints, n: int) -> Ints:
    """The recorded labels in the graph's numbering of classes, checked against the graph."""
    labels, clean = record.labels, record.clean
    where = f" ({record.source})" if record.source else ""
    if len(labels) != len(truth) or (clean is not None and len(clean) != len(truth)):
        lengths = f"{len(labels)} recorded labels" + ("" if clean is None else f" and {len(clean)} clean ones")
        raise DataError(f"{lengths}{where} for a graph of {len(truth)} nodes")
    _in_range(labels, n, f"recorded labels{where}")
    if clean is not None:
        _in_range(clean, n, f"clean labels{where}")
    names, own = list(record.class_names or []), [str(name) for name in data.class_names]
    if names != own and sorted(names) == sorted(own):
        # Same classes, other numbers; the last entry maps -1 to itself.
        number = np.array([*(own.index(name) for name in names), -1])
        labels, clean = number[labels], None if clean is None else number[clean]
    elif names and names != own and not all(name.isdecimal() for name in own):  # mere numbers are no names
        other = next((name for name in names if name not in own), own[-1])
        raise DataError(f"class '{other}' of the recorded labels{where} is none of the graph's; name classes alike")
    if clean is not None and (clean != truth)[truth >= 0].any():
        raise DataError(f"the recorded labels{where} were recorded for another order of nodes: the true labels differ")
    return labels


def _in_range(labels: Ints, n: int, what: str) -> None:
    if len(labels) and (labels.min() < -1 or labels.max() >= n):
        raise DataError(f"{what} must be -1 or 0 to {n - 1}, found {labels.min()} to {labels.max()}")


def load_recorded_labels(path: str | os.PathLike[str]) -> RecordedLabels:
    """Recorded labels from an `.npz` file.

    Labels under `noisy_label`, `labels` or `y`; optionally `clean_label` (true labels) and `class_names`.
    """
    return _as_recorded(_read(Path(path)), Path(path))


def load_noise(text: str) -> str | RecordedLabels | Floats:
    """What `--noise` takes: the name of a kind, or a file.

    `.npz` holds recorded labels (see `load_recorded_labels`), or a matrix under `matrix` or `transition`; `.npy` and
    `.csv` (numbers separated by commas, no header) hold a transition matrix.
    """
    path = Path(text)
    if path.suffix.lower() not in (".npz", ".npy", ".csv"):
        if path.is_file():
            raise ConfigError(f"{path}: a file of noise ends in .npz (labels or matrix), .npy or .csv (matrix)")
        return check_kind(text)
    arrays = _read(path)
    for key in ("matrix", "transition"):
        if key in arrays:
            return check_transition_matrix(arrays[key])
    return _as_recorded(arrays, path)


def _as_recorded(arrays: Mapping[str, NDArray[Any]], path: Path) -> RecordedLabels:
    for key in ("noisy_label", "labels", "y"):
        if key in arrays:
            names = arrays.get("class_names")
            if names is not None and names.ndim != 1:
                raise DataError(f"{path}: class_names must be a list of names, not of shape {list(names.shape)}")
            return RecordedLabels(
                labels=arrays[key],
                class_names=None if names is None else names.tolist(),
                source=path.name,
                clean=arrays.get("clean_label"),
            )
    raise DataError(f"{path} holds no labels: none of noisy_label, labels, y among {', '.join(sorted(arrays))}")


def _read(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a file, by name. Pickled objects are never loaded."""
    if not path.is_file():
        raise DataError(f"{path}: no such file of labels or transition matrix")
    try:
        if path.suffix.lower() == ".csv":
            try:
                return {"matrix": np.loadtxt(path, delimiter=",", ndmin=2)}
            except ValueError:
                raise DataError(f"{path} is not a table of numbers separated by commas, all rows alike") from None
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return {"matrix": loaded}
        with loaded:
            return {key: loaded[key] for key in loaded.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        if "pickle" in str(error):
            raise DataError(f"{path} holds pickled Python objects, which are refused: save plain arrays") from None
        raise DataError(f"{path} cannot be read: {str(error).splitlines()[0]}") from None


def check_integers(values: Any, what: str) -> Ints:
    array = values.detach().cpu().numpy() if isinstance(values, torch.Tensor) else np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise DataError(f"{what} must be one value for each node, not of shape {list(array.shape)}")
    if array.dtype.kind not in "iuf" or not np.array_equal(array, np.trunc(array)):
        raise DataError(f"{what} must be whole numbers")
    return array.astype(np.int64)
