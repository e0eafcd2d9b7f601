"""Are settings what they should be? One line where one is not."""

from __future__ import annotations

import math
from typing import Any

from ..errors import ConfigError


def whole(name: str, value: Any, least: int) -> None:
    """A whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigError(f"{name} must be a whole number of at least {least}, not {value!r}")


def number(name: str, value: Any, *, below: float = math.inf) -> None:
    """A finite number from 0 to just under ``below``."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < below:
        top = "" if below == math.inf else f" and below {below:g}"
        raise ConfigError(f"{name} must be a finite number of at least 0{top}, not {value!r}")


def flag(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise ConfigError(f"{name} must be true or false, not {value!r}")
