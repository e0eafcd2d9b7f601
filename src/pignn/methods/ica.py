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

from .. import backbones
from ..core import validation as settings
from ..graphs.sparse import SparseFeatures
from .core.non_iterative import DirectMethod


@dataclass(kw_only=True, eq=False, repr=False)
class ICA(DirectMethod):
    """Logistic regression on features, then on features and the classes of the neighbours, again and again.

    Lu & Getoor, "Link-based Classification", ICML 2003. Neighbours count by their class, given or predicted so far, as
    shares that sum to 1. Prediction starts from the features alone and reads no label, so that it works for any graph.

    Args:
        iterations: of prediction.
        rounds: the second regression is fitted again with what the first, and then it, predicted of the others.
        C: C of scikit-learn's logistic regression.
        balanced: every class counts the same. Noise makes some classes of given labels larger than others, and
            iterating makes the largest one larger still.
    """

    iterations: int = 10
    rounds: int = 3
    C: float = 0.1
    balanced: bool = True

    def learn(self, inputs: backbones.GraphInputs, y: Tensor, weight: Tensor, classes: int) -> dict[str, Tensor]:
        x = _matrix(inputs)
        nodes = (y >= 0).nonzero().view(-1)
        fit_on = nodes.numpy()
        given, weights = y.numpy()[fit_on], weight.numpy()[fit_on]
        first = self._regression(x[fit_on], given, weights, classes)
        learnt = {"alone": first, "beside": torch.empty(0)}
        said = torch.from_numpy(_apply(x, first)).argmax(1)
        for _ in range(self.rounds):
            said[nodes] = y[nodes]
            beside = sparse.hstack([x[fit_on], _shares(inputs, said, classes)[fit_on]], format="csr")
            learnt["beside"] = self._regression(beside, given, weights, classes)
            said = self._iterate(inputs, x, learnt, classes).argmax(1)
        return learnt

    def outputs(self, inputs: backbones.GraphInputs, learnt: dict[str, Tensor]) -> Tensor:
        return self._iterate(inputs, _matrix(inputs), learnt, len(self.class_names_))

    def _iterate(
        self, inputs: backbones.GraphInputs, x: sparse.csr_array, learnt: dict[str, Tensor], classes: int
    ) -> Tensor:
        h = torch.from_numpy(_apply(x, learnt["alone"]))
        fixed = x @ learnt["beside"][: x.shape[1]].numpy() + learnt["beside"][-1].numpy()
        weights = learnt["beside"][x.shape[1] : -1]
        for _ in range(self.iterations):
            before = h.argmax(1)
            h = torch.from_numpy(fixed + (_shares(inputs, before, classes) @ weights).numpy())
            if torch.equal(h.argmax(1), before):
                break
        return h.float()

    def _regression(self, x: sparse.csr_array, y: np.ndarray, weight: np.ndarray, classes: int) -> Tensor:
        """Coefficients [features + 1, classes], the intercept last; a class without a label is never predicted."""
        table = np.zeros((x.shape[1] + 1, classes), dtype=np.float32)
        table[-1] = -30.0
        seen = np.unique(y)
        if len(seen) == 1:
            table[-1, seen] = 0.0
            return torch.from_numpy(table)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            even = "balanced" if self.balanced else None
            model = LogisticRegression(C=self.C, class_weight=even, max_iter=500)
            model.fit(x, y, sample_weight=weight)
        coefficients, intercept = model.coef_, model.intercept_
        if len(seen) == 2:  # scikit-learn keeps one row for two classes
            coefficients, intercept = np.vstack([-coefficients / 2, coefficients / 2]), np.r_[-intercept, intercept] / 2
        table[:-1, seen] = coefficients.T
        table[-1, seen] = intercept
        return torch.from_numpy(table)

    def check_settings(self) -> None:
        super().check_settings()
        settings.whole("iterations", self.iterations, 1)
        settings.whole("rounds", self.rounds, 1)
        settings.number("C", self.C)
        settings.flag("balanced", self.balanced)


def _matrix(inputs: backbones.GraphInputs) -> sparse.csr_array:
    x = inputs.features
    if isinstance(x, SparseFeatures):
        parts = (x.values.numpy(), x.pattern.col.numpy(), x.pattern.crow.numpy())
        return sparse.csr_array(parts, shape=x.pattern.shape)
    return sparse.csr_array(x.numpy())


def _shares(inputs: backbones.GraphInputs, said: Tensor, classes: int) -> Tensor:
    """Of each node, the shares of the classes among its neighbours; zeros where it has none."""
    return inputs.mean_adj @ torch.nn.functional.one_hot(said, classes).float()


def _apply(x: sparse.csr_array, table: Tensor) -> np.ndarray:
    return (x @ table[:-1].numpy() + table[-1].numpy()).astype(np.float32)
