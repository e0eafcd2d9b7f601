"""Audit the labels of a graph, from the graph to the audit folder."""

from __future__ import annotations

import shlex
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pandas as pd
from torch_geometric.data import Data

from .. import auditing, methods
from .._version import __version__
from ..auditing import Audit, tables
from ..auditing.audit import DEFAULT_METHOD
from ..auditing.label_files import SUFFIXES
from ..core.errors import ConfigError, PignnWarning, warn_user
from ..core.progress import ShowProgress, progress_context, stage_context
from ..core.records import Record
from ..graphs.tables import has_graph_suffix, open_table
from ..io import files
from ..methods import Method
from ..methods.core.data_hash import hash_training_data
from ..noise import Corrupt, NoiseEstimate
from ..report.cards import build_audit_card
from .audit_origin import AuditOrigin
from .consensus_files import CONSENSUS_FILES, list_consensus_files, write_or_remove_consensus_files
from .early_checks import build_json_arguments_or_none
from .graph_source import GraphSource, build_corruption_or_none, is_no_noise
from .run_folder import check_can_take_audit, locked_output_folder_or_cleanup_context
from .store_limits import StoreLimits

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class AuditSummary(Record, kw_only=True):
    """The content of audit.json: everything but the table of labels."""

    labels: int
    method: str
    folds: int
    noise: dict[str, Any]
    expected_wrong: float
    rate_dawid_skene: float | None
    flagged: int
    suspects: int
    classes: list[dict[str, Any]]
    sources: list[dict[str, Any]]
    homophily: float | None
    adjusted_homophily: float | None
    notes: list[str]
    seconds: float
    votes: dict[str, Any] | None = None  # of several annotators
    origin: AuditOrigin | None = None
    arguments: dict[str, Any] | None = None  # of the graph and its labels; None for a graph in memory
    pignn: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class AuditRun:
    """An audit with the graph that it judged. ``review`` are the labels to check by hand, if any were asked for."""

    audit: Audit
    data: Data
    seconds: float
    review: pd.DataFrame | None = None
    input_paths: tuple[Path, ...] = ()
    arguments: dict[str, Any] | None = None  # that `rebuild_audited_graph` takes; None for a graph in memory

    @property
    def issues(self) -> pd.DataFrame:
        """One row per given label, most probably wrong first."""
        return self.audit.issues

    @property
    def noise(self) -> NoiseEstimate:
        """The estimated noise rate and transition matrix."""
        return self.audit.noise

    @cached_property
    def summary(self) -> AuditSummary:
        return AuditSummary(**self.audit.to_dict(), seconds=round(self.seconds, 2))

    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Write suspects.csv, audit.html, card.md, audit.json and, with a review, review.csv into a folder."""
        folder = Path(folder)
        more = () if self.audit.consensus is None else CONSENSUS_FILES
        check_can_take_audit(folder, self.review is not None, self.input_paths, force=force, more_files=more)
        with locked_output_folder_or_cleanup_context(folder):
            self.write_files(folder)

    def write_files(self, folder: Path) -> None:
        """Write into a folder that was checked. audit.json comes last and says that the rest is whole."""
        write_or_remove_consensus_files(folder, self.audit.consensus, "audit.json")
        (folder / "audit.json").unlink(missing_ok=True)
        names = self.audit.class_names
        tables.write_spreadsheet_safe_csv(
            folder / "suspects.csv", tables.replace_class_numbers_by_names(self.issues, names)
        )
        if self.review is not None:
            tables.write_spreadsheet_safe_csv(folder / "review.csv", tables.build_review_table(self.review, names))
        origin = self.data.get("origin")
        name = self.data.get("name") if origin is None else origin.nodes
        card = build_audit_card(name, hash_training_data(self.data), self.audit.overview)
        files.write_bytes_atomically(folder / "card.md", card.encode())
        self.report(folder / "audit.html")
        record = msgspec.structs.replace(self.summary, arguments=self.arguments, pignn=__version__)
        if origin is not None:
            record.origin = AuditOrigin(nodes=origin.nodes, id=origin.id, label=origin.label)
        files.write_json(folder / "audit.json", record.to_dict())

    def report(self, path: str | Path | None = None) -> str:
        """The self-contained HTML page on which suspects are decided, also written to ``path`` if there is one."""
        origin = self.data.get("origin")
        title = f"Audit of the labels of {self.data.get('name') if origin is None else Path(origin.nodes).name}"
        page = self.audit.report(
            review=self.review,
            node_table=read_original_node_table_or_none(origin),
            title=title,
            apply_command="" if path is None else self.build_apply_command_or_empty("decisions.csv", Path(path).parent),
        )
        if path is not None:
            files.write_bytes_atomically(Path(path), page.encode())
        return page

    def build_apply_command_or_empty(self, decisions: str | Path, folder: Path) -> str:
        """The ``pignn apply`` for the audited file; empty where its labels cannot be corrected."""
        origin = self.data.get("origin")
        nodes = Path("" if origin is None else origin.nodes)
        if origin is None or not origin.has_header or origin.label is None or nodes.suffix.lower() not in SUFFIXES:
            return ""
        ids = ("--audit", folder) if origin.id is None else ("--id", origin.id)  # no --id says that rows are numbered
        corrected = nodes.with_name(f"{nodes.stem}.corrected{nodes.suffix}")
        words = ("pignn", "apply", decisions, "--nodes", nodes, *ids, "--label", origin.label, "--out", corrected)
        return shlex.join(map(str, words))

    def plot_transition(self) -> Figure:
        """The estimated transition matrix, P(given class | true class), as a matplotlib figure."""
        return self.audit.plot_transition()

    def plot_confusion(self) -> Figure:
        """How many labels of each given class are expected to be of each true class, as a matplotlib figure."""
        return self.audit.plot_confusion()

    def plot_calibration(self) -> Figure:
        """How often labels are wrong by how probable that was, as a matplotlib figure. It needs true labels."""
        return self.audit.plot_calibration()

    def plot_map(self) -> Figure:
        """Labeled nodes in two dimensions of their embedding, with the suspects marked, as a matplotlib figure."""
        return self.audit.plot_map()

    def suspects(self, n: int = 10) -> pd.DataFrame:
        """The ``n`` labels that are most probably wrong, if they probably are, with names of nodes and classes."""
        return self.audit.suspects(n)

    def plot_class_quality(self) -> Figure:
        """The expected share of right labels per given class, as a matplotlib figure."""
        return self.audit.plot_class_quality()

    def __repr__(self) -> str:
        return f"AuditRun({self.audit.overview.format_headline()})"

    def _repr_html_(self) -> str:
        return self.audit._repr_html_()


def audit(
    graph: Data | str | Path | None = None,
    method: str | Method = DEFAULT_METHOD,
    *,
    settings: Mapping[str, Any] | None = None,
    folds: int = 5,
    review: int | None = None,
    random_share: float = 0.5,
    decisions: str | Path | pd.DataFrame | None = None,
    noise: Any = "none",
    rate: float | None = None,
    seed: int = 0,
    intervals: bool = True,
    warn: bool = True,
    out: str | Path | None = None,
    force: bool = False,
    memory: int | None = None,
    ray: str | None = None,
    resume: bool = False,
    progress: ShowProgress = None,
    on_graph_read: Callable[[Data], None] | None = None,
    **graph_options: Any,
) -> AuditRun:
    """Find the labels of a graph that are probably wrong.

    Args:
        graph: a graph, which is used as it is; the name of a dataset or the folder of a graph store; None for files.
        method: ``smoothed`` (quick), or a method to judge labels by: its name with its ``settings``, or an object.
        folds: each label is judged by a model that was trained without its fold.
        review: number of labels to choose for a check by hand, of which ``random_share`` are drawn at random.
        decisions: of an earlier review, a file or a table: their labels are trusted.
        noise: label noise to add, as :func:`pignn.corrupt` takes it with its ``rate``, or a file with labels or matrix.
        seed: of folds, models, review and noise; ``intervals`` also bootstraps intervals of the noise.
        warn: warn of what the notes say; ``on_graph_read`` is called with the graph before.
        progress: show stages and the time left (None: where somebody looks), or a function to tell of them.
        out: folder for audit.html and the tables; ``force`` replaces an audit that is there.
        memory: bytes to stay within, about, for a graph store, with ``ray`` and ``resume``: see ``StoreLimits``.
        graph_options: those of :func:`pignn.read_graph`, or of :func:`pignn.load`; see ``GraphSource``.
    """
    judge, folder = _make_checked_audit_method(method, settings or {}, seed), None if out is None else Path(out)
    source = GraphSource(graph, graph_options, adds_noise=not is_no_noise(noise))
    corruption = build_corruption_or_none(noise, rate, seed, source, splits=("all",))
    inputs = [*source.input_paths, *(Path(each) for each in (noise, decisions) if isinstance(each, str | Path))]
    if folder is not None:
        check_can_take_audit(folder, review is not None, inputs, force=force, more_files=list_consensus_files(source))
    table = auditing.read_decisions(decisions) if isinstance(decisions, str | Path) else decisions
    limits = StoreLimits(memory, ray, resume).check_options_fit(source, judge, DEFAULT_METHOD)
    work = limits.block_work_context(source, folder)
    with locked_output_folder_or_cleanup_context(folder), work, progress_context(progress):
        with stage_context("reading"):
            data = _load_corrupt_and_apply_decisions(source, corruption, table, on_graph_read)
        start, chosen = time.perf_counter(), None
        result = _audit_labels_and_warn_if_asked(data, judge, warn, folds=folds, seed=seed, intervals=intervals)
        seconds = time.perf_counter() - start
        if review is not None:
            chosen = auditing.sample_for_review(result.issues, review, random_share=random_share, seed=seed)
        given = {"graph": graph, **graph_options, "decisions": decisions, "noise": noise, "rate": rate, "seed": seed}
        run = AuditRun(result, data, seconds, chosen, tuple(inputs), build_json_arguments_or_none(given))
        _write_files_if_folder(run, folder)
    return run


def _write_files_if_folder(run: AuditRun, folder: Path | None) -> None:
    if folder is not None:
        with stage_context("writing"):
            run.write_files(folder)


def _audit_labels_and_warn_if_asked(data: Data, judge: str | Method, warn: bool, **options: Any) -> Audit:
    with warnings.catch_warnings():
        if not warn:
            warnings.simplefilter("ignore")
        return auditing.audit_labels(data, judge, **options)


def rebuild_audited_graph(arguments: Mapping[str, Any]) -> Data:
    """The graph of an audit, with the labels that were judged, from the arguments that audit.json keeps."""
    options = dict(arguments)
    noise, rate = options.pop("noise", "none"), options.pop("rate", None)
    seed, decisions = options.pop("seed", 0), options.pop("decisions", None)
    source = GraphSource(options.pop("graph", None), options, adds_noise=not is_no_noise(noise))
    table = None if decisions is None else auditing.read_decisions(decisions)
    return _load_corrupt_and_apply_decisions(
        source, build_corruption_or_none(noise, rate, seed, source, splits=("all",)), table, None
    )


def _load_corrupt_and_apply_decisions(
    source: GraphSource,
    corruption: Corrupt | None,
    decisions: pd.DataFrame | None,
    on_graph_read: Callable[[Data], None] | None,
) -> Data:
    """The graph with its added noise and its trusted labels."""
    data = source.load()
    if on_graph_read is not None:
        on_graph_read(data)
    data = data if corruption is None else corruption(data)
    if decisions is not None:
        return auditing.apply_decisions_to_graph(data, decisions)
    _warn_if_already_corrected(data)
    return data


def _make_checked_audit_method(method: str | Method, settings: Mapping[str, Any], seed: int) -> str | Method:
    """The method that judges labels, checked before the work begins."""
    if method == DEFAULT_METHOD or isinstance(method, Method):
        if settings:
            reason = "has no settings" if method == DEFAULT_METHOD else "has its settings already"
            raise ConfigError(f"settings are for a method that is given by name; '{method}' {reason}")
        return method
    judge = methods.make(method, seed=seed, **settings)
    judge.check_settings()
    return judge


def _warn_if_already_corrected(data: Data) -> None:
    """Warn if the audited table is a corrected one, in which the noise is hidden."""
    origin = data.get("origin")
    nodes = None if origin is None else Path(origin.nodes)
    if nodes is not None and (trusted := nodes.with_name(f"{nodes.stem}.trusted.csv")).exists():
        message = (
            f"{trusted.name} is beside {nodes.name}, so `pignn apply` has corrected it and the noise is hidden; "
            "audit the original, with the decisions"
        )
        warn_user(message)


def read_original_node_table_or_none(origin: Any) -> pd.DataFrame | None:
    """What the user's table says of the nodes, for the page: node i is row i. None where it is not a table."""
    if origin is None or has_graph_suffix(origin.nodes) or not Path(origin.nodes).is_file():
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PignnWarning)  # said when the graph was read
        frame = open_table(origin.nodes, origin.delimiter).read_dataframe()
    return frame.drop(columns=[c for c in (origin.id, origin.label, origin.trusted, origin.source) if c in frame])
