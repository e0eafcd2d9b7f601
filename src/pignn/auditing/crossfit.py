"""Out-of-sample class probabilities: each label is judged by a model that was trained without it."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import clone
from torch_geometric.data import Data

from ..core.errors import DataError, PignnWarning
from ..core.progress import track
from ..core.settings import Int
from ..methods import Method
from ..noise.kinds import Floats, Ints
from ..propagation import get_block_work_or_none
from .logistic import Coordinates, fit_flat_logistic_weights

Bools = NDArray[np.bool_]
Singles = NDArray[np.float32]
Features: TypeAlias = Singles | sp.csr_array
MAX_TRAIN_LABELS = 100_000  # of one fold: more hardly change a logistic regression
START_ITERATIONS = 5  # to given labels, before a fit through noise
VAL_SHARE = 0.1  # of the labels that a copy learns from: they choose its epoch
MAX_SOURCE_SHARE = 0.8  # of the labels; a larger source leaves too few to judge it by


def assign_stratified_or_source_folds(given: Ints, num_folds: int, seed: int, sources: Ints | None = None) -> Ints:
    """The fold of every label: balanced over the classes, or whole sources where there are several."""
    Int(min=2).raise_unless_valid("folds", num_folds)
    if len(given) < 2 * num_folds:
        raise DataError(f"{len(given)} labels are too few for {num_folds} folds; use fewer folds or more labels")
    rng = np.random.default_rng(seed)
    if sources is not None and len(np.unique(sources)) > 1:
        return _assign_source_folds(sources, num_folds, rng)
    # Every class is dealt out in random order, each from where the one before ended.
    order = rng.permutation(len(given))
    order = order[np.argsort(given[order], kind="stable")]
    fold = np.empty(len(given), dtype=np.int64)
    fold[order] = np.arange(len(given)) % num_folds
    return fold


def _assign_source_folds(sources: Ints, num_folds: int, rng: np.random.Generator) -> Ints:
    """Whole sources, the largest first, each into the smallest fold so far."""
    names, index, size = np.unique(sources, return_inverse=True, return_counts=True)
    if size.max() > MAX_SOURCE_SHARE * len(sources):
        raise DataError(
            f"one label source gave {size.max():,} of {len(sources):,} labels: too few are left to judge it by; "
            "audit without label sources"
        )
    fold_sizes = np.zeros(min(num_folds, len(names)))
    fold_of_source = np.empty(len(names), dtype=np.int64)
    for source in np.argsort(-size - rng.random(len(names))):
        fold_of_source[source] = fold_sizes.argmin()
        fold_sizes[fold_of_source[source]] += size[source]
    return fold_of_source[index]


def iter_train_and_test_positions(fold_of_position: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Positions of the labels outside and inside each fold."""
    for number in range(int(fold_of_position.max()) + 1):
        yield np.flatnonzero(fold_of_position != number), np.flatnonzero(fold_of_position == number)


class CrossFitLogistic:
    """Logistic regression through a transition matrix: P(given = j | z) = Σ_k softmax(W·z + c)_k · T[k, j].

    With T = I it is ordinary logistic regression with penalty ½‖W‖². There is one model per fold. A second fit starts
    where the first ended.
    """

    def __init__(self, features: Features, given: Ints, fold: Ints, num_classes: int, trusted: Bools) -> None:
        self.features, self.given, self.fold, self.num_classes = features, given, fold, num_classes
        self.trusted = trusted
        self.weights: list[Floats | None] = [None] * (int(fold.max()) + 1)
        self.coordinates: Coordinates | None = None

    def fit_predict_proba(self, transition: Floats | None = None) -> Floats:
        """Class probabilities of every label, from the model without its fold.

        They are P(true = k | z) through a transition matrix, and P(given = k | z) without one.
        """
        one_hot = np.eye(self.num_classes)
        matrix = one_hot if transition is None else transition
        if transition is not None and any(weights is None for weights in self.weights):
            # Through noise there are several optima, and from zero a poor one is reached.
            self._fit_weights_in_place(one_hot[self.given], START_ITERATIONS)
        # A trusted label is the true one, whatever T says.
        return self.fit_predict_proba_through_likelihood(
            np.where(self.trusted[:, None], one_hot[self.given], matrix.T[self.given])
        )

    def fit_predict_proba_through_likelihood(self, likelihood: Floats) -> Floats:
        """The same where [labels, classes] says how likely what was given is under each true class."""
        self._fit_weights_in_place(likelihood)
        return self.predict_proba_by_held_out_fold(self.features, self.fold)

    def _fit_weights_in_place(self, likelihood: Floats, max_iterations: int | None = None) -> None:
        bounded = np.maximum(likelihood, 1e-6).astype(np.float32)
        rng = np.random.default_rng(0)
        num_trained = min(len(self.given) * (len(self.weights) - 1) // len(self.weights), MAX_TRAIN_LABELS)
        coordinates = self.coordinates = self.coordinates or Coordinates.from_features(
            self.features, num_trained, self.num_classes
        )
        for number, (train, _) in enumerate(iter_train_and_test_positions(self.fold)):
            if len(train) > MAX_TRAIN_LABELS:
                train = np.sort(rng.choice(train, MAX_TRAIN_LABELS, replace=False))
            # Never from another fold's weights: they have seen the labels that this fold judges.
            self.weights[number] = fit_flat_logistic_weights(
                self.features[train], bounded[train], self.weights[number], max_iterations, coordinates
            )

    def predict_proba_by_held_out_fold(self, features: Features, fold_of_row: Ints) -> Floats:
        """The same for any nodes: those of a fold by the model that was fitted without it."""
        probs = np.empty((features.shape[0], self.num_classes))
        for weights, (_, test) in zip(self.weights, iter_train_and_test_positions(fold_of_row), strict=True):
            assert weights is not None
            probs[test] = self._predict_proba_from_weights(features[test], weights.astype(np.float32))
        return probs

    def predict_mean_proba_of_fold_models(self, features: Features) -> Floats:
        """Of nodes that no model has seen: the mean over the models of all folds."""
        probs = np.zeros((features.shape[0], self.num_classes))
        for weights in self.weights:
            assert weights is not None
            probs += self._predict_proba_from_weights(features, weights.astype(np.float32)) / len(self.weights)
        return probs

    def _predict_proba_from_weights(self, features: Features, weights: NDArray[np.float32]) -> Singles:
        size = features.shape[1] * self.num_classes
        return softmax(features @ weights[:size].reshape(-1, self.num_classes) + weights[size:], axis=-1)


def fit_predict_proba_per_fold(
    data: Data, nodes: Ints, fold_of_node: Ints, num_classes: int, method: Method, seed: int
) -> Floats:
    """Class probabilities by a method, of which a copy is fitted per fold; a tenth of its labels select the epoch.

    A method that chooses among others (it has a `copy_and_refit`) chooses once, from all labels. Its choice is fitted
    per fold.
    """
    probs = np.empty((len(nodes), num_classes))
    chooser: Any = clone(method)
    if hasattr(chooser, "copy_and_refit"):
        chooser.fit(_copy_without_true_labels(data))
    for test, fold_probs in iter_positions_and_probs_per_fold(data, nodes, fold_of_node, num_classes, chooser, seed):
        probs[test] = fold_probs
    return probs


def iter_positions_and_probs_per_fold(
    data: Data,
    nodes: Ints,
    fold_of_node: Ints,
    num_classes: int,
    method: Method,
    seed: int,
    *,
    val_share: float = VAL_SHARE,
    **fit_options: Any,
) -> Iterator[tuple[Ints, Floats]]:
    """Fold by fold: the positions in it, and their class probabilities by a copy that learned from the other folds.

    A fitted method that chooses among others keeps its choice. `val_share` of the labels choose the epoch. No copy gets
    to see true labels, or labels of other nodes than these.
    """
    rng = np.random.default_rng(seed)
    for train, test in track(iter_train_and_test_positions(fold_of_node), "cross-validation: folds"):
        graph = _copy_without_true_labels(data)
        y = torch.full_like(data.y, -1)
        y[nodes[train]] = data.y[nodes[train]]
        graph.y = y
        is_val = np.zeros(len(train), dtype=bool)
        is_val[rng.permutation(len(train))[: int(val_share * len(train))]] = True
        for name, positions in (("train", train[~is_val]), ("val", train[is_val]), ("test", train[:0])):
            mask = torch.zeros(data.num_nodes, dtype=torch.bool)
            mask[torch.from_numpy(nodes[positions])] = True
            graph[f"{name}_mask"] = mask
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PignnWarning)
            chooser: Any = method
            model = (
                chooser.copy_and_refit(graph)
                if hasattr(method, "copy_and_refit")
                else clone(method).fit(graph, **fit_options)
            )
            if get_block_work_or_none() is None:
                fold_probs = model.predict_proba(graph)[nodes[test]]
            else:  # whose rows of other nodes would have to be computed first
                fold_probs = model.predict_proba(graph, nodes[test])
        yield test, np.pad(fold_probs, ((0, 0), (0, num_classes - fold_probs.shape[1])))


def _copy_without_true_labels(data: Data) -> Data:
    graph = copy.copy(data)
    graph.y_true = None
    return graph
