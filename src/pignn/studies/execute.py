"""One run, from its description to its numbers. What a worker does, here or on another machine."""

from __future__ import annotations

import contextlib
import itertools
import random
import time
import warnings
from typing import Any

from ..core.errors import PignnError, PignnWarning
from ..core.versions import collect_versions
from .code_hash import method_code

METRICS = ("accuracy", "balanced_accuracy", "macro_f1", "average_precision")


class OutOfMemory(Exception):
    """A run wanted more memory than there is: the process that noticed may not be fit for another one."""


def execute(job: dict[str, Any]) -> dict[str, Any]:
    """The numbers of one run; ``{"error": ...}`` where it failed for a reason of its own."""
    from ..core.text import one_line_text

    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", PignnWarning)
            result = _run(job)
        notes = list(dict.fromkeys(str(warning.message) for warning in caught))
        return result | {"notes": notes}
    except MemoryError:
        raise OutOfMemory from None
    except Exception as error:
        if "allocate memory" in str(error):  # torch's way of saying so
            raise OutOfMemory from None
        return {"error": one_line_text(error, 400)}


def _run(job: dict[str, Any]) -> dict[str, Any]:
    from .. import methods, noise
    from ..methods.core.base import truth
    from ..training.metrics import score
    from . import run_graphs as graphs_of_runs

    if method_code(job["method"]) != job["code"]:
        raise PignnError(
            f"the code of '{job['method']}' is not the planned one; plan again, with one version everywhere"
        )
    _, fingerprint = graphs_of_runs.graph(job)
    data, labels = graphs_of_runs.noisy(job)
    if (fingerprint, labels) != (job["data"], job["labels"]):
        raise PignnError(f"{job['dataset']} is not the planned graph; plan again, with the same raw files everywhere")
    _reset_peak()
    start = time.perf_counter()
    best: tuple[float, Any, dict[str, Any]] | None = None
    for chosen in draws(job["search"], job["trials"], job["seed"]):
        model = methods.make(job["method"], **(job["settings"] | chosen), seed=job["seed"])
        model.fit(data)
        agreement = model.score(data, split="val", against="given") if job["trials"] else 0.0
        if best is None or agreement > best[0]:
            best = agreement, model, chosen
    assert best is not None
    seconds = time.perf_counter() - start
    model = best[1]

    nodes, true = truth(data, "test")
    proba = model.predict_proba(data)[nodes]
    report = noise.summarize_noise(data)
    return {
        **{metric: score(true, proba.argmax(1), proba, metric, len(model.class_names_)) for metric in METRICS},
        "best_epoch": getattr(model, "best_epoch_", None),
        "realized_noise": report.rate,
        "pair_noise": report.pair_rate,
        "seconds": seconds,
        "peak_mb": _peak(),
        "chosen": best[2],
        "versions": collect_versions(),
    }


def draws(search: dict[str, list[Any]], trials: int, seed: int) -> list[dict[str, Any]]:
    """Settings to try: the ones given first, then different ones drawn from the grid; one alone without tuning."""
    if not trials or not search:
        return [{}]
    names = sorted(search)
    grid = [dict(zip(names, values, strict=True)) for values in itertools.product(*(search[name] for name in names))]
    random.Random(seed).shuffle(grid)
    return [{}, *grid][:trials]


def _reset_peak() -> None:
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def _peak() -> float:
    """Most memory the process held since the last reset (where the system can reset it), in MB."""
    with contextlib.suppress(OSError, ValueError), open("/proc/self/status") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
