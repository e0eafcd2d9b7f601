"""Are settings what they should be? One line where one is not."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from .errors import ConfigError


def whole(name: str, value: Any, least: int, *, bits: int = 63) -> None:
    """A whole number of at least ``least``, and not larger than anything that could be meant."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ConfigError(f"{name} must be a whole number of at least {least}, not {value!r}")
    if int(value) >= 2**bits:
        raise ConfigError(f"{name} must be below 2^{bits}, not {value}")


def seed(name: str, value: Any) -> None:
    """A whole number that every generator of random numbers takes."""
    whole(name, value, 0)


def number(name: str, value: Any, *, below: float = 1e30) -> None:
    """A number from 0 to just under ``below``; what is larger than 1e30 is no setting but a slip."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) < below:
        raise ConfigError(f"{name} must be a number of at least 0 and below {below:g}, not {value!r}")


def flag(name: str, value: Any) -> None:
    if not isinstance(value, bool) and type(value).__name__ != "bool":  # NumPy has one of its own
        raise ConfigError(f"{name} must be true or false, not {value!r}")
