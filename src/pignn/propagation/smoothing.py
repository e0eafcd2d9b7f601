"""Features smoothed over the graph by personalized PageRank, and an embedding of them that needs no label.

S = α Σ_{k<K} (1 − α)^k Â^k + (1 − α)^K Â^K with restart probability α, K hops and Â = D^{-½}(A + I)D^{-½}.
S is never formed, and neither is S·X: both are products with few columns at a time. The cost grows with edges ×
dimensions and memory with nodes × dimensions, whatever the number of features.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Self

import torch
from torch import Tensor
from torch_geometric.data import Data

from .. import graphs
from ..backbones import ChunkedFeatures, GraphInputs
from ..core.errors import DataError, NotFittedError
from ..core.settings import SEED, Bool, Float, Int
from ..graphs.sparse import Operator, SparseFeatures, spmm

MAX_CHUNK_VALUES = 1 << 26  # numbers of a dense feature matrix that are read at a time
MAX_COLUMNS_PER_PASS = 64  # columns that are propagated at a time
CACHE_BYTES, CACHE_LINE_COLUMNS = 1 << 24, 16  # of single precision
SUBSPACE_ROUNDS = 4  # of subspace iteration
OVERSAMPLING = 16  # directions beyond those that are kept


def smooth(
    graph: Data | GraphInputs,
    x: Tensor | None = None,
    *,
    alpha: float = 0.1,
    num_hops: int = 20,
    transpose: bool = False,
) -> Tensor:
    """S·x, or Sᵀ·x, for one row of ``x`` per node. By default ``x`` are the features of the graph.

    ``alpha=1`` leaves ``x`` as it is. The result is a constant: no gradient goes through it.
    """
    _check_alpha_and_num_hops(alpha, num_hops)
    inputs = to_graph_inputs(graph)
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
        blocks = []
        for source in wide.split(choose_columns_per_pass(inputs.num_nodes), dim=1):
            source = source.contiguous()
            h = source
            for _ in range(num_hops):
                h = spmm(matrix, h).addcmul_(diagonal, h).mul_(1 - alpha).add_(source, alpha=alpha)
            blocks.append(h)
        return (blocks[0] if len(blocks) == 1 else torch.cat(blocks, dim=1)).reshape(x.shape)


def choose_columns_per_pass(num_nodes: int) -> int:
    """As many as stay in the cache, in whole cache lines; very many where not even one line per node does."""
    lines = CACHE_BYTES // (4 * CACHE_LINE_COLUMNS * max(num_nodes, 1))
    return min(lines * CACHE_LINE_COLUMNS, MAX_COLUMNS_PER_PASS) if lines else MAX_COLUMNS_PER_PASS


class Embedding:
    """The directions in which the smoothed features of a graph vary most, and the position of each node along them.

    ``fit`` finds V, the leading right singular vectors of S·R·X, by subspace iteration, where R scales each row of X to
    sum 1 (of absolute values). ``transform`` gives S·R·X·V with rows of length 1, for the same or any other graph with
    the same features. A row of zeros stays zero. No label has a part in it.

    Args:
        dimensions: number of directions, at most as many as there are features or nodes.
        alpha: restart probability of personalized PageRank; 1 ignores the graph.
        num_hops: number of propagation steps.
        directed: propagate along the direction of edges only.
        scale: scale rows to length 1.
        seed: random seed of the start.
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
        Int(min=1).raise_unless_valid("dimensions", dimensions)
        Bool().raise_unless_valid("directed", directed)
        Bool().raise_unless_valid("scale", scale)
        SEED.raise_unless_valid("seed", seed)
        _check_alpha_and_num_hops(alpha, num_hops)
        self.dimensions, self.alpha, self.num_hops = dimensions, alpha, num_hops
        self.directed, self.scale, self.seed = directed, scale, seed

    def fit(self, graph: Data | GraphInputs) -> Self:
        """Find the directions."""
        inputs = to_graph_inputs(graph, directed=self.directed)
        features = _NormalizedFeatures(inputs)
        limit = min(inputs.x.shape)
        size = min(self.dimensions, limit)

        def map_nodes(v: Tensor) -> Tensor:
            return self._multiply_smoothed_features(inputs, features, v)

        def multiply_gram(v: Tensor) -> Tensor:
            return self._multiply_transposed_smoothed_features(inputs, features, map_nodes(v))

        def compute_small_gram(v: Tensor) -> Tensor:
            mapped = map_nodes(v)
            return mapped.T @ mapped

        start = draw_start_directions(features.width, size, limit, self.seed).to(inputs.x)
        with torch.no_grad():
            self.components_ = find_leading_directions(start, size, multiply_gram, compute_small_gram)
        return self

    def transform(self, graph: Data | GraphInputs) -> Tensor:
        """The nodes of a graph along the directions, [N, d]."""
        if not hasattr(self, "components_"):
            raise NotFittedError("this Embedding is not fitted yet; call fit(graph) first")
        inputs = to_graph_inputs(graph, directed=self.directed)
        if inputs.x.shape[1] != len(self.components_):
            raise DataError(
                f"the embedding was fitted on {len(self.components_)} features, this graph has {inputs.x.shape[1]}"
            )
        with torch.no_grad():
            h = self._multiply_smoothed_features(inputs, _NormalizedFeatures(inputs), self.components_.to(inputs.x))
            return scale_rows_to_unit_length(h) if self.scale else h

    def fit_transform(self, graph: Data | GraphInputs) -> Tensor:
        inputs = to_graph_inputs(graph, directed=self.directed)
        return self.fit(inputs).transform(inputs)

    def _multiply_smoothed_features(self, inputs: GraphInputs, features: _NormalizedFeatures, v: Tensor) -> Tensor:
        """S·R·X·v."""
        return smooth(inputs, features.multiply(v), alpha=self.alpha, num_hops=self.num_hops)

    def _multiply_transposed_smoothed_features(
        self, inputs: GraphInputs, features: _NormalizedFeatures, h: Tensor
    ) -> Tensor:
        """(S·R·X)ᵀ·h."""
        return features.multiply_transposed(smooth(inputs, h, alpha=self.alpha, num_hops=self.num_hops, transpose=True))


def draw_start_directions(num_features: int, size: int, limit: int, seed: int) -> Tensor:
    """Random directions from which as many leading ones as ``size`` are found."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(num_features, min(size + OVERSAMPLING, limit), generator=generator)


def find_leading_directions(
    start: Tensor,
    size: int,
    multiply_gram: Callable[[Tensor], Tensor],
    compute_small_gram: Callable[[Tensor], Tensor],
) -> Tensor:
    """The leading right singular vectors of M by subspace iteration, where V ↦ MᵀM·V and V ↦ VᵀMᵀM·V are given."""
    v = torch.linalg.qr(start).Q
    for _ in range(SUBSPACE_ROUNDS):
        v = torch.linalg.qr(multiply_gram(v)).Q
    # Within the subspace, the directions that vary most: singular vectors of the small factor.
    _, vectors = torch.linalg.eigh(compute_small_gram(v).double())
    return (v @ vectors.flip(1)[:, :size].to(v)).contiguous()


class _NormalizedFeatures:
    """R·X of a graph: a sparse matrix if X is one, otherwise read in chunks, for features larger than memory."""

    def __init__(self, inputs: GraphInputs) -> None:
        features = inputs.features
        assert not isinstance(features, ChunkedFeatures)  # those are for inference by networks
        self.x = features
        self.width = int(inputs.x.shape[1])
        if isinstance(self.x, SparseFeatures):
            total = torch.segment_reduce(self.x.values.abs(), "sum", lengths=self.x.pattern.entries_per_row, initial=0)
        else:
            total = torch.cat([chunk.abs().sum(1) for chunk in self._iter_row_blocks(self.x)])
        self.scale = torch.where(total > 0, 1 / total, 0.0)[:, None]

    @staticmethod
    def _iter_row_blocks(x: Tensor) -> Iterator[Tensor]:
        return iter(x.split(max(1, MAX_CHUNK_VALUES // x.shape[1])))

    def multiply(self, v: Tensor) -> Tensor:
        if isinstance(self.x, SparseFeatures):
            return (self.x @ v) * self.scale
        return torch.cat([chunk @ v for chunk in self._iter_row_blocks(self.x)]) * self.scale

    def multiply_transposed(self, h: Tensor) -> Tensor:
        h = h * self.scale
        if isinstance(self.x, SparseFeatures):
            return self.x.operator.transpose @ h
        total = torch.zeros(self.width, h.shape[1], dtype=h.dtype, device=h.device)
        start = 0
        for chunk in self._iter_row_blocks(self.x):
            total += chunk.T @ h[start : start + len(chunk)]
            start += len(chunk)
        return total


def scale_rows_to_unit_length(h: Tensor) -> Tensor:
    """Rows scaled to length 1; a row of zeros stays zero."""
    length = h.norm(dim=1, keepdim=True)
    return torch.where(length > 0, h / length.clamp(min=torch.finfo(h.dtype).tiny), 0.0)


def to_graph_inputs(graph: Data | GraphInputs, *, directed: bool = False) -> GraphInputs:
    """The inputs of a graph, which is checked first; inputs stay what they are."""
    if isinstance(graph, GraphInputs):
        return graph
    return GraphInputs.from_data(graphs.copy_checked_graph(graph, needs_labels=False), directed=directed)


def _check_alpha_and_num_hops(alpha: float, num_hops: int) -> None:
    Float(max=1, open_min=True).raise_unless_valid("alpha", alpha)
    Int(min=0).raise_unless_valid("num_hops", num_hops)
