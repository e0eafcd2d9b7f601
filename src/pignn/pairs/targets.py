"""Pair targets: the loss of one pair with product z under its pair label p. A target is one class.

Another package adds one through the entry-point group ``pignn.pair_targets``, with the four abstract functions of
:class:`PairTarget`. All of them work elementwise and may write into what they return only.
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
    """The terms of a pair loss, and their slopes d(term)/dz.

    Disconnected pairs get 1 − p in place of p if ``uses_complement``, which keeps digits where p rounds to 1. Their
    terms and slopes must be 0 for z = −10,000 together with 0 in place of the label: so are pairs left out.
    """

    name: ClassVar[str]
    summary: ClassVar[str] = ""
    uses_complement: ClassVar[bool] = False
    is_blank_without_label: ClassVar[bool] = False  # whether z = −10,000 alone makes terms and slopes 0
    uses_structure_in_warmup: ClassVar[bool] = True  # otherwise there is no pair loss during warm-up
    vanishes_on_own_labels: ClassVar[bool] = False  # whether p = σ(z) leaves no gradient

    @abstractmethod
    def connected_terms(self, z: Tensor, p: Tensor) -> Tensor:
        """The terms of connected pairs, before they are weighted with w."""

    @abstractmethod
    def connected_slopes(self, z: Tensor, p: Tensor) -> Tensor:
        """d(term)/dz of connected pairs."""

    @abstractmethod
    def disconnected_terms(self, z: Tensor, p: Tensor) -> Tensor:
        """The terms of disconnected pairs."""

    @abstractmethod
    def disconnected_slopes(self, z: Tensor, p: Tensor) -> Tensor:
        """d(term)/dz of disconnected pairs; may be written into ``z``."""

    def can_share_pass(self, h_estimator: Tensor) -> bool:
        """Whether one pass over all pairs can give this loss and the estimator's, see :class:`SigmoidTarget`."""
        return False


class SigmoidTarget(PairTarget):
    """A target whose disconnected slopes are functions of σ(z), so that value and slopes share one exponential.

    Terms are a·softplus(z) with a = 1 − p if ``uses_complement``, else softplus(z) − p·z, where p = 0 without labels.
    As softplus(z) = z − log σ(z), a sum of them is a sum of logarithms plus a sum of products, which is cheap.
    """

    @abstractmethod
    def slopes_from_sigmoid(self, sigma: Tensor, p: Tensor) -> Tensor:
        """d(term)/dz of disconnected pairs, in place of σ(z)."""

    def disconnected_slopes(self, z: Tensor, p: Tensor) -> Tensor:
        return self.slopes_from_sigmoid(z.sigmoid_(), p)

    def sum_logs(self, sigma: Tensor, p: Tensor, factors: int, out: Tensor) -> Tensor:
        """Σ a·log σ(z) of a tile, see :func:`sum_of_logs`."""
        return sum_of_logs(sigma, factors, out)

    def can_share_pass(self, h_estimator: Tensor) -> bool:
        return True

    def sum_shared_logs(self, sigma: Tensor, p: Tensor, factors: int, out: Tensor) -> Tensor:
        """The same where ``p`` holds p itself, as the pass for both losses has it."""
        return sum_of_logs(sigma, factors, out)

    def shared_slopes(self, sigma: Tensor, p: Tensor) -> Tensor:
        """The slopes where ``p`` holds p itself."""
        return self.slopes_from_sigmoid(sigma, p)


class Structure(SigmoidTarget):
    """softplus(−z) for connected pairs and softplus(z) for the others, whatever the labels."""

    name = "structure"
    is_blank_without_label = True

    def connected_terms(self, z: Tensor, p: Tensor) -> Tensor:
        return F.softplus(-z)

    def connected_slopes(self, z: Tensor, p: Tensor) -> Tensor:
        return torch.neg(z).sigmoid_().neg_()

    def disconnected_terms(self, z: Tensor, p: Tensor) -> Tensor:
        return F.softplus(z)

    def slopes_from_sigmoid(self, sigma: Tensor, p: Tensor) -> Tensor:
        return sigma


class Masked(Structure):
    """p·softplus(−z) for connected pairs and (1 − p)·softplus(z) for the others."""

    name = "masked"
    summary = "pair labels weight the structure loss (the authors' program)"
    uses_complement = True

    def connected_terms(self, z: Tensor, p: Tensor) -> Tensor:
        return super().connected_terms(z, p).mul_(p)

    def connected_slopes(self, z: Tensor, p: Tensor) -> Tensor:
        return super().connected_slopes(z, p).mul_(p)

    def disconnected_terms(self, z: Tensor, p: Tensor) -> Tensor:
        return F.softplus(z).mul_(p)

    def slopes_from_sigmoid(self, sigma: Tensor, p: Tensor) -> Tensor:
        return sigma.mul_(p)

    def sum_logs(self, sigma: Tensor, p: Tensor, factors: int, out: Tensor) -> Tensor:
        return torch.log(sigma, out=out).mul_(p).sum()

    def can_share_pass(self, h_estimator: Tensor) -> bool:
        h = h_estimator.detach()
        return float(torch.linalg.matrix_norm(h.t() @ h)) <= SURE * len(h)

    def sum_shared_logs(self, sigma: Tensor, p: Tensor, factors: int, out: Tensor) -> Tensor:
        logs = torch.log(sigma, out=out)
        return logs.addcmul_(p, logs, value=-1).sum()

    def shared_slopes(self, sigma: Tensor, p: Tensor) -> Tensor:
        # (1 − p)·σ(z) as σ(z) − p·σ(z): one pass over the tile, and no more is lost than p has lost already.
        return sigma.addcmul_(p, sigma, value=-1)


class Soft(SigmoidTarget):
    """The binary cross-entropy softplus(z) − p·z for all pairs."""

    name = "soft"
    summary = "pair labels are soft targets of a cross-entropy (the paper's equations)"
    uses_structure_in_warmup = False
    vanishes_on_own_labels = True

    def connected_terms(self, z: Tensor, p: Tensor) -> Tensor:
        # (max(z, 0) − p·z) + softplus(−|z|): neither part is negative, so nothing cancels.
        return F.relu(z).addcmul_(p, z, value=-1).add_(F.softplus(z.abs().neg_()))

    def connected_slopes(self, z: Tensor, p: Tensor) -> Tensor:
        # σ(z) − p = (1 − p)·σ(z) − p·σ(−z), where nothing cancels
        return torch.neg(z).sigmoid_().neg_().mul_(p).add_((1 - p) * torch.sigmoid(z))

    def disconnected_terms(self, z: Tensor, p: Tensor) -> Tensor:
        return self.connected_terms(z, p)

    def slopes_from_sigmoid(self, sigma: Tensor, p: Tensor) -> Tensor:
        return sigma.sub_(p)


PAIR_TARGETS: Registry[type[PairTarget]] = Registry("target", "pignn.pair_targets")
for _target in (Masked, Soft):
    PAIR_TARGETS.register(_target.name, _target, _target.summary)


def resolve_target(target: str | PairTarget) -> PairTarget:
    """A target as it is, or the one of this name."""
    return target if isinstance(target, PairTarget) else PAIR_TARGETS.get(target)()


def sum_of_logs(sigma: Tensor, factors: int, out: Tensor) -> Tensor:
    """Σ log σ, from products of several ``factors`` so that fewer logarithms are taken. ``out`` is scratch space.

    The factors of a product stand in the rows of one thread, which has them in its cache.
    """
    if factors == 1:
        return torch.log(sigma, out=out).sum()
    flat, threads = sigma.view(-1), torch.get_num_threads()
    even = flat.numel() // (threads * factors) * threads * factors
    products = out.view(-1)[: even // factors].view(threads, -1)
    total = torch.prod(flat[:even].view(threads, factors, -1), dim=1, out=products).log_().sum()
    return total if even == flat.numel() else total + flat[even:].log().sum()
