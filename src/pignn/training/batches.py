"""Mini-batches: some nodes, the seeds, and a random part of the neighborhood that their outputs depend on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
import torch_geometric.typing
from torch import Tensor
from torch_geometric.data import Data

from ..backbones import GraphInputs
from ..graphs.sparse import SparsityPattern
from . import distributed

MAX_COPIED_EDGES = 2**25  # PyG's sampler holds a copy of them


@dataclass(frozen=True)
class Batch:
    """The sampled subgraph around some nodes: its first rows are the ``seeds``, ``nodes`` numbers all its rows."""

    seeds: Tensor
    nodes: Tensor
    inputs: GraphInputs


class NeighborSampler:
    """Up to ``num_neighbors[k]`` neighbors, without replacement, of the nodes reached in k hops (Hamilton 2017).

    No compiled sampler is needed: a hop is a handful of vectorized operations over the nodes it starts from.
    """

    def __init__(self, inputs: GraphInputs, num_neighbors: Sequence[int]) -> None:
        self.inputs = inputs
        self.num_neighbors = num_neighbors
        self._local_ids = torch.full((inputs.num_nodes,), -1, dtype=torch.int64, device=inputs.adj.col.device)

    def __call__(self, seeds: Tensor) -> Batch:
        adj, local_ids = self.inputs.adj, self._local_ids
        local_ids[seeds] = torch.arange(seeds.numel(), device=local_ids.device)
        reached, frontier, entries, counts = [seeds], seeds, [], []
        num_reached = seeds.numel()
        for fanout in self.num_neighbors:
            entry, count = sample_entries_and_counts_per_row(adj, frontier, fanout)
            source = adj.col[entry].long()
            frontier = source[local_ids[source] < 0].unique()
            local_ids[frontier] = torch.arange(num_reached, num_reached + frontier.numel(), device=local_ids.device)
            num_reached += frontier.numel()
            reached.append(frontier)
            entries.append(entry)
            counts.append(count)
        nodes, entry = torch.cat(reached), torch.cat(entries)
        # Every node is a target once, in the order in which it was reached: the entries are sorted by target already.
        crow = torch.zeros(num_reached + 1, dtype=torch.int64, device=local_ids.device)
        num_entries = torch.cat(counts)
        torch.cumsum(num_entries, 0, out=crow[1 : num_entries.numel() + 1])
        crow[num_entries.numel() + 1 :] = crow[num_entries.numel()]
        col = local_ids[adj.col[entry].long()]
        local_ids[nodes] = -1
        pattern = SparsityPattern(crow.to(torch.int32), col.to(torch.int32), (num_reached, num_reached))
        return Batch(seeds, nodes, build_sampled_subgraph_inputs(self.inputs, nodes, pattern, entry))


class PyGNeighborSampler:
    """The same neighborhoods from PyG's own sampler, which needs pyg-lib and is quicker with it."""

    def __init__(self, inputs: GraphInputs, num_neighbors: Sequence[int]) -> None:
        from torch_geometric.sampler import NeighborSampler

        self.inputs = inputs
        graph = Data(edge_index=inputs.edge_index, num_nodes=inputs.num_nodes)
        self._sampler = NeighborSampler(graph, list(num_neighbors), is_sorted=True)  # by target, as `adj` is

    def __call__(self, seeds: Tensor) -> Batch:
        from torch_geometric.sampler import NodeSamplerInput

        sampled = self._sampler.sample_from_nodes(NodeSamplerInput(input_id=None, node=seeds))
        order = torch.argsort(sampled.col, stable=True)
        num_nodes = sampled.node.numel()
        pattern = SparsityPattern.from_row_sorted(sampled.col[order], sampled.row[order], (num_nodes, num_nodes))
        return Batch(
            seeds, sampled.node, build_sampled_subgraph_inputs(self.inputs, sampled.node, pattern, sampled.edge[order])
        )


def make_pyg_or_own_neighbor_sampler(
    inputs: GraphInputs, num_neighbors: Sequence[int]
) -> NeighborSampler | PyGNeighborSampler:
    """PyG's sampler if pyg-lib is installed and a copy of the edges fits, else ours."""
    uses_pyg = (
        torch_geometric.typing.WITH_PYG_LIB
        and inputs.device.type == "cpu"
        and inputs.adj.num_entries <= MAX_COPIED_EDGES
    )
    return PyGNeighborSampler(inputs, num_neighbors) if uses_pyg else NeighborSampler(inputs, num_neighbors)


def build_sampled_subgraph_inputs(
    inputs: GraphInputs, nodes: Tensor, pattern: SparsityPattern, entry: Tensor
) -> GraphInputs:
    """The part of a graph with these nodes, and of their edges the entries that were sampled."""
    weight = None if inputs.edge_weight is None else inputs.edge_weight[entry]
    crow = inputs.adj.crow
    parent_degrees = (inputs.degree[nodes], crow[nodes + 1] - crow[nodes])
    return GraphInputs(inputs.select_features(nodes), pattern, weight, directed=True, parent_degrees=parent_degrees)


def sample_entries_and_counts_per_row(
    pattern: SparsityPattern, rows: Tensor, max_entries: int
) -> tuple[Tensor, Tensor]:
    """Up to ``max_entries`` different entries of each row, drawn uniformly: positions row by row, and counts."""
    start = pattern.crow[rows].long()
    degree = pattern.crow[rows + 1].long() - start
    offset = torch.arange(max_entries, device=rows.device).expand(rows.numel(), max_entries).clone()
    large = (degree > max_entries).nonzero().view(-1)
    if large.numel():
        offset[large] = _sample_distinct_integers(degree[large], max_entries)
    is_present = torch.arange(max_entries, device=rows.device) < degree[:, None]
    return (start[:, None] + offset)[is_present], degree.clamp(max=max_entries)


def _sample_distinct_integers(upper_bounds: Tensor, count: int) -> Tensor:
    """``count`` different integers below each bound (Floyd's algorithm, for all rows at once)."""
    chosen = torch.empty(upper_bounds.numel(), count, dtype=torch.int64, device=upper_bounds.device)
    for i in range(count):
        last = upper_bounds - count + i
        draw = (torch.rand(upper_bounds.numel(), device=upper_bounds.device, dtype=torch.float64) * (last + 1)).long()
        taken = (chosen[:, :i] == draw[:, None]).any(dim=1)
        chosen[:, i] = torch.where(taken, last, draw)
    return chosen


def iter_batches_of_seed_nodes(pool: Tensor, batch_size: int, seed: int) -> Iterator[Tensor]:
    """All nodes of ``pool`` in random order, batch by batch. Of several processes, each gets its part of every batch.

    The order depends on the seed alone, so that all processes agree on it.
    """
    rank, world_size = distributed.get_rank_and_world_size()
    generator = torch.Generator().manual_seed(seed)
    order = pool[torch.randperm(pool.numel(), generator=generator).to(pool.device)]
    steps = max(1, -(-pool.numel() // (batch_size * world_size)))
    if pool.numel() < world_size:  # fewer nodes than processes: all of them take all
        yield order
        return
    yield from order.tensor_split(steps * world_size)[rank::world_size]
