"""Studies as TOML files: read with errors that name the line, written so that reading gives the same study."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core.errors import ConfigError, PignnError, unknown
from .protocol import PRESETS, Protocol
from .study import METRICS, DatasetSpec, NoiseSpec, Study, StudyRow, format_seeds, parse_seeds, vary

KEYS = (
    "name",
    "title",
    "note",
    "protocol",
    "datasets",
    "noises",
    "rates",
    "seeds",
    "settings",
    "metric",
    "x",
    "reference",
    "rows",
)
ROW_KEYS = ("label", "method", "settings", "search", "vary", "x")
LARGEST = 1 << 20  # bytes of a plan


def read(path: str | Path) -> Study:
    """The study in a TOML file. What is wrong is one line that names the key and where it stands."""
    path = Path(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    if len(content) > LARGEST:
        raise ConfigError(f"{path} is too large for a plan")
    try:
        text = content.decode()
        found = tomllib.loads(text)
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not a text in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not TOML: {error}") from None
    return _Reader(path, text).study(found)


@dataclass
class _Reader:
    path: Path
    text: str

    def study(self, found: dict[str, Any]) -> Study:
        self._known(found, KEYS, ())
        for key in ("datasets", "rows"):
            if key not in found:
                raise ConfigError(f"{self.path}: the key '{key}' is missing")
        rows = [
            row
            for i, entry in enumerate(self._list(found, "rows"))
            for row in self._row(self._table(entry, ("rows", i)), i)
        ]
        text: dict[str, Any] = {key: self._text(found, key) for key in ("title", "note", "x", "reference")}
        metric = self._text(found, "metric", "accuracy")
        self._at(("metric",), lambda: None if metric in METRICS else _raise(unknown("metric", metric, METRICS)))
        parts: dict[str, Any] = {
            "name": self._text(found, "name", self.path.stem),
            "datasets": tuple(self._dataset(entry, i) for i, entry in enumerate(self._list(found, "datasets"))),
            "noises": tuple(self._noises(found)),
            "rows": tuple(rows),
            "seeds": self._at(("seeds",), lambda: parse_seeds(found.get("seeds", 10))),
            "protocol": self._protocol(found.get("protocol", "honest")),
            "settings": self._table(found.get("settings", {}), ("settings",)),
            "metric": metric,
        }
        if not re.fullmatch(r"[\w.+-]{1,80}", parts["name"]):
            self._fail(("name",), f"name must be letters, digits, '-', '_' or '.', not '{parts['name']}'")
        return self._at((), lambda: Study(**parts, **text))

    def _row(self, entry: dict[str, Any], i: int) -> list[StudyRow]:
        from ..methods.registry import list_methods

        at = ("rows", i)
        self._known(entry, ROW_KEYS, at)
        if "method" not in entry:
            self._fail(at, "the key 'method' is missing")
        method = self._text(entry, "method", at=at)
        known = {info.name for info in list_methods()}
        if method not in known:
            self._fail((*at, "method"), str(unknown("method", method, known)))
        settings = self._table(entry.get("settings", {}), (*at, "settings"))
        label = self._text(entry, "label", method, at=at)
        if "vary" in entry:
            lists = self._table(entry["vary"], (*at, "vary"))
            for name, values in lists.items():
                if not isinstance(values, list) or not values:
                    self._fail((*at, "vary", name), f"{name} must be a list of values")
            return vary(method, settings, lists, label)
        search = self._table(entry["search"], (*at, "search")) if "search" in entry else None
        for name, values in (search or {}).items():
            if not isinstance(values, list) or not values:
                self._fail((*at, "search", name), f"{name} must be a list of values")
        return [StudyRow(label, method, settings, search, entry.get("x"))]

    def _dataset(self, entry: Any, i: int) -> DatasetSpec:
        from ..graphs.datasets import get_dataset
        from .study import is_named

        at = ("datasets", i)
        if isinstance(entry, dict):
            if not isinstance(entry.get("name"), str):
                self._fail(at, "a dataset needs a name")
            dataset = DatasetSpec(entry["name"], tuple((key, value) for key, value in entry.items() if key != "name"))
        elif isinstance(entry, str):
            dataset = DatasetSpec(entry)
        else:
            self._fail(at, f"a dataset must be a name, not {entry!r}")
        if is_named(dataset.name):
            self._at(at, lambda: get_dataset(dataset.name))
        return dataset

    def _noises(self, found: dict[str, Any]) -> list[NoiseSpec]:
        from ..noise.registry import NOISES

        rates = [self._number(rate, ("rates", i)) for i, rate in enumerate(self._list(found, "rates"))]
        noises: list[NoiseSpec] = []
        for i, entry in enumerate(self._list(found, "noises", ["none"])):
            at = ("noises", i)
            if not isinstance(entry, str):
                self._fail(at, f"a noise must look like 'symmetric:0.4', not {entry!r}")
            noise = NoiseSpec.parse(entry)
            self._at(at, lambda noise=noise: _check_noise(noise, bool(rates)))  # type: ignore[misc]
            crossed = rates and noise.rate is None and noise.kind in NOISES and NOISES.get(noise.kind).takes_rate
            noises += [NoiseSpec(noise.kind, rate) for rate in rates] if crossed else [noise]
        return noises

    def _protocol(self, entry: Any) -> Protocol:
        at = ("protocol",)
        if isinstance(entry, str):
            return self._at(at, lambda: Protocol.named(entry))
        changes = dict(self._table(entry, at))
        name = changes.pop("name", "honest")
        self._known(changes, [key for key in Protocol.__dataclass_fields__ if key != "name"], at)
        return self._at(at, lambda: Protocol.named(name, **changes))

    # ---- kinds of values ----

    def _list(self, found: dict[str, Any], key: str, otherwise: Any = ()) -> list[Any]:
        value = found.get(key, list(otherwise))
        if not isinstance(value, list):
            self._fail((key,), f"{key} must be a list, not {_kind(value)}")
        return value

    def _table(self, value: Any, at: tuple[Any, ...]) -> dict[str, Any]:
        if not isinstance(value, dict):
            self._fail(at, f"{_name(at)} must be a table, not {_kind(value)}")
        return value

    def _text(self, found: dict[str, Any], key: str, otherwise: str = "", at: tuple[Any, ...] = ()) -> str:
        value = found.get(key, otherwise)
        if not isinstance(value, str):
            self._fail((*at, key), f"{key} must be a text, not {_kind(value)}")
        return value

    def _number(self, value: Any, at: tuple[Any, ...]) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._fail(at, f"{_name(at)} must be numbers, not {_kind(value)}")
        return float(value)

    # ---- where things stand ----

    def _known(self, found: dict[str, Any], known: Any, at: tuple[Any, ...]) -> None:
        for key in found:
            if key not in known:
                self._fail((*at, key), str(unknown("key", key, known)))

    def _at(self, at: tuple[Any, ...], check: Callable[[], Any]) -> Any:
        try:
            return check()
        except PignnError as error:
            self._fail(at, str(error))

    def _fail(self, at: tuple[Any, ...], message: str) -> Any:
        line = locate(self.text, at)
        where = f"{self.path}, line {line}" if line else str(self.path)
        names = [part for part in at if isinstance(part, str)]
        key = f"{'.'.join(names)}: " if names and not message.startswith(names[-1]) else ""
        raise ConfigError(f"{where}: {key}{message}")


def _check_noise(noise: NoiseSpec, crossed: bool) -> None:
    from ..noise import Corrupt, get_noise_kind, load_noise

    kind = load_noise(noise.kind)
    needs_rate = isinstance(kind, str) and get_noise_kind(kind).takes_rate
    Corrupt(kind, 0.0 if noise.rate is None and crossed and needs_rate else noise.rate)


def _raise(error: Exception) -> None:
    raise error


def _kind(value: Any) -> str:
    names = {bool: "true or false", int: "a number", float: "a number", str: "a text", list: "a list", dict: "a table"}
    return names.get(type(value), type(value).__name__)


def _name(at: tuple[Any, ...]) -> str:
    return next(part for part in reversed(at) if isinstance(part, str))


def locate(text: str, at: tuple[Any, ...]) -> int:
    """The line of a key, or of the nearest thing around it; 0 where there is none.

    ``at`` is a path of keys and places in lists. Reads what is common in TOML line by line: headers of tables, and keys
    at the beginning of a line.
    """
    best, depth = 0, 0
    prefix: tuple[Any, ...] = ()
    counts: dict[tuple[Any, ...], int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if header := re.match(r"\s*(\[\[?)\s*([^\]]+?)\s*\]\]?\s*(#.*)?$", line):
            names = _keys(header[2])
            if header[1] == "[[":
                index = counts.get(names, -1) + 1
                counts[names] = index
                prefix = (*_indexed(names[:-1], counts), names[-1], index)
            else:
                prefix = _indexed(names, counts)
            here = prefix
        elif assignment := re.match(r"\s*([\w\"'.-]+)\s*=", line):
            here = (*prefix, *_keys(assignment[1]))
        else:
            continue
        if len(here) > depth and here == at[: len(here)]:
            best, depth = number, len(here)
    return best


def _keys(text: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in text.split("."))


def _indexed(names: tuple[str, ...], counts: dict[tuple[Any, ...], int]) -> tuple[Any, ...]:
    """Names with the place of the list's last entry behind those that are lists of tables."""
    found: tuple[Any, ...] = ()
    for i, name in enumerate(names):
        found = (*found, name)
        if names[: i + 1] in counts:
            found = (*found, counts[names[: i + 1]])
    return found


# ---- writing ----


def write(study: Study, path: str | Path) -> None:
    from ..io.files import write_bytes

    write_bytes(Path(path), dumps(study).encode())


def dumps(study: Study) -> str:
    """A study as TOML."""
    lines = [f"name = {_value(study.name)}"]
    for key in ("title", "note", "x", "reference"):
        if getattr(study, key):
            lines.append(f"{key} = {_value(getattr(study, key))}")
    lines.append(f"datasets = {_value([_dataset_value(dataset) for dataset in study.datasets])}")
    lines.append(f"noises = {_value([str(noise) for noise in study.noises])}")
    lines.append(f"seeds = {_value(format_seeds(study.seeds))}")
    lines.append(f"metric = {_value(study.metric)}")
    rules = study.protocol
    if rules == PRESETS.get(rules.name):
        lines.append(f"protocol = {_value(rules.name)}")
    else:
        base = rules.name.removesuffix(" changed")
        lines.append(f"protocol = {_value(rules.to_dict() | {'name': base})}")
    if study.settings:
        lines.append(f"settings = {_value(study.settings)}")
    for row in study.rows:
        lines += ["", "[[rows]]", f"label = {_value(row.label)}", f"method = {_value(row.method)}"]
        about = {"settings": row.settings or None, "search": row.search, "x": row.x}
        lines += [f"{key} = {_value(value)}" for key, value in about.items() if value is not None]
    return "\n".join(lines) + "\n"


def _dataset_value(dataset: DatasetSpec) -> Any:
    return {"name": dataset.name} | dict(dataset.options) if dataset.options else dataset.name


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    if isinstance(value, int | float):
        return repr(value)
    raise ConfigError(f"{value!r} cannot be written into a plan")


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key)
