"""What travels from the plan to the worker to the results store: the specification of a run, and its result."""

from __future__ import annotations

from typing import Any

import msgspec

from ..io.digests import compute_digest_of_parts


class GraphSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The graph of a run: dataset, split and noise, with digests of what came out of them when it was planned."""

    dataset: str = ""
    options: dict[str, Any] = {}
    split: str = "default"
    split_seed: int = 0
    noise: str = "none"
    rate: float | None = None
    noisy: tuple[str, ...] = ("train", "val")
    draws: str = "ours"
    trusted: int = 0  # trusted labels per class
    seed: int = 0
    graph_digest: str = ""
    labels_digest: str = ""


class RunSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One run, from the plan to the worker to the results store. Labels and titles are not part of it."""

    graph: GraphSpec
    work: str = "train"
    method: str
    settings: dict[str, Any] = {}
    code: str = ""  # version of the method's code
    search: dict[str, list[Any]] = {}
    trials: int = 0
    sampler: str = "grid"

    @property
    def key(self) -> str:
        return compute_digest_of_parts(encode_canonical(self))


class RunResult(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What became of a run: its numbers, or the error that it failed with.

    Args:
        metrics: numbers by name; ``None`` where a metric does not apply to the run.
        chosen: what tuning chose among the trials, or the method itself among its candidates.
        versions: versions of the packages behind the numbers.
        notes: warnings of the method.
        error: why the run failed, in one line.
        died: whether it took its worker along, or the worker it.
    """

    metrics: dict[str, float | None] = {}
    chosen: dict[str, Any] = {}
    versions: dict[str, str] = {}
    notes: list[str] = []
    error: str | None = None
    died: bool = False


class RunRecord(RunResult):
    """A result as the results store keeps it."""

    spec: RunSpec
    finished: str

    @property
    def is_done(self) -> bool:
        return self.error is None


def encode_canonical(content: Any) -> bytes:
    """JSON in which equal content is equal text."""
    return msgspec.json.encode(content, order="sorted")
