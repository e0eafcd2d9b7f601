"""Co-teaching."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from torch import Tensor, nn

from ..core import validation as settings
from ..training import Phase
from .core.committee import TwoNetworks, forgotten, small_losses
from .core.learner import Step, Task
from .core.noise_estimation import estimate_noise


@dataclass(kw_only=True, eq=False, repr=False)
class SmallLosses(TwoNetworks):
    """Two networks that learn from the nodes whose losses are small, since wrong labels are learnt last.

    Args:
        forget_rate: τ, the share of nodes that is left out in the end; ``None`` for the noise rate that
            :func:`pignn.noise.estimate` finds. ``forget_rate_`` is what was used.
        ramp: epochs over which the share grows from 0 to τ.
    """

    learned: ClassVar[tuple[str, ...]] = ("forget_rate_",)

    forget_rate: float | None = None
    ramp: int = 10
    forget_rate_: float = field(init=False)

    def prepare(self, task: Task, networks: dict[str, nn.Module], phase: Phase) -> None:
        self.forget_rate_ = estimate_noise(task, self.seed).rate if self.forget_rate is None else self.forget_rate

    def share(self, epoch: int) -> float:
        """Of the nodes that are learnt from in this epoch."""
        return 1 - forgotten(epoch, self.forget_rate_, self.ramp)

    def check_settings(self) -> None:
        super().check_settings()
        settings.whole("ramp", self.ramp, 0)
        if self.forget_rate is not None:
            settings.number("forget_rate", self.forget_rate, below=1)


@dataclass(kw_only=True, eq=False, repr=False)
class CoTeaching(SmallLosses):
    """Two networks; each picks the nodes with the smallest losses, and the other learns from those.

    Han et al., "Co-teaching: Robust Training of Deep Neural Networks with Extremely Noisy Labels", NeurIPS 2018. In
    epoch t each picks a share 1 − τ·min(t/10, 1) of the nodes.
    """

    def objective(self, step: Step) -> Tensor:
        first, second = self.both(step)
        share = self.share(step.epoch)
        for_second, for_first = (small_losses(loss, share, step.trusted) for loss in (first, second))
        return step.weighted_mean(first, for_first) + step.weighted_mean(second, for_second)
