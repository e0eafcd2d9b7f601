"""Named parts, our own and those of installed packages: listed without importing them, loaded on first use."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from .errors import ConfigError, build_unknown_name_error

T = TypeVar("T")


@dataclass(frozen=True)
class Entry:
    """One named part: ``target`` is where it lives, as ``"package.module:attribute"``."""

    name: str
    target: str
    summary: str = ""


class Registry(Generic[T]):
    """Parts of one kind by name.

    Args:
        kind: what one part is called in messages, such as ``"method"``.
        group: the entry-point group through which other packages add parts, such as ``"pignn.methods"``.
        entries: the built-in parts. They win over entry points of the same name.
        aliases: other spellings of built-in names.
    """

    def __init__(
        self, kind: str, group: str, entries: Iterable[Entry] = (), aliases: dict[str, str] | None = None
    ) -> None:
        self.kind = kind
        self.group = group
        self.aliases = aliases or {}
        self._entries = {entry.name: entry for entry in entries}
        self._objects: dict[str, T] = {}

    def register(self, name: str, part: T, summary: str = "") -> T:
        """Add a part for the running program; a package adds it for good by an entry point.

        What is defined anew at the same place, as in a notebook, replaces the part before.
        """
        target = f"{getattr(part, '__module__', '')}:{getattr(part, '__qualname__', name)}"
        if name in self._entries and (self._entries[name].target != target or target.startswith("pignn.")):
            raise ConfigError(f"there is a {self.kind} '{name}' already; choose another name")
        own_name = getattr(part, "name", name) if isinstance(part, type) else name
        if isinstance(own_name, str) and own_name != name:  # what is saved under one name must be found under it
            raise ConfigError(f"the class registered as {self.kind} '{name}' has the name '{own_name}'; use one name")
        self._entries[name] = Entry(name, target, summary)
        self._objects[name] = part
        return part

    def get(self, name: str) -> T:
        """The part called ``name``, imported on first use."""
        name = self.resolve_name(name)
        if name not in self._objects:
            self._objects[name] = self._import_part(self._find_entry(name))
        return self._objects[name]

    def resolve_name(self, name: str) -> str:
        """The canonical name, or an error that names the nearest one."""
        if not isinstance(name, str):
            given = f"the class {name.__name__}" if isinstance(name, type) else f"an object of {type(name).__name__}"
            raise ConfigError(f"the name of a {self.kind} is a text, not {given}")
        name = self.aliases.get(name, name)
        if name not in self._entries and name not in self._find_installed_entry_points():
            raise build_unknown_name_error(self.kind, name, self.list_names())
        return name

    def find_name_by_import_path_or_none(self, target: str) -> str | None:
        """The name under which a part that lives at ``target`` is registered."""
        installed = (
            {} if target.startswith("pignn.") else self._find_installed_entry_points()
        )  # a search of all packages takes long
        targets = {point.value: name for name, point in installed.items()}
        return (targets | {entry.target: name for name, entry in self._entries.items()}).get(target)

    def list_entries(self) -> list[Entry]:
        """Every part that :meth:`get` knows, by name, without importing any."""
        installed = {
            name: Entry(name, point.value, f"from {point.module}")
            for name, point in self._find_installed_entry_points().items()
        }
        return [entry for _, entry in sorted((installed | self._entries).items())]

    def list_names(self) -> list[str]:
        return [entry.name for entry in self.list_entries()]

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        return self.aliases.get(name, name) in self._entries or name in self._find_installed_entry_points()

    def __iter__(self) -> Iterator[str]:
        return iter(self.list_names())

    def _find_entry(self, name: str) -> Entry:
        if name in self._entries:
            return self._entries[name]
        return Entry(name, self._find_installed_entry_points()[name].value)

    def _find_installed_entry_points(self) -> dict[str, EntryPoint]:
        return {point.name: point for point in entry_points(group=self.group)}

    def _import_part(self, entry: Entry) -> Any:
        module, _, attribute = entry.target.partition(":")
        if entry.target.startswith("pignn."):  # a failure here is a bug of ours: show its traceback
            return getattr(importlib.import_module(module), attribute)
        try:
            return getattr(importlib.import_module(module), attribute)
        except Exception as error:
            reason = " ".join(str(error).split())[:150]
            raise ConfigError(
                f"{self.kind} '{entry.name}' cannot be loaded from {entry.target} ({reason}); "
                "update or remove the package that provides it"
            ) from error
