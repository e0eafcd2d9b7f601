"""What the graph and the features say about labeled nodes, apart from their own labels."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch_geometric.data import Data

from .. import graphs
from ..backbones import GraphInputs
from ..core.errors import DataError, PignnWarning
from ..graphs.checks import parse_node_ids_or_none, to_tensor
from ..graphs.homophily import compute_adjusted_homophily_or_none, compute_homophily_or_none
from ..graphs.regions import draw_region_centers, grow_regions
from ..methods.core.base import build_inputs_and_warn_of_edge_changes
from ..noise.kinds import Floats, Ints
from .crossfit import Bools, CrossFitLogistic, Features, Singles, assign_stratified_or_source_folds
from .similarity import find_most_similar_rows
from .suspects import compute_class_reliability
from .views import LARGE_GRAPH_NODES, embed_nodes, list_positions_and_neighbors

EMBEDDING_ALPHA = 0.1
MAX_NOISE_LABELS = 40_000  # labels from which the noise is estimated
REGION_STREAM = 1  # of random numbers: regions are drawn apart from folds
MAX_SMALL_CLASSES = 20  # up to so many classes, each may have fewer than two labels


@dataclass(frozen=True, eq=False)
class Evidence:
    """The labels under audit, and what is known around them. Arrays have one entry per label, in the order of `nodes`.

    What costs time is computed on first use and kept, so that the page of an audit need not compute it again.
    """

    graph: Data
    inputs: GraphInputs
    nodes: Ints
    given: Ints
    given_before_review: Ints | None  # labels before somebody corrected them, -1 where nobody did
    trusted: Bools
    sources: list[str] | None  # who gave each label
    fold: Ints
    seed: int

    @property
    def class_names(self) -> list[str]:
        return [str(name) for name in self.graph.class_names]

    @cached_property
    def num_classes(self) -> int:
        return graphs.num_classes(self.graph)

    @cached_property
    def class_counts(self) -> Ints:
        return np.bincount(self.given, minlength=self.num_classes)

    @cached_property
    def class_reliability(self) -> Floats:
        """How far the labels of each class can be judged, from 0 (not at all) to 1."""
        return compute_class_reliability(self.class_counts, int(self.fold.max()) + 1)

    @cached_property
    def noise_sample_positions(self) -> Ints:
        """Positions of the labels from which the noise is estimated: all of them, unless there are very many."""
        if len(self.given) <= MAX_NOISE_LABELS:
            return np.arange(len(self.given))
        return np.sort(np.random.default_rng(self.seed).choice(len(self.given), MAX_NOISE_LABELS, replace=False))

    @cached_property
    def labeled_edge_positions(self) -> tuple[Ints, Ints]:
        return find_labeled_edge_positions(self.inputs, self.nodes)

    @cached_property
    def plain_and_adjusted_homophily(self) -> tuple[float | None, float | None]:
        """Share of edges between equal given labels, plain and adjusted for chance."""
        ends = self.given[self.labeled_edge_positions[0]], self.given[self.labeled_edge_positions[1]]
        return compute_homophily_or_none(*ends), compute_adjusted_homophily_or_none(*ends, self.num_classes)

    @cached_property
    def embedding(self) -> Singles:
        return embed_nodes(self.inputs, self.nodes, EMBEDDING_ALPHA, self.num_classes, self.seed)

    @cached_property
    def most_similar_positions(self) -> Ints | None:
        """Positions of the labels with the most similar embeddings, most similar first."""
        return find_most_similar_rows(self.embedding)

    @cached_property
    def neighbor_class_counts(self) -> Floats:
        """How many neighbors were given each class."""
        row, col = self.labeled_edge_positions
        return count_classes_per_row(row, self.given[col], self.given.shape[0], self.num_classes)

    @cached_property
    def similar_class_counts(self) -> Floats | None:
        """How many of the most similar labels are of each class."""
        if self.most_similar_positions is None:
            return None
        row = np.repeat(np.arange(len(self.most_similar_positions)), self.most_similar_positions.shape[1])
        return count_classes_per_row(
            row, self.given[self.most_similar_positions.ravel()], len(self.given), self.num_classes
        )

    @cached_property
    def fold_by_region_or_none(self) -> Ints | None:
        """A fold for every label that is the same all over a region of the graph.

        A model then sees no label of the region it judges, so that it cannot learn errors that a whole region shares.
        None where there are no edges or very many nodes, where sources make the folds, or where the graph does not fall
        into regions of less than a fold.
        """
        num_folds = int(self.fold.max()) + 1
        if (
            self.sources is not None
            or not len(self.labeled_edge_positions[0])
            or self.inputs.num_nodes > LARGE_GRAPH_NODES
        ):
            return None
        rng = np.random.default_rng([self.seed, REGION_STREAM])
        crow, col = self.inputs.adj.crow.numpy(), self.inputs.adj.col.numpy()
        region = grow_regions(np.diff(crow), col, draw_region_centers(self.inputs.num_nodes, rng))[self.nodes]
        if np.unique(region, return_counts=True)[1].max() * num_folds > len(region):
            return None
        return assign_stratified_or_source_folds(self.given, num_folds, self.seed, region)

    def make_cross_fit_classifier(
        self, features: Features, positions: Ints | None = None, fold_of_position: Ints | None = None
    ) -> CrossFitLogistic:
        """A classifier of the labels at some positions; `features` has one row for each of them."""
        chosen = slice(None) if positions is None else positions
        folds = (self.fold if fold_of_position is None else fold_of_position)[chosen]
        return CrossFitLogistic(features, self.given[chosen], folds, self.num_classes, self.trusted[chosen])


def build_checked_evidence(data: Data, num_folds: int, seed: int) -> Evidence:
    """Check a graph, find its labels and assign each to a fold."""
    graph = _copy_checked_graph_with_masks(data)
    labels = graph.y.cpu().numpy()
    nodes = np.flatnonzero(labels >= 0)
    given, num_distinct = labels[nodes], len(np.unique(labels[nodes]))
    if graphs.num_classes(graph) < 2 or num_distinct < 2:
        raise DataError("an audit needs given labels of at least two classes")
    if num_distinct > max(len(given) / 2, MAX_SMALL_CLASSES):
        raise DataError(
            f"the {len(given):,} given labels have {num_distinct:,} different values: they look like ids, not classes; "
            "which column has the labels?"
        )
    trusted, before = graph.get("trusted_mask"), graph.get("y_before")
    sources = _list_label_source_per_node_or_none(graph, nodes)
    fold = assign_stratified_or_source_folds(
        given, num_folds, seed, None if sources is None else np.unique(sources, return_inverse=True)[1]
    )
    return Evidence(
        graph=graph,
        inputs=build_inputs_and_warn_of_edge_changes(graph, directed=False),
        nodes=nodes,
        given=given,
        given_before_review=None if before is None else before.cpu().numpy()[nodes],
        trusted=np.zeros(len(nodes), dtype=bool) if trusted is None else trusted.cpu().numpy().astype(bool)[nodes],
        sources=sources,
        fold=fold,
        seed=seed,
    )


def _copy_checked_graph_with_masks(data: Data) -> Data:
    """A checked copy with masks: an audit does not need them, the check does."""
    if data.get("y") is None:
        raise DataError("an audit needs given labels ('y'); there are none")
    graph = data.clone() if data.get("crow") is None and data.num_nodes < 100_000 else data.__copy__()
    is_labeled = to_tensor(data.y, "y").reshape(-1) >= 0
    if not bool(is_labeled.any()):
        raise DataError("an audit needs given labels; all are -1")
    graph.train_mask = is_labeled
    for name in ("val_mask", "test_mask"):
        graph[name] = torch.zeros(len(is_labeled), dtype=torch.bool)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PignnWarning)
        graph = graphs.copy_checked_graph(graph)
    graph.node_id = parse_node_ids_or_none(graph)
    if graph.get("class_names") is None:
        graph.class_names = [str(c) for c in range(graphs.num_classes(graph))]
    return graph


def _list_label_source_per_node_or_none(graph: Data, nodes: Ints) -> list[str] | None:
    """The name of the source of each label, where sources are known."""
    raw, names = graph.get("label_source"), graph.get("source_names")
    if raw is None:
        return None
    values = raw.cpu().numpy() if isinstance(raw, torch.Tensor) else np.asarray(raw, dtype=object)
    if len(values) != graph.num_nodes:
        raise DataError(f"label_source has {len(values)} entries, but the graph has {graph.num_nodes} nodes")
    return [str(v) if names is None else (str(names[v]) if v >= 0 else "none") for v in values[nodes]]


def find_labeled_edge_positions(inputs: GraphInputs, nodes: Ints) -> tuple[Ints, Ints]:
    """Both directions of the edges between labeled nodes, by position in `nodes`."""
    row, col = list_positions_and_neighbors(inputs, nodes)
    position = np.full(inputs.num_nodes, -1, dtype=np.int64)
    position[nodes] = np.arange(len(nodes))
    other = position[col.numpy()]
    return row[other >= 0], other[other >= 0]


def count_classes_per_row(row: Ints, classes: Ints, num_rows: int, num_classes: int) -> Floats:
    """[num_rows, num_classes]: how often each class occurs in each row."""
    counts = np.bincount(row * num_classes + classes, minlength=num_rows * num_classes)
    return counts.reshape(-1, num_classes).astype(float)
