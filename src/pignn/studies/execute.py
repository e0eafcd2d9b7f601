"""Execute one run: load the graph, do the work, return the numbers."""

from __future__ import annotations

import contextlib
import time
import warnings
from typing import Any

import numpy as np
from torch_geometric.data import Data

from ..core.errors import DataError, PignnError, PignnWarning, is_out_of_memory, warn_user
from ..core.text import format_error_in_one_line
from ..core.versions import collect_versions
from ..training.metrics import METRICS, get_metric, score, score_on_training_labels
from .code_hash import hash_code_of_method
from .run_spec import RunResult, RunSpec
from .tuning import TrialSampler, make_sampler
from .work import WORKS, Evaluation


def execute_run_and_catch_errors(spec: RunSpec) -> RunResult:
    """Compute the numbers of one run, or the error that it failed with.

    A process that ran out of memory may not be fit for another run, so the run counts as one that its worker died of.
    """
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", PignnWarning)
            result = _check_load_graph_and_run(spec)
        result.notes = list(dict.fromkeys(str(warning.message) for warning in caught))
        return result
    except Exception as error:
        if is_out_of_memory(error):
            return RunResult(error="out of memory", died=True)
        return RunResult(error=format_error_in_one_line(error, 400))


def _check_load_graph_and_run(spec: RunSpec) -> RunResult:
    from .. import noise
    from . import run_graphs

    if hash_code_of_method(spec.work, spec.method) != spec.code:
        raise PignnError(f"the code of '{spec.method}' is not the planned one; plan again, with one version everywhere")
    graph = spec.graph
    _, graph_digest = run_graphs.load_clean_graph_and_digest(graph)
    data, labels_digest = run_graphs.load_noisy_graph_and_digest(graph)
    if (graph_digest, labels_digest) != (graph.graph_digest, graph.labels_digest):
        raise PignnError(f"{graph.dataset} is not the planned graph; plan again, with the same raw files everywhere")
    _reset_peak_process_memory()
    start = time.perf_counter()
    sampler = make_sampler(spec.sampler, spec.search, spec.trials, graph.seed)
    result = Evaluation(
        *WORKS.get(spec.work).compute_targets_probs_and_measures(spec.method, spec.settings, sampler, graph.seed, data)
    )
    seconds = time.perf_counter() - start
    summary = noise.summarize_noise(data)
    metrics = compute_all_metrics(result.y, None, result.probs)
    metrics |= {"realized_noise": summary.rate, "pair_noise": summary.pair_rate}
    metrics |= {"seconds": seconds, "peak_mb": _read_peak_memory_mb_or_none()} | result.measures
    return RunResult(metrics=metrics, chosen=result.chosen, versions=collect_versions())


class TrainingWork:
    """Train a method, with trials of other settings where there are any, and predict the test nodes."""

    def get_settings_class(self, method: str) -> type[Any]:
        from ..methods.registry import METHODS

        return METHODS.get(method)

    def compute_targets_probs_and_measures(
        self, method: str, settings: dict[str, Any], trials: TrialSampler, seed: int, data: Data
    ) -> Evaluation:
        from ..methods.core.scoring import select_scored_nodes_and_labels

        start = time.perf_counter()
        model, chosen = fit_best_of_trials(method, settings, trials, seed, self.select_training_graph(data))
        seconds = time.perf_counter() - start
        nodes, y = select_scored_nodes_and_labels(data, "test")
        probs = model.predict_proba(data)
        measures = {"best_epoch": getattr(model, "best_epoch_", None), "seconds": seconds}
        measures |= score_training_nodes(data, probs.argmax(1))
        chosen = chosen | ({"method": str(model.chosen_)} if hasattr(model, "chosen_") else {})
        return Evaluation(y, probs[nodes], measures, chosen)

    def select_training_graph(self, data: Data) -> Data:
        return data


class InductiveTrainingWork(TrainingWork):
    """The same, but training sees neither the test nodes nor their edges. Predictions are for the whole graph."""

    def select_training_graph(self, data: Data) -> Data:
        if data.get("crow") is not None:
            raise DataError("training without the test nodes needs a graph in memory, not a graph store")
        return data.subgraph(~data.test_mask)


TRAINING = TrainingWork()
INDUCTIVE_TRAINING = InductiveTrainingWork()


def fit_best_of_trials(
    method: str, settings: dict[str, Any], trials: TrialSampler, seed: int, data: Data
) -> tuple[Any, dict[str, Any]]:
    """The model that agrees best with the given validation labels, the first of equals, and its settings."""
    from ..methods import make

    best: tuple[float, Any, dict[str, Any]] | None = None
    for trial in trials:
        model = make(method, **(settings | trial), seed=seed)
        model.fit(data)
        agreement = 0.0
        if trials.num_trials > 1:
            agreement = model.score(data, split="val", against="given")
            trials.report(agreement)
        if best is None or agreement > best[0]:
            best = agreement, model, trial
    assert best is not None
    return best[1:]


def score_training_nodes(data: Data, pred: np.ndarray) -> dict[str, float | None]:
    """How predictions [nodes] treat right and wrong given labels of training nodes."""
    nodes = data.train_mask.nonzero().view(-1)
    truth = data.y_true if data.get("y_true") is not None else data.y
    return score_on_training_labels(truth[nodes], data.y[nodes], pred[nodes.numpy()])


def compute_all_metrics(y: np.ndarray, pred: np.ndarray | None, probs: np.ndarray | None) -> dict[str, float | None]:
    """All metrics of predictions, also those of installed packages; ``None`` where one does not apply."""
    values: dict[str, float | None] = {}
    is_binary = probs is not None and probs.shape[1] == 2 and len(np.unique(y)) == 2
    for name in METRICS.list_names():
        metric = get_metric(name)
        applies = (probs is not None or not metric.needs_probs) and (is_binary or not metric.is_binary)
        try:
            values[name] = score(y, pred, probs, name) if applies else None
        except PignnError:
            raise
        except Exception as error:  # of another package: its number is missing, the others are not
            warn_user(f"metric '{name}' failed: {format_error_in_one_line(error)}")
            values[name] = None
    return values


def _reset_peak_process_memory() -> None:
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def _read_peak_memory_mb_or_none() -> float | None:
    """Most memory the process held since the last reset, where the system can tell."""
    with contextlib.suppress(OSError, ValueError), open("/proc/self/status") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    with contextlib.suppress(ImportError):  # not on Windows
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    return None
