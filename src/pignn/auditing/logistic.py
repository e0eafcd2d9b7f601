"""Logistic regression through the likelihood of what was given: single precision, one block of classes × labels.

loss(W, c) = ½‖W‖² − Σ_i log Σ_k softmax(W·z_i + c)_k · L[i, k]

The search for its minimum goes through coordinates in which the loss of an undecided classifier is equally curved in
all directions. Its Hessian is ½ Zᵀ·Z per class, up to a factor, where Z are the features beside a column of ones. So a
dozen steps reach what takes sixty without. No label is needed for these coordinates: all folds share them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from torch import Tensor

from ..graphs.sparse import build_csr, spmm
from ..noise.kinds import Floats

Singles = NDArray[np.float32]
MAX_ITERATIONS = 60  # few are needed but for sparse features
LOSS_TOLERANCE = 1e-8  # relative; single precision tells little more
MAX_CURVATURE_ROWS = 100_000  # that tell the curvature well enough
OFFSET_CURVATURE = 1e-3  # added to that of the offsets, which have no penalty


@dataclass(frozen=True, eq=False)
class Coordinates:
    """(W, c) = matrix · V: what is searched for is V."""

    matrix: Tensor  # [features + 1, features + 1]
    inverse: Tensor

    @classmethod
    def from_features(cls, features: Singles | sp.csr_array, num_labels: int, num_classes: int) -> Coordinates | None:
        """Those of a regression of ``num_labels`` labels; None for sparse features, which may be too many for them."""
        if not isinstance(features, np.ndarray):
            return None
        rows = torch.from_numpy(features[:: -(-len(features) // MAX_CURVATURE_ROWS)])
        width = rows.shape[1]
        gram = torch.empty(width + 1, width + 1, dtype=torch.float64)
        gram[:width, :width] = rows.T @ rows
        gram[width, :width] = gram[:width, width] = rows.sum(dim=0, dtype=torch.float64)
        gram[width, width] = len(rows)
        curvature = gram * (num_labels / len(rows) / num_classes)
        curvature.diagonal().add_(1.0)
        curvature[width, width] += OFFSET_CURVATURE - 1.0
        factor = torch.linalg.cholesky(curvature)
        return cls(torch.linalg.inv(factor).T.float().contiguous(), factor.T.float().contiguous())


def fit_flat_logistic_weights(
    features: Singles | sp.csr_array,
    likelihood: Singles,
    start: Floats | None,
    max_iterations: int | None = None,
    coordinates: Coordinates | None = None,
) -> Floats:
    """W [features, classes] and c [classes] in one vector. A start near the end spares iterations."""
    shape = features.shape[1] + 1, likelihood.shape[1]
    design = _Design(features)
    # Labels are columns: sums over the few classes then run along all labels at once.
    bounds = torch.from_numpy(np.ascontiguousarray(likelihood.T))

    def compute_loss(position: Floats) -> tuple[float, Floats]:
        point = torch.from_numpy(position.astype(np.float32)).view(shape)
        weights = point if coordinates is None else coordinates.matrix @ point
        matrix, offset = weights[:-1], weights[-1]
        probs = torch.softmax(design.multiply(matrix).add_(offset[:, None]), dim=0)
        joint = probs * bounds
        total = joint.sum(dim=0)
        difference = probs.sub_(joint.div_(total))
        value = 0.5 * float(matrix.square().sum()) - float(total.log_().sum(dtype=torch.float64))
        slope = torch.cat([design.multiply_transposed(difference).add_(matrix), difference.sum(dim=1)[None]])
        slope = slope if coordinates is None else coordinates.matrix.T @ slope
        return value, slope.reshape(-1).numpy().astype(np.float64)

    begin = np.zeros(shape) if start is None else start.reshape(shape)
    if coordinates is not None and start is not None:
        begin = coordinates.inverse.double().numpy() @ begin
    options = {"maxiter": max_iterations or MAX_ITERATIONS, "ftol": LOSS_TOLERANCE}
    end = minimize(compute_loss, begin.ravel(), jac=True, method="L-BFGS-B", options=options).x
    design.release()
    return end if coordinates is None else (coordinates.matrix.double().numpy() @ end.reshape(shape)).ravel()


class _Design:
    """The features of labels, dense or sparse, and the two products of a regression."""

    def __init__(self, features: Singles | sp.csr_array) -> None:
        if isinstance(features, np.ndarray):
            self.matrix = torch.from_numpy(np.ascontiguousarray(features))
            self.transpose = self.matrix.T
        else:
            self.matrix, self.transpose = (
                _convert_csr_to_torch(features),
                _convert_csr_to_torch(sp.csr_array(features.T)),
            )

    def release(self) -> None:
        """Let go of the features: SciPy keeps the function that was minimized until garbage is collected."""
        self.matrix = self.transpose = torch.empty(0)

    def multiply(self, weights: Tensor) -> Tensor:
        """[classes, labels]."""
        if self.matrix.layout == torch.strided:
            return weights.T @ self.transpose
        return spmm(self.matrix, weights.contiguous()).T.contiguous()

    def multiply_transposed(self, difference: Tensor) -> Tensor:
        """[features, classes], from [classes, labels]."""
        if self.matrix.layout == torch.strided:
            return (difference @ self.matrix).T
        return spmm(self.transpose, difference.T.contiguous())


def _convert_csr_to_torch(matrix: sp.csr_array) -> Tensor:
    index = [torch.from_numpy(array.astype(np.int64)) for array in (matrix.indptr, matrix.indices)]
    return build_csr(index[0], index[1], torch.from_numpy(matrix.data.astype(np.float32)), matrix.shape)
