"""Features smoothed over the graph by personalised PageRank, and an embedding made of them without a label.

S = α Σ_{k<K} (1 − α)^k Â^k + (1 − α)^K Â^K with alpha probability α, K hops and Â = D^{-½}(A + I)D^{-½}.
S is never formed, and neither is S·X: both are products with few columns at a time. The cost grows with edges ×
dimensions and memory with nodes × dimensions, whatever the number of features.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

import torch
from torch import Tensor
from torch_geometric.data import Data

from .. import graphs
from ..backbones import GraphInputs
from ..core import validation as settings
from ..core.errors import ConfigError, DataError, NotFittedError
from ..graphs.sparse import Operator, SparseFeatures, spmm

CHUNK = 1 << 26  # numbers of a dense feature matrix that are read at a time
COLUMNS = 64  # that are propagated at a time
ROUNDS = 4  # of subspace iteration
SPARE = 16  # directions beyond those asked for, dropped in the end


def smooth(
    graph: Data | GraphInputs,
    x: Tensor | None = None,
    *,
    alpha: float = 0.1,
    num_hops: int = 20,
    transpose: bool = False,
) -> Tensor:
    """S·x, or Sᵀ·x, for one row of ``x`` a node; the graph's own features where there is no ``x``.

    ``alpha=1`` leaves ``x`` as it is. The result is a constant: no gradient goes through it.
    """
    _check(alpha, num_hops)
    inputs = as_inputs(graph)
    x = inputs.x if x is None else x
    if x.dim() not in (1, 2) or len(x) != inputs.num_nodes:
        raise DataError(f"there are {inputs.num_nodes} nodes, and x to smooth has the shape {list(x.shape)}")
    with torch.no_grad():
        wide = x.to(inputs.x.dtype).reshape(inputs.num_nodes, -1)
        if alpha == 1 or num_hops == 0:
            return wide.reshape(x.shape).clone()
        operator = inputs.gcn_adj
        assert isinstance(operator, Operator)  # propagation keeps its matrix
        matrix, diagonal = operator.transpose if transpose else operator.matrix, operator.diagonal
        assert diagonal is not None
        parts = []
        for source in wide.split(COLUMNS, dim=1):
            source = source.contiguous()
            h = source
            for _ in range(num_hops):
                h = spmm(matrix, h).addcmul_(diagonal, h).mul_(1 - alpha).add_(source, alpha=alpha)
            parts.append(h)
        return (parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)).reshape(x.shape)


class Embedding:
    """The ``dimensions`` directions in which the smoothed features of a graph vary most, and where each node lies.

    ``fit`` finds V, the leading right singular vectors of S·R·X, by subspace iteration, where R scales each row of X to
    sum 1 (of absolute values). ``transform`` gives S·R·X·V with rows of length 1, for the same or any other graph with
    the same features; a row without anything stays zero. No label has a part in it.

    Args:
        dimensions: at most as many as there are features (or nodes).
        alpha: of personalised PageRank; 1 leaves the graph out.
        num_hops: of propagation.
        directed: propagate along the edges' direction only.
        scale: rows to length 1.
        seed: of the random start.
    """

    components_: Tensor  # [F, d]

    def __init__(
        self,
        dimensions: int = 64,
        *,
        alpha: float = 0.1,
        num_hops: int = 20,
        directed: bool = False,
        scale: bool = True,
        seed: int = 0,
    ) -> None:
        settings.whole("dimensions", dimensions, 1)
        settings.flag("directed", directed)
        settings.flag("scale", scale)
        settings.seed("seed", seed)
        _check(alpha, num_hops)
        self.dimensions, self.alpha, self.num_hops = dimensions, alpha, num_hops
        self.directed, self.scale, self.seed = directed, scale, seed

    def fit(self, graph: Data | GraphInputs) -> Self:
        inputs = as_inputs(graph, directed=self.directed)
        features = _Rows(inputs)
        wide = min(inputs.x.shape)
        size = min(self.dimensions, wide)
        generator = torch.Generator().manual_seed(self.seed)
        start = torch.randn(features.width, min(size + SPARE, wide), generator=generator).to(inputs.x)
        with torch.no_grad():
            v = torch.linalg.qr(start).Q
            for _ in range(ROUNDS):
                v = torch.linalg.qr(self._back(inputs, features, self._forth(inputs, features, v))).Q
            # Within the subspace, the directions that vary most: singular vectors of the small factor.
            forth = self._forth(inputs, features, v)
            _, vectors = torch.linalg.eigh((forth.T @ forth).double())
            self.components_ = (v @ vectors.flip(1)[:, :size].to(v)).contiguous()
        return self

    def transform(self, graph: Data | GraphInputs) -> Tensor:
        """[N, d]."""
        if not hasattr(self, "components_"):
            raise NotFittedError("this Embedding is not fitted yet; call fit(graph) first")
        inputs = as_inputs(graph, directed=self.directed)
        if inputs.x.shape[1] != len(self.components_):
            raise DataError(
                f"the embedding was fitted on {len(self.components_)} features, this graph has {inputs.x.shape[1]}"
            )
        with torch.no_grad():
            h = self._forth(inputs, _Rows(inputs), self.components_.to(inputs.x))
            return unit_rows(h) if self.scale else h

    def fit_transform(self, graph: Data | GraphInputs) -> Tensor:
        inputs = as_inputs(graph, directed=self.directed)
        return self.fit(inputs).transform(inputs)

    def _forth(self, inputs: GraphInputs, features: _Rows, v: Tensor) -> Tensor:
        return smooth(inputs, features.times(v), alpha=self.alpha, num_hops=self.num_hops)

    def _back(self, inputs: GraphInputs, features: _Rows, h: Tensor) -> Tensor:
        return features.transposed_times(smooth(inputs, h, alpha=self.alpha, num_hops=self.num_hops, transpose=True))


class _Rows:
    """R·X of a graph: sparse where it is, else read in chunks, for features larger than memory."""

    def __init__(self, inputs: GraphInputs) -> None:
        self.x = inputs.features
        self.width = int(inputs.x.shape[1])
        if isinstance(self.x, SparseFeatures):
            total = torch.segment_reduce(self.x.values.abs(), "sum", lengths=self.x.pattern.counts, initial=0)
        else:
            total = torch.cat([part.abs().sum(1) for part in self._chunks(self.x)])
        self.scale = torch.where(total > 0, 1 / total, 0.0)[:, None]

    @staticmethod
    def _chunks(x: Tensor) -> Iterator[Tensor]:
        return iter(x.split(max(1, CHUNK // x.shape[1])))

    def times(self, v: Tensor) -> Tensor:
        if isinstance(self.x, SparseFeatures):
            return (self.x @ v) * self.scale
        return torch.cat([part @ v for part in self._chunks(self.x)]) * self.scale

    def transposed_times(self, h: Tensor) -> Tensor:
        h = h * self.scale
        if isinstance(self.x, SparseFeatures):
            return self.x.operator.transpose @ h
        total = torch.zeros(self.width, h.shape[1], dtype=h.dtype, device=h.device)
        start = 0
        for part in self._chunks(self.x):
            total += part.T @ h[start : start + len(part)]
            start += len(part)
        return total


def unit_rows(h: Tensor) -> Tensor:
    """Rows of length 1; a row of zeros stays one."""
    length = h.norm(dim=1, keepdim=True)
    return torch.where(length > 0, h / length.clamp(min=torch.finfo(h.dtype).tiny), 0.0)


def as_inputs(graph: Data | GraphInputs, *, directed: bool = False) -> GraphInputs:
    """What a network would read of the graph; a graph is checked first."""
    if isinstance(graph, GraphInputs):
        return graph
    return GraphInputs.from_data(graphs.check_graph(graph, with_labels=False), directed=directed)


def _check(alpha: float, num_hops: int) -> None:
    if isinstance(alpha, bool) or not isinstance(alpha, int | float) or not 0 < alpha <= 1:
        raise ConfigError(f"alpha must be above 0 and at most 1, not {alpha!r}")
    settings.whole("num_hops", num_hops, 0)
