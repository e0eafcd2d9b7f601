"""The headline numbers of an audit, for its page, its card and a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class AuditOverview:
    """What a reader should know of an audit first."""

    num_labels: int
    num_trusted: int
    num_flagged: int  # by confident learning
    num_suspects: int
    rate: float  # estimated share of wrong labels
    rate_interval: tuple[float, float] | None
    rate_dawid_skene: float | None  # a second estimate; None without edges
    is_rate_doubtful: bool  # far more labels are flagged than estimated to be wrong
    homophily: float | None
    method: str
    folds: int
    notes: Sequence[str] = field(default_factory=list)

    def rate_text(self) -> str:
        """The estimated rate with its interval, where there is one."""
        interval = self.rate_interval
        return f"{self.rate:.1%}" + (
            "" if interval is None else f" (95 % interval {interval[0]:.1%} to {interval[1]:.1%})"
        )

    def rate_dawid_skene_text(self) -> str:
        return "unknown (no edges)" if self.rate_dawid_skene is None else f"{self.rate_dawid_skene:.1%}"

    def homophily_text(self) -> str:
        return "unknown" if self.homophily is None else f"{self.homophily:.2f}"
