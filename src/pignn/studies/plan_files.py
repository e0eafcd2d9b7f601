"""Studies as TOML files: read with errors that name the line, written so that reading gives the same study."""

from __future__ import annotations

import contextlib
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import tomli_w

from ..core.errors import ConfigError, PignnError, build_unknown_name_error
from .measures import get_measure
from .protocol import PRESETS, Protocol
from .study import (
    DatasetSpec,
    NoiseSpec,
    Study,
    StudyRow,
    expand_rows,
    format_seeds,
    is_named_dataset,
    parse_seed_ranges_or_count,
)
from .toml_lines import Key, find_line_number_of_key

MAX_PLAN_BYTES = 1 << 20


class RowEntry(StudyRow, frozen=True, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    """A row as a file has it: the label may be missing, and ``vary`` makes a row of every combination."""

    label: str = ""
    vary: dict[str, Any] | None = None


class Plan(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    """A study as a file has it."""

    name: str = ""
    title: str = ""
    note: str = ""
    x: str = ""
    reference: str = ""
    datasets: list[str | dict[str, Any]]
    noises: list[str] = msgspec.field(default_factory=lambda: ["none"])
    rates: list[float] = []
    seeds: str | int | list[int] = 10
    metric: str = "accuracy"
    protocol: str | Protocol = "honest"
    settings: dict[str, Any] = {}
    rows: list[RowEntry]


def read_study(path: str | Path) -> Study:
    """Read a study from a TOML file. An error is one line that names the key and where it stands."""
    path = Path(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    if len(content) > MAX_PLAN_BYTES:
        raise ConfigError(f"{path} is too large for a plan")
    try:
        text = content.decode()
        raw = tomllib.loads(text)
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not a text in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not TOML: {error}") from None
    return PlanReader(path, text).build_study(raw)


class PlanReader:
    """Turns the content of a plan into a study; errors name the line in ``text``."""

    def __init__(self, path: Path, text: str, *, check_names: bool = True) -> None:
        self.path = path
        self.text = text
        self.check_names = check_names  # whether datasets, noises and methods must exist

    def build_study(self, plan_dict: dict[str, Any]) -> Study:
        try:
            plan = msgspec.convert(plan_dict, Plan)
        except msgspec.ValidationError as error:
            raise self._build_error_from_msgspec_message(str(error)) from None
        name = plan.name or self.path.stem
        with self._error_location_context("name"):
            if not re.fullmatch(r"[\w.+-]{1,80}", name):
                raise ConfigError(f"name must be letters, digits, '-', '_' or '.', not '{name}'")
        with self._error_location_context("seeds"):
            seeds = parse_seed_ranges_or_count(plan.seeds)
        with self._error_location_context("metric"):
            get_measure(plan.metric)
        with self._error_location_context("protocol"):
            protocol = _build_protocol(plan.protocol, plan_dict)
        with self._error_location_context():
            return Study(
                name,
                datasets=tuple(self._build_checked_dataset_spec(entry, i) for i, entry in enumerate(plan.datasets)),
                noises=tuple(self._add_rates_to_noises_without_one(plan)),
                rows=tuple(row for i, entry in enumerate(plan.rows) for row in self._build_rows(entry, i)),
                seeds=seeds,
                protocol=protocol,
                **{key: getattr(plan, key) for key in ("title", "note", "x", "reference", "metric", "settings")},
            )

    def _build_rows(self, entry: RowEntry, index: int) -> list[StudyRow]:
        if self.check_names:
            from .code_hash import get_method_class

            with self._error_location_context("rows", index, "method"):
                get_method_class(entry.work, entry.method)
        for key in ("vary", "search"):
            for name, values in (getattr(entry, key) or {}).items():
                with self._error_location_context("rows", index, key, name):
                    if not isinstance(values, list) or not values:
                        raise ConfigError(f"{name} must be a list of values")
        label = entry.label or entry.method
        if entry.vary is not None:
            return expand_rows(entry.method, entry.settings, entry.vary, label)
        return [StudyRow(label, entry.method, entry.settings, entry.search, entry.x, entry.work)]

    def _build_checked_dataset_spec(self, entry: str | dict[str, Any], index: int) -> DatasetSpec:
        options = dict(entry) if isinstance(entry, dict) else {"name": entry}
        name = options.pop("name", None)
        with self._error_location_context("datasets", index):
            if not isinstance(name, str):
                raise ConfigError("a dataset needs a name")
            if self.check_names and is_named_dataset(name):
                from ..graphs.datasets import get_dataset

                get_dataset(name)
        return DatasetSpec(name, options)

    def _add_rates_to_noises_without_one(self, plan: Plan) -> list[NoiseSpec]:
        """Noises as they stand; those that take a rate and have none get each of the plan's."""
        noises: list[NoiseSpec] = []
        for i, text in enumerate(plan.noises):
            spec = NoiseSpec.parse(text)
            with self._error_location_context("noises", i):
                takes_rate = self.check_names and check_noise_and_tell_if_it_takes_a_rate(
                    spec, has_plan_rates=bool(plan.rates)
                )
            crossed = takes_rate and spec.rate is None
            noises += [NoiseSpec(spec.kind, rate) for rate in plan.rates] if crossed else [spec]
        return noises

    @contextlib.contextmanager
    def _error_location_context(self, *keys: Key) -> Iterator[None]:
        """Errors inside name the line of ``keys``, unless they name one already."""
        try:
            yield
        except PignnError as error:
            is_located = str(error).startswith(str(self.path))
            raise (error if is_located else self._build_located_error(keys, str(error))) from None

    def _build_located_error(self, keys: tuple[Key, ...], message: str) -> ConfigError:
        line = find_line_number_of_key(self.text, keys)
        names = [part for part in keys if isinstance(part, str)]
        prefix = f"{'.'.join(names)}: " if names and names[-1] not in message else ""
        return ConfigError(f"{self.path}{f', line {line}' if line else ''}: {prefix}{message}")

    def _build_error_from_msgspec_message(self, message: str) -> ConfigError:
        """The error for a message of msgspec, in our words: ``Expected `int`, got `str` - at `$.rows[0].x```."""
        message, _, place = message.partition(" - at `$")
        keys: tuple[Key, ...] = tuple(
            int(index) if index else name for name, index in re.findall(r"\.(\w+)|\[(\d+)\]", place)
        )
        if match := re.search(r"unknown field `(.*)`", message):
            struct = {"rows": RowEntry, "protocol": Protocol}.get(str(keys[0]) if keys else "", Plan)
            keys, message = (*keys, match[1]), str(build_unknown_name_error("key", match[1], struct.__struct_fields__))
        elif match := re.search(r"missing required field `(.*)`", message):
            message = f"the key '{match[1]}' is missing"
        elif match := re.search(r"Expected `(.*)`, got `(.*)`", message):
            expected = " or ".join(_TYPE_TEXTS.get(part, part) for part in match[1].split(" | ") if part != "null")
            name = next((part for part in reversed(keys) if isinstance(part, str)), "a plan")
            each = "each of " if keys and isinstance(keys[-1], int) else ""
            message = f"{each}{name} must be {expected}, not {_TYPE_TEXTS.get(match[2], match[2])}"
        return self._build_located_error(keys, message)


_TYPE_TEXTS = {
    "array": "a list",
    "bool": "true or false",
    "float": "a number",
    "int": "a whole number",
    "object": "a table",
    "str": "a text",
}


def _build_protocol(entry: str | Protocol, raw: dict[str, Any]) -> Protocol:
    """A preset by its name, or with changes: those keys that stand in the file."""
    if isinstance(entry, str):
        return Protocol.from_preset(entry)
    changes = {key: getattr(entry, key) for key in raw["protocol"] if key != "name"}
    return Protocol.from_preset(entry.name, **changes)


def check_noise_and_tell_if_it_takes_a_rate(spec: NoiseSpec, *, has_plan_rates: bool) -> bool:
    """Check the kind and rate of a noise; returns whether its kind takes a rate."""
    from ..noise import Corrupt, load_labels_or_matrix_or_check_noise_name
    from ..noise.registry import NOISES

    takes_rate = spec.kind in NOISES and NOISES.get(spec.kind).takes_rate
    # A bare file name may be that of a file in the folder of a dataset.
    if spec.kind in NOISES or not Path(spec.kind).suffix or Path(spec.kind).exists():
        Corrupt(
            load_labels_or_matrix_or_check_noise_name(spec.kind),
            0.0 if spec.rate is None and has_plan_rates and takes_rate else spec.rate,
        )
    return takes_rate


def write_study(study: Study, path: str | Path) -> None:
    from ..io.files import write_bytes_atomically

    write_bytes_atomically(Path(path), format_plan_as_toml(study).encode())


def format_plan_as_toml(study: Study) -> str:
    """A study as the text of a TOML file."""
    rules = study.protocol
    base = PRESETS[rules.base_preset_name]
    changes = {key: getattr(rules, key) for key in rules.__struct_fields__ if getattr(rules, key) != getattr(base, key)}
    content = vars(study) | {
        "datasets": [{"name": one.name} | one.options if one.options else one.name for one in study.datasets],
        "noises": [str(noise) for noise in study.noises],
        "seeds": format_seeds(study.seeds),
        "protocol": changes | {"name": base.name} if changes else base.name,
    }
    try:
        return tomli_w.dumps(msgspec.to_builtins({key: value for key, value in content.items() if value}))
    except (TypeError, msgspec.MsgspecError) as error:
        raise ConfigError(f"study '{study.name}' cannot be written as a plan: {error}") from None
