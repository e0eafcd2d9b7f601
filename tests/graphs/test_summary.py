"""What a graph is like: its description, homophily, typed view and digest."""

import numpy as np
import pytest
import torch

from pignn.graphs import (
    LabeledGraph,
    compute_adjusted_homophily_or_none,
    compute_graph_statistics,
    compute_homophily_or_none,
    csbm,
)
from pignn.graphs.homophily import list_labeled_edge_end_labels
from pignn.graphs.summary import compute_graph_digest


def test_a_description_counts_nodes_edges_classes_and_components():
    data = csbm(100, 2, degree=4)
    # Two loose nodes, one of them unlabeled, a self-loop and a duplicate.
    data.x = torch.cat([data.x, torch.zeros(2, 32)])
    data.y = torch.cat([data.y, torch.tensor([1, -1])])
    data.y_true = torch.cat([data.y[:-1], torch.tensor([0])])
    data.edge_index = torch.cat([data.edge_index, data.edge_index[:, :1], torch.tensor([[100], [100]])], dim=1)
    found = compute_graph_statistics(data)
    assert (found["nodes"], found["edges"], found["features"]) == (102, 200, 32)
    assert found["classes"] == {"0": 50, "1": 51}
    assert found["unlabeled"] == 1
    assert found["homophily"] == pytest.approx(0.8, abs=0.01)
    assert found["isolated"] >= 2
    assert found["components"] >= 3
    assert compute_graph_statistics(data, with_true_labels=True)["classes"] == {"0": 51, "1": 51}


def test_describe_homophily_reads_given_labels_only_where_both_ends_have_one():
    data = csbm(60, 2, degree=4)
    a, b = data.edge_index[:, 0].tolist()
    data.y = torch.full_like(data.y, -1)
    assert compute_graph_statistics(data)["homophily"] is None
    data.y[a], data.y[b] = 0, 1
    assert compute_graph_statistics(data)["homophily"] == 0.0


def test_homophily_is_the_share_of_edges_between_equal_labels():
    starts, ends = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    assert compute_homophily_or_none(starts, ends) == 0.5
    assert compute_homophily_or_none(torch.from_numpy(starts), torch.from_numpy(ends)) == 0.5
    assert compute_homophily_or_none(starts[:0], ends[:0]) is None


def test_adjusted_homophily_is_0_by_chance_and_1_for_perfect_agreement():
    starts, ends = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    assert compute_adjusted_homophily_or_none(starts, ends, 3) == pytest.approx(0.0)
    assert compute_adjusted_homophily_or_none(starts, starts, 3) == pytest.approx(1.0)
    assert compute_adjusted_homophily_or_none(starts[:2] * 0, ends[:2] * 0, 3) is None  # one label: nothing but chance
    assert compute_adjusted_homophily_or_none(starts[:0], ends[:0], 3) is None


def test_end_labels_leave_out_edges_with_an_unlabeled_end():
    labels = torch.tensor([0, 1, -1])
    starts, ends = list_labeled_edge_end_labels(labels, torch.tensor([2, 1, 1]), torch.tensor([1, 2, 0, 0]))
    assert (starts.tolist(), ends.tolist()) == ([0, 1], [1, 0])


def test_the_view_has_none_for_attributes_that_the_graph_lacks():
    data = csbm(60, 3)
    graph = LabeledGraph.from_data(data)
    assert graph.y is data.y
    assert graph.y_true is None
    assert (graph.num_nodes, graph.num_classes, graph.class_names) == (60, 3, ["0", "1", "2"])
    assert graph.node_ids is None
    assert torch.equal(graph.get_mask_or_zeros("train"), data.train_mask)
    assert not bool(graph.get_mask_or_zeros("trusted").any())
    degree, neighbors = graph.get_neighbor_counts_and_neighbors()
    assert torch.equal(neighbors, data.edge_index[1])
    assert int(degree.sum()) == data.num_edges


def test_a_digest_depends_on_the_named_attributes_only():
    data, other = csbm(60, 3), csbm(60, 3)
    other.y = (other.y + 1) % 3
    assert compute_graph_digest(data, ("x", "edge_index")) == compute_graph_digest(other, ("x", "edge_index"))
    assert compute_graph_digest(data, ("x", "y")) != compute_graph_digest(other, ("x", "y"))


def test_the_digest_of_a_store_stands_for_its_features_and_edges():
    data, other = csbm(60, 3), csbm(60, 3)
    for graph in (data, other):
        graph.checked, graph.digest = True, "0123"
    other.x = other.x + 1
    assert compute_graph_digest(data, ("x", "y")) == compute_graph_digest(other, ("x", "y"))
