"""Options that several commands share, and how their texts become values."""

from __future__ import annotations

import json
import re
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from ..core.errors import ConfigError

Root = Annotated[Path | None, Option(help="Folder with raw files of datasets (default: PIGNN_DATA, else the cache).")]
Noise = Annotated[
    str,
    Option(
        help="Label noise to add: none, symmetric, pair, flip, instance, one-sided, rule, cluster, or a file with "
        "recorded labels or a transition matrix."
    ),
]
Rate = Annotated[float | None, Option(help="Share of labels to corrupt, in [0, 1].")]
Setting = Annotated[
    list[str] | None,
    Option("--set", metavar="KEY=VALUE", help="Any other setting of the method; may be repeated."),
]
Json = Annotated[bool, Option("--json", help="Print the result as JSON.")]


@dataclass(kw_only=True)
class StoreOptions:
    """What a run on a graph store may use."""

    memory: Annotated[str | None, Option(help="Memory to stay within, about, for a graph store: 4GB.")] = None
    ray: Annotated[
        str | None, Option(metavar="ADDRESS", help="Ray cluster that works on a graph store; auto: the one here.")
    ] = None

    def to_arguments(self) -> dict[str, Any]:
        return {"ray": self.ray, "memory": None if self.memory is None else parse_num_bytes(self.memory)}


def parse_key_value_pairs(pairs: list[str] | None, flag: str, *, text_keys: Container[str] = ()) -> dict[str, Any]:
    """KEY=VALUE texts as a dictionary. Values are JSON where they can be; those of ``text_keys`` stay texts."""
    values = {}
    for pair in pairs or []:
        key, equals, text = pair.partition("=")
        if not equals or not key:
            raise ConfigError(f"{flag} takes KEY=VALUE, not '{pair}'")
        key = key.replace("-", "_")
        values[key] = text if key in text_keys else parse_json_or_text(text)
    return values


def parse_settings_and_refuse_seed(pairs: list[str] | None) -> dict[str, Any]:
    """Settings of a method, as --set gives them."""
    # Of pair_labels "true" is a name, not JSON's true.
    settings = parse_key_value_pairs(pairs, "--set", text_keys=("pair_labels",))
    if "seed" in settings:
        raise ConfigError("--set seed=... would leave all else that is drawn with another seed; use --seed")
    return settings


def parse_json_or_text(text: str) -> Any:
    """The value of a JSON text; any other text is itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def split_at_commas(text: str | None) -> list[str] | None:
    """The parts of a text between commas."""
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]


BYTES_PER_UNIT = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


def parse_num_bytes(text: str) -> int:
    """A size such as 500MB as a number of bytes."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)i?b?", text.strip().lower())
    if match is None or not float(match[1]):
        raise ConfigError(f"--memory takes a size such as 500MB or 4GB, not '{text}'")
    return max(int(float(match[1]) * BYTES_PER_UNIT[match[2]]), 1)


def parse_search_or_none(texts: list[str] | None) -> dict[str, Any] | None:
    """``lr``, ``lr=0.001..0.1`` and ``backbone=gcn,gat`` as a search of :func:`pignn.tune`."""
    if not texts:
        return None
    search: dict[str, Any] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        name = name.strip().replace("-", "_")
        if not name or (equals and not values):
            raise ConfigError(f"--search takes KEY, KEY=LOW..HIGH or KEY=VALUE,VALUE, not '{text}'")
        low, dots, high = values.partition("..")
        if dots:
            ends = parse_json_or_text(low), parse_json_or_text(high)
            if not all(type(end) in (int, float) for end in ends):
                raise ConfigError(f"--search takes numbers as the ends of a range, such as lr=0.001..0.1, not '{text}'")
            search[name] = ends
        else:
            if re.fullmatch(r"[\d.e]+\s*[-:]\s*[\d.]+(e-?\d+)?", values):
                raise ConfigError(
                    f"--search takes two dots between the ends of a range, as in lr=0.001..0.1, not '{text}'"
                )
            search[name] = [parse_json_or_text(each) for each in values.strip("[]").split(",")] if equals else None
    return search
