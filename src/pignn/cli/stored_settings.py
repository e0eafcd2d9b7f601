"""The declared settings of all built-in methods, kept in a file, so that a wrong one is told without torch.

The file is written with that of :mod:`pignn.cli.method_options`. Anything that it cannot decide is left to the method.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import fields
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from ..core import settings as declarations
from ..core.errors import ConfigError, build_unknown_name_error
from ..core.registry import Registry
from ..methods.registry import METHODS, resolve_method_name_and_settings

FILE = Path(__file__).with_name("all_settings.json")
NETWORK = "vanilla"
DEVICE = re.compile(r"(cpu|cuda)(:\d+)?")


def check_method_exists_and_settings_fit(name: str | None, settings: Mapping[str, Any]) -> None:
    """Raise a one-line error for a method that does not exist, or for a setting that does not fit it.

    Without a name it is ``auto``, or ``pi-gnn`` if a setting is one that only networks have.
    """
    stored = json.loads(FILE.read_text(encoding="utf-8"))
    if name is None:
        name = "auto" if all(setting in stored["methods"]["auto"] for setting in settings) else "pi-gnn"
    name, _ = resolve_method_name_and_settings(name)
    if METHODS.resolve_name(name) not in stored["methods"]:
        return  # of another package
    known = stored["methods"][name]
    for setting, value in settings.items():
        if setting not in known:
            if setting in stored["methods"][NETWORK]:
                raise ConfigError(
                    f"method '{name}' has no setting '{setting}': that is for methods that train networks; leave it "
                    f"out, or take {NETWORK} or pi-gnn"
                )
            raise ConfigError(f"method '{name}': {build_unknown_name_error('setting', setting, known)}")
        if setting == "device" and not DEVICE.fullmatch(str(value)):
            raise ConfigError(f"unknown device '{value}'; use 'cpu', 'cuda' or 'cuda:0'")
        constraint = _decode_constraint_or_none(stored["constraints"][known[setting]["accepts"]])
        optional = known[setting]["optional"]
        if setting in ("backbone", "estimator"):
            if not isinstance(value, str):
                continue
            setting, value = "backbone", value.lower()
        if constraint is not None and not (value is None and optional):
            constraint.raise_unless_valid(setting, value)


def may_method_have_setting(name: str, setting: str) -> bool:
    """Whether a method has a setting; one of another package may have any."""
    known = json.loads(FILE.read_text(encoding="utf-8"))["methods"].get(
        METHODS.resolve_name(resolve_method_name_and_settings(name)[0])
    )
    return known is None or setting in known


def build_settings_file_content() -> dict[str, Any]:
    """The content of the file, from the declarations."""
    constraints: list[Any] = []
    methods: dict[str, Any] = {}
    for entry in METHODS.list_entries():
        if entry.target.startswith("pignn."):
            methods[entry.name] = {}
            for each in declarations.list_settings(METHODS.get(entry.name)):
                code = _encode_constraint(each.constraint)
                if code not in constraints:
                    constraints.append(code)
                methods[entry.name][each.name] = {
                    "accepts": constraints.index(code),
                    "optional": each.is_none_by_default,
                }
    return {"constraints": constraints, "methods": methods}


def write_stored_settings_file() -> None:
    """Write the file anew."""
    FILE.write_text(json.dumps(build_settings_file_content(), ensure_ascii=False) + "\n", encoding="utf-8")


def _encode_constraint(value: Any) -> Any:
    """A constraint as JSON holds it; a registry by its names and its group."""
    if type(value).__name__ == "BackboneName":
        from ..backbones import BACKBONES

        return _encode_constraint(declarations.Choice(BACKBONES))
    if isinstance(value, Registry):
        names = [entry.name for entry in value.list_entries() if entry.target.startswith("pignn.")]
        return {"names": [*names, *value.aliases], "group": value.group}
    if hasattr(value, "describe"):
        return {"kind": type(value).__name__} | {
            f.name: _encode_constraint(getattr(value, f.name)) for f in fields(value)
        }
    return list(value) if isinstance(value, tuple) else value


def _decode_constraint_or_none(code: Any) -> Any:
    """The constraint; None where another package may have added names."""
    if isinstance(code, dict) and "group" in code:
        return None if entry_points(group=code["group"]) else code["names"]
    if not isinstance(code, dict):
        return code
    arguments = {name: _decode_constraint_or_none(value) for name, value in code.items() if name != "kind"}
    if code["kind"] == "Anything" or None in arguments.values():
        return None
    return getattr(declarations, code["kind"])(**arguments)
