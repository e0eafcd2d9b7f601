"""PI-GNN."""

from __future__ import annotations

from dataclasses import dataclass

from .core.network import NetworkMethod


@dataclass(kw_only=True, eq=False, repr=False)
class PIGNN(NetworkMethod):
    """Cross-entropy plus the pair regulariser.

    Du et al., "Noise-robust Graph Learning by Estimating and Leveraging Pairwise Interactions", TMLR 2023. The
    estimator learns from the graph alone whether two nodes are connected; σ(h_i·h_j) is the estimated pair label. The
    classifier minimises cross-entropy + β·L_reg, where pair labels weigh L_reg after a warm-up. The defaults are
    those that reproduce the paper's table 1.
    """

    pairs: str | None = "auto"
