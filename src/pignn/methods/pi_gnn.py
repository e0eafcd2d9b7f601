"""PI-GNN."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.settings import Choice, OrNone, setting
from .core.network import NetworkMethod
from .core.network_settings import PAIR_MODES, PAIRS_HELP


@dataclass(kw_only=True, eq=False, repr=False)
class PIGNN(NetworkMethod):
    """Cross-entropy plus the pair regularizer.

    Du et al., "Noise-robust Graph Learning by Estimating and Leveraging Pairwise Interactions", TMLR 2023. The
    estimator learns from the graph alone whether two nodes are connected; σ(h_i·h_j) is the estimated pair label. The
    classifier minimizes cross-entropy + β·L_reg, where pair labels weight L_reg after a warm-up.
    ``preset="paper"`` reproduces table 1 of the paper.
    """

    pairs: str | None = setting("auto", OrNone(Choice(PAIR_MODES)), PAIRS_HELP)
