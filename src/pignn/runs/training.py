"""Train a classifier on a graph with noisy labels, from the graph to the run folder."""

from __future__ import annotations

import contextlib
import inspect
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.base import clone
from torch_geometric.data import Data

from .. import auditing, methods
from ..auditing import Audit
from ..core.errors import ConfigError, DataError, OutputError, build_unknown_name_error
from ..core.progress import ShowProgress, progress_context
from ..core.settings import list_settings
from ..methods import Method
from ..methods.registry import METHODS
from ..noise import Corrupt
from ..training import checkpoint, distributed
from ..training.callbacks import Callback
from ..training.interrupt import DeferredInterrupt
from .assessment import MIN_SECONDS, SECONDS_PER_FIT, assess
from .consensus_files import list_consensus_files
from .early_checks import check_review_files_exist
from .graph_source import GraphSource, build_corruption_or_none, is_no_noise
from .run_folder import (
    check_outputs_may_be_written,
    check_training_folder_options,
    has_finished_or_interrupted_run,
    locked_output_folder_or_cleanup_context,
    note_checkpoint_on_interrupt_context,
)
from .saved_audit import SavedAudit, read_saved_audit
from .store_limits import StoreLimits
from .training_run import TREATMENTS, TrainingRun, list_run_files


class TrainingInterrupted(KeyboardInterrupt):
    """A signal ended the training. ``run`` has the best classifier so far and is saved where a folder was given."""

    def __init__(self, run: TrainingRun, signal: int, *, finished: bool) -> None:
        super().__init__()
        self.run = run
        self.signal = signal
        self.finished = finished  # whether the signal came after the last epoch


@dataclass(frozen=True, kw_only=True)
class TrainingJob:
    """A training with everything that it needs: the method, the graph, and where the run goes."""

    model: Method
    method_reason: str
    source: GraphSource
    corruption: Corrupt | None
    clean: str | None
    decisions: pd.DataFrame | None
    new_class: bool
    audit_folder: Path | None
    seed: int
    folder: Path | None
    report: bool
    resume: bool
    force: bool
    assess: bool
    fit_options: dict[str, Any]
    limits: StoreLimits

    def check_options_and_outputs(self, noise: Any) -> None:
        """Refuse options that contradict each other, and outputs that would replace what must stay."""
        if self.clean is not None and self.clean not in TREATMENTS:
            raise build_unknown_name_error("way to clean", self.clean, TREATMENTS)
        if self.audit_folder is not None:
            check_review_files_exist(self.audit_folder, None)
        check_training_folder_options(self.folder, report=self.report, resume=self.resume, force=self.force)
        folder = self.folder
        if folder is None:
            return
        if has_finished_or_interrupted_run(folder) and not self.force:
            if not has_epochs(self.model):
                method = f"'{self.model.name}' has no epochs to continue"
                raise OutputError(f"{folder} holds a run already, and {method}; force=True replaces it")
            if not (self.resume or is_restarted_by_torchrun()):
                raise OutputError(f"{folder} holds a run already; resume=True continues it, force=True replaces it")
        inputs = [*self.source.input_paths, *([noise] if isinstance(noise, str | Path) else [])]
        names = list_run_files(folder, self.report) + [folder / name for name in list_consensus_files(self.source)]
        check_outputs_may_be_written(names, inputs, force=self.force or has_finished_or_interrupted_run(folder))

    def train_and_save(self, on_graph_read: Callable[[Data], None] | None = None) -> TrainingRun:
        """Read the graph, train and save, as one of several processes where torchrun started several."""
        limits = self.limits.check_options_fit(self.source, self.model, "auto")
        deferred = DeferredInterrupt()
        device = str(self.model.get_params().get("device", "cpu"))
        noted_folder = None if self.force else self.folder
        with (
            locked_output_folder_or_cleanup_context(self.folder),
            note_checkpoint_on_interrupt_context(noted_folder),
            distributed.process_group_context(device),
            limits.block_work_context(self.source, self.folder),
            # A network shows its epochs in a bar of its own.
            contextlib.nullcontext() if has_epochs(self.model) else progress_context(self.fit_options.get("progress")),
        ):
            data = self.source.load_to_learn_from()
            if on_graph_read is not None:
                on_graph_read(data)
            run, signal = self._prepare_labels_and_train(data if self.corruption is None else self.corruption(data))
            if signal is None and self.assess:
                run, signal = self._assess_and_get_signal(run)
            if run.rank == 0:
                with deferred:  # what was learned is written whole, unless somebody insists
                    run.predictions  # noqa: B018
                    if self.folder is not None:
                        run.write_files(self.folder, report=self.report)
        if signal is not None or deferred.signal is not None:
            raise TrainingInterrupted(run, signal or deferred.signal or 0, finished=signal is None)
        return run

    def _prepare_labels_and_train(self, data: Data) -> tuple[TrainingRun, int | None]:
        """The run, and the signal that ended its training early."""
        start, signal = time.perf_counter(), None
        consensus = None if data.get("votes") is None else auditing.combine_votes(data, seed=self.seed)
        if consensus is not None and self.clean is not None:
            raise ConfigError(
                f"clean='{self.clean}' is for one label per node; votes are weighted already: leave it out"
            )
        data = data if consensus is None else consensus.copy_with_weighted_consensus_labels(data)
        if self.decisions is not None:
            data = auditing.apply_decisions_to_graph(data, self.decisions, new_class=self.new_class)
        audit = None if self.clean is None else self._read_or_make_audit(data)
        training_data = data if audit is None else auditing.clean_labels(data, audit.issues, str(self.clean))
        try:
            self.model.fit(training_data, **self.fit_options)
        except KeyboardInterrupt:
            signal = getattr(self.model, "stopped_by_", None)
            if signal is None:
                raise
        run = TrainingRun(
            model=self.model,
            data=data,
            training_data=training_data,
            source=self.source,
            seconds=time.perf_counter() - start,
            audit=audit,
            clean=self.clean,
            consensus=consensus,
            method_reason=self.method_reason,
            rank=distributed.get_rank_and_world_size()[0],
            folder=self.folder,
        )
        return run, signal

    def _read_or_make_audit(self, data: Data) -> Audit | SavedAudit:
        """The audit that was made before, else one now."""
        if self.audit_folder is not None:
            return read_saved_audit(self.audit_folder, data)
        return auditing.audit_labels(data, seed=self.seed)

    def _assess_and_get_signal(self, run: TrainingRun) -> tuple[TrainingRun, int | None]:
        """The run with what its model is worth, or with the reason why that is not known; the signal that came."""
        if distributed.get_rank_and_world_size()[1] > 1:
            return replace(run, assessment_note="several processes train one model: its worth is not estimated"), None
        limit = max(MIN_SECONDS, SECONDS_PER_FIT * run.seconds)
        changed = None if run.training_data is run.data else run.training_data
        predicted = None if run.data.get("y_true") is None else run.predictions.predicted_classes
        try:
            found = assess(
                self.model, run.data, training_data=changed, seed=self.seed, max_seconds=limit, predicted=predicted
            )
        except DataError as error:
            return replace(run, assessment_note=f"the worth of the model is not known: {error}"), None
        except KeyboardInterrupt as error:
            note = "the worth of the model is not known: interrupted"
            return replace(run, assessment_note=note), getattr(error, "code", 130) - 128
        return replace(run, assessment=found), None


def train(
    graph: Data | str | Path | None = None,
    method: str | Method | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    noise: Any = "none",
    rate: float | None = None,
    clean: str | None = None,
    decisions: str | Path | pd.DataFrame | None = None,
    new_class: bool = False,
    audit: str | Path | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    report: bool = False,
    resume: bool = False,
    force: bool = False,
    assess: bool = True,
    memory: int | None = None,
    ray: str | None = None,
    progress: ShowProgress = None,
    checkpoint_every: int = 50,
    checkpoint_minutes: float = 5.0,
    callbacks: Iterable[str | Callback] = (),
    on_graph_read: Callable[[Data], None] | None = None,
    **graph_options: Any,
) -> TrainingRun:
    """Train a node classifier on a graph whose labels are noisy. An interrupt raises :class:`TrainingInterrupted`.

    Args:
        graph: a graph, which is used as it is; the name of a dataset or the folder of a graph store; None for files.
        method: a name with its ``settings``, or ``pignn.PIGNN(epochs=100)``. Default: ``auto``, ``pi-gnn`` if needed.
        noise: label noise to add, as :func:`pignn.corrupt` takes it with its ``rate``, or a file with labels or matrix.
        clean: audit the labels first, and ``"drop"``, ``"relabel"`` or ``"weight"`` the suspects.
        decisions: of a review, a file or a table: learned from, and trusted. ``new_class`` allows classes of their own.
        audit: folder of an audit of this graph, whose suspects are cleaned (default: dropped) without another audit.
        seed: of noise, audit and training. Checkpoints are ``checkpoint_every`` epochs apart or ``checkpoint_minutes``.
        out: folder for all results, with ``report`` a page too; ``resume`` continues its run, ``force`` replaces it.
        assess: estimate the model's accuracy by cross-validation on given labels, in up to thrice the training time.
        memory: bytes to stay within, about, for ``auto`` on a graph store, with ``ray``: see ``StoreLimits``.
        progress: show stages or epochs and the time left (None: where somebody looks), or a function to tell.
        callbacks: objects that follow the epochs, or their names; ``on_graph_read`` is called with the graph before.
        graph_options: those of :func:`pignn.read_graph`, or of :func:`pignn.load`; see ``GraphSource``.
    """
    folder, audit_folder = (None if path is None else Path(path) for path in (out, audit))
    model, reason = choose_method_and_reason(method, settings or {}, seed, folder if resume else None)
    model, source = _fit_model_and_source_together(model, settings or {}, graph, graph_options, noise)
    flags: dict[str, Any] = {"seed": seed, "report": report, "resume": resume, "force": force, "assess": assess}
    flags |= {"folder": folder, "audit_folder": audit_folder, "model": model, "method_reason": reason, "source": source}
    flags["new_class"] = new_class
    checkpoints = _build_checkpoint_options(folder, checkpoint_every, checkpoint_minutes, resume)
    job = TrainingJob(
        **flags,
        corruption=build_corruption_or_none(noise, rate, seed, source),
        clean=clean or ("drop" if audit is not None else None),
        decisions=auditing.read_decisions(decisions) if isinstance(decisions, str | Path) else decisions,
        fit_options=_build_fit_options(model, callbacks, checkpoints, progress),
        limits=StoreLimits(memory, ray, resume and (memory, ray) != (None, None)),
    )
    job.check_options_and_outputs(noise)
    return job.train_and_save(on_graph_read)


def _fit_model_and_source_together(
    model: Method, settings: Mapping[str, Any], graph: Any, graph_options: dict[str, Any], noise: Any
) -> tuple[Method, GraphSource]:
    """The method without the labels that the graph's options hold out, and the graph with edges that suit it."""
    model = copy_method_to_learn_without_val_labels(model, settings) if graph_options.get("val") else model
    return model, GraphSource(
        graph, _add_default_directed_of_model(graph, graph_options, model), not is_no_noise(noise)
    )


def copy_method_to_learn_without_val_labels(model: Method, settings: Mapping[str, Any]) -> Method:
    """The method without the labels that the user holds out; ``auto`` and linear methods learn from them otherwise."""
    if model.get_params().get("labels") != "train+val":
        return model
    if "labels" in settings:
        raise ConfigError("val holds labels out, and labels='train+val' learns from them; leave one of them out")
    return clone(model).set_params(labels="train")


def is_restarted_by_torchrun() -> bool:
    """Whether torchrun started all processes again after one had died: they go on where they were."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0


def _build_checkpoint_options(folder: Path | None, every: int, minutes: float, resume: bool) -> dict[str, Any]:
    if every < 1:
        raise ConfigError(f"checkpoint_every must be at least 1, not {every}")
    if folder is None:
        return {}
    options = {"checkpoint": folder, "checkpoint_every": every, "checkpoint_minutes": minutes}
    return options | {"resume": resume or is_restarted_by_torchrun()}


def _build_fit_options(
    model: Method, callbacks: Iterable[Any], checkpoints: dict[str, Any], progress: ShowProgress
) -> dict[str, Any]:
    """What :meth:`Method.fit` takes; methods without epochs have nothing to follow or to continue."""
    options: dict[str, Any] = {} if progress is None else {"progress": progress}
    if has_epochs(model):
        return options | {"callbacks": callbacks} | checkpoints
    if callbacks:
        raise ConfigError(f"callbacks follow epochs, and '{model.name}' has none; leave them out")
    return options


def has_epochs(method: Method) -> bool:
    """Whether a method trains in epochs, between which it can be interrupted and resumed."""
    return "checkpoint" in inspect.signature(method.fit).parameters


def choose_method_and_reason(
    method: str | Method | None, settings: Mapping[str, Any], seed: int, resumed_folder: Path | None
) -> tuple[Method, str]:
    """The method with its settings, checked, and why it is not ``auto`` where nobody named one."""
    reason = ""
    if isinstance(method, Method):
        if settings:
            raise ConfigError(f"{min(settings)} is given beside a method that has its settings; set it there")
        method.check_settings()
        return method, reason
    if method is None:
        settings = {key: value for key, value in settings.items() if (key, value) != ("device", "cpu")}
        needs = list_settings_that_auto_lacks(settings)
        if resumed_folder is not None and checkpoint.has_checkpoint(resumed_folder):
            needs.append("resume")
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            needs.append("torchrun")
        method = "pi-gnn" if needs else "auto"
        if needs:
            verb = "requires" if len(needs) == 1 else "require"
            reason = f"using pi-gnn because {', '.join(needs)} {verb} a network; name a method to choose another"
    model = methods.make(method, seed=seed, **settings)
    model.check_settings()
    return model, reason


def list_settings_that_auto_lacks(settings: Mapping[str, Any]) -> list[str]:
    """Those settings that ``auto`` does not have, but ``pi-gnn`` has."""
    auto, network = ({each.name for each in list_settings(METHODS.get(name))} for name in ("auto", "pi-gnn"))
    for key in settings:
        if key not in auto | network:
            raise build_unknown_name_error("setting", key, sorted(auto | network))
    return [key for key in settings if key not in auto]


def _add_default_directed_of_model(graph: Any, options: dict[str, Any], model: Method) -> dict[str, Any]:
    """Files keep the direction of edges if the method propagates along it."""
    return options if graph is not None else {"directed": model.get_params().get("directed") is True} | options
