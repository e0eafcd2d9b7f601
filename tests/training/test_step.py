"""What a step offers to methods: logits of all nodes, the inputs, and a second forward pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch

from pignn import graphs
from pignn.methods import NetworkMethod
from pignn.training import Phase

BATCHES = {"batch_size": 60, "num_neighbors": (1000, 1000)}


@dataclass(kw_only=True, eq=False, repr=False)
class Probe(NetworkMethod):
    """Keep the steps that an objective is given."""

    name: ClassVar[str] = "probe"

    def objective(self, step):
        self.seen = [*getattr(self, "seen", []), step]
        return super().objective(step)


def first_step(data, **settings):
    """A step in training mode, without dropout, so that two forward passes are alike."""
    method = Probe(**{"preset": "paper", "dropout": 0.0, "pairs": "exact", "pair_labels": "connectivity", **settings})
    method.pairs_ = "exact"
    learner = method._build_learner(
        *method._build_task_and_regularizer(graphs.copy_checked_graph(data), torch.device("cpu"))
    )
    phase = Phase("training", 1)
    learner.networks["classifier"].train()
    learner.compute_losses(phase, 0, next(iter(learner.iter_batches(phase, 0))), needs_value=True)
    return method.seen[0]


@pytest.mark.parametrize("settings", [{}, BATCHES], ids=["graph", "batch"])
def test_logits_of_all_nodes_come_from_the_same_forward_pass(noisy, settings):
    step = first_step(noisy, **settings)
    assert step.logits_all.shape == (len(step.input_nodes), 3)
    assert torch.equal(step.logits_all[step.rows], step.logits)
    assert torch.equal(step.input_nodes[step.rows], step.nodes)
    assert torch.equal(step.inputs.x, noisy.x[step.input_nodes])
    assert step.logits.grad_fn.next_functions[0][0] is step.logits_all.grad_fn


def test_a_whole_graph_step_has_all_nodes(noisy):
    step = first_step(noisy)
    assert torch.equal(step.input_nodes, torch.arange(240))


def test_the_first_rows_of_a_batch_are_its_own_nodes(noisy):
    step = first_step(noisy, **BATCHES)
    assert int(step.rows.max()) < 60 < len(step.input_nodes) <= 240
    assert step.input_nodes.unique().numel() == len(step.input_nodes)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("backbone", ["gcn", "gat", "sage"])
@pytest.mark.parametrize("settings", [{}, BATCHES], ids=["graph", "batch"])
def test_a_forward_pass_on_the_same_inputs_gives_the_same_logits(noisy, settings, backbone, weighted):
    if weighted and backbone != "gat":  # which makes no use of them
        noisy.edge_weight = 1.0 + noisy.edge_index.sum(0) % 3
    step = first_step(noisy, backbone=backbone, **settings)
    again = step.forward(x=step.inputs.x, edge_index=step.inputs.edge_index, edge_weight=step.inputs.edge_weight)
    torch.testing.assert_close(again, step.logits_all, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(step.forward(x=step.inputs.x.clone()), step.logits_all, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("settings", [{}, BATCHES], ids=["graph", "batch"])
def test_a_forward_pass_without_edges_sees_the_features_alone(noisy, settings):
    step = first_step(noisy, **settings)
    alone = step.forward(edge_index=torch.empty(2, 0, dtype=torch.int64))
    noisy.edge_index = torch.empty(2, 0, dtype=torch.int64)
    network = step.networks["classifier"]
    if not settings:
        torch.testing.assert_close(alone, network(first_step(noisy).inputs))
    other = torch.randn_like(step.inputs.x)
    other[7] = step.inputs.x[7]
    moved = step.forward(x=other, edge_index=torch.empty(2, 0, dtype=torch.int64))
    torch.testing.assert_close(moved[7], alone[7])
    assert not torch.allclose(moved[8], alone[8])


def test_changed_edges_stay_undirected(noisy):
    step = first_step(noisy)
    one_way = step.inputs.edge_index[:, step.inputs.edge_index[0] < step.inputs.edge_index[1]]
    torch.testing.assert_close(step.forward(edge_index=one_way), step.logits_all, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("backbone", ["gcn", "gat", "sage"])
@pytest.mark.parametrize("settings", [{}, BATCHES], ids=["graph", "batch"])
def test_changed_features_get_a_gradient(noisy, settings, backbone):
    noisy.x = noisy.x * (torch.rand(noisy.x.shape, generator=torch.Generator().manual_seed(0)) < 0.05)  # sparse
    step = first_step(noisy, backbone=backbone, **settings)
    x = step.inputs.x.clone().requires_grad_()
    step.forward(x=x)[step.rows].sum().backward()
    assert x.grad.abs().sum() > 0


def test_a_method_may_train_on_a_second_pass(noisy):
    @dataclass(kw_only=True, eq=False, repr=False)
    class Consistency(NetworkMethod):
        """Cross-entropy, and agreement of all nodes under dropped edges."""

        name: ClassVar[str] = "consistency"

        def objective(self, step):
            kept = step.inputs.edge_index[:, torch.rand(step.inputs.edge_index.shape[1]) < 0.8]
            other = step.forward(edge_index=kept).log_softmax(-1)
            return super().objective(step) - (step.logits_all.softmax(-1).detach() * other).sum(-1).mean()

    for settings in ({}, {"batch_size": 60, "num_neighbors": (5, 5)}):
        model = Consistency(epochs=20, **settings).fit(noisy)
        assert model.score(noisy) > 0.6
