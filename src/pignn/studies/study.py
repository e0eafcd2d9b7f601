"""A study: datasets × noises × rows of a table × seeds. It is a plan; what comes of it is in the store."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from ..core import validation as checks
from ..core.errors import ConfigError, unknown
from .protocol import PRESETS, Protocol

METRICS = (
    "accuracy",
    "balanced_accuracy",
    "macro_f1",
    "average_precision",
    "best_epoch",
    "realized_noise",
    "pair_noise",
    "seconds",
    "peak_mb",
)
# Tried by methods that have these settings, where a protocol allows trials and a row names none of its own.
SEARCH: dict[str, list[Any]] = {
    "lr": [0.001, 0.003, 0.01, 0.03],
    "weight_decay": [5e-5, 5e-4, 5e-3],
    "hidden_channels": [16, 64],
}


class NoiseSpec(NamedTuple):
    """A kind of noise and its rate; a file of recorded labels or a transition matrix has none."""

    kind: str
    rate: float | None = None

    @classmethod
    def parse(cls, text: str) -> NoiseSpec:
        """``"symmetric:0.4"``, ``"none"`` or the path of a file."""
        kind, colon, rate = text.strip().rpartition(":")
        if colon:
            try:
                return cls(kind, float(rate))
            except ValueError:
                pass
        return cls(text.strip())

    def __str__(self) -> str:
        return self.kind if self.rate is None else f"{self.kind}:{self.rate:g}"


def is_named(dataset: str) -> bool:
    """A named dataset, and not the folder of a store; a name wins."""
    from ..graphs.datasets import list_datasets

    return dataset.lower() in {info.name for info in list_datasets()} or not Path(dataset).is_dir()


class DatasetSpec(NamedTuple):
    """A named dataset with options of its own, or the folder of a store."""

    name: str
    options: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        return self.name + "".join(f" {key}={value}" for key, value in self.options)


@dataclass(frozen=True)
class StudyRow:
    """A line of the table: a method and its settings.

    Args:
        label: what the table calls it.
        method: its name in ``pignn methods``.
        settings: of the method.
        search: what tuning may try: lists of values by setting.
        x: where the row is a point of a curve, its place on the axis.
    """

    label: str
    method: str
    settings: dict[str, Any] = field(default_factory=dict)
    search: dict[str, list[Any]] | None = None
    x: float | str | None = None


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
    reference: str = ""  # the row that others are tested against; the last one if absent
    note: str = ""

    def __post_init__(self) -> None:
        for name in ("datasets", "noises", "rows", "seeds"):
            values = getattr(self, name)
            if not values:
                raise ConfigError(f"study '{self.name}' has no {name}")
            texts = [str(value) if name != "rows" else value.label for value in values]
            if twice := [text for i, text in enumerate(texts) if text in texts[:i]]:
                raise ConfigError(f"study '{self.name}' has one of its {name} twice: {twice[0]}")
        for seed in self.seeds:
            checks.seed("a seed", seed)
        if self.metric not in METRICS:
            raise unknown("metric", self.metric, METRICS)
        if self.reference and self.reference not in {row.label for row in self.rows}:
            raise ConfigError(f"reference: {unknown('row', self.reference, [row.label for row in self.rows])}")

    def __len__(self) -> int:
        return len(self.datasets) * len(self.noises) * len(self.rows) * len(self.seeds)

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
        """The same study of other extent. Names of datasets and noises need not be the study's own."""
        study = self
        if datasets is not None:
            own = {dataset.name: dataset for dataset in self.datasets}
            study = replace(study, datasets=tuple(own.get(name, DatasetSpec(name)) for name in datasets))
        if noises is not None:
            study = replace(study, noises=tuple(_chosen_noises(self.noises, noises)))
        if rates is not None:
            kept = tuple(noise for noise in study.noises if (noise.rate or 0.0) in set(rates))
            if absent := set(rates) - {noise.rate or 0.0 for noise in kept}:
                raise ConfigError(f"study '{self.name}' has no noise of a rate {', '.join(map(str, sorted(absent)))}")
            study = replace(study, noises=kept)
        if seeds is not None:
            study = replace(study, seeds=tuple(seeds))
        if methods is not None:
            study = replace(study, rows=tuple(_chosen_rows(self.rows, methods)))
            if study.reference not in {row.label for row in study.rows}:
                study = replace(study, reference="")
        if settings:
            study = replace(study, settings=self.settings | settings)
        if protocol is not None:
            study = replace(study, protocol=protocol)
        return study if metric is None else replace(study, metric=metric)


def _chosen_noises(own: Iterable[NoiseSpec], texts: Sequence[str]) -> list[NoiseSpec]:
    """Noises by text; a kind without a rate stands for all its rates in the study."""
    found: list[NoiseSpec] = []
    for text in texts:
        asked = NoiseSpec.parse(text)
        of_kind = [noise for noise in own if noise.kind == asked.kind]
        found += of_kind if asked.rate is None and of_kind else [asked]
    return list(dict.fromkeys(found))


def _chosen_rows(own: Sequence[StudyRow], names: Sequence[str]) -> list[StudyRow]:
    """Rows by label, or by method: all the study's rows of it, or a new row if it has none."""
    from ..methods.registry import list_methods

    known = {info.name for info in list_methods()}
    found: list[StudyRow] = []
    for name in names:
        rows = [row for row in own if row.label.lower() == name.lower()]
        rows = rows or [row for row in own if row.method == name]
        if not rows and name not in known:
            raise unknown("method or row", name, {*known, *(row.label for row in own)})
        found += rows or [StudyRow(name, name)]
    return [row for i, row in enumerate(found) if row not in found[:i]]


def vary(method: str, settings: dict[str, Any], lists: dict[str, Sequence[Any]], label: str = "") -> list[StudyRow]:
    """A row for every combination of the values in ``lists``."""
    rows = []
    for values in itertools.product(*lists.values()):
        chosen = dict(zip(lists, values, strict=True))
        name = ", ".join(f"{key}={value}" for key, value in chosen.items())
        x = values[0] if len(values) == 1 else None
        rows.append(StudyRow(f"{label} {name}".strip(), method, settings | chosen, x=x))
    return rows


def parse_seeds(text: str | int | Sequence[int]) -> tuple[int, ...]:
    """``"0-9"``, ``"0,3,5-7"``, a number of seeds from 0 on, or a list."""
    if isinstance(text, int) and not isinstance(text, bool):
        checks.whole("the number of seeds", text, 1)
        return tuple(range(text))
    if not isinstance(text, str):
        if not isinstance(text, list | tuple) or not all(isinstance(seed, int) for seed in text):
            raise ConfigError(f"seeds must look like '0-9' or '0,1,5', not {text!r}")
        return tuple(text)
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise ConfigError(f"seeds must look like '0-9' or '0,1,5', not '{text}'")
        found += range(int(first), int(last or first) + 1)
    if not found:
        raise ConfigError(f"seeds must look like '0-9' or '0,1,5', not '{text}'")
    return tuple(dict.fromkeys(found))


def format_seeds(seeds: Sequence[int]) -> str:
    """The shortest text that :func:`parse_seeds` reads as these."""
    parts: list[list[int]] = []
    for seed in sorted(seeds):
        if parts and parts[-1][-1] == seed - 1:
            parts[-1].append(seed)
        else:
            parts.append([seed])
    return ",".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)
