"""Label noise: transition matrices, `corrupt()`, recorded labels, and a report of what was done.

A transition matrix T holds T[i, j] = P(given = j | true = i). With n classes and rate ε:

| kind | T |
|---|---|
| `symmetric` | 1 − ε on the diagonal, ε/(n − 1) elsewhere |
| `pair` | 1 − ε on the diagonal, ε at (i, i + 1 mod n) |
| `flip` | 1 − ε on the diagonal, ε at (i, one other class, drawn once per seed) |
| a matrix | as given |

`instance` noise depends on the features instead, see `corrupt`. All randomness comes from NumPy generators of
their own, one stream for each kind and seed: neither torch's random state nor the device has a part in it.
"""

from __future__ import annotations

import math
import os
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from . import graphs, settings
from .errors import ConfigError, DataError, unknown

MATRIX_KINDS = ("symmetric", "pair", "flip")
KINDS = (*MATRIX_KINDS, "instance", "none")
SPLITS = ("train", "val", "test", "all")

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Recorded:
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
        object.__setattr__(self, "labels", _integers(self.labels, f"recorded labels{where}"))
        if self.class_names is not None:
            object.__setattr__(self, "class_names", [str(name) for name in self.class_names])
        if self.clean is not None:
            object.__setattr__(self, "clean", _integers(self.clean, f"clean labels{where}"))


Kind: TypeAlias = str | Recorded | ArrayLike | torch.Tensor


def transition_matrix(kind: str, rate: float, num_classes: int, seed: int = 0) -> Floats:
    """T of `symmetric`, `pair` or `flip` noise (see the module): [n, n], float64, rows sum to 1.

    The seed matters to `flip` only: class i goes to one class, uniform among the n − 1 others.
    """
    kind = _kind_name(kind)
    if kind not in MATRIX_KINDS:
        raise ConfigError(f"noise '{kind}' has no transition matrix of its own; {', '.join(MATRIX_KINDS)} have")
    rate = _rate(rate)
    if num_classes < 2:
        raise DataError(f"label noise needs at least two classes, not {num_classes}")
    classes = np.arange(num_classes)
    matrix = np.zeros((num_classes, num_classes))
    if kind == "symmetric":
        matrix += rate / (num_classes - 1)
    else:
        step = 1 if kind == "pair" else _stream("flip-targets", seed).integers(1, num_classes, num_classes)
        matrix[classes, (classes + step) % num_classes] = rate
    matrix[classes, classes] = 1.0 - rate
    return matrix


def corrupt(
    data: Data,
    kind: Kind,
    rate: float | None = None,
    *,
    seed: int = 0,
    splits: Sequence[str] = ("train", "val"),
    split_index: int | None = None,
) -> Data:
    """A copy of `data` with noisy given labels; the truth goes to `y_true`.

    Args:
        data: graph whose true labels are `y_true` where it exists (so corrupting twice starts from the truth
            again), else `y`.
        kind: `symmetric`, `pair`, `flip`, `instance` or `none`; or a transition matrix; or `Recorded` labels.
        rate: share of labels to make wrong, in expectation; not for a matrix, `Recorded` or `none`.
        seed: seed of the noise.
        splits: whose labels are corrupted: any of `train`, `val`, `test`; or `all`, in a mask or not.
        split_index: which column, where masks have the shape [N, k].

    In the copy `y` holds the noisy labels of the nodes in `splits` and the true ones of the other training
    and validation nodes; it is **-1 everywhere else**, so nothing can read the truth of test nodes by
    accident. Trusted labels (`trusted_mask`) stay true, unlabelled nodes stay unlabelled. `class_names` is
    set where it was absent and `noise` says what was done. Tensors that do not change are shared with
    `data`.

    A node's draw does not depend on `splits`, and the nodes that flip at one rate flip at every higher rate.

    `instance` noise: let w, v_1, ..., v_n be random Gaussian directions and s_i, u_ic the projections w·x_i
    and v_c·x_i, each standardised over the corrupted nodes. A label becomes wrong with probability q_i =
    σ(a + s_i), where a is such that the mean of q is the rate; the wrong class c is drawn with probability
    ∝ exp(u_ic).
    """
    return Corrupt(kind, rate, seed=seed, splits=splits, split_index=split_index)(data)


class Corrupt(BaseTransform):
    """`corrupt` as a PyG transform."""

    def __init__(
        self,
        kind: Kind,
        rate: float | None = None,
        *,
        seed: int = 0,
        splits: Sequence[str] = ("train", "val"),
        split_index: int | None = None,
    ) -> None:
        self.kind: str | Recorded | Floats
        if isinstance(kind, str):
            self.kind = _kind_name(kind)
            if kind == "none" and rate:
                raise ConfigError(f"noise 'none' has no rate, but {rate} was given")
            if kind != "none":
                if rate is None:
                    raise ConfigError(f"noise '{kind}' needs a rate between 0 and 1")
                rate = _rate(rate)
        else:
            self.kind = kind if isinstance(kind, Recorded) else _matrix(kind)
            if rate is not None:
                raise ConfigError("a rate cannot be given together with a transition matrix or recorded labels")
        self.rate = rate
        settings.seed("the noise seed", seed)
        self.seed = int(seed)
        self.splits = (splits,) if isinstance(splits, str) else tuple(splits)
        self.split_index = split_index
        for split in self.splits:
            if split not in SPLITS:
                raise unknown("split", split, SPLITS)

    def forward(self, data: Data) -> Data:
        # Labels that an earlier noise made are of no interest, not even to the check (`data` is a copy).
        if data.get("y_true") is not None:
            data.y = data.y_true
        unsplit = data.get("train_mask") is None and "all" in self.splits
        if unsplit:
            data.train_mask = torch.ones(data.num_nodes, dtype=torch.bool)
        data = graphs.check(data, split_index=self.split_index)
        n = graphs.num_classes(data)
        if n < 2:
            raise DataError("label noise needs at least two classes, the graph has one")
        truth = data.y.cpu().numpy()

        if data.get("class_names") is None:
            names = self.kind.class_names if isinstance(self.kind, Recorded) else None
            data.class_names = list(names) if names and len(names) == n else [str(c) for c in range(n)]
        chosen = self._chosen(data)
        keep = chosen | _mask(data, "train") | _mask(data, "val")
        given = np.where(keep, truth, -1)
        at = np.flatnonzero(chosen & (truth >= 0) & ~_mask(data, "trusted"))
        given[at] = self._labels(data, truth, at, n)

        data.y_true = data.y
        data.y = torch.from_numpy(given).to(data.y.device)
        data.noise = self._record()
        if unsplit:
            for name in ("train", "val", "test"):
                del data[f"{name}_mask"]
        return data

    def _chosen(self, data: Data) -> NDArray[np.bool_]:
        chosen = np.full(data.num_nodes, "all" in self.splits)
        for split in set(self.splits) - {"all"}:
            chosen |= _mask(data, split)
        return chosen

    def _labels(self, data: Data, truth: Ints, at: Ints, n: int) -> Ints:
        """Given labels of the nodes `at`."""
        if isinstance(self.kind, Recorded):
            return _recorded(self.kind, data, truth, n)[at]
        name = "matrix" if isinstance(self.kind, np.ndarray) else self.kind
        # Both draws are made for every node, so that a node's does not depend on which others are corrupted.
        draws = _stream(name, self.seed).random((2, len(truth)))[:, at]
        if name == "none" or not len(at):
            return truth[at]
        if name == "instance":
            assert self.rate is not None
            return _instance(data, truth[at], at, self.rate, n, draws, self.seed)
        if isinstance(self.kind, np.ndarray):
            if len(self.kind) != n:
                raise DataError(
                    f"the transition matrix is {len(self.kind)} × {len(self.kind)}, the graph has {n} classes"
                )
            return _draw(self.kind, truth[at], draws[0])
        assert self.rate is not None
        return _draw(transition_matrix(name, self.rate, n, self.seed), truth[at], draws[0])

    def _record(self) -> dict[str, Any]:
        """What was done, in values that JSON can hold."""
        record: dict[str, Any] = {
            "kind": self.kind,
            "rate": self.rate,
            "seed": self.seed,
            "splits": list(self.splits),
        }
        if isinstance(self.kind, Recorded):
            record.update(kind="recorded", source=self.kind.source)
        elif isinstance(self.kind, np.ndarray):
            record.update(kind="matrix", matrix=self.kind.tolist())
        return record

    def __repr__(self) -> str:
        kind = self._record()["kind"]
        return f"Corrupt({kind}, rate={self.rate}, seed={self.seed}, splits={self.splits})"


def _draw(matrix: Floats, truth: Ints, draw: Floats) -> Ints:
    """One class for each node from its true class's row, by inverting the distribution function.

    A row is read from the diagonal on: draws below T[i, i] keep the label, so flips are nested in the rate.
    """
    given = truth.copy()
    n = len(matrix)
    for true in range(n):
        nodes = truth == true
        total = np.roll(matrix[true], -true).cumsum()
        # Dividing makes the last value exactly 1, above every draw: an entry of 0 can never be drawn.
        given[nodes] = (true + np.searchsorted(total / total[-1], draw[nodes], side="right")) % n
    return given


def _instance(data: Data, truth: Ints, at: Ints, rate: float, n: int, draws: Floats, seed: int) -> Ints:
    """Feature-dependent noise, see `corrupt`."""
    x = data.x.detach()[torch.from_numpy(at).to(data.x.device)].cpu().double().numpy()
    directions = _stream("instance-directions", seed).standard_normal((x.shape[1], n + 1))
    projected = x @ directions
    projected -= projected.mean(axis=0)
    spread = projected.std(axis=0)
    projected /= np.where(spread > 1e-12, spread, 1.0)

    wrong = draws[0] < flip_probability(projected[:, 0], rate)
    logits = projected[:, 1:]
    logits[np.arange(len(at)), truth] = -np.inf
    weight = np.exp(logits - logits.max(axis=1, keepdims=True)).cumsum(axis=1)
    other = (weight / weight[:, -1:] <= draws[1][:, None]).sum(axis=1)
    return np.where(wrong, other, truth)


def flip_probability(scores: Floats, rate: float) -> Floats:
    """q_i = σ(a + scores_i) with a found by bisection so that the mean of q is `rate`."""
    if rate in (0.0, 1.0) or not len(scores):
        return np.full(len(scores), rate)
    # At the ends of the bracket every σ(a + s_i) is below, or above, the rate.
    centre = math.log(rate) - math.log1p(-rate)
    low, high = centre - float(scores.max()), centre - float(scores.min())
    for _ in range(100):
        a = (low + high) / 2
        if _sigmoid(a + scores).mean() < rate:
            low = a
        else:
            high = a
    return _sigmoid((low + high) / 2 + scores)


def _sigmoid(value: Floats) -> Floats:
    return 0.5 * (1.0 + np.tanh(0.5 * value))


def _recorded(record: Recorded, data: Data, truth: Ints, n: int) -> Ints:
    """The recorded labels in the graph's numbering of classes, checked against the graph."""
    labels, clean = record.labels, record.clean
    where = f" ({record.source})" if record.source else ""
    if len(labels) != len(truth) or (clean is not None and len(clean) != len(truth)):
        lengths = f"{len(labels)} recorded labels" + ("" if clean is None else f" and {len(clean)} clean ones")
        raise DataError(f"{lengths}{where} for a graph of {len(truth)} nodes")
    names = list(record.class_names or [])
    if names != list(data.class_names) and sorted(names) == sorted(data.class_names):
        # Same classes, other numbers; the last entry maps -1 to itself.
        number = np.array([*(data.class_names.index(name) for name in names), -1])
        _in_range(labels, n, where)
        labels, clean = number[labels], None if clean is None else number[clean]
    _in_range(labels, n, where)
    if clean is not None and (clean != truth)[truth >= 0].any():
        raise DataError(f"the recorded labels{where} were recorded for another order of nodes: the true labels differ")
    return labels


def _in_range(labels: Ints, n: int, where: str) -> None:
    if len(labels) and (labels.min() < -1 or labels.max() >= n):
        raise DataError(f"recorded labels{where} must be -1 or 0 to {n - 1}, found {labels.min()} to {labels.max()}")


def _mask(data: Data, name: str) -> NDArray[np.bool_]:
    mask = data.get(f"{name}_mask")
    if mask is None or mask.dim() != 1:
        return np.zeros(data.num_nodes, dtype=bool)
    return mask.detach().cpu().numpy().astype(bool)


# --- settings -----------------------------------------------------------------------------------------------


def _kind_name(kind: str) -> str:
    if kind == "asymmetric":
        raise ConfigError("noise 'asymmetric' has two meanings: 'pair' (i to i + 1) and 'flip' (i to a random class)")
    if kind not in KINDS:
        raise unknown("noise kind", kind, KINDS)
    return kind


def _rate(rate: float) -> float:
    try:
        value = float(rate)
    except (TypeError, ValueError):
        raise ConfigError(f"the noise rate must be a number between 0 and 1, not {rate!r}") from None
    if not 0.0 <= value <= 1.0:  # also refuses NaN
        raise ConfigError(f"the noise rate must be between 0 and 1, not {value}")
    return value


def _stream(name: str, seed: int) -> np.random.Generator:
    """The random numbers of one use and seed, independent of those of any other."""
    return np.random.default_rng([seed, zlib.crc32(name.encode())])


def _matrix(values: ArrayLike | torch.Tensor) -> Floats:
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


def _integers(values: Any, what: str) -> Ints:
    array = values.detach().cpu().numpy() if isinstance(values, torch.Tensor) else np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise DataError(f"{what} must be one value for each node, not of shape {list(array.shape)}")
    if array.dtype.kind not in "iuf" or not np.array_equal(array, np.trunc(array)):
        raise DataError(f"{what} must be whole numbers")
    return array.astype(np.int64)


# --- files --------------------------------------------------------------------------------------------------


def load_recorded(path: str | os.PathLike[str]) -> Recorded:
    """Recorded labels from an `.npz` file.

    Labels under `noisy_label`, `labels` or `y`; optionally `clean_label` (true labels) and `class_names`.
    """
    return _as_recorded(_read(Path(path)), Path(path))


def load_noise(text: str) -> str | Recorded | Floats:
    """What `--noise` takes: the name of a kind, or a file.

    `.npz` holds recorded labels (see `load_recorded`), or a matrix under `matrix` or `transition`; `.npy` and
    `.csv` (numbers separated by commas, no header) hold a transition matrix.
    """
    path = Path(text)
    if path.suffix.lower() not in (".npz", ".npy", ".csv"):
        if path.is_file():
            raise ConfigError(f"{path}: a file of noise ends in .npz (labels or matrix), .npy or .csv (matrix)")
        return _kind_name(text)
    arrays = _read(path)
    for key in ("matrix", "transition"):
        if key in arrays:
            return _matrix(arrays[key])
    return _as_recorded(arrays, path)


def _as_recorded(arrays: Mapping[str, NDArray[Any]], path: Path) -> Recorded:
    for key in ("noisy_label", "labels", "y"):
        if key in arrays:
            names = arrays.get("class_names")
            if names is not None and names.ndim != 1:
                raise DataError(f"{path}: class_names must be a list of names, not of shape {list(names.shape)}")
            return Recorded(
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


# --- report -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NoiseReport:
    """How noisy the given labels really are, over the nodes whose given and true labels are both known.

    `pair_rate` is the noise ratio of the pair labels: the share of unordered pairs of distinct such nodes
    that the given labels call "same class" and the true labels do not, or the other way round (1 − the Rand
    index of the two labellings). It is this package's definition: the paper does not say how it computes
    its own, and no obvious definition gives its values.
    """

    labelled: int
    wrong: int
    rate: float
    split_rates: dict[str, float]  # of train and val, where they have labelled nodes
    class_rates: list[float | None]  # by true class; None where no labelled node has it
    counts: list[list[int]]  # [true class][given class]
    transition: list[list[float]]  # counts with rows divided by their sums; a row of zeros where there is no node
    pair_rate: float

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values, for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        splits = "".join(f", {name} {rate:.1%}" for name, rate in self.split_rates.items())
        return (
            f"{self.wrong} of {self.labelled} given labels wrong ({self.rate:.1%}{splits}); "
            f"{self.pair_rate:.1%} of their pair labels wrong"
        )


def report(data: Data) -> NoiseReport:
    """Compares `y` with `y_true`, in O(N + n²) for n classes."""
    if "y_true" not in data or data.y is None:
        raise DataError("a noise report needs given labels ('y') and true labels ('y_true')")
    given, true = (_integers(data[key], f"'{key}'") for key in ("y", "y_true"))
    known = (given >= 0) & (true >= 0)
    if not known.any():
        raise DataError("a noise report needs a node whose given and true labels are both known")
    n = max(graphs.num_classes(data), int(true.max()) + 1)
    counts = np.bincount(true[known] * n + given[known], minlength=n * n).reshape(n, n)
    size = counts.sum(axis=1)
    transition = counts / np.maximum(size, 1)[:, None]
    labelled = int(counts.sum())
    wrong = labelled - int(counts.trace())
    masks = {name: _mask(data, name) & known for name in ("train", "val")}
    # Pairs that only one labelling calls "same": those of each, less twice those of both.
    apart = _pairs(size) + _pairs(counts.sum(axis=0)) - 2 * _pairs(counts)
    return NoiseReport(
        labelled=labelled,
        wrong=wrong,
        rate=wrong / labelled,
        split_rates={name: float((given != true)[mask].mean()) for name, mask in masks.items() if mask.any()},
        class_rates=[1 - float(transition[c, c]) if size[c] else None for c in range(n)],
        counts=counts.tolist(),
        transition=transition.tolist(),
        pair_rate=apart / max(labelled * (labelled - 1) // 2, 1),
    )


def _pairs(sizes: NDArray[Any]) -> int:
    """Number of unordered pairs within groups of these sizes."""
    return int((sizes * (sizes - 1) // 2).sum())
