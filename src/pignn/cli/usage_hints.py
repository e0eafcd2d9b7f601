"""What to write instead, where the parser of options only says that something is wrong."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from itertools import pairwise

from ..core.errors import ConfigError

EXTRA = re.compile(r"Got unexpected extra argument\w*(?:\(s\))? \((?P<extra>.*)\)")
NO_NUMBER = re.compile(r"(?P<start>Invalid value for '(?P<option>--[\w-]+)'): .*valid (?P<kind>integer|number)\b.*")


def check_no_option_is_empty(arguments: Sequence[str]) -> None:
    """Refuse ``--out ""``, which is what a shell makes of a variable that is not set."""
    for before, text in pairwise(arguments):
        if text == "" and before.startswith("--"):
            raise ConfigError(f"{before} has an empty value; give one (is a variable of the shell not set?)")


def add_usage_hint(message: str, arguments: Sequence[str]) -> str:
    """The message of the parser with what was probably meant."""
    if match := EXTRA.fullmatch(message):
        if any(os.path.isfile(text) for text in match["extra"].split()):
            return f"{message}; files go by name: --nodes FILE --edges FILE"
        return f"{message}; a list has commas and no blanks, and an option that is on or off has no value"
    if match := NO_NUMBER.fullmatch(message):
        text = _find_value_or_none(match["option"], arguments)
        if text is not None:
            noun = "number" if match["kind"] == "number" else "whole number"
            return f"{match['start']}: '{text}' is not a {noun}{_suggest_number_or_empty(text, noun)}"
    single = next((text for text in arguments if re.fullmatch(r"-[a-z][a-z-]+", text)), None)
    if message.startswith("No such option: -") and single is not None:
        return f"no such option: {single}; options begin with two dashes: -{single}"
    return message


def _find_value_or_none(option: str, arguments: Sequence[str]) -> str | None:
    for i, text in enumerate(arguments):
        name, equals, value = text.partition("=")
        if name == option:
            return value if equals else next(iter(arguments[i + 1 :]), None)
    return None


def _suggest_number_or_empty(text: str, noun: str) -> str:
    """12.5% as 0.125, 0,01 as 0.01 and 1e3 as 1000; nothing where it is not clear."""
    share = 0.01 if text.endswith("%") else 1.0
    if noun == "whole number" and "," in text:
        return "; give one"
    try:
        value = float(text.removesuffix("%").replace(",", ".")) * share
    except ValueError:
        return ""
    if noun == "number":
        return f"; write {value:.10g}"
    return f"; write {value:.0f}" if share == 1.0 and value.is_integer() else ""
