"""Out-of-sample class probabilities: no node is judged by a model that was trained on its own label."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.base import clone
from torch_geometric.data import Data

from ..core import validation as settings
from ..core.errors import DataError, PignnWarning
from ..methods import Method
from ..noise.kinds import Floats, Ints

Bools = NDArray[np.bool_]
Singles = NDArray[np.float32]


def assign_folds(given: Ints, folds: int, seed: int, sources: Ints | None = None) -> Ints:
    """The fold of every label: balanced over the classes, or whole sources where there are several."""
    settings.whole("folds", folds, 2)
    if len(given) < 2 * folds:
        raise DataError(f"{len(given)} labels are too few for {folds} folds; give fewer folds or more labels")
    rng = np.random.default_rng(seed)
    if sources is not None and len(np.unique(sources)) > 1:
        return _source_folds(sources, folds, rng)
    # Every class is dealt out in random order, each from where the one before ended.
    order = rng.permutation(len(given))
    order = order[np.argsort(given[order], kind="stable")]
    fold = np.empty(len(given), dtype=np.int64)
    fold[order] = np.arange(len(given)) % folds
    return fold


def _source_folds(sources: Ints, folds: int, rng: np.random.Generator) -> Ints:
    """Whole sources, the largest first, each into the smallest fold so far."""
    names, index, size = np.unique(sources, return_inverse=True, return_counts=True)
    if size.max() > 0.8 * len(sources):
        raise DataError(
            f"one label source gave {size.max():,} of {len(sources):,} labels: too few are left to judge it by; "
            "audit without label sources"
        )
    total = np.zeros(min(folds, len(names)))
    home = np.empty(len(names), dtype=np.int64)
    for source in np.argsort(-size - rng.random(len(names))):
        home[source] = total.argmin()
        total[home[source]] += size[source]
    return home[index]


def splits(fold: Ints) -> Iterator[tuple[Ints, Ints]]:
    for number in range(int(fold.max()) + 1):
        yield np.flatnonzero(fold != number), np.flatnonzero(fold == number)


class CrossFitLogistic:
    """CrossFitLogistic regression through a transition matrix: P(given = j | z) = Σ_k softmax(W·z + c)_k · T[k, j].

    With T = I it is ordinary logistic regression, penalty ½‖W‖². One model a fold; a second call starts where the
    first ended.
    """

    def __init__(self, z: Singles, given: Ints, fold: Ints, classes: int, trusted: Bools) -> None:
        self.z, self.given, self.fold, self.n = z, given, fold, classes
        self.trusted = trusted
        self.weights: list[Floats | None] = [None] * (int(fold.max()) + 1)

    def __call__(self, transition: Floats | None = None) -> Floats:
        """P(true = k | z), or P(given = k | z) where there is no T, of every label from the model without its fold."""
        matrix = np.eye(self.n) if transition is None else transition
        # A trusted label is the true one, whatever T says.
        likely = np.where(self.trusted[:, None], np.eye(self.n)[self.given], matrix.T[self.given])
        likely = np.maximum(likely, 1e-6).astype(np.float32)
        for number, (train, _) in enumerate(splits(self.fold)):
            self.weights[number] = self._fit(self.z[train], likely[train], self.weights[number])
        return self.judge(self.z, self.fold)

    def judge(self, z: Singles, fold: Ints) -> Floats:
        """The same of any nodes: those of a fold by the model that was fitted without it."""
        probability = np.empty((len(z), self.n))
        for weights, (_, test) in zip(self.weights, splits(fold), strict=True):
            assert weights is not None
            probability[test] = self._apply(z[test], weights.astype(np.float32))
        return probability

    def _apply(self, z: Singles, flat: NDArray[np.float32]) -> Singles:
        size = z.shape[1] * self.n
        return softmax(z @ flat[:size].reshape(-1, self.n) + flat[size:], axis=-1)

    def _fit(self, z: Singles, likely: Singles, start: Floats | None) -> Floats:
        size = z.shape[1] * self.n

        def loss(flat: Floats) -> tuple[float, Floats]:
            single = flat.astype(np.float32)
            p = self._apply(z, single)
            joint = p * likely
            total = joint.sum(axis=1, keepdims=True)
            difference = p - joint / total
            value = 0.5 * float((single[:size] ** 2).sum()) - float(np.log(total).sum(dtype=np.float64))
            slope = np.concatenate([(z.T @ difference).ravel() + single[:size], difference.sum(axis=0)])
            return value, slope.astype(np.float64)

        begin = np.zeros(size + self.n) if start is None else start
        return minimize(loss, begin, jac=True, method="L-BFGS-B", options={"maxiter": 60 if start is None else 40}).x


def predict_out_of_fold(data: Data, nodes: Ints, fold: Ints, classes: int, method: Method, seed: int) -> Floats:
    """Probabilities of a method, a copy of which is fitted for every fold; a tenth of its labels select the epoch.

    One that chooses among others (it has a `refit`) chooses once, from all labels; what it chose learns a fold.
    """
    probability = np.empty((len(nodes), classes))
    rng = np.random.default_rng(seed)
    chooser: Any = clone(method)
    if hasattr(chooser, "refit"):
        chooser.fit(_without_truth(data))
    for train, test in splits(fold):
        graph = _without_truth(data)
        y = torch.full_like(data.y, -1)
        y[nodes[train]] = data.y[nodes[train]]
        graph.y = y
        held = np.zeros(len(train), dtype=bool)
        held[rng.permutation(len(train))[: len(train) // 10]] = True
        for name, chosen in (("train", train[~held]), ("val", train[held]), ("test", train[:0])):
            mask = torch.zeros(data.num_nodes, dtype=torch.bool)
            mask[torch.from_numpy(nodes[chosen])] = True
            graph[f"{name}_mask"] = mask
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PignnWarning)
            model = chooser.refit(graph) if hasattr(chooser, "refit") else clone(method).fit(graph)
            found = model.predict_proba(graph)[nodes[test]]
        probability[test] = np.pad(found, ((0, 0), (0, classes - found.shape[1])))
    return probability


def _without_truth(data: Data) -> Data:
    graph = copy.copy(data)
    graph.y_true = None
    return graph
