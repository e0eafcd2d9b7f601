"""Contrastive losses among some nodes at a time: their similarities are the largest matrix."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def sample_row_indices(num_rows: int, max_rows: int, device: torch.device) -> Tensor:
    """All rows, or ``max_rows`` random ones where there are more."""
    if num_rows <= max_rows:
        return torch.arange(num_rows, device=device)
    return torch.randperm(num_rows, device=device)[:max_rows]


def compute_infonce_loss(
    first: Tensor,
    second: Tensor,
    temperature: float,
    *,
    include_own_view: bool = False,
    positives: Tensor | None = None,
) -> Tensor:
    """InfoNCE of two views [n, d] of the same nodes by cosine similarity s, the mean of both directions.

    −log(e^{s(u_i, v_i)/τ} / Σ_k e^{s(u_i, v_k)/τ}), where ``include_own_view`` adds the other nodes of a node's own
    view to the sum, as GRACE does. ``positives`` are other rows than v_i that should be near u_i, such as a neighbor's.
    """
    u, v = F.normalize(first, dim=1), F.normalize(second, dim=1)
    across = u @ v.t() / temperature
    if positives is not None:
        near = (u * F.normalize(positives, dim=1)).sum(1) / temperature
        return (across.logsumexp(1) - near).mean()
    near = across.diagonal()
    totals = [across.logsumexp(1), across.logsumexp(0)]
    if include_own_view:
        totals = [
            torch.logaddexp(total, _compute_logsumexp_of_others(h, temperature))
            for total, h in zip(totals, (u, v), strict=True)
        ]
    return (0.5 * (totals[0] + totals[1]) - near).mean()


def _compute_logsumexp_of_others(unit_rows: Tensor, temperature: float) -> Tensor:
    """log Σ_{k≠i} e^{h_i·h_k/τ}, of rows of length 1."""
    similarity = unit_rows @ unit_rows.t() / temperature
    return similarity.masked_fill(
        torch.eye(len(unit_rows), dtype=torch.bool, device=unit_rows.device), -torch.inf
    ).logsumexp(1)
