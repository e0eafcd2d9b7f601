"""Good settings of one method for one graph, searched for by given labels that were held out."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from torch_geometric.data import Data

from ..core.errors import ConfigError, DataError
from ..core.progress import ShowProgress, track
from ..core.settings import Float, Int
from ..methods import Method, make
from ..training.callbacks import Callback
from ..training.callbacks.base import Row, TrainingContext
from .assessment import LabelEvidence
from .comparison import ComparedMethod, run_fits_not_in_journal
from .comparison_result import Comparison, build_comparison
from .held_out_runs import graph_to_hold_labels_out_of_context, open_or_restart_journal
from .journal import Journal
from .repeated_folds import RepeatedFolds
from .search_space import SearchSpace, build_optuna_distribution, build_search_space
from .training import has_epochs, train
from .tuning_result import DEFAULTS, TUNED, Trial, Tuning

if TYPE_CHECKING:
    import optuna

JOURNAL_FILE, CHECK_FILE = "trials.jsonl", "check.jsonl"
NUM_RANDOM_TRIALS = 8  # before the search learns from them
NUM_UNPRUNED_TRIALS = 5
STEPS_PER_FOLD = 1000
EPOCHS_BETWEEN_REPORTS = 10


def tune(
    graph: Data | str | Path | None = None,
    method: str | Method = "pi-gnn",
    *,
    settings: Mapping[str, Any] | None = None,
    search: Mapping[str, Any] | Sequence[str] | None = None,
    trials: int = 30,
    time_limit: float | None = None,
    folds: int = 3,
    noise: Any = "none",
    rate: float | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    force: bool = False,
    progress: ShowProgress = None,
    on_graph_read: Callable[[Data], None] | None = None,
    **graph_options: Any,
) -> Tuning:
    """Search for settings of a method that agree best with held-out given labels. No true label is read.

    Trials with little promise end early. What is found is compared with the settings as given, on folds that the search
    has not used.

    Args:
        graph: a graph; the name of a dataset or the folder of a graph store; None for files.
        method: a name with its ``settings``, or a method: what the search begins with.
        search: names of settings to try, by default all that declare what to try; ``{"lr": (0.001, 0.1), "backbone":
            ["gcn", "gat"]}`` says which values.
        trials: how many settings are tried, beside those that are given.
        time_limit: seconds after which no further trial is begun; those of an earlier call count.
        folds: how many parts the labels are dealt into.
        noise: label noise to add, as :func:`pignn.corrupt` takes it with its ``rate``.
        seed: random seed for noise, folds, search and training.
        out: folder for the results. Finished trials are kept there, and the same call goes on where it was killed.
        force: replace what is there and begin anew.
        progress: show how many trials are done, and the time left; None does so where somebody looks.
        on_graph_read: is called with the graph before anything is computed.
        graph_options: those of :func:`pignn.read_graph`, or of :func:`pignn.load`; see ``GraphSource``.
    """
    check_optuna_is_installed_and_silence()
    Int(min=1).raise_unless_valid("trials", trials)
    Int(min=2).raise_unless_valid("folds", folds)
    if time_limit is not None:
        Float(open_min=True).raise_unless_valid("time_limit", time_limit)
    start = make_checked_start_method(method, settings or {}, seed)
    space = build_search_space(type(start), search)
    folder = None if out is None else Path(out)
    with graph_to_hold_labels_out_of_context(
        graph, graph_options, noise, rate, seed, folder, progress, on_graph_read
    ) as data:
        design = RepeatedFolds.draw(data, folds, 1, seed)
        found = search_compare_and_fit(design, start, space, trials, time_limit, folder, force)
        if folder is not None:
            found.write_files(folder)
    return found


def search_compare_and_fit(
    design: RepeatedFolds,
    start: Method,
    space: SearchSpace,
    trials: int,
    time_limit: float | None,
    folder: Path | None,
    force: bool,
) -> Tuning:
    """Search, compare what was found with the settings as given, and fit it to all labels."""
    work = {"labels_and_folds": design.digest(), "start": ComparedMethod("", start).digest(), "search": str(space)}
    journal = open_or_restart_journal(folder, JOURNAL_FILE, {"kind": "trials"} | work, force)
    done = Search(start, space, design, journal).run_trials(trials, time_limit)
    best = max(done, key=lambda trial: trial.agreement if trial.state == "complete" else -1.0)
    tuned = clone(start).set_params(**best.settings)
    check = compare_on_fresh_folds(design, start, tuned, folder, force) if best.settings else None
    return Tuning(start, space, done, best, check, train(design.data, tuned, seed=design.seed, assess=False))


def check_optuna_is_installed_and_silence() -> None:
    """Tell in one line that Optuna is missing."""
    try:
        import optuna
    except ImportError:
        raise ConfigError("tuning needs Optuna; pip install 'pignn[tune]'") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)


def make_checked_start_method(method: str | Method, settings: Mapping[str, Any], seed: int) -> Method:
    """The method that the search begins with, checked."""
    if isinstance(method, Method):
        if settings:
            raise ConfigError(f"{min(settings)} is given beside a method that has its settings; set it there")
        start = method
    else:
        start = make(method, seed=seed, **settings)
    start.check_settings()
    return start


class Search:
    """Trials of settings, one after the other. Each is drawn by Optuna from those before it, with a seed of its own, so
    that a search which was killed tries what it would have tried.
    """

    def __init__(self, start: Method, space: SearchSpace, design: RepeatedFolds, journal: Journal) -> None:
        self.start, self.design, self.journal = start, design, journal
        self.distributions = {name: build_optuna_distribution(values) for name, values in space.items()}

    def run_trials(self, num_trials: int, time_limit: float | None) -> list[Trial]:
        """All trials, those of the journal first. The first one has the settings as they are given."""
        import optuna

        study = optuna.create_study(
            direction="maximize", pruner=optuna.pruners.MedianPruner(n_startup_trials=NUM_UNPRUNED_TRIALS)
        )
        done = [Trial.from_dict(record) for record in self.journal.records][: num_trials + 1]
        for trial in done[1:]:
            study.add_trial(self._build_optuna_trial(trial))
        for number in track(range(len(done), num_trials + 1), "tuning: trials"):
            if time_limit is not None and number and sum(trial.seconds for trial in done) > time_limit:
                break
            study.sampler = optuna.samplers.TPESampler(
                seed=(self.design.seed * 100_003 + number) % 2**32, n_startup_trials=NUM_RANDOM_TRIALS
            )
            drawn = study.ask(self.distributions) if number else None
            trial = self._run_trial_over_folds(number, {} if drawn is None else drawn.params, drawn)
            if not number and trial.error is not None:
                raise DataError(trial.error)
            if drawn is not None:
                study.tell(
                    drawn, trial.agreement if trial.state == "complete" else None, self._get_optuna_trial_state(trial)
                )
            done.append(trial)
            self.journal.append(trial.to_dict())
        return done

    def _run_trial_over_folds(self, number: int, settings: dict[str, Any], drawn: optuna.Trial | None) -> Trial:
        """Fit with these settings in fold after fold, as long as that is worth it."""
        import optuna

        method = clone(self.start).set_params(**settings)
        start, agreed, state, error = time.perf_counter(), np.zeros(0), "complete", None
        reports: dict[int, float] = {}
        for fold in range(self.design.folds):
            follower = EpochFollower(drawn, fold, reports)
            options: dict[str, Any] = {"callbacks": [follower]} if has_epochs(method) else {}
            try:
                result = self.design.fit_copy_and_predict_held_out(method, 0, fold, **options)
            except optuna.TrialPruned:
                state = "pruned"
                break
            if result.error is not None:
                state, error = "failed", result.error
                break
            given = self.design.given[self.design.find_held_out_positions(0, fold)]
            agreed = np.concatenate([agreed, given == np.array(result.predicted)])
            is_last = fold == self.design.folds - 1
            if follower.report_and_ask_to_stop((fold + 1) * STEPS_PER_FOLD, float(agreed.mean())) and not is_last:
                state = "pruned"
                break
        agreement = float(agreed.mean()) if len(agreed) else 0.0
        return Trial(number, settings, state, agreement, round(time.perf_counter() - start, 3), reports, error)

    def _build_optuna_trial(self, trial: Trial) -> optuna.trial.FrozenTrial:
        import optuna

        return optuna.trial.create_trial(
            state=self._get_optuna_trial_state(trial),
            params=trial.settings,
            distributions=self.distributions,
            value=trial.agreement if trial.state == "complete" else None,
            intermediate_values={int(step): value for step, value in trial.reports.items()},
        )

    def _get_optuna_trial_state(self, trial: Trial) -> optuna.trial.TrialState:
        from optuna.trial import TrialState

        states = {"complete": TrialState.COMPLETE, "pruned": TrialState.PRUNED, "failed": TrialState.FAIL}
        return states[trial.state]


class EpochFollower(Callback):
    """Reports how well a network predicts the validation labels, and ends the trial if others were better by then."""

    def __init__(self, drawn: optuna.Trial | None, fold: int, reports: dict[int, float]) -> None:
        self.drawn, self.fold, self.reports = drawn, fold, reports
        self.best = 0.0

    def on_epoch_end(self, context: TrainingContext, row: Row) -> None:
        import optuna

        if row.get("val_accuracy") is None:
            return
        self.best = max(self.best, float(row["val_accuracy"]))
        epoch = int(row["epoch"])
        if epoch and epoch % EPOCHS_BETWEEN_REPORTS == 0:
            share = min(epoch / context.num_epochs, 1.0)
            if self.report_and_ask_to_stop(self.fold * STEPS_PER_FOLD + int(share * (STEPS_PER_FOLD - 1)), self.best):
                raise optuna.TrialPruned

    def report_and_ask_to_stop(self, step: int, value: float) -> bool:
        """Report a value that other trials have at the same step."""
        if step in self.reports:  # a network that had collapsed began anew
            return False
        self.reports[step] = value
        if self.drawn is None:
            return False
        self.drawn.report(value, step)
        return self.drawn.should_prune()


def compare_on_fresh_folds(
    design: RepeatedFolds, start: Method, tuned: Method, folder: Path | None, force: bool
) -> Comparison:
    """Settings as given against those that were found, on folds that the search has not used."""
    fresh = RepeatedFolds.draw(design.data, max(design.folds, 5), 1, design.seed + 1)
    compared = [ComparedMethod(DEFAULTS, start), ComparedMethod(TUNED, tuned)]
    work = {"kind": "check", "labels_and_folds": fresh.digest()}
    results = run_fits_not_in_journal(fresh, compared, open_or_restart_journal(folder, CHECK_FILE, work, force))
    evidence = LabelEvidence.from_audit(fresh.data, fresh.nodes, fresh.given, fresh.seed)
    return build_comparison(fresh, evidence, {each.label: each.method for each in compared}, results)
