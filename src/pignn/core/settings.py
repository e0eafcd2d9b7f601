"""Settings that declare what they accept. Checks, command-line options, help and reference pages read the declarations.

    @dataclass
    class Method:
        epochs: int = setting(400, Int(min=1), "number of training epochs")
        lr: float | None = setting(None, Float(min=0), "learning rate; None uses the backbone's own")

    check_settings(method)

``None`` is accepted wherever it is the default.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Protocol

from .errors import ConfigError, build_unknown_name_error

LARGEST_FLOAT = 1e30  # anything larger is a slip, not a setting


class Constraint(Protocol):
    """What a value must be."""

    def raise_unless_valid(self, setting_name: str, value: Any) -> None:
        """Raise a ConfigError of one line if ``value`` does not fit."""

    def describe(self) -> str:
        """What is accepted, for help texts: ``integer ≥ 1``."""


@dataclass(frozen=True)
class Int:
    """An integer from ``min`` to just below 2^``bits``."""

    min: int = 0
    bits: int = 63

    def raise_unless_valid(self, setting_name: str, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, Integral) or value < self.min:
            raise ConfigError(f"{setting_name} must be an integer of at least {self.min}, not {value!r}")
        if int(value) >= 2**self.bits:
            raise ConfigError(f"{setting_name} must be below 2^{self.bits}, not {value}")

    def describe(self) -> str:
        return f"integer ≥ {self.min}"


@dataclass(frozen=True)
class Float:
    """A number from ``min`` to ``max``; the ends belong to the range unless they are declared open."""

    min: float = 0.0
    max: float = LARGEST_FLOAT
    open_min: bool = False
    open_max: bool = False

    def raise_unless_valid(self, setting_name: str, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, Real) or not self._is_in_range(float(value)):
            raise ConfigError(f"{setting_name} must be a number {self._format_range()}, not {value!r}")

    def _is_in_range(self, value: float) -> bool:
        above = value > self.min if self.open_min else value >= self.min
        return above and (value < self.max if self.open_max else value <= self.max)

    def _format_range(self) -> str:
        low = f"above {self.min:g}" if self.open_min else f"of at least {self.min:g}"
        if self.max == LARGEST_FLOAT:
            return low
        return f"{low} and {'below' if self.open_max else 'at most'} {self.max:g}"

    def describe(self) -> str:
        low = f"{'>' if self.open_min else '≥'} {self.min:g}"
        return f"number {low}" if self.max == LARGEST_FLOAT else f"{low}, {'<' if self.open_max else '≤'} {self.max:g}"


@dataclass(frozen=True)
class Bool:
    """True or false."""

    def raise_unless_valid(self, setting_name: str, value: Any) -> None:
        if not isinstance(value, bool) and type(value).__name__ != "bool":  # NumPy has its own
            raise ConfigError(f"{setting_name} must be true or false, not {value!r}")

    def describe(self) -> str:
        return "true or false"


@dataclass(frozen=True)
class Choice:
    """One of some names: a tuple, or a :class:`~pignn.core.registry.Registry`, which may grow."""

    options: Iterable[str]

    def raise_unless_valid(self, setting_name: str, value: Any) -> None:
        if value not in self.options:
            raise build_unknown_name_error(setting_name, value, self.options)

    def describe(self) -> str:
        return ", ".join(self.options)


@dataclass(frozen=True)
class ListOf:
    """A list of at least ``length`` values that each fit."""

    item: Constraint
    length: int = 0

    def raise_unless_valid(self, setting_name: str, value: Any) -> None:
        if not hasattr(value, "__len__") or isinstance(value, str):
            raise ConfigError(f"{setting_name} must be a list, not {value!r}")
        if len(value) < self.length:
            raise ConfigError(f"{setting_name} must have at least {self.length} values, not {len(value)}")
        for each in value:
            self.item.raise_unless_valid(f"each of {setting_name}", each)

    def describe(self) -> str:
        return f"list of {self.item.describe()}"


@dataclass(frozen=True)
class Either:
    """One of some names, or a value that fits another constraint: ``Either(("auto",), Float(min=0))``."""

    options: Sequence[str]
    other: Constraint

    def raise_unless_valid(self, setting_name: str, value: Any) -> None:
        if isinstance(value, str) and value in self.options:
            return
        if isinstance(value, str):
            options = " or ".join(repr(option) for option in self.options)
            raise ConfigError(f"{setting_name} must be {options} or {self.other.describe()}, not {value!r}")
        self.other.raise_unless_valid(setting_name, value)

    def describe(self) -> str:
        return ", ".join([*self.options, self.other.describe()])


@dataclass(frozen=True)
class OrNone:
    """``None``, or a value that fits another constraint: for settings whose default is another value."""

    other: Constraint

    def raise_unless_valid(self, setting_name: str, value: Any) -> None:
        if value is not None:
            self.other.raise_unless_valid(setting_name, value)

    def describe(self) -> str:
        return f"none, {self.other.describe()}"


@dataclass(frozen=True)
class Anything:
    """No constraint that could be declared; the owner checks it."""

    text: str = ""

    def raise_unless_valid(self, setting_name: str, value: Any) -> None:
        """Accept every value."""

    def describe(self) -> str:
        return self.text


SEED = Int(min=0)  # what every generator of random numbers accepts


@dataclass(frozen=True)
class Range:
    """The values between two ends, both included, that a search for good settings tries; by their logarithm or not."""

    low: float
    high: float
    log: bool = False

    @classmethod
    def from_ends_with_log_if_wide(cls, low: float, high: float) -> Range:
        """By the logarithm where the ends are far apart."""
        return cls(low, high, log=low > 0 and high >= 10 * low)

    @property
    def is_integer(self) -> bool:
        return isinstance(self.low, int) and isinstance(self.high, int)


@dataclass(frozen=True)
class Setting:
    """The declaration of one setting, as help texts and reference pages show it."""

    name: str
    default: Any
    constraint: Constraint
    help: str
    annotation: str
    search: Range | tuple[Any, ...] | None = None  # what a search for good settings tries, if this one is worth it

    @property
    def is_none_by_default(self) -> bool:
        return self.default is None


def setting(default: Any, constraint: Constraint, help: str, *, search: Range | tuple[Any, ...] | None = None) -> Any:
    """A dataclass field that declares what it accepts, what it is for, and what a search for good settings tries."""
    metadata = {"constraint": constraint, "help": help, "search": search}
    if isinstance(default, list | dict | set):
        return dataclasses.field(default_factory=lambda: type(default)(default), metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def list_settings(owner: Any) -> list[Setting]:
    """The declared settings of a dataclass, in order of declaration."""
    return [
        Setting(
            name=field.name,
            default=_get_default(field),
            constraint=field.metadata["constraint"],
            help=field.metadata["help"],
            annotation=str(field.type),
            search=field.metadata["search"],
        )
        for field in dataclasses.fields(owner)
        if "constraint" in field.metadata
    ]


def check_settings(owner: Any, prefix: str = "") -> None:
    """Raise a ConfigError of one line for the first setting that does not fit its declaration."""
    for declared in list_settings(owner):
        value = getattr(owner, declared.name)
        if not (value is None and declared.is_none_by_default):
            declared.constraint.raise_unless_valid(f"{prefix}{declared.name}", value)


def _get_default(field: dataclasses.Field[Any]) -> Any:
    factory = field.default_factory
    return field.default if factory is dataclasses.MISSING else factory()
