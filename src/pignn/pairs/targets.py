"""Pair targets: the loss of one pair with dot product z under its pair label p. A target is one class.

Another package adds one through the entry-point group ``pignn.pair_targets``, with the four abstract functions of
:class:`PairTarget`. All of them work elementwise and leave their arguments as they are, unless they say so.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from ..core.registry import Registry

BLANK = -1e4  # z of a pair that must not count: softplus and σ are exactly 0, and it can be multiplied by 0, unlike −∞
SURE = 5.0  # root mean square of z above which 1 − p may consist of the very digits that σ(z) has lost


class PairTarget(ABC):
    """The terms of a pair loss, and their slopes d(term)/dz, from the products z and the pair labels p.

    Disconnected pairs get 1 − p in place of p if ``uses_complement``, which keeps digits where p rounds to 1. Pairs are
    left out by z = −10,000 and 0 in place of the label: terms and slopes of disconnected pairs must then be 0.
    """

    name: ClassVar[str]
    summary: ClassVar[str] = ""
    uses_complement: ClassVar[bool] = False
    is_blank_without_label: ClassVar[bool] = False  # whether z = −10,000 alone makes terms and slopes 0
    uses_structure_in_warmup: ClassVar[bool] = True  # otherwise there is no pair loss during warm-up
    vanishes_on_own_labels: ClassVar[bool] = False  # whether p = σ(z) leaves no gradient

    @abstractmethod
    def compute_connected_loss_terms(self, products: Tensor, pair_labels: Tensor) -> Tensor:
        """The terms of connected pairs, before they are weighted with w."""

    @abstractmethod
    def compute_connected_slopes(self, products: Tensor, pair_labels: Tensor) -> Tensor:
        """d(term)/dz of connected pairs."""

    @abstractmethod
    def compute_disconnected_loss_terms(self, products: Tensor, pair_labels: Tensor) -> Tensor:
        """The terms of disconnected pairs."""

    @abstractmethod
    def compute_disconnected_slopes_(self, products: Tensor, pair_labels: Tensor) -> Tensor:
        """d(term)/dz of disconnected pairs. It may be written into ``products``."""

    def can_share_pass_with_estimator(self, h_estimator: Tensor) -> bool:
        """Whether one pass over all pairs can give this loss and the estimator's, see :class:`SigmoidTarget`."""
        return False


class SigmoidTarget(PairTarget):
    """A target whose disconnected slopes are functions of σ(z), so that value and slopes share one exponential.

    Terms are a·softplus(z) with a = 1 − p if ``uses_complement``, else softplus(z) − p·z, where p = 0 without labels.
    As softplus(z) = z − log σ(z), a sum of them is a sum of logarithms plus a sum of products, which is cheap.
    """

    @abstractmethod
    def compute_slopes_from_sigmoid_(self, sigma: Tensor, pair_labels: Tensor) -> Tensor:
        """d(term)/dz of disconnected pairs, written into ``sigma``, which holds σ(z)."""

    def compute_disconnected_slopes_(self, products: Tensor, pair_labels: Tensor) -> Tensor:
        return self.compute_slopes_from_sigmoid_(products.sigmoid_(), pair_labels)

    def sum_weighted_logs(self, sigma: Tensor, pair_labels: Tensor, num_factors: int, scratch: Tensor) -> Tensor:
        """Σ a·log σ(z) of a tile, see :func:`sum_logs_of_products`."""
        return sum_logs_of_products(sigma, num_factors, scratch)

    def can_share_pass_with_estimator(self, h_estimator: Tensor) -> bool:
        return True

    def sum_weighted_logs_given_p(self, sigma: Tensor, p: Tensor, num_factors: int, scratch: Tensor) -> Tensor:
        """The same for labels that are p itself, not 1 − p, as in the pass for both losses."""
        return sum_logs_of_products(sigma, num_factors, scratch)

    def compute_slopes_given_p_(self, sigma: Tensor, p: Tensor) -> Tensor:
        """The slopes for labels that are p itself, not 1 − p."""
        return self.compute_slopes_from_sigmoid_(sigma, p)


class Structure(SigmoidTarget):
    """softplus(−z) for connected pairs and softplus(z) for the others, whatever the labels."""

    name = "structure"
    is_blank_without_label = True

    def compute_connected_loss_terms(self, products: Tensor, pair_labels: Tensor) -> Tensor:
        return F.softplus(-products)

    def compute_connected_slopes(self, products: Tensor, pair_labels: Tensor) -> Tensor:
        return torch.neg(products).sigmoid_().neg_()

    def compute_disconnected_loss_terms(self, products: Tensor, pair_labels: Tensor) -> Tensor:
        return F.softplus(products)

    def compute_slopes_from_sigmoid_(self, sigma: Tensor, pair_labels: Tensor) -> Tensor:
        return sigma


class Masked(Structure):
    """p·softplus(−z) for connected pairs and (1 − p)·softplus(z) for the others."""

    name = "masked"
    summary = "pair labels weight the structure loss (the authors' program)"
    uses_complement = True

    def compute_connected_loss_terms(self, products: Tensor, pair_labels: Tensor) -> Tensor:
        return super().compute_connected_loss_terms(products, pair_labels).mul_(pair_labels)

    def compute_connected_slopes(self, products: Tensor, pair_labels: Tensor) -> Tensor:
        return super().compute_connected_slopes(products, pair_labels).mul_(pair_labels)

    def compute_disconnected_loss_terms(self, products: Tensor, pair_labels: Tensor) -> Tensor:
        return F.softplus(products).mul_(pair_labels)

    def compute_slopes_from_sigmoid_(self, sigma: Tensor, pair_labels: Tensor) -> Tensor:
        return sigma.mul_(pair_labels)

    def sum_weighted_logs(self, sigma: Tensor, pair_labels: Tensor, num_factors: int, scratch: Tensor) -> Tensor:
        return torch.log(sigma, out=scratch).mul_(pair_labels).sum()

    def can_share_pass_with_estimator(self, h_estimator: Tensor) -> bool:
        h = h_estimator.detach()
        return float(torch.linalg.matrix_norm(h.t() @ h)) <= SURE * len(h)

    def sum_weighted_logs_given_p(self, sigma: Tensor, p: Tensor, num_factors: int, scratch: Tensor) -> Tensor:
        logs = torch.log(sigma, out=scratch)
        return logs.addcmul_(p, logs, value=-1).sum()

    def compute_slopes_given_p_(self, sigma: Tensor, p: Tensor) -> Tensor:
        # (1 − p)·σ(z) as σ(z) − p·σ(z): one pass over the tile, and no more is lost than p has lost already.
        return sigma.addcmul_(p, sigma, value=-1)


class Soft(SigmoidTarget):
    """The binary cross-entropy softplus(z) − p·z for all pairs."""

    name = "soft"
    summary = "pair labels are soft targets of a cross-entropy (the paper's equations)"
    uses_structure_in_warmup = False
    vanishes_on_own_labels = True

    def compute_connected_loss_terms(self, products: Tensor, pair_labels: Tensor) -> Tensor:
        # (max(z, 0) − p·z) + softplus(−|z|): neither part is negative, so nothing cancels.
        return F.relu(products).addcmul_(pair_labels, products, value=-1).add_(F.softplus(products.abs().neg_()))

    def compute_connected_slopes(self, products: Tensor, pair_labels: Tensor) -> Tensor:
        # σ(z) − p = (1 − p)·σ(z) − p·σ(−z), where nothing cancels
        return torch.neg(products).sigmoid_().neg_().mul_(pair_labels).add_((1 - pair_labels) * torch.sigmoid(products))

    def compute_disconnected_loss_terms(self, products: Tensor, pair_labels: Tensor) -> Tensor:
        return self.compute_connected_loss_terms(products, pair_labels)

    def compute_slopes_from_sigmoid_(self, sigma: Tensor, pair_labels: Tensor) -> Tensor:
        return sigma.sub_(pair_labels)


PAIR_TARGETS: Registry[type[PairTarget]] = Registry("target", "pignn.pair_targets")
for _target in (Masked, Soft):
    PAIR_TARGETS.register(_target.name, _target, _target.summary)


def resolve_pair_target(target: str | PairTarget) -> PairTarget:
    """A target as it is, or the one of this name."""
    return target if isinstance(target, PairTarget) else PAIR_TARGETS.get(target)()


def sum_logs_of_products(sigma: Tensor, num_factors: int, scratch: Tensor) -> Tensor:
    """Σ log σ, from products of ``num_factors`` each, so that fewer logarithms are taken. ``scratch`` is overwritten.

    The factors of a product stand in the rows of one thread, which has them in its cache.
    """
    if num_factors == 1:
        return torch.log(sigma, out=scratch).sum()
    flat, threads = sigma.view(-1), torch.get_num_threads()
    even = flat.numel() // (threads * num_factors) * threads * num_factors
    products = scratch.view(-1)[: even // num_factors].view(threads, -1)
    total = torch.prod(flat[:even].view(threads, num_factors, -1), dim=1, out=products).log_().sum()
    return total if even == flat.numel() else total + flat[even:].log().sum()
