"""Methods made by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.errors import ConfigError, build_unknown_name_error
from .registry import METHODS, resolve_method_name_and_settings

if TYPE_CHECKING:
    from .core.base import Method


def resolve_method_class(name: str) -> type[Method]:
    """The class of a method, imported on first use."""
    if name not in METHODS:
        from ..backbones import BACKBONES

        if name in BACKBONES:
            raise ConfigError(f"unknown method '{name}'; a plain {name} is method 'vanilla' with backbone '{name}'")
    kind: type[Method] = METHODS.get(name)
    return kind


def make(name: str, **settings: Any) -> Method:
    """The method called ``name``, with its settings: ``make("pi-gnn", backbone="gat", warmup=20)``.

    The name of a plain network, such as ``"GCN"``, is ``vanilla`` with that backbone; ``"class mean"`` is
    ``prototypes`` without noise.
    """
    asked, (name, implied) = name, resolve_method_name_and_settings(name)
    for setting, value in implied.items():
        if str(settings.setdefault(setting, value)).lower() != value:
            raise ConfigError(
                f"'{asked}' is method '{name}' with {setting} '{value}', and {setting} is '{settings[setting]}'; "
                "give one of them"
            )
    kind = resolve_method_class(name)
    names = kind._get_param_names()
    for setting in settings:
        if setting not in names:
            if setting in resolve_method_class("vanilla")._get_param_names():
                raise ConfigError(
                    f"method '{name}' has no setting '{setting}': that is for methods that train networks; "
                    "leave it out, or take vanilla or pi-gnn"
                )
            raise ConfigError(f"method '{name}': {build_unknown_name_error('setting', setting, names)}")
    return kind(**settings)
