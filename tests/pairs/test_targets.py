"""A third pair target is one class: exact, sampled and in training, without a change anywhere else."""

from __future__ import annotations

import pytest
import torch

import pignn
from pignn import pairs
from pignn.core.errors import ConfigError

SQUARES = """
from pignn.pairs import PairTarget

class Squares(PairTarget):
    '''(p·(1 − z))² for connected pairs, (1 − p)·exp(z) for the others.'''
    name = "squares"
    uses_complement = True

    def compute_connected_loss_terms(self, z, p):
        return (p * (1 - z)) ** 2

    def compute_connected_slopes(self, z, p):
        return -2 * p**2 * (1 - z)

    def compute_disconnected_loss_terms(self, z, p):
        return p * z.exp()

    def compute_disconnected_slopes_(self, z, p):
        return p * z.exp()
"""


@pytest.fixture
def squares(install_package):
    install_package(SQUARES, "[pignn.pair_targets]\nsquares = other_package:Squares\n")
    return "squares"


def dense_squares(h, graph, p):
    """The loss over all N × N pairs, straight from the formula."""
    connected = torch.zeros(graph.num_nodes, graph.num_nodes, dtype=torch.bool)
    connected[graph.row, graph.col] = True
    z = h @ h.t()
    terms = torch.where(connected, graph.w * (p * (1 - z)) ** 2, (1 - p) * z.exp())
    return graph.c / graph.num_nodes**2 * terms.sum()


def make_graph(num_nodes=30):
    generator = torch.Generator().manual_seed(0)
    graph = pairs.PairGraph(torch.randint(0, num_nodes, (2, 50), generator=generator), num_nodes)
    h, h_e = (torch.randn(num_nodes, 3, dtype=torch.float64, generator=generator) for _ in range(2))
    return graph, h.requires_grad_(), h_e


@pytest.mark.parametrize("tile_size", [None, 7])
@pytest.mark.parametrize("scale", [0.3, 1.0, 2.0])
def test_the_exact_loss_of_another_packages_target_equals_the_dense_one(squares, tile_size, scale):
    graph, h, h_e = make_graph()
    graph.max_tile_size = tile_size
    h = (scale * h).detach().requires_grad_()
    expected = dense_squares(h, graph, torch.sigmoid(h_e @ h_e.t()))
    loss = pairs.regularizer(h, h_e, graph, target=squares)
    torch.testing.assert_close(loss, expected, rtol=1e-9, atol=0)
    (expected_grad,) = torch.autograd.grad(expected, h)
    torch.testing.assert_close(torch.autograd.grad(loss, h)[0], expected_grad, rtol=1e-8, atol=1e-10)
    bare = pairs.regularizer(h, h_e, graph, target=squares, needs_value=False)
    torch.testing.assert_close(torch.autograd.grad(bare, h)[0], expected_grad, rtol=1e-8, atol=1e-10)


def test_both_losses_with_another_packages_target(squares):
    graph, h, h_e = make_graph()
    h_e.requires_grad_()
    structure, loss = pairs.compute_structure_loss_and_regularizer(h_e, h, graph, target=squares)
    assert structure == pairs.structure_loss(h_e, graph)
    assert loss == pairs.regularizer(h, h_e, graph, target=squares)


def test_random_pairs_estimate_the_loss_of_another_packages_target(squares):
    graph, h, h_e = make_graph(14)
    torch.manual_seed(0)
    draws = torch.stack(
        [pairs.regularizer(h, h_e, graph, target=squares, sample=pairs.PairSample(14, 4)).detach() for _ in range(2000)]
    )
    exact = pairs.regularizer(h, h_e, graph, target=squares)
    assert abs(draws.mean() - exact) < 4 * draws.std() / len(draws) ** 0.5


def test_a_target_may_be_an_object():
    from pignn.pairs.targets import Masked

    graph, h, h_e = make_graph()
    assert pairs.regularizer(h, h_e, graph, target=Masked()) == pairs.regularizer(h, h_e, graph, target="masked")


@pytest.mark.parametrize("settings", [{}, {"pairs": "sampled"}, {"batch_size": 64, "num_neighbors": (4, 4)}], ids=str)
def test_a_method_trains_with_another_packages_target(squares, noisy, settings):
    model = pignn.PIGNN(epochs=4, warmup=1, target=squares, beta=0.01, **settings).fit(noisy)
    assert model.history_[-1]["pair_loss"] > 0


def test_another_packages_source_of_pair_labels(noisy, install_package):
    install_package(
        """
        from pignn.pairs import PairLabelSource, RandomPairLabels

        shifted = PairLabelSource(
            "shifted", "random labels of another seed", lambda inputs: RandomPairLabels(len(inputs.y), inputs.seed + 1)
        )
        """,
        "[pignn.pair_label_sources]\nshifted = other_package:shifted\n",
    )
    settings = {"epochs": 3, "warmup": 0}
    shifted = pignn.PIGNN(pair_labels="shifted", **settings).fit(noisy)
    random = pignn.PIGNN(pair_labels="random", **settings).fit(noisy)
    assert shifted.history_[-1]["pair_loss"] != random.history_[-1]["pair_loss"]
    assert set(shifted.networks_) == {"classifier"}


def test_unknown_names_are_one_line(noisy):
    with pytest.raises(ConfigError, match="unknown target 'mask'; did you mean 'masked'"):
        pignn.PIGNN(target="mask").fit(noisy)
    with pytest.raises(ConfigError, match="unknown pair_labels 'rand'; did you mean 'random'"):
        pignn.PIGNN(pair_labels="rand").fit(noisy)
