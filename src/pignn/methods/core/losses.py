"""Losses that several methods share: logits [n, classes] in, one loss per node out."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from ...core.errors import warn_user

LOG_ZERO = math.log(1e-4)  # what stands for log 0
MAX_CONDITION_NUMBER = 1e3  # of a transition matrix that can be inverted


def normalized_cross_entropy(logits: Tensor, y: Tensor) -> Tensor:
    """log p_y / Σ_c log p_c, in [0, 1]."""
    log_probs = F.log_softmax(logits, dim=-1)
    return log_probs.gather(1, y[:, None]).view(-1) / log_probs.sum(-1)


def reverse_cross_entropy(logits: Tensor, y: Tensor) -> Tensor:
    """−Σ_c p_c log ȳ_c, with log 0 = log 1e-4: (1 − p_y)·9.21."""
    return -LOG_ZERO * (1 - logits.softmax(-1).gather(1, y[:, None]).view(-1))


def soft_cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
    """−Σ_c target_c log p_c, for targets that are probabilities."""
    return -(target * F.log_softmax(logits, dim=-1)).sum(-1)


def compute_forward_corrected_losses(
    logits: Tensor, y: Tensor, transition: Tensor, trusted: Tensor | None = None
) -> Tensor:
    """−log P(given = y): −log Σ_c p_c T_cy; −log p_y of a trusted label."""
    log_probs = F.log_softmax(logits, dim=-1)
    mixed = (log_probs + transition.t()[y].clamp(min=1e-12).log()).logsumexp(-1)
    if trusted is not None:
        mixed = mixed.where(~trusted, log_probs.gather(1, y[:, None]).view(-1))
    return -mixed


def compute_backward_corrected_losses(logits: Tensor, y: Tensor, inverse_transition: Tensor, trusted: Tensor) -> Tensor:
    """Σ_c (T⁻¹)_yc · (−log p_c); −log p_y of a trusted label."""
    losses = -F.log_softmax(logits, dim=-1)
    corrected = (inverse_transition[y] * losses).sum(-1)
    return corrected.where(~trusted, losses.gather(1, y[:, None]).view(-1))


def pseudo_invert_and_warn_if_singular(matrix: Tensor) -> Tensor:
    """The pseudo-inverse of a transition matrix, in single precision. A warning says where it means little."""
    matrix = matrix.double()
    if torch.linalg.cond(matrix) > MAX_CONDITION_NUMBER:
        warn_user("the transition matrix can hardly be inverted: its rows are too alike; 'forward' needs no inverse")
    return torch.linalg.pinv(matrix, rtol=1 / MAX_CONDITION_NUMBER).float()
