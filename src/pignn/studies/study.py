"""A study: datasets × noises × rows of a table × seeds. It is a plan; its results are in a results store."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from ..core.errors import ConfigError, build_unknown_name_error
from ..core.settings import SEED, Int
from ..graphs.datasets.registry import DATASETS
from .measures import get_measure
from .protocol import PRESETS, Protocol

# Tried by methods that have these settings, where a protocol allows trials and a row names none of its own.
DEFAULT_SEARCH: dict[str, list[Any]] = {
    "lr": [0.001, 0.003, 0.01, 0.03],
    "weight_decay": [5e-5, 5e-4, 5e-3],
    "hidden_channels": [16, 64],
}


class NoiseSpec(msgspec.Struct, frozen=True):
    """A kind of noise and its rate; a file of recorded labels or a transition matrix has none."""

    kind: str
    rate: float | None = None

    @classmethod
    def parse(cls, text: str) -> NoiseSpec:
        """Read ``"symmetric:0.4"``, ``"none"`` or the path of a file."""
        kind, colon, rate = text.strip().rpartition(":")
        if colon:
            try:
                return cls(kind, float(rate))
            except ValueError:
                pass
        return cls(text.strip())

    def __str__(self) -> str:
        return self.kind if self.rate is None else f"{self.kind}:{self.rate:g}"

    @property
    def title(self) -> str:
        return str(self).replace(":", " ")


class DatasetSpec(msgspec.Struct, frozen=True):
    """A named dataset with options of its own, or the folder of a graph store."""

    name: str
    options: dict[str, Any] = {}

    def __str__(self) -> str:
        return self.name + "".join(f" {key}={value}" for key, value in self.options.items())


class StudyRow(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A row of the table: a method and its settings.

    Args:
        label: what the table calls it.
        method: a name from ``pignn methods``, or one that its kind of work knows.
        settings: the settings of the method.
        search: the values that tuning may try, per setting.
        x: the position on the axis, if the row is a point of a curve.
        work: the kind of work: ``"train"`` a method, or ``"audit"`` the labels.
    """

    label: str
    method: str
    settings: dict[str, Any] = {}
    search: dict[str, Any] | None = None
    x: Any = None
    work: str = "train"


@dataclass(frozen=True)
class Study:
    """A grid of runs that gives one table or figure. ``settings`` go to all methods that have them."""

    name: str
    datasets: tuple[DatasetSpec, ...]
    noises: tuple[NoiseSpec, ...]
    rows: tuple[StudyRow, ...]
    seeds: tuple[int, ...] = tuple(range(10))
    protocol: Protocol = PRESETS["honest"]
    settings: dict[str, Any] = field(default_factory=dict)
    metric: str = "accuracy"
    title: str = ""
    x: str = ""  # what the rows of a curve differ in
    reference: str = ""  # the row that others are tested against; by default the last one
    note: str = ""

    def __post_init__(self) -> None:
        for name in ("datasets", "noises", "rows", "seeds"):
            values = getattr(self, name)
            if not values:
                raise ConfigError(f"study '{self.name}' has no {name}")
            texts = [value.label if isinstance(value, StudyRow) else str(value) for value in values]
            if repeated := [text for i, text in enumerate(texts) if text in texts[:i]]:
                raise ConfigError(f"study '{self.name}' has one of its {name} twice: {repeated[0]}")
        for seed in self.seeds:
            SEED.raise_unless_valid("a seed", seed)
        get_measure(self.metric)
        if self.reference and self.reference not in self.row_labels:
            raise ConfigError(f"reference: {build_unknown_name_error('row', self.reference, self.row_labels)}")

    def __len__(self) -> int:
        return len(self.datasets) * len(self.noises) * len(self.rows) * len(self.seeds)

    @property
    def row_labels(self) -> list[str]:
        return [row.label for row in self.rows]

    def subset(
        self,
        *,
        datasets: Sequence[str] | None = None,
        noises: Sequence[str] | None = None,
        rates: Sequence[float] | None = None,
        seeds: Sequence[int] | None = None,
        methods: Sequence[str] | None = None,
        settings: dict[str, Any] | None = None,
        protocol: Protocol | None = None,
        metric: str | None = None,
    ) -> Study:
        """Return the same study with another extent. Datasets and noises need not be the study's own."""
        for name, value in {"datasets": datasets, "noises": noises, "methods": methods, "seeds": seeds}.items():
            if isinstance(value, str | int):
                raise ConfigError(f"{name} must be a list, such as [{value!r}], not {value!r}")
        changes: dict[str, Any] = {"protocol": protocol, "metric": metric}
        if datasets is not None:
            own = {dataset.name: dataset for dataset in self.datasets}
            names = [name.lower() if name.lower() in DATASETS else name for name in datasets]
            changes["datasets"] = tuple(own.get(name, DatasetSpec(name)) for name in names)
        if noises is not None or rates is not None:
            specs = self.noises if noises is None else _select_or_parse_noises(self.noises, noises)
            changes["noises"] = tuple(specs if rates is None else _select_noises_of_rates(specs, rates, self.name))
        if seeds is not None:
            changes["seeds"] = tuple(seeds)
        if methods is not None:
            changes["rows"] = tuple(_select_or_make_rows(self.rows, methods))
            if self.reference not in [row.label for row in changes["rows"]]:
                changes["reference"] = ""
        if settings:
            changes["settings"] = self.settings | settings
        return replace(self, **{name: value for name, value in changes.items() if value is not None})


def _select_or_parse_noises(own: Iterable[NoiseSpec], texts: Sequence[str]) -> list[NoiseSpec]:
    """Noises by text; a kind without a rate stands for all its rates in the study."""
    selected: list[NoiseSpec] = []
    for text in texts:
        spec = NoiseSpec.parse(text)
        same_kind = [noise for noise in own if noise.kind == spec.kind]
        selected += same_kind if spec.rate is None and same_kind else [spec]
    return list(dict.fromkeys(selected))


def _select_noises_of_rates(noises: Iterable[NoiseSpec], rates: Sequence[float], study: str) -> list[NoiseSpec]:
    selected = [noise for noise in noises if (noise.rate or 0.0) in rates]
    if missing := set(rates) - {noise.rate or 0.0 for noise in selected}:
        raise ConfigError(f"study '{study}' has no noise of rate {', '.join(map(str, sorted(missing)))}")
    return selected


def _select_or_make_rows(own: Sequence[StudyRow], names: Sequence[str]) -> list[StudyRow]:
    """Rows by label, or by method: all the study's rows of it, or a new row if it has none."""
    from ..methods.registry import list_methods

    known = {info.name for info in list_methods()}
    selected: list[StudyRow] = []
    for name in names:
        rows = [row for row in own if row.label.lower() == name.lower()]
        rows = rows or [row for row in own if row.method == name]
        if not rows and name not in known:
            raise build_unknown_name_error("method or row", name, {*known, *(row.label for row in own)})
        selected += rows or [StudyRow(name, name)]
    return [row for i, row in enumerate(selected) if row not in selected[:i]]


def is_named_dataset(dataset: str) -> bool:
    """Whether this is the name of a dataset and not the folder of a graph store. A name wins."""
    from ..graphs.datasets import DATASETS

    return dataset.lower() in DATASETS.list_names() or not Path(dataset).is_dir()


def expand_rows(
    method: str, settings: dict[str, Any], values: dict[str, Sequence[Any]], label: str = ""
) -> list[StudyRow]:
    """Make a row for every combination of the ``values`` per setting."""
    rows = []
    for combination in itertools.product(*values.values()):
        chosen = dict(zip(values, combination, strict=True))
        name = ", ".join(f"{key}={value}" for key, value in chosen.items())
        x = combination[0] if len(combination) == 1 else None
        rows.append(StudyRow(f"{label} {name}".strip(), method, settings | chosen, x=x))
    return rows


def parse_seed_ranges_or_count(seeds: str | int | Sequence[int]) -> tuple[int, ...]:
    """Read ``"0-9"``, ``"0,3,5-7"``, a number of seeds from 0 on, or a list."""
    error = ConfigError(f"seeds must look like '0-9' or '0,1,5', not {seeds!r}")
    if isinstance(seeds, int) and not isinstance(seeds, bool):
        Int(min=1).raise_unless_valid("the number of seeds", seeds)
        return tuple(range(seeds))
    if not isinstance(seeds, str):
        if not isinstance(seeds, list | tuple) or not all(isinstance(seed, int) for seed in seeds):
            raise error
        return tuple(seeds)
    parsed: list[int] = []
    for part in seeds.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise error
        parsed += range(int(first), int(last or first) + 1)
    if not parsed:
        raise error
    return tuple(dict.fromkeys(parsed))


def format_seeds(seeds: Sequence[int]) -> str:
    """Write the shortest text that :func:`parse_seed_ranges_or_count` reads as these seeds."""
    ranges: list[list[int]] = []
    for seed in sorted(seeds):
        if ranges and ranges[-1][-1] == seed - 1:
            ranges[-1].append(seed)
        else:
            ranges.append([seed])
    return ",".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in ranges)
