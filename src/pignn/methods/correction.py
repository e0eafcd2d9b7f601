"""Loss correction with a transition matrix: forward and backward."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor, nn

from ..core.errors import ConfigError
from ..core.settings import Anything, setting
from ..noise.matrix_kinds import parse_transition_matrix
from ..training import Phase
from .core.learner import Step, Task
from .core.losses import (
    compute_backward_corrected_losses,
    compute_forward_corrected_losses,
    pseudo_invert_and_warn_if_singular,
)
from .core.network import NetworkMethod
from .core.noise_estimation import estimate_noise_with_explanation


@dataclass(kw_only=True, eq=False, repr=False)
class TransitionMethod(NetworkMethod):
    """A method that knows or estimates the transition matrix T[i, j] = P(given = j | true = i).

    After fit: ``transition_``, the matrix that was used.
    """

    learned_attributes: ClassVar[tuple[str, ...]] = ("transition_",)

    transition: Sequence[Sequence[float]] | None = setting(
        None, Anything("matrix"), "transition matrix P(given | true), one row per true class; by default estimated"
    )
    transition_: list[list[float]] = field(init=False)

    def prepare_phase(self, task: Task, networks: dict[str, nn.Module], phase: Phase) -> None:
        if self.transition is None:
            stated = estimate_noise_with_explanation(task, self.seed)
            matrix, self.noise_explanation_ = stated.estimate.transition, stated.explanation
        else:
            matrix = parse_transition_matrix(self.transition)
            if len(matrix) != task.num_classes:
                raise ConfigError(f"transition has {len(matrix)} rows, and there are {task.num_classes} classes")
        self.transition_ = matrix.tolist()
        self._matrix = torch.as_tensor(matrix, dtype=torch.float32, device=task.y.device)


@dataclass(kw_only=True, eq=False, repr=False)
class Forward(TransitionMethod):
    """Cross-entropy of the predictions after the noise has been applied to them: −log (Tᵀp)_y.

    Patrini et al., "Making Deep Neural Networks Robust to Label Noise: a Loss Correction Approach", CVPR 2017.
    """

    def objective(self, step: Step) -> Tensor:
        return step.weighted_mean(compute_forward_corrected_losses(step.logits, step.y, self._matrix, step.trusted))


@dataclass(kw_only=True, eq=False, repr=False)
class Backward(TransitionMethod):
    """Cross-entropy whose expectation under the noise is that of true labels: Σ_c (T⁻¹)_yc · (−log p_c).

    Patrini et al., CVPR 2017. Unbiased but not bounded below: with few labels it may grow large and negative.
    """

    def prepare_phase(self, task: Task, networks: dict[str, nn.Module], phase: Phase) -> None:
        super().prepare_phase(task, networks, phase)
        self._inverse = pseudo_invert_and_warn_if_singular(torch.as_tensor(self.transition_, device=task.y.device))

    def objective(self, step: Step) -> Tensor:
        return step.weighted_mean(compute_backward_corrected_losses(step.logits, step.y, self._inverse, step.trusted))
