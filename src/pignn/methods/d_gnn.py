"""D-GNN."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor, nn

from ..core.settings import setting
from .core.learner import Step, Task
from .core.losses import compute_backward_corrected_losses, pseudo_invert_and_warn_if_singular
from .core.network_settings import BACKBONE_HELP, BackboneName
from .core.pretraining import TeacherPretrainedMethod


def estimate_transition_at_surest_nodes(logits: Tensor) -> Tensor:
    """Row c of T: the probabilities of the node with the largest logit among those predicted c.

    A class that nobody is predicted as is taken to be labeled right.
    """
    num_classes = logits.shape[1]
    predicted = logits.argmax(1)
    own = torch.where(predicted[:, None] == torch.arange(num_classes, device=logits.device), logits, -torch.inf)
    height, surest = own.max(0)
    return torch.where(torch.isfinite(height)[:, None], logits.softmax(-1)[surest], torch.eye(num_classes).to(logits))


@dataclass(kw_only=True, eq=False, repr=False)
class DGNN(TeacherPretrainedMethod):
    """Backward loss correction of a GIN, with the transition matrix of a first GIN at its surest nodes.

    NT, Jin & Murata, "Learning Graph Neural Networks with Noisy Labels", 2019. Stage 1 learns the given labels; row c
    of T is what it says of the node that it is surest to be of class c. Stage 2 minimizes Σ_k (T⁻¹)_yk·(−log p_k), a
    mean over the labels. The paper classifies whole graphs; this is its form for nodes.

    T comes from the epoch with the best given validation labels. Another port takes the epoch with the best
    *training* accuracy, the most over-fitted one, and node 0 for a class that nobody is predicted as; its mean is
    over classes too.
    """

    learned_attributes: ClassVar[tuple[str, ...]] = ("transition_",)

    backbone: str | Callable[[int, int], nn.Module] = setting("gin", BackboneName(), BACKBONE_HELP)
    transition_: list[list[float]] = field(init=False)

    def prepare_from_teacher_outputs(self, task: Task, outputs: Tensor) -> None:
        matrix = estimate_transition_at_surest_nodes(outputs)
        self.transition_ = matrix.tolist()
        self._inverse = pseudo_invert_and_warn_if_singular(matrix)

    def train_objective(self, step: Step) -> Tensor:
        return step.weighted_mean(compute_backward_corrected_losses(step.logits, step.y, self._inverse, step.trusted))
