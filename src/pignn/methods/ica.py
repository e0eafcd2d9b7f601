"""Iterative classification."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import torch
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from torch import Tensor
from torch.nn import functional as F

from .. import backbones
from ..core.settings import Bool, Float, Int, Range, setting
from ..graphs.sparse import SparseFeatures
from .core.non_iterative import NonIterativeMethod

UNSEEN_CLASS_LOGIT = -30.0  # intercept of a class without a label, which is never predicted


@dataclass(kw_only=True, eq=False, repr=False)
class ICA(NonIterativeMethod):
    """Logistic regression on features, then repeatedly on features and the classes of the neighbors.

    Lu & Getoor, "Link-based Classification", ICML 2003. Neighbors count by their class, given or predicted so far, as
    shares that sum to 1. Prediction starts from the features alone and reads no label, so it works for any graph.
    """

    iterations: int = setting(10, Int(min=1), "iterations of prediction")
    rounds: int = setting(3, Int(min=1), "how often the second regression is fitted, each time to newer predictions")
    C: float = setting(
        0.1, Float(), "inverse strength of the L2 penalty, as in scikit-learn", search=Range(0.01, 10.0, log=True)
    )
    balanced: bool = setting(
        True, Bool(), "give every class the same total weight; otherwise noise and iteration favor the largest class"
    )

    def fit_state(
        self, inputs: backbones.GraphInputs, y: Tensor, label_weight: Tensor, num_classes: int
    ) -> dict[str, Tensor]:
        x = _build_sparse_feature_matrix(inputs)
        nodes = (y >= 0).nonzero().view(-1)
        rows = nodes.numpy()
        labels, weights = y.numpy()[rows], label_weight.numpy()[rows]
        first = self._fit_regression_coefficients(x[rows], labels, weights, num_classes)
        state = {"features_only": first, "with_neighbors": torch.empty(0)}
        classes = torch.from_numpy(_apply_regression(x, first)).argmax(1)
        for _ in range(self.rounds):
            classes[nodes] = y[nodes]
            wide = sparse.hstack([x[rows], _compute_neighbor_shares(inputs, classes, num_classes)[rows]], format="csr")
            state["with_neighbors"] = self._fit_regression_coefficients(wide, labels, weights, num_classes)
            classes = self._compute_logits_iteratively(inputs, x, state, num_classes).argmax(1)
        return state

    def compute_logits(self, inputs: backbones.GraphInputs, state: dict[str, Tensor]) -> Tensor:
        return self._compute_logits_iteratively(
            inputs, _build_sparse_feature_matrix(inputs), state, len(self.class_names_)
        )

    def _compute_logits_iteratively(
        self, inputs: backbones.GraphInputs, x: sparse.csr_array, state: dict[str, Tensor], num_classes: int
    ) -> Tensor:
        """Logits after as many iterations as were set, or as soon as the predicted classes stay the same."""
        logits = torch.from_numpy(_apply_regression(x, state["features_only"]))
        table = state["with_neighbors"]
        fixed = x @ table[: x.shape[1]].numpy() + table[-1].numpy()
        neighbor_weights = table[x.shape[1] : -1]
        for _ in range(self.iterations):
            classes = logits.argmax(1)
            shares = _compute_neighbor_shares(inputs, classes, num_classes)
            logits = torch.from_numpy(fixed + (shares @ neighbor_weights).numpy())
            if torch.equal(logits.argmax(1), classes):
                break
        return logits.float()

    def _fit_regression_coefficients(
        self, x: sparse.csr_array, y: np.ndarray, weight: np.ndarray, num_classes: int
    ) -> Tensor:
        """Coefficients [features + 1, classes], the intercept last."""
        table = np.zeros((x.shape[1] + 1, num_classes), dtype=np.float32)
        table[-1] = UNSEEN_CLASS_LOGIT
        present = np.unique(y)
        if len(present) == 1:
            table[-1, present] = 0.0
            return torch.from_numpy(table)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            class_weight = "balanced" if self.balanced else None
            model = LogisticRegression(C=self.C, class_weight=class_weight, max_iter=500)
            model.fit(x, y, sample_weight=weight)
        coefficients, intercept = model.coef_, model.intercept_
        if len(present) == 2:  # scikit-learn keeps one row for two classes
            coefficients, intercept = np.vstack([-coefficients / 2, coefficients / 2]), np.r_[-intercept, intercept] / 2
        table[:-1, present] = coefficients.T
        table[-1, present] = intercept
        return torch.from_numpy(table)


def _build_sparse_feature_matrix(inputs: backbones.GraphInputs) -> sparse.csr_array:
    x = inputs.features
    if isinstance(x, SparseFeatures):
        arrays = (x.values.numpy(), x.pattern.col.numpy(), x.pattern.crow.numpy())
        return sparse.csr_array(arrays, shape=x.pattern.shape)
    return sparse.csr_array(inputs.x.numpy())


def _compute_neighbor_shares(inputs: backbones.GraphInputs, classes: Tensor, num_classes: int) -> Tensor:
    """The share of each class among the neighbors of each node; zeros for a node without any."""
    return inputs.mean_adj @ F.one_hot(classes, num_classes).float()


def _apply_regression(x: sparse.csr_array, coefficients: Tensor) -> np.ndarray:
    return (x @ coefficients[:-1].numpy() + coefficients[-1].numpy()).astype(np.float32)
