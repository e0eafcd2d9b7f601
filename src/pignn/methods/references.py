"""Reference points: cross-entropy without a graph, and with a propagation outside the network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import nn

from ..core.settings import setting
from .core.network_settings import BACKBONE_HELP, BackboneName
from .vanilla import Vanilla


@dataclass(kw_only=True, eq=False, repr=False)
class MLP(Vanilla):
    """Features alone, no graph. The difference to this is what the edges add."""

    backbone: str | Callable[[int, int], nn.Module] = setting("mlp", BackboneName(), BACKBONE_HELP)


@dataclass(kw_only=True, eq=False, repr=False)
class SGC(Vanilla):
    """A linear classifier of features that were propagated ``num_layers`` times. Wu et al., ICML 2019."""

    backbone: str | Callable[[int, int], nn.Module] = setting("sgc", BackboneName(), BACKBONE_HELP)


@dataclass(kw_only=True, eq=False, repr=False)
class APPNP(Vanilla):
    """An MLP whose predictions are smoothed by personalized PageRank. Gasteiger et al., ICLR 2019."""

    backbone: str | Callable[[int, int], nn.Module] = setting("appnp", BackboneName(), BACKBONE_HELP)
