"""Studies small enough for tests, and a pool that computes in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
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
from pignn.studies.execute import execute_run_and_catch_errors
from pignn.studies.run_spec import RunResult, RunSpec

GRAPH = DatasetSpec("csbm", {"num_nodes": 120, "num_classes": 3})


class InProcessPool:
    """A pool without processes; ``computed`` lists the keys that it was given."""

    size = 1

    def __init__(self) -> None:
        self.computed: list[str] = []
        self._waiting: list[tuple[str, RunSpec]] = []

    def submit(self, key: str, spec: RunSpec) -> None:
        self._waiting.append((key, spec))

    def wait_for_results(self, max_seconds: float) -> list[tuple[str, RunResult]]:
        key, spec = self._waiting.pop(0)
        self.computed.append(key)
        # As a worker gets and answers it.
        spec = msgspec.json.decode(msgspec.json.encode(spec), type=RunSpec)
        return [(key, msgspec.json.decode(msgspec.json.encode(execute_run_and_catch_errors(spec)), type=RunResult))]

    def close(self) -> None:
        pass


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> InProcessPool:
    """Sweeps of this test compute in this process."""
    pool = InProcessPool()
    monkeypatch.setattr(sweep, "open_local_or_ray_pool", lambda *_: pool)
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
        "protocol": Protocol.from_preset("paper"),
    }
    return Study(**parts | changes)


@pytest.fixture
def numbers(tmp_path: Path) -> Callable[[Study, Callable[..., float]], StudyResults]:
    """Results of a study with made-up numbers: a function of dataset, noise, label and seed."""

    def fill(study: Study, value: Callable[..., float | None]) -> StudyResults:
        from pignn.studies import plan_runs

        with open_results(tmp_path / "made") as store:
            runs = plan_runs(study, store)
            numbers = [(run, value(run.dataset.name, str(run.noise), run.row.label, run.seed)) for run in runs]
            results = [
                (run, RunResult(metrics={study.metric: number})) for run, number in numbers if number is not None
            ]
            store.save_runs((run.key, run.spec, result) for run, result in results)
            return collect_results(study, store)

    return fill


@pytest.fixture
def swept(tmp_path: Path, tiny: Study, here: InProcessPool) -> Path:
    """The folder of a finished sweep of ``tiny``."""
    run_study(tiny, tmp_path / "out")
    return tmp_path / "out"
