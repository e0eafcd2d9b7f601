"""Co-teaching."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from torch import Tensor, nn

from ..core.settings import Float, Int, setting
from ..training import Phase
from .core.committee import TwoNetworkMethod, build_small_loss_mask, compute_forget_share
from .core.learner import Step, Task
from .core.noise_estimation import estimate_noise_with_explanation

DEFAULT_RAMP, PAPER_RAMP = 100, 10


@dataclass(kw_only=True, eq=False, repr=False)
class SmallLossMethod(TwoNetworkMethod):
    """Two networks that learn from the nodes with small losses, because wrong labels are learned last.

    After fit: ``forget_rate_``, the share of nodes that was left out in the end.
    """

    learned_attributes: ClassVar[tuple[str, ...]] = ("forget_rate_",)

    forget_rate: float | None = setting(
        None, Float(max=1, open_max=True), "share of nodes left out in the end; by default the estimated noise rate"
    )
    ramp: int | None = setting(
        None,
        Int(),
        "epochs over which that share grows from 0; by default 100, or 10 with preset 'paper': losses must tell labels "
        "apart before any is left out",
    )
    forget_rate_: float = field(init=False)

    def prepare_phase(self, task: Task, networks: dict[str, nn.Module], phase: Phase) -> None:
        if self.forget_rate is not None:
            self.forget_rate_ = self.forget_rate
            return
        stated = estimate_noise_with_explanation(task, self.seed)
        self.forget_rate_, self.noise_explanation_ = stated.estimate.rate, stated.explanation

    def compute_kept_share(self, epoch: int) -> float:
        """The share of nodes that this epoch learns from."""
        ramp = (PAPER_RAMP if self.follows_paper() else DEFAULT_RAMP) if self.ramp is None else self.ramp
        return 1 - compute_forget_share(epoch, self.forget_rate_, ramp)


@dataclass(kw_only=True, eq=False, repr=False)
class CoTeaching(SmallLossMethod):
    """Two networks: each selects the nodes with the smallest losses, and the other learns from those.

    Han et al., "Co-teaching: Robust Training of Deep Neural Networks with Extremely Noisy Labels", NeurIPS 2018. In
    epoch t each selects a share 1 − τ·min(t/ramp, 1) of the nodes.
    """

    def objective(self, step: Step) -> Tensor:
        first, second = self.compute_losses_by_network(step)
        share = self.compute_kept_share(step.epoch)
        for_second, for_first = (build_small_loss_mask(losses, share, step.trusted) for losses in (first, second))
        return step.weighted_mean(first, for_first) + step.weighted_mean(second, for_second)
