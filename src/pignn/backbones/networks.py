"""The networks: GCN, GAT and GraphSAGE, two layers each by default, and whatever else a user brings.

A backbone maps :class:`GraphInputs` to one row per node. GCN and GraphSAGE multiply with a CSR matrix that is
normalized once per graph; their outputs equal those of PyG's layers.
"""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Data

from ..core.errors import ConfigError, unknown
from ..graphs import simplify_edges
from ..graphs.sparse import ChunkedOperator, Operator, Pattern, SparseFeatures, row_softmax, weighted_spmm
from .decoupled import APPNP, MLP, SGC

INITIALIZATIONS = ("glorot", "uniform", "normal", "constant", "kaiming")
ALL = slice(None)
SPARSE_BELOW = 0.1  # features with a smaller share of non-zeros are multiplied as a sparse matrix


class GraphInputs:
    """Features and adjacency of a graph. Normalized adjacency matrices are built lazily and cached.

    Row i of ``adj`` has the nodes that send messages to node i. In an undirected graph it is its own transpose, and so
    are symmetric weights.
    """

    def __init__(
        self,
        x: Tensor,
        adj: Pattern,
        edge_weight: Tensor | None = None,
        *,
        directed: bool = False,
        parent_degrees: tuple[Tensor, Tensor] | None = None,
    ) -> None:
        self.x = x
        self.parent_degrees = parent_degrees  # of a sampled subgraph: degrees and numbers of neighbors in its parent
        self.adj = adj
        self.edge_weight = edge_weight
        self.directed = directed
        self.num_nodes = int(x.shape[0])
        self.notes: list[str] = []
        self.chunked = False

    def as_chunked(self) -> GraphInputs:
        """The same for inference: matrices are made a few million entries at a time and not kept."""
        result = copy.copy(self)
        for name in ("gcn_adj", "mean_adj", "adj_with_self_loops"):
            result.__dict__.pop(name, None)
        result.chunked = True
        return result

    @classmethod
    def from_data(cls, data: Data, *, directed: bool = False, device: str | torch.device = "cpu") -> GraphInputs:
        """Of a checked graph: its simple edges, undirected unless asked otherwise; ``notes`` say what was changed."""
        shape = (data.x.shape[0], data.x.shape[0])
        weight = data.get("edge_weight")
        if data.get("crow") is not None:  # a store on disk: simple, undirected and sorted already
            if directed:
                raise ConfigError("a store on disk has no directions of edges: leave directed out")
            weight = None if weight is None else weight.to(device)
            return cls(data.x.to(device), Pattern(data.crow.to(device), data.col.to(device), shape), weight)
        edges = simplify_edges(data.edge_index, shape[0], weight, directed=directed)
        incoming, weight = Pattern.from_sorted(edges.edge_index[0], edges.edge_index[1], shape), edges.edge_weight
        if directed:
            incoming, order = incoming.transposed
            weight = None if weight is None else weight[order]
        incoming = Pattern(incoming.crow.to(device), incoming.col.to(device), shape)
        weight = None if weight is None else weight.to(device)
        inputs = cls(data.x.to(device), incoming, weight, directed=directed)
        inputs.notes = edges.notes
        return inputs

    @property
    def edge_index(self) -> Tensor:
        """As PyG has it: sources, targets."""
        return torch.stack([self.adj.col.long(), self.adj.row])

    @cached_property
    def features(self) -> Tensor | SparseFeatures:
        """x, as a sparse matrix where most of it is zero (bags of words)."""
        probe = self.x[:: max(1, self.num_nodes // 1000)]
        if probe.count_nonzero() >= SPARSE_BELOW * probe.numel():
            return self.x
        return SparseFeatures.from_dense(self.x)

    @cached_property
    def degree(self) -> Tensor:
        """The (weighted) in-degree of every node."""
        if self.edge_weight is None:
            return self.adj.counts.to(self.x.dtype)
        return torch.segment_reduce(self.edge_weight, "sum", lengths=self.adj.counts, initial=0)

    @cached_property
    def gcn_adj(self) -> Operator | ChunkedOperator:
        """D^{-½}(A + I)D^{-½}, with D the (weighted) in-degrees of A + I."""
        scale = (1 + (self.degree if self.parent_degrees is None else self.parent_degrees[0])).rsqrt()
        ours = scale
        if self.parent_degrees is not None:  # each sampled neighbour stands for those that were left out
            ours = scale * (self.parent_degrees[1] / self.adj.counts.clamp(min=1))

        def entries_of(part: Pattern, rows: slice, entries: slice) -> Tensor:
            values = part.repeat_rows(ours[rows]).mul_(scale[part.col])
            return values if self.edge_weight is None else values.mul_(self.edge_weight[entries])

        if self.chunked:
            return ChunkedOperator(self.adj, entries_of, scale.square())
        values = entries_of(self.adj, ALL, ALL)
        if self.directed:
            return Operator.from_values(self.adj, values, scale.square())
        matrix = self.adj.matrix(values)
        return Operator(matrix, matrix, scale.square())

    @cached_property
    def mean_adj(self) -> Operator | ChunkedOperator:
        """D^{-1}A: the (weighted) mean over the neighbors; zero for a node that has none."""
        share = 1 / self.degree.clamp(min=torch.finfo(self.x.dtype).tiny)

        def entries_of(part: Pattern, rows: slice, entries: slice) -> Tensor:
            values = part.repeat_rows(share[rows])
            return values if self.edge_weight is None else values.mul_(self.edge_weight[entries])

        if self.chunked:
            return ChunkedOperator(self.adj, entries_of)
        values = entries_of(self.adj, ALL, ALL)
        if self.directed:
            return Operator.from_values(self.adj, values)
        weight = 1 if self.edge_weight is None else self.edge_weight
        return Operator(self.adj.matrix(values), self.adj.matrix(share[self.adj.col] * weight))

    @cached_property
    def adj_with_self_loops(self) -> Pattern:
        """``adj`` with every node among its own sources."""
        return _with_itself(self.adj, 0)

    def iter_adj_chunks(self) -> Iterator[tuple[slice, Pattern]]:
        """``adj_with_self_loops``, whole or in chunks: (target rows, their sources)."""
        if not self.chunked:
            yield ALL, self.adj_with_self_loops
            return
        for rows, _, part in self.adj.parts():
            yield rows, _with_itself(part, rows.start)


def _with_itself(incoming: Pattern, first: int) -> Pattern:
    """Every row with an entry for itself, the last; the rows are nodes from ``first`` on."""
    targets = torch.arange(incoming.shape[0], device=incoming.col.device)
    row, col = torch.cat([incoming.row, targets]), torch.cat([incoming.col.long(), targets + first])
    order = torch.argsort(row, stable=True)
    return Pattern.from_sorted(row[order], col[order], incoming.shape)


class GCN(MLP):
    """Kipf & Welling (ICLR 2017): H ← ReLU(D^{-½}(A + I)D^{-½} H W + b), no ReLU after the last layer.

    Dropout between the layers, none on the input.
    """

    uses_weights = True

    def __init__(
        self, inputs: int, outputs: int, *, hidden_channels: int = 16, num_layers: int = 2, dropout: float = 0.5
    ) -> None:
        super().__init__(inputs, outputs, hidden_channels=hidden_channels, num_layers=num_layers, dropout=dropout)

    def gathered(self, graph: GraphInputs, h: Tensor) -> Tensor:
        return graph.gcn_adj @ h


class GraphSAGE(nn.Module):
    """Hamilton et al. (NeurIPS 2017), mean aggregator: H ← ReLU(mean_{N(i)}(H) W_n + H W_s + b).

    Edge weights, where there are any, weigh the mean. Dropout between the layers.
    """

    uses_weights = True

    def __init__(
        self, inputs: int, outputs: int, *, hidden_channels: int = 64, num_layers: int = 2, dropout: float = 0.5
    ) -> None:
        super().__init__()
        self.dropout = dropout
        sizes = [inputs, *[hidden_channels] * (num_layers - 1), outputs]
        shapes = list(pairwise(sizes))
        self.neighbors = nn.ParameterList(nn.Parameter(torch.empty(a, b)) for a, b in shapes)
        self.own = nn.ParameterList(nn.Parameter(torch.empty(a, b)) for a, b in shapes)
        self.biases = nn.ParameterList(nn.Parameter(torch.zeros(b)) for b in sizes[1:])

    def forward(self, graph: GraphInputs) -> Tensor:
        h: Tensor | SparseFeatures = graph.features
        for i, (neighbors, own, bias) in enumerate(zip(self.neighbors, self.own, self.biases, strict=True)):
            if i:
                h = F.dropout(F.relu(h), self.dropout, self.training)  # type: ignore[arg-type]
            # mean(H) W = mean(H W): the product with the narrower matrix comes first.
            h = graph.mean_adj @ (h @ neighbors) + h @ own + bias
        return h  # type: ignore[return-value]


class GAT(nn.Module):
    """Veličković et al. (ICLR 2018): 8 heads of 8 units, then one head; ELU; dropout on inputs and attention.

    For every head, H ← Σ_j α_ij (H W)_j + b over the neighbors and the node itself, with α_i the softmax over j of
    LeakyReLU_0.2(a_s·(H W)_j + a_t·(H W)_i). Attention knows no edge weights: they are left out.
    """

    uses_weights = False

    def __init__(
        self,
        inputs: int,
        outputs: int,
        *,
        hidden_channels: int = 8,
        num_layers: int = 2,
        dropout: float = 0.6,
        heads: int = 8,
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self.shapes = [
            *[(heads, hidden_channels)] * (num_layers - 1),
            (1, outputs),
        ]  # (heads, units) of each layer
        widths = [inputs, *(a * b for a, b in self.shapes)]
        self.weights = nn.ParameterList(nn.Parameter(torch.empty(a, b)) for a, b in pairwise(widths))
        self.sources = nn.ParameterList(nn.Parameter(torch.empty(a, b)) for a, b in self.shapes)
        self.targets = nn.ParameterList(nn.Parameter(torch.empty(a, b)) for a, b in self.shapes)
        self.biases = nn.ParameterList(nn.Parameter(torch.zeros(b)) for b in widths[1:])

    def forward(self, graph: GraphInputs) -> Tensor:
        h: Tensor | SparseFeatures = graph.features
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            if isinstance(h, SparseFeatures):
                mapped = h.dropout(self.dropout, self.training) @ weight
            else:
                mapped = F.dropout(h if i == 0 else F.elu(h), self.dropout, self.training) @ weight
            heads = mapped.view(-1, *self.shapes[i])
            by_source, by_target = (heads * self.sources[i]).sum(dim=-1), (heads * self.targets[i]).sum(dim=-1)
            parts = [self._attend(part, heads, by_source, by_target[rows]) for rows, part in graph.iter_adj_chunks()]
            h = (parts[0] if len(parts) == 1 else torch.cat(parts)) + bias
        return h  # type: ignore[return-value]

    def _attend(self, heard: Pattern, h: Tensor, by_source: Tensor, by_target: Tensor) -> Tensor:
        logits = by_source[heard.col] + heard.repeat_rows(by_target)
        attention = row_softmax(heard, F.leaky_relu(logits, 0.2))
        attention = F.dropout(attention, self.dropout, self.training)
        heads = [
            weighted_spmm(heard, a.contiguous(), x.contiguous())
            for a, x in zip(attention.unbind(1), h.unbind(1), strict=True)
        ]
        return torch.cat(heads, dim=1)


class PyGAdapter(nn.Module):
    """Somebody else's module, called the way PyG's models are: ``module(x, edge_index[, edge_weight])``."""

    def __init__(self, module: nn.Module, outputs: int) -> None:
        super().__init__()
        self.module = module
        self.outputs = outputs
        self.uses_weights = "edge_weight" in inspect.signature(module.forward).parameters

    def forward(self, graph: GraphInputs) -> Tensor:
        weights = {"edge_weight": graph.edge_weight} if self.uses_weights and graph.edge_weight is not None else {}
        try:
            result = self.module(graph.x, graph.edge_index, **weights)
        except TypeError as error:
            if not _takes(self.module, 2):  # else it is an error inside of it, whose trace is needed
                raise ConfigError(f"a backbone is called as module(x, edge_index): {error}") from None
            raise
        if result.shape != (graph.num_nodes, self.outputs):
            wanted = [graph.num_nodes, self.outputs]
            raise ConfigError(f"the backbone gives {list(result.shape)}; nodes × classes is {wanted}")
        return result


def _takes(module: nn.Module, arguments: int) -> bool:
    """Can its ``forward`` be called with so many arguments?"""
    try:
        inspect.signature(module.forward).bind(*range(arguments))
    except TypeError:
        return False
    return True


class Builder(Protocol):
    def __call__(self, inputs: int, outputs: int, /) -> nn.Module: ...


@dataclass(frozen=True)
class _Kind:
    module: Callable[..., nn.Module]
    lr: float
    note: str


BACKBONES = {
    "gcn": _Kind(GCN, 0.01, "graph convolution, hidden 16"),
    "gat": _Kind(GAT, 0.005, "graph attention, 8 heads of 8"),
    "sage": _Kind(GraphSAGE, 0.01, "GraphSAGE, mean aggregator, hidden 64"),
    "appnp": _Kind(APPNP, 0.01, "MLP smoothed by personalised PageRank, hidden 64"),
    "sgc": _Kind(SGC, 0.2, "linear, on propagated features"),
    "mlp": _Kind(MLP, 0.01, "features alone, hidden 64"),
}
ALIASES = {"graphsage": "sage"}


def _kind(name: str) -> _Kind:
    key = ALIASES.get(name.lower(), name.lower())
    if key not in BACKBONES:
        raise unknown("backbone", name, BACKBONES)
    return BACKBONES[key]


def check_kind(backbone: str | Builder) -> None:
    """Is this the name of a backbone, or something that builds one?"""
    if isinstance(backbone, str):
        _kind(backbone)
    elif not callable(backbone):
        raise ConfigError(f"a backbone is a name or a callable (inputs, outputs) -> module, not {backbone!r}")


def default_lr(backbone: str | Builder) -> float:
    """The learning rate the paper gives to a backbone; 0.01 for one that it does not know."""
    return _kind(backbone).lr if isinstance(backbone, str) else 0.01


def _built(backbone: Builder, inputs: int, outputs: int) -> nn.Module:
    try:
        module = backbone(inputs, outputs)
    except TypeError as error:
        raise ConfigError(f"a backbone is called with (inputs, outputs) and builds a module: {error}") from None
    if not isinstance(module, nn.Module):
        raise ConfigError(f"a backbone builds a torch module, not {type(module).__name__}")
    return module


def build(backbone: str | Builder, inputs: int, outputs: int, *, init: str = "glorot", **options: Any) -> nn.Module:
    """A network of the named kind, or of somebody's own ``backbone(inputs, outputs)``, freshly initialised.

    Options that are ``None`` keep the kind's default. A module of somebody's own initialises itself.
    """
    options = {key: value for key, value in options.items() if value is not None}
    if not isinstance(backbone, str):
        return PyGAdapter(_built(backbone, inputs, outputs), outputs)
    network = _kind(backbone).module(inputs, outputs, **options)
    initialize(network, init)
    return network


@torch.no_grad()
def initialize(network: nn.Module, init: str = "glorot") -> None:
    """Set every weight matrix by the named rule and every bias to zero.

    glorot U(±√(6/(a + b))) · uniform U(±1/√a) · normal N(0, 0.1²) · constant 0.1 ·
    kaiming N(0, 2/a), for a matrix that maps a inputs to b outputs. After ``constant`` all hidden units are alike
    until dropout tells them apart: without dropout it cannot learn.
    """
    if init not in INITIALIZATIONS:
        raise unknown("init", init, INITIALIZATIONS)
    for name, p in network.named_parameters():
        if "bias" in name:
            p.zero_()
            continue
        a, b = p.shape
        if init == "glorot":
            bound = math.sqrt(6 / (a + b))
            p.uniform_(-bound, bound)
        elif init == "uniform":
            p.uniform_(-1 / math.sqrt(a), 1 / math.sqrt(a))
        elif init == "normal":
            p.normal_(0, 0.1)
        elif init == "kaiming":
            p.normal_(0, math.sqrt(2 / a))
        else:
            p.fill_(0.1)
