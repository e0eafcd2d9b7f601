"""Mini-batches: some nodes, the seeds, and a random part of the neighbourhood that their outputs depend on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
import torch_geometric.typing
from torch import Tensor
from torch_geometric.data import Data

from ..backbones import GraphInputs
from ..graphs.sparse import Pattern
from . import distributed

MAX_COPIED_EDGES = 2**25  # edges that PyG's sampler is given; it holds a copy of them


@dataclass(frozen=True)
class Batch:
    """The sampled subgraph around some nodes: its first rows are the ``seeds``, ``nodes`` numbers all its rows."""

    seeds: Tensor
    nodes: Tensor
    inputs: GraphInputs


class NeighborSampler:
    """Up to ``num_neighbors[k]`` neighbors, without replacement, of the nodes reached in k hops (Hamilton 2017).

    No compiled sampler is needed: a hop is a handful of vectorised operations over the nodes it starts from.
    """

    def __init__(self, inputs: GraphInputs, num_neighbors: Sequence[int]) -> None:
        self.inputs = inputs
        self.num_neighbors = num_neighbors
        self._place = torch.full((inputs.num_nodes,), -1, dtype=torch.int64, device=inputs.adj.col.device)

    def __call__(self, seeds: Tensor) -> Batch:
        incoming, place = self.inputs.adj, self._place
        place[seeds] = torch.arange(seeds.numel(), device=place.device)
        reached, frontier, entries, counts = [seeds], seeds, [], []
        known = seeds.numel()
        for fanout in self.num_neighbors:
            entry, count = sample_row_entries(incoming, frontier, fanout)
            source = incoming.col[entry].long()
            frontier = source[place[source] < 0].unique()
            place[frontier] = torch.arange(known, known + frontier.numel(), device=place.device)
            known += frontier.numel()
            reached.append(frontier)
            entries.append(entry)
            counts.append(count)
        nodes, entry = torch.cat(reached), torch.cat(entries)
        # Every node is a target once, in the order of its arrival: the entries are sorted by target already.
        crow = torch.zeros(known + 1, dtype=torch.int64, device=place.device)
        arrived = torch.cat(counts)
        torch.cumsum(arrived, 0, out=crow[1 : arrived.numel() + 1])
        crow[arrived.numel() + 1 :] = crow[arrived.numel()]
        local = place[incoming.col[entry].long()]
        place[nodes] = -1
        pattern = Pattern(crow.to(torch.int32), local.to(torch.int32), (known, known))
        return Batch(seeds, nodes, build_subgraph_inputs(self.inputs, nodes, pattern, entry))


class PyGNeighborSampler:
    """The same neighbourhoods from PyG's own sampler, which needs pyg-lib and is quicker with it."""

    def __init__(self, inputs: GraphInputs, num_neighbors: Sequence[int]) -> None:
        from torch_geometric.sampler import NeighborSampler

        self.inputs = inputs
        graph = Data(edge_index=inputs.edge_index, num_nodes=inputs.num_nodes)
        self._draw = NeighborSampler(graph, list(num_neighbors), is_sorted=True)  # by target, as `adj` is

    def __call__(self, seeds: Tensor) -> Batch:
        from torch_geometric.sampler import NodeSamplerInput

        drawn = self._draw.sample_from_nodes(NodeSamplerInput(input_id=None, node=seeds))
        order = torch.argsort(drawn.col, stable=True)
        known = drawn.node.numel()
        pattern = Pattern.from_sorted(drawn.col[order], drawn.row[order], (known, known))
        return Batch(seeds, drawn.node, build_subgraph_inputs(self.inputs, drawn.node, pattern, drawn.edge[order]))


def make_neighbor_sampler(inputs: GraphInputs, num_neighbors: Sequence[int]) -> NeighborSampler | PyGNeighborSampler:
    """PyG's where pyg-lib is installed and a copy of the edges is no matter, else ours."""
    by_pyg = (
        torch_geometric.typing.WITH_PYG_LIB and inputs.x.device.type == "cpu" and inputs.adj.size <= MAX_COPIED_EDGES
    )
    return PyGNeighborSampler(inputs, num_neighbors) if by_pyg else NeighborSampler(inputs, num_neighbors)


def build_subgraph_inputs(inputs: GraphInputs, nodes: Tensor, pattern: Pattern, entry: Tensor) -> GraphInputs:
    """The part of a graph with these nodes, and of their edges the entries that were drawn."""
    weight = None if inputs.edge_weight is None else inputs.edge_weight[entry]
    crow = inputs.adj.crow
    parent_degrees = (inputs.degree[nodes], crow[nodes + 1] - crow[nodes])
    return GraphInputs(inputs.x[nodes], pattern, weight, directed=True, parent_degrees=parent_degrees)


def sample_row_entries(pattern: Pattern, rows: Tensor, max_entries: int) -> tuple[Tensor, Tensor]:
    """Up to ``max_entries`` different entries of each row, drawn uniformly: positions row by row, and counts."""
    start = pattern.crow[rows].long()
    degree = pattern.crow[rows + 1].long() - start
    offset = torch.arange(max_entries, device=rows.device).expand(rows.numel(), max_entries).clone()
    many = (degree > max_entries).nonzero().view(-1)
    if many.numel():
        offset[many] = _sample_distinct_integers(degree[many], max_entries)
    wanted = torch.arange(max_entries, device=rows.device) < degree[:, None]
    return (start[:, None] + offset)[wanted], degree.clamp(max=max_entries)


def _sample_distinct_integers(top: Tensor, count: int) -> Tensor:
    """``count`` different whole numbers below each ``top`` (Floyd's algorithm, for all rows at once)."""
    chosen = torch.empty(top.numel(), count, dtype=torch.int64, device=top.device)
    for i in range(count):
        last = top - count + i
        draw = (torch.rand(top.numel(), device=top.device, dtype=torch.float64) * (last + 1)).long()
        taken = (chosen[:, :i] == draw[:, None]).any(dim=1)
        chosen[:, i] = torch.where(taken, last, draw)
    return chosen


def iter_seed_batches(pool: Tensor, batch_size: int, seed: int) -> Iterator[Tensor]:
    """All nodes of ``pool`` in random order, a batch at a time; of several processes, this one's part of each batch.

    The order depends on the seed alone, so that all processes agree on it.
    """
    rank, size = distributed.get_rank_and_world_size()
    generator = torch.Generator().manual_seed(seed)
    order = pool[torch.randperm(pool.numel(), generator=generator).to(pool.device)]
    steps = max(1, -(-pool.numel() // (batch_size * size)))
    if pool.numel() < size:  # fewer nodes than processes: all of them take all
        yield order
        return
    yield from order.tensor_split(steps * size)[rank::size]
