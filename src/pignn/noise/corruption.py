"""`corrupt()`: a graph with labels made wrong on purpose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from .. import graphs
from ..core import validation as settings
from ..core.errors import ConfigError, DataError, unknown
from ..graphs.checks import check_data_type
from .dependent import DEPENDENT
from .kinds import Floats, Ints, check_kind, check_rate, check_transition_matrix, stream, transition_matrix
from .recorded import RecordedLabels, match_recorded_labels

SPLITS = ("train", "val", "test", "all")

Kind: TypeAlias = str | RecordedLabels | ArrayLike | torch.Tensor


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
        kind: `symmetric`, `pair`, `flip`, `one-sided`, `instance`, `rule`, `cluster` or `none`; or a transition
            matrix; or `RecordedLabels` labels.
        rate: share of labels to make wrong, in expectation (of `one-sided` noise, that of the classes other than 0);
            not for a matrix, `RecordedLabels` or `none`.
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

    `rule` noise: labels made by keywords. Every class has a list of features, drawn at random (a twentieth of them,
    at least 3), and a node's score for a class is the sum of its features in the list, standardised over the
    corrupted nodes. Where the best score is highest, the label is the class of that list, from the highest down until
    the share `rate` of all labels is wrong. Given labels there are a function of the features alone.

    `cluster` noise: a region was labelled by mistake. Every node belongs to the nearest of centres drawn at random
    (one in twenty nodes; by steps in the graph); whole regions, in random order, get one class that is not the most
    frequent there, until the share `rate` of all labels is wrong.

    These two make exactly round(rate · n) of n labels wrong, or as many as can be.
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
        self.kind: str | RecordedLabels | Floats
        if isinstance(kind, str):
            self.kind = check_kind(kind)
            if kind == "none" and rate:
                raise ConfigError(f"noise 'none' has no rate, but {rate} was given")
            if kind != "none":
                if rate is None:
                    raise ConfigError(f"noise '{kind}' needs a rate between 0 and 1")
                rate = check_rate(rate)
        else:
            self.kind = kind if isinstance(kind, RecordedLabels) else check_transition_matrix(kind)
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
        check_data_type(data)
        # Labels that an earlier noise made are of no interest, not even to the check (`data` is a copy).
        if data.get("y_true") is not None:
            data.y = data.y_true
        unsplit = data.get("train_mask") is None and "all" in self.splits
        if unsplit:
            data.train_mask = torch.ones(data.num_nodes, dtype=torch.bool)
        data = graphs.check_graph(data, split_index=self.split_index)
        n = graphs.num_classes(data)
        if n < 2:
            raise DataError("label noise needs at least two classes, the graph has one")
        truth = data.y.cpu().numpy()

        if data.get("class_names") is None:
            names = self.kind.class_names if isinstance(self.kind, RecordedLabels) else None
            data.class_names = list(names) if names and len(names) == n else [str(c) for c in range(n)]
        chosen = self._chosen(data)
        keep = chosen | node_mask(data, "train") | node_mask(data, "val")
        given = np.where(keep, truth, -1)
        at = np.flatnonzero(chosen & (truth >= 0) & ~node_mask(data, "trusted"))
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
            chosen |= node_mask(data, split)
        return chosen

    def _labels(self, data: Data, truth: Ints, at: Ints, n: int) -> Ints:
        """Given labels of the nodes `at`."""
        if isinstance(self.kind, RecordedLabels):
            return match_recorded_labels(self.kind, data, truth, n)[at]
        name = "matrix" if isinstance(self.kind, np.ndarray) else self.kind
        # Both draws are made for every node, so that a node's does not depend on which others are corrupted.
        draws = stream(name, self.seed).random((2, len(truth)))[:, at]
        if name == "none" or not len(at):
            return truth[at]
        if name in DEPENDENT:
            assert self.rate is not None
            return DEPENDENT[name](data, truth[at], at, self.rate, n, draws, self.seed)
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
        if isinstance(self.kind, RecordedLabels):
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


def node_mask(data: Data, name: str) -> NDArray[np.bool_]:
    mask = data.get(f"{name}_mask")
    if mask is None or mask.dim() != 1:
        return np.zeros(data.num_nodes, dtype=bool)
    return mask.detach().cpu().numpy().astype(bool)
