"""Methods by name: our own, and those that other packages bring through the entry-point group ``pignn.methods``."""

from __future__ import annotations

import importlib
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import ConfigError, unknown

if TYPE_CHECKING:
    from .base import Method

GROUP = "pignn.methods"


class MethodInfo(NamedTuple):
    name: str
    home: str
    summary: str


# Name → where it lives. Names alone must not import torch.
BUILT_IN = {
    info.name: info
    for info in (
        MethodInfo("pi-gnn", "pignn.methods.pi_gnn:PIGNN", "cross-entropy + pair regulariser (Du et al., TMLR 2023)"),
        MethodInfo("vanilla", "pignn.methods.vanilla:Vanilla", "the backbone alone, trained by cross-entropy"),
    )
}


def list_methods() -> list[MethodInfo]:
    """Every method that :func:`make` knows, built in or installed beside pignn."""
    found = dict(BUILT_IN)
    for point in entry_points(group=GROUP):
        found.setdefault(point.name, MethodInfo(point.name, point.value, f"from {point.value.split(':')[0]}"))
    return [found[name] for name in sorted(found)]


def method_class(name: str) -> type[Method]:
    known = {info.name: info for info in list_methods()}
    if name not in known:
        raise unknown("method", name, known)
    module, _, attribute = known[name].home.partition(":")
    return getattr(importlib.import_module(module), attribute)


def make(name: str, **settings: Any) -> Method:
    """The method called ``name``, with its settings: ``make("pi-gnn", backbone="gat", warmup=20)``."""
    kind = method_class(name)
    known = kind._get_param_names()
    for setting in settings:
        if setting not in known:
            raise ConfigError(f"method '{name}': {unknown('setting', setting, known)}")
    return kind(**settings)
