"""Reference points: cross-entropy with no graph, and with a propagation apart from the network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import nn

from .vanilla import Vanilla


@dataclass(kw_only=True, eq=False, repr=False)
class MLP(Vanilla):
    """Features alone, no graph: what the edges add is the difference to this."""

    backbone: str | Callable[[int, int], nn.Module] = "mlp"


@dataclass(kw_only=True, eq=False, repr=False)
class SGC(Vanilla):
    """A linear classifier on features that were propagated ``num_layers`` times. Wu et al., ICML 2019."""

    backbone: str | Callable[[int, int], nn.Module] = "sgc"


@dataclass(kw_only=True, eq=False, repr=False)
class APPNP(Vanilla):
    """An MLP whose predictions are smoothed by personalised PageRank. Gasteiger et al., ICLR 2019."""

    backbone: str | Callable[[int, int], nn.Module] = "appnp"
