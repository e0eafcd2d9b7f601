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
from ..core.errors import ConfigError, OutputError, build_unknown_name_error
from ..core.settings import list_settings
from ..methods import Method
from ..methods.registry import METHODS
from ..noise import Corrupt
from ..training import checkpoint, distributed
from ..training.callbacks import Callback
from ..training.interrupt import DeferredInterrupt
from .consensus_files import list_consensus_files
from .graph_source import GraphSource, build_corruption
from .run_folder import check_outputs, has_finished_or_interrupted_run, note_checkpoint_on_interrupt, open_output_folder
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
    seed: int
    folder: Path | None
    report: bool
    resume: bool
    force: bool
    fit_options: dict[str, Any]

    def check(self, noise: Any) -> None:
        """Refuse options that contradict each other, and outputs that would replace what must stay."""
        if self.clean is not None and self.clean not in TREATMENTS:
            raise build_unknown_name_error("way to clean", self.clean, TREATMENTS)
        if self.resume and self.force:
            raise ConfigError("resume=True continues a run, force=True replaces it; give one of them")
        folder = self.folder
        if folder is None:
            for name, purpose in (("report", "for report.html"), ("resume", "of the run to continue")):
                if getattr(self, name):
                    raise ConfigError(f"{name}=True needs out=, the folder {purpose}")
            return
        if has_finished_or_interrupted_run(folder) and not self.force:
            if not has_epochs(self.model):
                method = f"'{self.model.name}' has no epochs to continue"
                raise OutputError(f"{folder} holds a run already, and {method}; force=True replaces it")
            if not (self.resume or is_restarted_by_torchrun()):
                raise OutputError(f"{folder} holds a run already; resume=True continues it, force=True replaces it")
        inputs = [*self.source.input_paths, *([noise] if isinstance(noise, str | Path) else [])]
        names = list_run_files(folder, self.report) + [folder / name for name in list_consensus_files(self.source)]
        check_outputs(names, inputs, force=self.force or has_finished_or_interrupted_run(folder))

    def execute(self, on_graph_read: Callable[[Data], None] | None = None) -> TrainingRun:
        """Read the graph, train and save, as one of several processes where torchrun started several."""
        deferred = DeferredInterrupt()
        device = str(self.model.get_params().get("device", "cpu"))
        noted_folder = None if self.force else self.folder
        with (
            open_output_folder(self.folder),
            note_checkpoint_on_interrupt(noted_folder),
            distributed.open_process_group(device),
        ):
            data = self.source.load()
            if on_graph_read is not None:
                on_graph_read(data)
            run, signal = self._fit(data if self.corruption is None else self.corruption(data))
            if run.rank == 0:
                with deferred:  # what was learned is written whole, unless somebody insists
                    run.predictions  # noqa: B018
                    if self.folder is not None:
                        run.write_files(self.folder, report=self.report)
        if signal is not None or deferred.signal is not None:
            raise TrainingInterrupted(run, signal or deferred.signal or 0, finished=signal is None)
        return run

    def _fit(self, data: Data) -> tuple[TrainingRun, int | None]:
        """The run, and the signal that ended its training early."""
        start, signal = time.perf_counter(), None
        consensus = None if data.get("votes") is None else auditing.combine_votes(data, seed=self.seed)
        if consensus is not None and self.clean is not None:
            raise ConfigError(
                f"clean='{self.clean}' is for one label per node; votes are weighted already: leave it out"
            )
        data = data if consensus is None else consensus.copy_with_consensus_labels(data)
        audit = None if self.clean is None else auditing.audit_labels(data, seed=self.seed)
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
        graph: a graph, which is used as it is; the name of a dataset or the folder of a graph store; None for files.
        method: a name, or a method with settings such as ``pignn.PIGNN(epochs=100)``. Default: ``auto``, or ``pi-gnn``
            if ``settings`` has one that only networks have.
        settings: of the method.
        noise: label noise to add, as :func:`pignn.corrupt` takes it, or a file with labels or a transition matrix.
        rate: share of labels to corrupt.
        clean: audit the labels first, and ``"drop"``, ``"relabel"`` or ``"weight"`` the suspects.
        seed: random seed for label noise, audit and training.
        out: folder for the model, predictions, history, checkpoints and run.json; with ``report`` for report.html too.
        resume: continue the run in ``out``; ``force`` replaces it.
        checkpoint_every: epochs between two checkpoints, at most ``checkpoint_minutes`` apart.
        callbacks: objects that follow the epochs of the training, or their names.
        on_graph_read: called with the graph before training, to show it.
        graph_options: ``nodes=``, ``edges=``, ``label=``, ... of :func:`pignn.read_graph`, or those of
            :func:`pignn.load`; see :class:`~pignn.runs.graph_source.GraphSource`.
    """
    folder = None if out is None else Path(out)
    model, reason = choose_method(method, settings or {}, seed, folder if resume else None)
    source = GraphSource(graph, _default_directed_to_model(graph, graph_options, model))
    job = TrainingJob(
        model=model,
        method_reason=reason,
        source=source,
        corruption=build_corruption(noise, rate, seed, source),
        clean=clean,
        seed=seed,
        folder=folder,
        report=report,
        resume=resume,
        force=force,
        fit_options=_build_fit_options(model, callbacks, folder, checkpoint_every, checkpoint_minutes, resume),
    )
    job.check(noise)
    return job.execute(on_graph_read)


def is_restarted_by_torchrun() -> bool:
    """Whether torchrun started all processes again after one had died: they go on where they were."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0


def _build_fit_options(
    model: Method, callbacks: Iterable[Any], folder: Path | None, every: int, minutes: float, resume: bool
) -> dict[str, Any]:
    """What :meth:`Method.fit` takes; methods without epochs have nothing to follow or to continue."""
    if every < 1:
        raise ConfigError(f"checkpoint_every must be at least 1, not {every}")
    if not has_epochs(model):
        if callbacks:
            raise ConfigError(f"callbacks follow epochs, and '{model.name}' has none; leave them out")
        return {}
    options: dict[str, Any] = {"callbacks": callbacks}
    if folder is not None:
        options |= {"checkpoint": folder, "checkpoint_every": every, "checkpoint_minutes": minutes}
        options["resume"] = resume or is_restarted_by_torchrun()
    return options


def has_epochs(method: Method) -> bool:
    """Whether a method trains in epochs, between which it can be interrupted and resumed."""
    return "checkpoint" in inspect.signature(method.fit).parameters


def choose_method(
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
        needs = list_network_settings(settings)
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


def list_network_settings(settings: Mapping[str, Any]) -> list[str]:
    """Those settings that ``auto`` does not have, but ``pi-gnn`` has."""
    auto, network = ({each.name for each in list_settings(METHODS.get(name))} for name in ("auto", "pi-gnn"))
    for key in settings:
        if key not in auto | network:
            raise build_unknown_name_error("setting", key, sorted(auto | network))
    return [key for key in settings if key not in auto]


def _default_directed_to_model(graph: Any, options: dict[str, Any], model: Method) -> dict[str, Any]:
    """Files keep the direction of edges if the method propagates along it."""
    return options if graph is not None else {"directed": model.get_params().get("directed") is True} | options
