"""Studies small enough for tests, and a pool that computes in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from pignn.studies import (
    DatasetSpec,
    NoiseSpec,
    Protocol,
    Study,
    StudyResults,
    StudyRow,
    collect_results,
    open_results,
    run_study,
    sweep,
)
from pignn.studies.execute import OutOfMemory, execute
from pignn.studies.pool import Outcome

GRAPH = DatasetSpec("csbm", (("num_nodes", 120), ("num_classes", 3)))


class Here:
    """A pool without processes; ``computed`` counts what it was given."""

    size = 1

    def __init__(self) -> None:
        self.computed: list[str] = []
        self._waiting: list[tuple[str, Mapping[str, Any]]] = []

    def submit(self, key: str, job: Mapping[str, Any]) -> None:
        self._waiting.append((key, job))

    def wait(self, seconds: float) -> list[Outcome]:
        key, job = self._waiting.pop(0)
        self.computed.append(key)
        try:
            return [Outcome(key, execute(dict(job)), died=False)]
        except OutOfMemory:
            return [Outcome(key, {"error": "out of memory"}, died=True)]

    def close(self) -> None:
        pass


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Here:
    """Sweeps of this test compute in this process."""
    pool = Here()
    monkeypatch.setattr(sweep, "_pool", lambda *_: pool)
    return pool


@pytest.fixture
def tiny() -> Study:
    return make()


def make(**changes: Any) -> Study:
    parts: dict[str, Any] = {
        "name": "tiny",
        "datasets": (GRAPH,),
        "noises": (NoiseSpec("symmetric", 0.2), NoiseSpec("flip", 0.4)),
        "rows": (StudyRow("GCN", "vanilla"), StudyRow("PI-GNN", "pi-gnn", {"warmup": 1})),
        "seeds": (0, 1),
        "settings": {"epochs": 3, "hidden_channels": 4},
        "protocol": Protocol.named("paper"),
    }
    return Study(**parts | changes)


@pytest.fixture
def numbers(tmp_path: Path) -> Callable[[Study, Callable[..., float]], StudyResults]:
    """Results of a study with made-up numbers: a function of dataset, noise, label and seed."""

    def fill(study: Study, value: Callable[..., float | None]) -> StudyResults:
        from pignn.studies.run_spec import plan_runs

        with open_results(tmp_path / "made") as store:
            runs = plan_runs(study, store)
            found = [(one, value(one.dataset.name, str(one.noise), one.row.label, one.seed)) for one in runs]
            store.put_all((one.key, one.job, {study.metric: number}) for one, number in found if number is not None)
            return collect_results(study, store)

    return fill


@pytest.fixture
def swept(tmp_path: Path, tiny: Study, here: Here) -> Path:
    """The folder of a finished sweep of ``tiny``."""
    run_study(tiny, tmp_path / "out")
    return tmp_path / "out"
