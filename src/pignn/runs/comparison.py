"""Which of several methods suits a graph best, by given labels that none of them has seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from .. import methods as method_registry
from ..core.errors import ConfigError
from ..core.progress import ShowProgress, track
from ..core.settings import Int, list_settings
from ..io.digests import compute_digest_of_parts
from ..methods import Method
from ..methods.factory import resolve_method_class
from ..methods.registry import resolve_method_name_and_settings
from .assessment import LabelEvidence
from .comparison_result import Comparison, build_comparison
from .held_out_runs import graph_to_hold_labels_out_of_context, open_or_restart_journal
from .journal import Journal
from .method_list import build_named_methods_or_short_list, map_distinct_names_to_themselves
from .repeated_folds import FoldResult, RepeatedFolds

JOURNAL_FILE = "folds.jsonl"


@dataclass(frozen=True, eq=False)
class ComparedMethod:
    """A method, what it is called, and what tells its results from those with other settings."""

    label: str
    method: Method

    def digest(self) -> str:
        settings = sorted(self.method.get_json_compatible_settings().items())
        return compute_digest_of_parts(self.method.name, str(settings), length=16)


def compare(
    graph: Data | str | Path | None = None,
    methods: Sequence[str | Method] | Mapping[str, str | Method] | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    noise: Any = "none",
    rate: float | None = None,
    folds: int = 5,
    repeats: int = 2,
    seed: int = 0,
    out: str | Path | None = None,
    force: bool = False,
    progress: ShowProgress = None,
    on_graph_read: Callable[[Data], None] | None = None,
    **graph_options: Any,
) -> Comparison:
    """Compare methods on a graph by repeated cross-validation on its given labels, under their estimated noise.

    Every given label is held out once per repeat, from every method and all that it chooses by. No true label is read.

    Args:
        graph: a graph; the name of a dataset or the folder of a graph store; None for files.
        methods: names or methods, or either of them by what they are to be called. By default one of each kind.
        settings: ``{"epochs": 100}`` for all named methods that have it, ``{"GCN.epochs": 100}`` for one.
        noise: label noise to add, as :func:`pignn.corrupt` takes it with its ``rate``.
        folds: how many parts the labels are dealt into; a method learns from all but one of them.
        repeats: how often they are dealt.
        seed: random seed for noise, folds and training.
        out: folder for the results. Finished fits are kept there, and the same call goes on where it was killed.
        force: replace what is there and begin anew.
        progress: show how many fits are done, and the time left; None does so on a terminal.
        on_graph_read: is called with the graph before anything is computed.
        graph_options: those of :func:`pignn.read_graph`, or of :func:`pignn.load`; see ``GraphSource``.
    """
    Int(min=2).raise_unless_valid("folds", folds)
    Int(min=1).raise_unless_valid("repeats", repeats)
    compared = build_checked_compared_methods(methods, settings or {}, seed)
    folder = None if out is None else Path(out)
    with graph_to_hold_labels_out_of_context(
        graph, graph_options, noise, rate, seed, folder, progress, on_graph_read
    ) as data:
        design = RepeatedFolds.draw(data, folds, repeats, seed)
        work = {"kind": "comparison", "labels_and_folds": design.digest()}
        journal = open_or_restart_journal(folder, JOURNAL_FILE, work, force)
        results = run_fits_not_in_journal(design, compared, journal)
        evidence = LabelEvidence.from_audit(design.data, design.nodes, design.given, seed)
        found = build_comparison(design, evidence, {each.label: each.method for each in compared}, results)
        if folder is not None:
            found.write_files(folder)
    return found


def build_checked_compared_methods(
    methods: Sequence[str | Method] | Mapping[str, str | Method] | None, settings: Mapping[str, Any], seed: int
) -> list[ComparedMethod]:
    """The methods with their settings, checked."""
    if isinstance(methods, str | Method):
        raise ConfigError("methods must be a list, such as ['auto', 'GCN'], or a dictionary with names of your own")
    if methods is not None and not isinstance(methods, Mapping):
        map_distinct_names_to_themselves([_get_method_name_or_raise(each) for each in methods])
        methods = {_get_method_name_or_raise(each): each for each in methods}
    names = None if methods is None else {label: each for label, each in methods.items() if isinstance(each, str)}
    listed = {each.label: each for each in build_named_methods_or_short_list(names, settings, has_setting)}
    chosen = []
    for label in methods or listed:
        method = (methods or {}).get(label, label)
        if not isinstance(method, Method):
            method = method_registry.make(listed[label].name, seed=seed, **listed[label].settings)
        method.check_settings()
        chosen.append(ComparedMethod(label, method))
    return chosen


def has_setting(method: str, name: str) -> bool:
    """Whether a method has a setting."""
    return name in {
        each.name for each in list_settings(resolve_method_class(resolve_method_name_and_settings(method)[0]))
    }


def run_fits_not_in_journal(
    design: RepeatedFolds, compared: Sequence[ComparedMethod], journal: Journal
) -> dict[str, dict[tuple[int, int], FoldResult]]:
    """The results of all methods, by repeat and fold. What is in the journal is not computed again."""
    digests = {each.label: each.digest() for each in compared}
    done = {
        (record["method"], record["repeat"], record["fold"]): FoldResult(
            record["predicted"], record["seconds"], record.get("error")
        )
        for record in journal.records
    }
    # All methods of a fold, then the next fold: a run that is cut short has compared them on the same labels.
    todo = [
        (repeat, fold, each)
        for repeat, fold in design.iter_repeats_and_folds()
        for each in compared
        if (digests[each.label], repeat, fold) not in done
    ]
    for repeat, fold, each in track(todo, "comparison: fits"):
        result = design.fit_copy_and_predict_held_out(each.method, repeat, fold)
        done[digests[each.label], repeat, fold] = result
        key = {"method": digests[each.label], "label": each.label, "repeat": repeat, "fold": fold}
        error = {} if result.error is None else {"error": result.error}
        journal.append(key | {"seconds": result.seconds, "predicted": result.predicted} | error)
    return {
        label: {place: done[digest, *place] for place in design.iter_repeats_and_folds()}
        for label, digest in digests.items()
    }


def _get_method_name_or_raise(method: str | Method) -> str:
    if isinstance(method, str | Method):
        return method if isinstance(method, str) else method.name
    raise ConfigError(
        f"a method to compare is a name or an object such as pignn.make('GCN', epochs=100), not {method!r}"
    )
