"""Pair losses: exact sums over all |V|² ordered pairs, in memory that grows with |V|.

Write z_ij = h_i·h_j. The disconnected pairs are taken tile by tile, gradient and all, on one side of the diagonal (the
other side mirrors it), with the few connected pairs blanked out; those are taken on a sparse pattern.

With a :class:`PairSample` the tiles give way to random pairs: then cost grows with nodes and edges, and loss and
gradient are unbiased estimates of the exact ones.

They are differentiable once: a gradient of their gradient does not see them.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from ..core.errors import ConfigError, DataError
from .graph import PairGraph, check_embeddings_type_and_shape, to_checked_pair_graph
from .labels import EstimatedPairLabels, PairLabels
from .sample import PairSample
from .targets import BLANK, PairTarget, SigmoidTarget, Structure, resolve_pair_target
from .tiles import (
    PairTerms,
    sum_disconnected_pairs_accurately,
    sum_disconnected_pairs_and_half_gradient,
    sum_disconnected_pairs_and_half_gradients_of_both,
)

STRUCTURE = Structure()


def structure_loss(
    h: Tensor,
    edges: Tensor | PairGraph,
    *,
    beta: float | str = "auto",
    needs_value: bool = True,
    sample: PairSample | None = None,
    estimates: EstimatedPairLabels | None = None,
) -> Tensor:
    """How badly dot products predict connections:

    S(H) = β/N² · [ Σ_{B⁺} w·softplus(−z_ij) + Σ_{B⁻} softplus(z_ij) ],  β = c by default.

    Args:
        h: node embeddings [N, d].
        edges: ``edge_index`` or, to save preparing it at every call, a :class:`PairGraph` of it.
        beta: ``"auto"`` for c = N²/(2(N² − Q)), or a number in its place.
        needs_value: ``False`` saves a quarter of the time or more: the result is then NaN, but its gradient is right.
        sample: random pairs in place of all disconnected ones; draw them anew for every step.
        estimates: pair labels of the same embeddings, for :func:`regularizer` with the same graph and sample: what is
            computed here of them is not computed again.
    """
    graph = _check_sample_fits_and_return_graph(to_checked_pair_graph(edges, h), sample)
    terms = PairTerms(STRUCTURE, None, _compute_loss_scale(beta, graph), needs_value, sample, estimates)
    return _PairLoss.apply(h, graph, terms)


def regularizer(
    h: Tensor,
    labels: Tensor | PairLabels,
    edges: Tensor | PairGraph,
    *,
    target: str | PairTarget = "masked",
    beta: float | str = "auto",
    needs_value: bool = True,
    sample: PairSample | None = None,
) -> Tensor:
    """The pair loss of the classifier under pair labels p_ij.

    ``masked``: β/N² · [ Σ_{B⁺} w·p_ij·softplus(−z_ij) + Σ_{B⁻} (1 − p_ij)·softplus(z_ij) ]

    ``soft``:   β/N² · [ Σ_{B⁺} w·bce(z_ij, p_ij) + Σ_{B⁻} bce(z_ij, p_ij) ],  bce(z, p) = softplus(z) − p·z

    Args:
        h: the classifier's embeddings [N, d].
        labels: a source of pair labels, or the estimator's embeddings, which give p_ij = σ(h^e_i·h^e_j).
            No gradient flows into them.
        edges: as in :func:`structure_loss`.
        target: ``"masked"`` (the authors' program) or ``"soft"`` (the paper's equations).
        beta: as in :func:`structure_loss`.
        needs_value: as in :func:`structure_loss`.
        sample: as in :func:`structure_loss`.
    """
    target = resolve_pair_target(target)
    graph = _check_sample_fits_and_return_graph(to_checked_pair_graph(edges, h), sample)
    if isinstance(labels, Tensor):
        check_embeddings_type_and_shape(labels)
        labels = EstimatedPairLabels(labels.to(h.dtype))
    if labels.num_nodes not in (None, len(h)):
        raise DataError(f"there are {len(h)} embeddings, and pair labels of {labels.num_nodes} nodes")
    return _PairLoss.apply(h, graph, PairTerms(target, labels, _compute_loss_scale(beta, graph), needs_value, sample))


def compute_structure_loss_and_regularizer(
    h_e: Tensor,
    h: Tensor,
    edges: Tensor | PairGraph,
    *,
    target: str | PairTarget = "masked",
    beta: float | str = "auto",
    needs_value: bool = True,
) -> tuple[Tensor, Tensor]:
    """``structure_loss(h_e, edges)`` and ``regularizer(h, h_e, edges)``, as a step of PI-GNN needs both.

    σ(z^e) of every pair is computed once for both gradients: a sixth less time; 1 − p is then known to the last digit
    of 1, so that very large embeddings take the two losses one by one. The gradients are the same to the last bit with
    and without the values.
    """
    target = resolve_pair_target(target)
    if h_e.dtype != h.dtype:
        raise DataError(f"both embeddings must be of one kind of numbers, not {h_e.dtype} and {h.dtype}")
    graph = _check_sample_fits_and_return_graph(to_checked_pair_graph(to_checked_pair_graph(edges, h), h_e), None)
    if not isinstance(target, SigmoidTarget) or not target.can_share_pass_with_estimator(h_e):
        alone = structure_loss(h_e, graph, needs_value=needs_value)
        return alone, regularizer(h, h_e, graph, target=target, beta=beta, needs_value=needs_value)
    structure = PairTerms(STRUCTURE, None, _compute_loss_scale("auto", graph), needs_value)
    weighted = PairTerms(target, EstimatedPairLabels(h_e), _compute_loss_scale(beta, graph), needs_value)
    return _BothLosses.apply(h_e, h, graph, structure, weighted)


def all_pairs_softplus(h: Tensor) -> Tensor:
    """Σ_{i,j} softplus(h_i·h_j) over all ordered pairs, self-pairs included, without |V|² memory."""
    check_embeddings_type_and_shape(h)
    return _PairLoss.apply(h, None, PairTerms(STRUCTURE, None, scale=1.0))


def _check_sample_fits_and_return_graph(graph: PairGraph, sample: PairSample | None) -> PairGraph:
    if sample is not None and sample.num_nodes != graph.num_nodes:
        raise DataError(f"the sample is of {sample.num_nodes} nodes, the graph has {graph.num_nodes}")
    if sample is None and graph.edge_fraction < 1:
        raise ConfigError("a fraction of the connected pairs goes with sample=, random pairs")
    return graph


def _compute_loss_scale(beta: float | str, graph: PairGraph) -> float:
    if beta == "auto":
        beta = graph.c
    if not isinstance(beta, Real):
        raise ConfigError(f"beta must be 'auto' or a number, not {beta!r}")
    return float(beta) / graph.num_pairs


class _PairLoss(torch.autograd.Function):
    """scale · Σ of one target over all pairs. The gradient is taken in the forward pass, while the tiles are there."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, graph: PairGraph | None, terms: PairTerms) -> Tensor:
        wants_grad = ctx.needs_input_grad[0]
        h = h.detach().contiguous()
        z = None if graph is None else graph.compute_connected_products(h)
        if terms.sample is None:
            total, half_grad = sum_disconnected_pairs_and_half_gradient(h, graph, z, terms, wants_grad)
        else:
            total, half_grad = _estimate_all_pairs_sum_and_half_gradient(h, terms.sample, terms, wants_grad)
        if graph is not None and z is not None:
            if terms.estimates is not None:
                terms.estimates.cache_connected_products(graph, z)
            connected_total, slopes = _sum_connected_terms_and_compute_slopes(z, graph, terms, wants_grad)
            total = total + connected_total
            if slopes is not None:
                graph.add_weighted_neighbor_sums_into(slopes, h, out=half_grad)
        if wants_grad:
            ctx.save_for_backward(half_grad.mul_(2 * terms.scale))  # z_ij and z_ji are one number
        return (total * terms.scale).to(h.dtype) if terms.needs_value else h.new_tensor(float("nan"))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        (saved,) = ctx.saved_tensors
        # A pass over all embeddings is spared where nobody scales the loss. The engine never writes into what is saved.
        is_unscaled = not grad.is_cuda and grad == 1
        return saved if is_unscaled else saved * grad, None, None


class _BothLosses(torch.autograd.Function):
    """The structure loss of some embeddings, and the loss of a target under the pair labels that they give."""

    @staticmethod
    def forward(
        ctx: Any, h_e: Tensor, h: Tensor, graph: PairGraph, structure: PairTerms, regularizer: PairTerms
    ) -> tuple[Tensor, Tensor]:
        h_e, h = h_e.detach().contiguous(), h.detach().contiguous()
        losses, grads = [], []
        products = graph.compute_connected_products(h_e), graph.compute_connected_products(h)
        assert isinstance(regularizer.labels, EstimatedPairLabels)
        regularizer.labels.cache_connected_products(graph, products[0])
        sums = sum_disconnected_pairs_and_half_gradients_of_both(h_e, h, graph, products, regularizer)
        sides = zip((h_e, h), (structure, regularizer), products, sums, strict=True)
        for embeddings, terms, z, (total, half_grad) in sides:
            if terms.needs_value and total is None:
                total = sum_disconnected_pairs_accurately(embeddings, graph, terms)
            connected_total, slopes = _sum_connected_terms_and_compute_slopes(z, graph, terms, wants_grad=True)
            assert slopes is not None
            grads.append(graph.add_weighted_neighbor_sums_into(slopes, embeddings, out=half_grad).mul_(2 * terms.scale))
            value = float("nan") if total is None else (total + connected_total) * terms.scale
            losses.append(torch.as_tensor(value, device=h.device).to(h.dtype))
        ctx.save_for_backward(*grads)
        return losses[0], losses[1]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_of_structure: Tensor, grad_of_regularizer: Tensor) -> tuple[Tensor | None, ...]:
        grad_e, grad = ctx.saved_tensors
        return grad_e * grad_of_structure, grad * grad_of_regularizer, None, None, None


def _estimate_all_pairs_sum_and_half_gradient(
    h: Tensor, sample: PairSample, terms: PairTerms, wants_grad: bool
) -> tuple[Tensor, Tensor]:
    """Σ over all ordered pairs of distinct nodes, estimated, as if none were connected, and half of its gradient."""
    target, labels, estimates = terms.target, terms.labels, terms.estimates
    total = torch.zeros((), dtype=torch.float64, device=h.device)
    grad = torch.empty_like(h)  # in the order of the groups
    grad[sample.num_grouped :] = 0
    weight, done = sample.weight, 0
    for groups in sample.iter_grouped_node_numbers():
        rows = slice(done, done + groups.numel())
        done = rows.stop
        members = h.index_select(0, groups.view(-1)).view(*groups.shape, -1)
        z = torch.bmm(members, members.transpose(1, 2))
        z.diagonal(dim1=1, dim2=2).fill_(BLANK)
        p = z if labels is None else labels.compute_labels_within_groups(groups, complement=target.uses_complement)
        if not target.is_blank_without_label:
            p.diagonal(dim1=1, dim2=2).zero_()
        if terms.needs_value:
            total += weight * target.compute_disconnected_loss_terms(z, p).sum().double()
        if wants_grad:
            slopes = target.compute_disconnected_slopes_(z, p)
            grad[rows].view_as(members).baddbmm_(slopes, members, beta=0, alpha=weight)
            if estimates is not None and sample.do_pair_labels_fit_in_cache:
                estimates.cache_group_complements_in_place(groups, slopes)  # σ(z)
    return total, grad.index_select(0, sample.position_in_order) if wants_grad else grad


def _sum_connected_terms_and_compute_slopes(
    z: Tensor, graph: PairGraph, terms: PairTerms, wants_grad: bool
) -> tuple[Tensor, Tensor | None]:
    """Σ over the ordered pairs of B⁺, whose products are ``z``, and d(term)/dz of each.

    Random pairs do not know which of them are connected and count all as disconnected. What they added for connected
    pairs, in expectation, is subtracted here (self-pairs are never among them).
    """
    target, labels = terms.target, terms.labels
    p = z if labels is None else labels.lookup_connected(graph)
    total, slopes = z.new_zeros(()), None
    if terms.needs_value:
        total = graph.multiply_by_pair_weights_(target.compute_connected_loss_terms(z, p)).sum(dtype=torch.float64)
    if wants_grad:
        slopes = graph.multiply_by_pair_weights_(target.compute_connected_slopes(z, p))
    if terms.sample is not None:
        z = z[: graph.num_edges]
        p = p if labels is None else labels.lookup_connected_as_in_groups(graph, p)
        p = (1 - p if target.uses_complement else p)[: graph.num_edges]
        if terms.needs_value:
            total = total - target.compute_disconnected_loss_terms(z, p).sum().double() / graph.edge_fraction
        if slopes is not None:
            counted = target.compute_disconnected_slopes_(z.clone(), p)
            slopes[: graph.num_edges].sub_(counted, alpha=1 / graph.edge_fraction)
    return total, slopes
