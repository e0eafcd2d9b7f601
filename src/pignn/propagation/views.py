"""Views of the nodes of a graph: several vectors per node, none of which needs a label.

Which one tells the classes apart depends on the graph. Where neighbors share a class, smoothed features do. Where they
do not, own features beside those of neighbors do. Where features say little, the position in the graph does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from ..backbones import FeatureScaling, GraphInputs
from ..graphs.sparse import ChunkedOperator, Operator
from ..io.digests import compute_digest_of_parts
from .block_runs import BlockWork, get_block_work_or_none
from .block_views import (
    ArrayPart,
    StoredViews,
    ViewPart,
    compute_neighbor_part,
    compute_smoothed_part,
    find_components_by_blocks,
)
from .node_rows import NodeRows
from .smoothing import OVERSAMPLING, Embedding, scale_rows_to_unit_length

SMOOTHED_ALPHAS = {"smoothed": 0.1, "smoothed nearby": 0.3, "features": 1.0}
VIEW_PARTS = {
    "smoothed": ("smoothed",),
    "smoothed nearby": ("smoothed nearby",),
    "features": ("features",),
    "neighbors": ("features", "neighbors 1", "neighbors 2"),
    "structure": ("structure",),
    "neighbors and structure": ("features", "neighbors 1", "structure"),
    "smoothed and structure": ("smoothed", "structure"),
    "neighbors and degrees": ("features", "neighbors 1", "neighbors 2", "degrees"),
}
NEIGHBOR_HOPS = {"neighbors 1": 1, "neighbors 2": 2}
MAX_STRUCTURE_NODES = 500_000  # of larger graphs the basis of the structure would make a model too large to keep
SUBSPACE_ROUNDS = 6
DEGREE_LEVELS = 12  # of each number that describes degrees
MAX_QUANTILE_NODES = 1_000_000  # that show which degrees there are


class NodeViews:
    """Vectors of nodes by the name of a view, each of length 1.

    - ``smoothed``, ``smoothed nearby``, ``features``: an :class:`Embedding` with alpha 0.1, 0.3 and 1.
    - ``structure``: the leading eigenvectors of D^{-½}AD^{-½}, where every node is. Features have no part in it.
    - ``neighbors``: own features, their mean over the neighbors, and over the neighbors of these, side by side.
    - ``neighbors and degrees``: with them, degrees of a node and of its neighbors, coded so that linear scores can
      rise and fall with them (:func:`_compute_degrees_and_neighbor_degree_statistics`).
    - ``neighbors and structure``, ``smoothed and structure``: side by side.

    Features are scaled as networks read them. The structure of a graph says nothing about the nodes of another one:
    views with it are there only for the graph that they were fitted on.

    Args:
        dimensions: dimensions of each part.
        directed: propagate along the direction of edges only. There is no structure then.
        seed: random seed.
    """

    def __init__(self, dimensions: int = 64, *, directed: bool = False, seed: int = 0) -> None:
        self.dimensions, self.directed, self.seed = dimensions, directed, seed
        self.scaling_: FeatureScaling | None = None
        self.components_: dict[str, Tensor] = {}
        self.basis_: Tensor | None = None
        self.graph_digest_ = ""

    def fit(self, inputs: GraphInputs) -> Self:
        """Find the directions of all parts."""
        self.scaling_ = FeatureScaling.fit(inputs.raw_x, "auto")
        scaled = inputs.copy_with_scaling(self.scaling_)
        for part in SMOOTHED_ALPHAS:
            self.components_[part] = self._find_components(part, scaled)
        if inputs.adj.num_entries:
            streamed = inputs if get_block_work_or_none() is None else inputs.copy_for_chunked_inference()
            self.components_["degrees"] = _find_degree_quantiles_and_widths(streamed)
        if not self.directed and inputs.adj.num_entries and inputs.num_nodes <= MAX_STRUCTURE_NODES:
            self.basis_ = _find_structure_basis(inputs, self.dimensions, self.seed)
            self.graph_digest_ = _compute_edge_digest(inputs)
        return self

    def list_available_views(self) -> list[str]:
        """The views that there are for the fitted graph."""
        left_out = {"structure"} if self.basis_ is None else set()
        left_out |= set() if "degrees" in self.components_ else {"degrees"}
        return [name for name, parts in VIEW_PARTS.items() if not left_out & set(parts)]

    def is_fitted_graph(self, inputs: GraphInputs) -> bool:
        """Whether the structure of this graph is the one that was fitted."""
        return self.basis_ is not None and _compute_edge_digest(inputs) == self.graph_digest_

    def _find_components(self, part: str, scaled: GraphInputs) -> Tensor:
        """The directions of an embedding; no more features than dimensions stay as they are, any basis is as good."""
        num_features, work = scaled.raw_x.shape[1], get_block_work_or_none()
        if num_features <= self.dimensions:
            return torch.eye(num_features)
        if work is None:
            return self._build_unfitted_embedding(part).fit(scaled).components_
        assert self.scaling_ is not None
        alpha = SMOOTHED_ALPHAS[part]
        return find_components_by_blocks(work, self.scaling_, self.dimensions, alpha, self.seed, part)

    def transform(
        self, inputs: GraphInputs, names: Iterable[str], nodes: Tensor | None = None
    ) -> Mapping[str, Tensor | NodeRows]:
        """The named views of the nodes of a graph, [N, d] each. A part that several views share is made once.

        Where a graph store is read by blocks, they are :class:`NodeRows` of ``nodes``, which are sorted.
        """
        work = get_block_work_or_none()
        if work is not None:
            return self._compute_stored_views(work, inputs, names, None if nodes is None else nodes.numpy())
        scaled = inputs.copy_with_scaling(self.scaling_)
        parts: dict[str, Tensor] = {}
        views = {}
        for name in names:
            blocks = [self._compute_and_cache_view_part(part, scaled, parts) for part in VIEW_PARTS[name]]
            views[name] = blocks[0] if len(blocks) == 1 else torch.cat(blocks, 1) / len(blocks) ** 0.5
        return views

    def fit_transform(self, inputs: GraphInputs, nodes: Tensor | None = None) -> Mapping[str, Tensor | NodeRows]:
        return self.fit(inputs).transform(inputs, self.list_available_views(), nodes)

    def iter_transformed_rows(
        self, inputs: GraphInputs, names: Iterable[str]
    ) -> Iterator[tuple[slice, Mapping[str, Tensor]]]:
        """The named views of all nodes: at once, or some rows at a time where a graph store is read by blocks."""
        views: Any = self.transform(inputs, names)
        if isinstance(views, StoredViews):
            yield from views.iter_rows()
        else:
            yield slice(0, inputs.num_nodes), views

    def _compute_stored_views(
        self, work: BlockWork, inputs: GraphInputs, names: Iterable[str], nodes: np.ndarray | None
    ) -> StoredViews:
        assert self.scaling_ is not None
        names, common = list(names), (work, self.scaling_)
        chosen = slice(None) if nodes is None else torch.from_numpy(nodes)
        parts: dict[str, ViewPart] = {}
        for part in dict.fromkeys(part for name in names for part in VIEW_PARTS[name]):
            if part in SMOOTHED_ALPHAS:
                alpha = SMOOTHED_ALPHAS[part]
                parts[part] = compute_smoothed_part(*common, self.components_[part], alpha, nodes, part)
            elif part in NEIGHBOR_HOPS:
                own, hops = self.components_["features"], NEIGHBOR_HOPS[part]
                parts[part] = compute_neighbor_part(*common, own, hops, nodes, part)
            elif part == "structure":
                parts[part] = ArrayPart(self._compute_and_cache_view_part(part, inputs, {})[chosen])
            else:
                numbers = _compute_degrees_and_neighbor_degree_statistics(inputs.copy_for_chunked_inference())
                parts[part] = ArrayPart(_encode_as_gaussian_bumps(numbers[:, chosen], self.components_[part]))
        by_view = {name: [parts[part] for part in VIEW_PARTS[name]] for name in names}
        return StoredViews(by_view, nodes, inputs.num_nodes)

    def _compute_and_cache_view_part(self, part: str, inputs: GraphInputs, parts: dict[str, Tensor]) -> Tensor:
        if part not in parts:
            if part in SMOOTHED_ALPHAS:
                embedding = self._build_unfitted_embedding(part)
                embedding.components_ = self.components_[part]
                parts[part] = embedding.transform(inputs)
            elif part == "structure":
                assert self.basis_ is not None
                parts[part] = scale_rows_to_unit_length(
                    _multiply_by_normalized_adjacency(inputs, self.basis_.to(inputs.raw_x))
                )
            elif part == "degrees":
                numbers = _compute_degrees_and_neighbor_degree_statistics(inputs)
                parts[part] = _encode_as_gaussian_bumps(numbers, self.components_[part])
            else:
                mean = self._compute_and_cache_view_part("features", inputs, parts)
                for _ in range(NEIGHBOR_HOPS[part]):
                    mean = _get_mean_operator(inputs) @ mean
                parts[part] = scale_rows_to_unit_length(mean)
        return parts[part]

    def _build_unfitted_embedding(self, part: str) -> Embedding:
        return Embedding(self.dimensions, alpha=SMOOTHED_ALPHAS[part], directed=self.directed, seed=self.seed)

    def get_state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Tensors and plain values to save."""
        tensors = {f"components.{name}": value for name, value in self.components_.items()}
        metadata: dict[str, Any] = {"dimensions": self.dimensions, "graph_digest": self.graph_digest_}
        if self.basis_ is not None:
            tensors["basis"] = self.basis_
        if self.scaling_ is not None:
            tensors |= {f"scaling.{name}": value for name, value in self.scaling_.tensors().items()}
            metadata["scaling"] = self.scaling_.kind
        return tensors, metadata

    @classmethod
    def from_state(
        cls, tensors: Mapping[str, Tensor], metadata: Mapping[str, Any], *, directed: bool, seed: int
    ) -> NodeViews:
        """What :meth:`get_state` gave."""
        views = cls(int(metadata["dimensions"]), directed=directed, seed=seed)
        prefix = "components."
        views.components_ = {key.removeprefix(prefix): each for key, each in tensors.items() if key.startswith(prefix)}
        views.basis_, views.graph_digest_ = tensors.get("basis"), str(metadata["graph_digest"])
        if "scaling" in metadata:
            center, scale = tensors.get("scaling.center"), tensors.get("scaling.scale")
            views.scaling_ = FeatureScaling(str(metadata["scaling"]), center, scale)
        return views


def is_view_of_fitted_graph_only(name: str) -> bool:
    """Whether a view says nothing about the nodes of another graph."""
    return "structure" in VIEW_PARTS[name]


def _find_structure_basis(inputs: GraphInputs, dimensions: int, seed: int) -> Tensor:
    """The eigenvectors of D^{-½}AD^{-½} of the largest absolute eigenvalues, [N, d], by subspace iteration."""
    num_nodes = inputs.num_nodes
    generator = torch.Generator().manual_seed(seed)
    start = torch.randn(num_nodes, min(dimensions + OVERSAMPLING, num_nodes), generator=generator).to(inputs.raw_x)
    with torch.no_grad():
        q = torch.linalg.qr(start).Q
        for _ in range(SUBSPACE_ROUNDS):
            q = torch.linalg.qr(
                _multiply_by_normalized_adjacency(inputs, _multiply_by_normalized_adjacency(inputs, q))
            ).Q
        small = (q.T @ _multiply_by_normalized_adjacency(inputs, q)).double()
        values, vectors = torch.linalg.eigh((small + small.T) / 2)
        largest = values.abs().argsort(descending=True)[:dimensions]
        return (q @ vectors[:, largest].to(q)).contiguous()


def _multiply_by_normalized_adjacency(inputs: GraphInputs, h: Tensor) -> Tensor:
    """D^{-½}AD^{-½}·h, by the operator of means: D^{½}(D^{-1}A)D^{-½}."""
    root = inputs.degree.clamp(min=torch.finfo(h.dtype).tiny).sqrt()[:, None]
    return (_get_mean_operator(inputs) @ (h / root)) * root


def _compute_degrees_and_neighbor_degree_statistics(inputs: GraphInputs) -> Tensor:
    """log(1 + degree) of each node, and its mean and standard deviation over the neighbors, [3, N]."""
    own = inputs.degree.log1p()[:, None]
    mean = _get_mean_operator(inputs) @ own
    variance = _get_mean_operator(inputs) @ own.square() - mean.square()
    return torch.cat([own, mean, variance.clamp(min=0).sqrt()], 1).t()


def _find_degree_quantiles_and_widths(inputs: GraphInputs) -> Tensor:
    """Quantiles of these numbers and, last, how wide each level is, [3, levels + 1]."""
    numbers = _compute_degrees_and_neighbor_degree_statistics(inputs)[
        :, :: max(1, inputs.num_nodes // MAX_QUANTILE_NODES)
    ]
    quantiles = torch.quantile(numbers, torch.linspace(0.02, 0.98, DEGREE_LEVELS).to(numbers), dim=1).t()
    width = (numbers.std(1, correction=0) / 2).clamp(min=1e-3)
    return torch.cat([quantiles, width[:, None]], 1).contiguous()


def _encode_as_gaussian_bumps(numbers: Tensor, quantiles_and_widths: Tensor) -> Tensor:
    """How near each of a node's numbers is to each level: Gaussian bumps, [N, 3·levels]."""
    blocks = [
        scale_rows_to_unit_length((-0.5 * ((number[:, None] - level[:-1]) / level[-1]).square()).exp())
        for number, level in zip(numbers, quantiles_and_widths.to(numbers), strict=True)
    ]
    return torch.cat(blocks, 1) / len(blocks) ** 0.5


def _get_mean_operator(inputs: GraphInputs) -> Operator | ChunkedOperator:
    operator = inputs.mean_adj
    assert isinstance(operator, Operator | ChunkedOperator)  # no weights are learned here
    return operator


def _compute_edge_digest(inputs: GraphInputs) -> str:
    weight = [] if inputs.edge_weight is None else [inputs.edge_weight]
    return compute_digest_of_parts(inputs.adj.crow.long(), inputs.adj.col.long(), *weight)
