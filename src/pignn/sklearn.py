"""scikit-learn's model selection on a graph: ``cross_val_score``, ``GridSearchCV``, ``learning_curve`` and the like.

    from pignn.sklearn import NodeClassifier, list_labeled_nodes_and_labels

    nodes, y = list_labeled_nodes_and_labels(graph)
    cross_val_score(NodeClassifier("auto", graph), nodes, y)

X are numbers of nodes, y are their given labels. The graph is given once, to the classifier.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, make_scorer
from torch_geometric.data import Data

from . import graphs
from .core.errors import ConfigError, DataError
from .core.settings import Float
from .methods import Method, make

UNLABELED = -1


def list_labeled_nodes_and_labels(data: Data) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The nodes with a given label, and these labels: X and y. Where the graph has masks, test nodes are left out."""
    labels = np.asarray(data.y).reshape(-1)
    labeled = labels >= 0
    if data.get("train_mask") is not None and data.train_mask.dim() == 1:
        masks = [np.asarray(data[name]) for name in ("train_mask", "val_mask") if data.get(name) is not None]
        labeled &= np.logical_or.reduce(masks)
    nodes = np.flatnonzero(labeled)
    return nodes, labels[nodes]


def score_agreement(y: ArrayLike, predicted: ArrayLike) -> float:
    """The share of given labels that are predicted; nodes without a label (−1) do not count."""
    given = np.asarray(y)
    known = _build_labeled_mask(given)
    if not known.any():
        raise DataError("none of these nodes has a label to score by")
    return float(accuracy_score(given[known], np.asarray(predicted)[known]))


agreement = make_scorer(score_agreement)  # scoring=agreement, where y has nodes without a label


class NodeClassifier(ClassifierMixin, BaseEstimator):
    """A method on a graph as a classifier of nodes.

    ``fit`` sees the labels that it is given and no others: neither ``data.y`` nor ``data.y_true``. A copy by
    :func:`sklearn.base.clone` shares the graph.

    Args:
        method: a name, or ``pignn.make("GCN", epochs=100)``, whose settings are parameters ``method__epochs``.
        data: the graph. Its ``trusted_mask`` counts for the labels that are learned from.
        validation_fraction: share of the labels by which networks choose the epoch; without, they take the last one.
    """

    def __init__(
        self, method: str | Method = "auto", data: Data | None = None, *, validation_fraction: float = 0.0
    ) -> None:
        self.method = method
        self.data = data
        self.validation_fraction = validation_fraction

    def __sklearn_clone__(self) -> NodeClassifier:
        method = clone(self.method) if isinstance(self.method, Method) else self.method
        return type(self)(method, self.data, validation_fraction=self.validation_fraction)

    def fit(self, nodes: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from the labels of some nodes. Labels are integers or names; −1, None and "" mean no label."""
        graph = self._copy_checked_graph()
        index, given = self._parse_node_numbers(nodes), np.asarray(y).reshape(-1)
        if len(index) != len(given):
            raise DataError(f"{len(index)} nodes, but {len(given)} labels; give one for each")
        if len(np.unique(index)) < len(index):
            raise DataError("a node is given twice; give each node once")
        known = _build_labeled_mask(given)
        index, given = index[known], given[known]
        self.classes_, codes = np.unique(given, return_inverse=True)
        if len(self.classes_) < 2:
            raise DataError("the labels are all of one class; give labels of at least two")
        weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float32).reshape(-1)[known]
        method = make(self.method) if isinstance(self.method, str) else clone(self.method)
        graph.class_names = [str(name) for name in self.classes_]
        graph = self._copy_with_labels(graph, index, codes, weight, seed=int(method.get_params()["seed"]))
        if not self.validation_fraction and method.get_params().get("selection") == "noisy-val":
            method.set_params(selection="last")  # which it would be anyway, with a warning in every fold
        self.model_ = method.fit(graph, progress=False)
        self._graph = graph
        return self

    def predict(self, nodes: ArrayLike) -> NDArray[Any]:
        """The most probable class of some nodes, as labels were given."""
        best = self.predict_proba(nodes).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def predict_proba(self, nodes: ArrayLike) -> NDArray[np.float64]:
        """Class probabilities of some nodes, [nodes, classes], in the order of ``classes_``."""
        if not hasattr(self, "model_"):
            raise NotFittedError("this NodeClassifier is not fitted yet; call fit(nodes, y) first")
        index = self._parse_node_numbers(nodes)
        if not hasattr(self, "_probs"):
            self._probs = self.model_.predict_proba(self._graph).astype(np.float64)
            self._probs /= self._probs.sum(axis=1, keepdims=True)  # to 1 in double precision too
        return np.asarray(self._probs[index])

    def score(self, nodes: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The share of given labels that are predicted; nodes without a label do not count."""
        if sample_weight is None:
            return score_agreement(y, self.predict(nodes))
        known = _build_labeled_mask(np.asarray(y).reshape(-1))
        weight = np.asarray(sample_weight)[known]
        return float(accuracy_score(np.asarray(y)[known], self.predict(nodes)[known], sample_weight=weight))

    def _copy_checked_graph(self) -> Data:
        if not isinstance(self.data, Data):
            raise ConfigError("which graph? give it as data=, a torch_geometric.data.Data")
        return graphs.copy_checked_graph(self.data, needs_labels=False)

    def _parse_node_numbers(self, nodes: ArrayLike) -> NDArray[np.int64]:
        """Numbers of nodes, of shape [n] or [n, 1]."""
        index = np.asarray(nodes)
        if index.ndim == 2 and index.shape[1] == 1:
            index = index[:, 0]
        num_nodes = 0 if self.data is None else int(self.data.num_nodes or 0)
        if index.ndim != 1 or not np.issubdtype(index.dtype, np.integer):
            raise DataError("X must be numbers of nodes: integers of shape [n]; the graph itself is data=")
        if len(index) and not 0 <= index.min() <= index.max() < num_nodes:
            raise DataError(
                f"node {index.max() if index.min() >= 0 else index.min()} is not one of {num_nodes:,} nodes"
            )
        return index.astype(np.int64)

    def _copy_with_labels(
        self, graph: Data, index: NDArray[Any], codes: NDArray[Any], weight: NDArray[Any] | None, seed: int
    ) -> Data:
        """The graph with these labels alone; some of them, drawn at random, are for validation."""
        Float(max=1, open_max=True).raise_unless_valid("validation_fraction", self.validation_fraction)
        for name in ("y_true", "votes", "label_source", "y_before", "label_weight"):
            graph[name] = None
        labels = torch.full((graph.num_nodes,), UNLABELED)
        labels[index] = torch.from_numpy(codes)
        graph.y = labels
        is_val = np.zeros(len(index), dtype=bool)
        order = np.random.default_rng(seed).permutation(len(index))
        is_val[order[: int(self.validation_fraction * len(index))]] = True
        for name, chosen in (("train_mask", index[~is_val]), ("val_mask", index[is_val]), ("test_mask", index[:0])):
            graph[name] = torch.zeros(graph.num_nodes, dtype=torch.bool)
            graph[name][chosen] = True
        if graph.get("trusted_mask") is not None:
            graph.trusted_mask = torch.as_tensor(graph.trusted_mask).bool() & (labels >= 0)
        if weight is not None:
            graph.label_weight = torch.ones(graph.num_nodes)
            graph.label_weight[index] = torch.from_numpy(weight)
        return graph


def _build_labeled_mask(given: NDArray[Any]) -> NDArray[np.bool_]:
    if given.dtype.kind in "iub":
        return np.asarray(given != UNLABELED)
    if given.dtype.kind == "f":
        return np.asarray(~np.isnan(given) & (given != UNLABELED))
    return np.array(
        [value is not None and value == value and value not in ("", UNLABELED) for value in given], dtype=bool
    )
