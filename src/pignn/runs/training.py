"""Train a classifier on a graph with noisy labels, from the graph to the run folder."""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from .. import auditing, methods
from ..core.errors import ConfigError, OutputError, unknown
from ..methods import Method
from ..methods.registry import METHODS
from ..noise import Corrupt
from ..training import checkpoint, distributed
from ..training.callbacks import Callback
from ..training.interrupt import DeferredInterrupt
from .graph_source import GraphSource, build_corruption
from .run_folder import check_outputs, has_run, name_checkpoint_context, open_output_folder
from .training_run import TREATMENTS, TrainingRun, list_run_files


class TrainingInterrupted(KeyboardInterrupt):
    """A signal ended the training. ``run`` has the best classifier so far and is saved where a folder was given."""

    def __init__(self, run: TrainingRun, signal: int, *, finished: bool) -> None:
        super().__init__()
        self.run = run
        self.signal = signal
        self.finished = finished  # whether the signal came after the last epoch


@dataclass(frozen=True, kw_only=True)
class RunOutput:
    """Where a training run goes, and what happens to a run that is there."""

    folder: Path | None
    report: bool
    resume: bool
    force: bool
    checkpoint_every: int
    checkpoint_minutes: float
    callbacks: tuple[str | Callback, ...] = ()

    @property
    def restarted(self) -> bool:
        """Whether torchrun started all processes again after one had died: they go on where they were."""
        return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0

    @property
    def has_checkpoint(self) -> bool:
        return self.folder is not None and checkpoint.has_checkpoint(self.folder)

    def check(self, method: Method, inputs: list[Path]) -> None:
        """Refuse options that contradict each other, and outputs that would replace what must stay."""
        if self.checkpoint_every < 1:
            raise ConfigError(f"checkpoint_every must be at least 1, not {self.checkpoint_every}")
        if self.resume and self.force:
            raise ConfigError("resume=True continues a run, force=True replaces it; give one of them")
        if self.callbacks and not has_epochs(method):
            raise ConfigError(f"callbacks follow epochs, and '{method.name}' has none; leave them out")
        if self.folder is None:
            if self.report:
                raise ConfigError("report=True needs out=, the folder for report.html")
            if self.resume:
                raise ConfigError("resume=True needs out=, the folder of the run to continue")
            return
        if has_run(self.folder):
            self._check_existing_run(self.folder, method)
        replace = self.force or has_run(self.folder)
        check_outputs(list_run_files(self.folder, self.report), inputs, force=replace)

    def _check_existing_run(self, folder: Path, method: Method) -> None:
        if not has_epochs(method) and not self.force:
            raise OutputError(
                f"{folder} holds a run already, and '{method.name}' has no epochs to continue; force=True replaces it"
            )
        if not (self.resume or self.force or self.restarted):
            raise OutputError(f"{folder} holds a run already; resume=True continues it, force=True replaces it")

    def list_fit_options(self, method: Method) -> dict[str, Any]:
        """How :meth:`Method.fit` keeps checkpoints; methods without epochs have nothing to continue."""
        if not has_epochs(method):
            return {}
        if self.folder is None:
            return {"callbacks": self.callbacks}
        return {
            "callbacks": self.callbacks,
            "checkpoint": self.folder,
            "checkpoint_every": self.checkpoint_every,
            "checkpoint_minutes": self.checkpoint_minutes,
            "resume": self.resume or self.restarted,
        }


@dataclass(frozen=True, kw_only=True)
class TrainingJob:
    """A training that was checked and can begin."""

    model: Method
    method_reason: str
    source: GraphSource
    corruption: Corrupt | None
    clean: str | None
    seed: int
    output: RunOutput

    def execute(self, on_graph_read: Callable[[Data], None] | None = None) -> TrainingRun:
        """Read the graph, train and save, as one of several processes where torchrun started several."""
        folder, deferred = self.output.folder, DeferredInterrupt()
        device = str(self.model.get_params().get("device", "cpu"))
        noted_folder = None if self.output.force else folder
        with (
            open_output_folder(folder),
            name_checkpoint_context(noted_folder),
            distributed.open_process_group(device),
        ):
            data = self.source.load()
            if on_graph_read is not None:
                on_graph_read(data)
            data = data if self.corruption is None else self.corruption(data)
            run, signal = self._fit(data)
            if run.rank == 0:
                with deferred:  # what was learned is written whole, unless somebody insists
                    run.predictions  # noqa: B018
                    if folder is not None:
                        run.write_files(folder, report=self.output.report)
        if signal is not None or deferred.signal is not None:
            raise TrainingInterrupted(run, signal or deferred.signal or 0, finished=signal is None)
        return run

    def _fit(self, data: Data) -> tuple[TrainingRun, int | None]:
        """The run, and the signal that ended its training early."""
        start, signal = time.perf_counter(), None
        audit = None if self.clean is None else auditing.audit_labels(data, seed=self.seed)
        training_data = data if audit is None else auditing.clean_labels(data, audit.issues, str(self.clean))
        try:
            self.model.fit(training_data, **self.output.list_fit_options(self.model))
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
            method_reason=self.method_reason,
            rank=distributed.get_rank_and_world_size()[0],
            folder=self.output.folder,
        )
        return run, signal


def train(
    graph: Data | str | Path | None = None,
    method: str | Method | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    noise: Any = "none",
    rate: float | None = None,
    clean: str | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    report: bool = False,
    resume: bool = False,
    force: bool = False,
    checkpoint_every: int = 50,
    checkpoint_minutes: float = 5.0,
    callbacks: Iterable[str | Callback] = (),
    on_graph_read: Callable[[Data], None] | None = None,
    **graph_options: Any,
) -> TrainingRun:
    """Train a node classifier on a graph whose labels are noisy.

    An interrupt is raised as :class:`TrainingInterrupted` when the best classifier so far is saved.

    Args:
        graph: a graph, the name of a dataset or the folder of a graph store; None for files. A graph is used as it is.
            In a dataset, the labels of training and validation nodes are corrupted by ``noise``.
        method: the name of a method, or one with settings such as ``pignn.PIGNN(epochs=100)``. Default: ``auto``, or
            ``pi-gnn`` if ``settings`` has one that only networks have.
        settings: of the method.
        noise: label noise to add, as :func:`pignn.corrupt` takes it, or a file with labels or a transition matrix.
        rate: share of labels to corrupt.
        clean: audit the labels first, and ``"drop"``, ``"relabel"`` or ``"weight"`` the suspects.
        seed: random seed for label noise, audit and training.
        out: folder for the model, predictions, history, checkpoints and run.json.
        report: also write report.html.
        resume: continue the run in ``out``.
        force: replace the run in ``out``.
        checkpoint_every: epochs between two checkpoints.
        checkpoint_minutes: also write a checkpoint after this many minutes.
        callbacks: objects that follow the epochs of the training, or their names.
        on_graph_read: called with the graph before training, to show it.
        graph_options: of files, as :func:`pignn.read_graph` takes them (``nodes=``, ``edges=``, ``label=``, ...); of a
            dataset, as :func:`pignn.load` takes them; see :class:`~pignn.runs.graph_source.GraphSource`.
    """
    output = RunOutput(
        folder=None if out is None else Path(out),
        report=report,
        resume=resume,
        force=force,
        checkpoint_every=checkpoint_every,
        checkpoint_minutes=checkpoint_minutes,
        callbacks=tuple(callbacks),
    )
    if clean is not None and clean not in TREATMENTS:
        raise unknown("way to clean", clean, TREATMENTS)
    model, reason = choose_method(method, settings or {}, seed, output)
    source = GraphSource(graph, _add_direction(graph, graph_options, model))
    corruption = build_corruption(noise, rate, seed, source)
    output.check(model, [*source.input_paths, *([Path(noise)] if isinstance(noise, str | Path) else [])])
    job = TrainingJob(
        model=model, method_reason=reason, source=source, corruption=corruption, clean=clean, seed=seed, output=output
    )
    return job.execute(on_graph_read)


def has_epochs(method: Method) -> bool:
    """Whether a method trains in epochs, between which it can be interrupted and resumed."""
    return "checkpoint" in inspect.signature(method.fit).parameters


def choose_method(
    method: str | Method | None, settings: Mapping[str, Any], seed: int, output: RunOutput
) -> tuple[Method, str]:
    """The method with its settings, checked, and why it is not ``auto`` where nobody named one."""
    reason = ""
    if isinstance(method, Method):
        if settings:
            raise ConfigError(f"{min(settings)} is given beside a method that has its settings; set it there")
        model = method
    else:
        if method is None:
            settings = {key: value for key, value in settings.items() if (key, value) != ("device", "cpu")}
            needs = list_network_settings(settings)
            if output.resume and output.has_checkpoint:
                needs.append("resume")
            if int(os.environ.get("WORLD_SIZE", "1")) > 1:
                needs.append("torchrun")
            method = "pi-gnn" if needs else "auto"
            verb = "requires" if len(needs) == 1 else "require"
            reason = f"using pi-gnn because {', '.join(needs)} {verb} a network; choose another method to change that"
            reason = reason if needs else ""
        model = methods.make(method, seed=seed, **settings)
    model.check_settings()
    return model, reason


def list_network_settings(settings: Mapping[str, Any]) -> list[str]:
    """Those settings that ``auto`` does not have, but ``pi-gnn`` has."""
    auto, network = (set(METHODS.get(name)._get_param_names()) for name in ("auto", "pi-gnn"))
    for key in settings:
        if key not in auto | network:
            raise unknown("setting", key, sorted(auto | network))
    return [key for key in settings if key not in auto]


def _add_direction(graph: Any, options: dict[str, Any], model: Method) -> dict[str, Any]:
    """Files keep the direction of edges if the method propagates along it."""
    return options if graph is not None else {"directed": model.get_params().get("directed") is True} | options
