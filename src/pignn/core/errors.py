"""What can go wrong, as one small family. Every message is one line: what, where, what to do."""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Iterable
from types import FrameType

PACKAGE = __name__.partition(".")[0]


class PignnError(Exception):
    """Base of every error that a user can cause and mend. The command line prints it and exits with code 2."""


class DataError(PignnError, ValueError):
    """The graph, its labels or its masks cannot be used as they are."""


class ConfigError(PignnError, ValueError):
    """A setting or a name is not one that exists, or is outside its range."""


class ModelFileError(PignnError):
    """A model folder or checkpoint is missing, damaged, of another version, or does not fit the data."""


class OutputError(PignnError):
    """Something could not be written."""


class NotFittedError(PignnError, AttributeError):
    """A method was asked for a prediction before it was fitted."""


class PignnWarning(UserWarning):
    """Something was understood in one of several ways, or is likely to disappoint; the run goes on."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that there is no memory left, in Python's way or in torch's."""
    return isinstance(error, MemoryError) or "allocate memory" in str(error)


def build_unknown_name_error(kind: str, name: object, known: Iterable[str]) -> ConfigError:
    """The error for a name that does not exist, with the nearest that does."""
    names = sorted(known)
    text = str(name).lower()
    near = [other for other in names if sorted(other) == sorted(text)]  # letters in another order come first
    near += difflib.get_close_matches(text, names, n=1, cutoff=0.6)
    hint = f"did you mean '{near[0]}'?" if near else f"known: {', '.join(names)}"
    return ConfigError(f"unknown {kind} '{name}'; {hint}")


def warn_user(message: str) -> None:
    """Warn at the line outside of this package that called it, however deep inside the reason was found."""
    frame: FrameType | None = sys._getframe(1)
    depth, level = 3, 2
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] == PACKAGE:
            level = depth  # the caller of the outermost frame that is ours
        frame, depth = frame.f_back, depth + 1
    warnings.warn(message, PignnWarning, stacklevel=level)
