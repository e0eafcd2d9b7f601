"""Logistic regression through the likelihood of what was given: single precision, one block of classes × labels.

loss(W, c) = ½‖W‖² − Σ_i log Σ_k softmax(W·z_i + c)_k · L[i, k]
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch
from scipy.optimize import minimize
from torch import Tensor

from ..graphs.sparse import build_csr, spmm
from ..noise.kinds import Floats

COLD_ITERATIONS, WARM_ITERATIONS = 60, 40


def fit_flat_logistic_weights(
    features: np.ndarray | sp.csr_array, likelihood: np.ndarray, start: Floats | None, max_iterations: int | None = None
) -> Floats:
    """W [features, classes] and c [classes] in one vector. A start near the end spares iterations."""
    num_features, num_classes = features.shape[1], likelihood.shape[1]
    size = num_features * num_classes
    design = _Design(features)
    # Labels are columns: sums over the few classes then run along all labels at once.
    bounds = torch.from_numpy(np.ascontiguousarray(likelihood.T, dtype=np.float32))

    def compute_loss(weights: Floats) -> tuple[float, Floats]:
        single = torch.from_numpy(weights.astype(np.float32))
        matrix, offset = single[:size].view(num_features, num_classes), single[size:]
        probs = torch.softmax(design.multiply(matrix).add_(offset[:, None]), dim=0)
        joint = probs * bounds
        total = joint.sum(dim=0)
        difference = probs.sub_(joint.div_(total))
        value = 0.5 * float(matrix.square().sum()) - float(total.log().sum(dtype=torch.float64))
        slope = torch.cat([(design.multiply_transposed(difference) + matrix).reshape(-1), difference.sum(dim=1)])
        return value, slope.numpy().astype(np.float64)

    begin = np.zeros(size + num_classes) if start is None else start
    options = {"maxiter": max_iterations or (COLD_ITERATIONS if start is None else WARM_ITERATIONS)}
    return minimize(compute_loss, begin, jac=True, method="L-BFGS-B", options=options).x


class _Design:
    """The features of labels, dense or sparse, and the two products of a regression."""

    def __init__(self, features: np.ndarray | sp.csr_array) -> None:
        if isinstance(features, np.ndarray):
            self.matrix = torch.from_numpy(np.ascontiguousarray(features))
            self.transpose = self.matrix.T
        else:
            self.matrix, self.transpose = (
                _convert_csr_to_torch(features),
                _convert_csr_to_torch(sp.csr_array(features.T)),
            )

    def multiply(self, weights: Tensor) -> Tensor:
        """[classes, labels]."""
        if self.matrix.layout == torch.strided:
            return weights.T @ self.transpose
        return spmm(self.matrix, weights).T.contiguous()

    def multiply_transposed(self, difference: Tensor) -> Tensor:
        """[features, classes], from [classes, labels]."""
        if self.matrix.layout == torch.strided:
            return (difference @ self.matrix).T
        return spmm(self.transpose, difference.T.contiguous())


def _convert_csr_to_torch(matrix: sp.csr_array) -> Tensor:
    index = [torch.from_numpy(array.astype(np.int64)) for array in (matrix.indptr, matrix.indices)]
    return build_csr(index[0], index[1], torch.from_numpy(matrix.data.astype(np.float32)), matrix.shape)
