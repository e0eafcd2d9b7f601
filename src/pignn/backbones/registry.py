"""Backbones by name: our own, and those of other packages (entry-point group ``pignn.backbones``)."""

from __future__ import annotations

from typing import Any, Protocol

from torch import nn

from ..core.errors import ConfigError
from ..core.registry import Entry, Registry
from .adapter import PyGAdapter
from .base import Backbone
from .init import initialize_parameters


class Builder(Protocol):
    """A callable that builds a module which is called as PyG's are, ``module(x, edge_index)``."""

    def __call__(self, in_channels: int, out_channels: int, /) -> nn.Module: ...


BACKBONES: Registry[type[Backbone] | Builder] = Registry(
    "backbone",
    "pignn.backbones",
    [
        Entry("gcn", "pignn.backbones.gcn:GCN", "graph convolution, 64 hidden channels (16 in the paper)"),
        Entry("gat", "pignn.backbones.gat:GAT", "graph attention, 8 heads of 8 channels"),
        Entry("sage", "pignn.backbones.sage:GraphSAGE", "GraphSAGE, mean aggregator, 64 hidden channels"),
        Entry("appnp", "pignn.backbones.appnp:APPNP", "MLP smoothed by personalized PageRank, 64 hidden channels"),
        Entry("sgc", "pignn.backbones.sgc:SGC", "linear, on propagated features"),
        Entry("gin", "pignn.backbones.gin:GIN", "graph isomorphism network: sums, batch norm, 64 hidden channels"),
        Entry("gatv2", "pignn.backbones.gatv2:GATv2", "graph attention that ranks neighbors per node, 8 heads of 8"),
        Entry("lcat", "pignn.backbones.lcat:LCAT", "GATv2 that learns how far to attend and to smooth, 8 heads of 8"),
        Entry("tuned", "pignn.backbones.tuned:TunedGCN", "GCN with residuals and layer norm, 256 hidden channels"),
        Entry("mlp", "pignn.backbones.mlp:MLP", "features alone, 64 hidden channels"),
    ],
    aliases={"graphsage": "sage"},
)


def get_backbone_class_or_builder(backbone: str | Builder) -> type[Backbone] | Builder:
    """The class or builder behind a name; a builder stays what it is."""
    if isinstance(backbone, str):
        return BACKBONES.get(backbone.lower())
    if not callable(backbone):
        raise ConfigError(f"a backbone is a name or a callable (in_channels, out_channels) -> module, not {backbone!r}")
    return backbone


def get_default_lr(backbone: str | Builder) -> float:
    """The learning rate of a backbone if the user sets none."""
    return float(getattr(get_backbone_class_or_builder(backbone), "default_lr", Backbone.default_lr))


def get_paper_hidden_channels_or_none(backbone: str | Builder) -> int | None:
    """The width that a backbone had in the paper's experiments; ``None`` where that is its default."""
    return getattr(get_backbone_class_or_builder(backbone), "paper_hidden_channels", None)


def build(
    backbone: str | Builder, in_channels: int, out_channels: int, *, init: str = "glorot", **options: Any
) -> nn.Module:
    """A freshly initialized network: a named backbone, or what a builder makes of ``(in_channels, out_channels)``.

    Options that are ``None`` keep the backbone's default. What a builder makes initializes itself and takes no options.
    """
    part = get_backbone_class_or_builder(backbone)
    if isinstance(part, type) and issubclass(part, Backbone):
        given = {key: value for key, value in options.items() if value is not None}
        network = part(in_channels, out_channels, **given)
        initialize_parameters(network, init)
        return network
    return PyGAdapter(_call_builder(part, in_channels, out_channels), out_channels)


def _call_builder(builder: Builder, in_channels: int, out_channels: int) -> nn.Module:
    try:
        module = builder(in_channels, out_channels)
    except TypeError as error:
        raise ConfigError(
            f"a backbone is called with (in_channels, out_channels) and builds a module: {error}"
        ) from None
    if not isinstance(module, nn.Module):
        raise ConfigError(f"a backbone builds a torch module, not {type(module).__name__}")
    return module
