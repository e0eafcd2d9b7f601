"""The result of one training: it summarizes, saves and shows itself, all from one inference."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
from torch_geometric.data import Data

from .. import graphs, noise
from .._version import __version__
from ..auditing import Audit, Consensus
from ..core.errors import ConfigError
from ..core.notebook import CardTable, render_card_html
from ..io import files
from ..methods import Method
from ..methods.core.base import FitFacts
from ..methods.core.data_hash import hash_training_data
from ..report import (
    build_training_page,
    plot_calibration,
    plot_confusion,
    plot_learning_curves,
    plot_map,
    plot_transition,
    render_figure,
    write_predictions_csv,
)
from ..report.cards import build_model_card
from ..report.training.scores import (
    LabelComparison,
    compare_with_labels,
    list_given_and_test_comparisons,
    project_nodes,
)
from ..report.training.summary import TrainingRecord, TrainingSummary
from ..training import checkpoint
from .assessment import Assessment
from .consensus_files import list_consensus_files, write_or_remove_consensus_files
from .graph_source import GraphSource
from .predictions import Predictions
from .run_folder import RUN_FILES, check_outputs_may_be_written, locked_output_folder_or_cleanup_context
from .saved_audit import SavedAudit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TREATMENTS = {"drop": "left out", "relabel": "given the suggested label", "weight": "counted by quality"}
SUSPECT_COLUMNS = ("node", "name", "given", "predicted", "confidence", "p_given_wrong")
NUM_SHOWN_SUSPECTS = 5  # in a notebook
ONE_CLASS = "all nodes are given one class: little was learned; try lr=0.001, or features of smaller scale"


@dataclass(frozen=True, eq=False, repr=False)
class TrainingRun:
    """A trained model with the graph that it learned from.

    ``data`` has the given labels as they came in, ``training_data`` those that an audit left to learn from. ``rank`` is
    the number of this process among those that torchrun started: only rank 0 writes files.
    """

    model: Method
    data: Data
    training_data: Data
    source: GraphSource
    seconds: float
    audit: Audit | SavedAudit | None = None
    clean: str | None = None
    consensus: Consensus | None = None  # of several annotators: its labels were learned from
    method_reason: str = ""
    rank: int = 0
    folder: Path | None = None  # where its checkpoints are
    assessment: Assessment | None = None  # what the model is worth
    assessment_note: str = ""  # why that is not known

    @cached_property
    def predictions(self) -> Predictions:
        """Of all nodes, by the one inference of this run."""
        return Predictions.infer(self.model, self.data)

    def __repr__(self) -> str:
        worth = "" if self.assessment is None else f", {self.assessment!r}"
        return f"TrainingRun({self.model!r}{worth})"

    @property
    def history(self) -> pd.DataFrame:
        """One row per epoch; empty for methods without epochs."""
        return pd.DataFrame(self.fit_facts.history)

    @cached_property
    def fit_facts(self) -> FitFacts:
        """What the method says about its training."""
        return self.model.get_fit_facts()

    @cached_property
    def summary(self) -> TrainingSummary:
        model, data = self.model, self.data
        labeled = data.y.numpy() >= 0
        disagrees = (self.predictions.predicted_classes != data.y.numpy())[labeled]
        summary = TrainingSummary(
            dataset=data.get("name"),
            method=model.name,
            seed=model.seed,
            labels_given=int(labeled.sum()),
            labels_disagreed_with=int(disagrees.sum()),
            seconds=round(self.seconds, 2),
            settings=self.fit_facts.settings,
            data_fingerprint=hash_training_data(self.training_data),
            method_reason=self.method_reason or None,
            import_summary=None if data.get("origin") is None else graphs.summarize_import(data).to_dict(),
        )
        self._add_label_quality_to_summary(summary)
        self._add_fit_facts_to_summary(summary)
        self._add_scores_to_summary(summary)
        summary.assessment = None if self.assessment is None else self.assessment.to_dict()
        summary.assessment_note = self.assessment_note or None
        return summary

    def _add_label_quality_to_summary(self, summary: TrainingSummary) -> None:
        if self.data.get("noise") is not None:
            report = noise.summarize_noise(self.data)
            summary.noise, summary.rate = self.data.noise["kind"], self.data.noise["rate"]
            summary.realized_noise, summary.pair_noise = report.rate, report.pair_rate
        if self.consensus is not None:
            summary.votes, summary.votes_alpha = len(self.consensus.votes), self.consensus.krippendorff_alpha
            summary.consensus_expected_right = self.consensus.expected_accuracy
        if self.audit is not None and self.clean is not None:
            summary.estimated_wrong = self.audit.noise.rate
            summary.suspects = int(self.audit.issues["suspect"].sum())
            summary.suspects_were = TREATMENTS[self.clean]

    def _add_fit_facts_to_summary(self, summary: TrainingSummary) -> None:
        facts = self.fit_facts
        for name in ("pairs", "selection", "best_epoch", "kept_in_warmup", "epochs_done", "chosen", "explanation"):
            setattr(summary, name, getattr(facts, name))
        if facts.learns_from_val and bool(self.data.val_mask.any()):
            summary.note = f"{facts.method} learns from validation labels too; labels='train' keeps them out"
        classes = self.predictions.predicted_classes
        if facts.history and len(classes) > 1 and bool((classes == classes[0]).all()):
            summary.note = ONE_CLASS

    def _add_scores_to_summary(self, summary: TrainingSummary) -> None:
        data, predictions = self.data, self.predictions
        has_truth = data.get("y_true") is not None
        if has_truth and bool(data.test_mask.any()):
            summary.test_accuracy = predictions.score()
            summary.test_macro_f1 = predictions.score(metric="macro_f1")
        has_val_labels = bool((data.val_mask & (data.y >= 0)).any())
        if has_val_labels and not self.fit_facts.learns_from_val and (not has_truth or "truth" in self.source.options):
            summary.val_agreement = predictions.score(split="val", against="given")

    def save(self, folder: str | Path, *, report: bool = False, force: bool = False) -> None:
        """Write the model, predictions, history and run.json into a folder; ``report`` adds report.html.

        ``force`` replaces a run that is there.
        """
        folder = Path(folder)
        names = list_run_files(folder, report) + [folder / name for name in list_consensus_files(self.source)]
        check_outputs_may_be_written(names, self.source.input_paths, force=force)
        with locked_output_folder_or_cleanup_context(folder):
            self.write_files(folder, report=report)

    def write_files(self, folder: Path, *, report: bool = False) -> None:
        """Write into a folder that was checked. run.json comes last and says that the rest is whole."""
        write_or_remove_consensus_files(folder, self.consensus, "run.json")
        if (folder / "run.json").exists():  # the report of that run would be taken for one of this
            (folder / "report.html").unlink(missing_ok=True)
        (folder / "run.json").unlink(missing_ok=True)
        self.save_model(folder / "model")
        write_predictions_csv(folder / "predictions.csv", self.predictions.table)
        has_checkpoint = self.fit_facts.history and self.folder == folder
        stale = [] if has_checkpoint else [checkpoint.CHECKPOINT_FILE, checkpoint.PREVIOUS_FILE]
        if self.fit_facts.history:
            files.write_csv_records(folder / "history.csv", self.fit_facts.history)
            files.write_bytes_atomically(folder / "learning-curve.png", render_figure(self.plot_history()))
        else:
            stale += ["history.csv", "learning-curve.png"]
        stale += [] if self.assessment is not None else ["disagreements.csv"]
        for name in stale:  # of a run that this one replaces
            (folder / name).unlink(missing_ok=True)
        if self.assessment is not None:
            write_predictions_csv(folder / "disagreements.csv", self.assessment.disagreements)
        if report:
            self.report(folder / "report.html")
        record = TrainingRecord(
            **{name: getattr(self.summary, name) for name in self.summary.__struct_fields__},
            graph=self.source.to_json_dict(),
            pignn=__version__,
        )
        files.write_json(folder / "run.json", record.to_dict())

    def save_model(self, folder: Path) -> None:
        """Write the model; of the user's own graph also how its columns become features, and a card."""
        encoder = self.training_data.get("encoder")
        if encoder is None:
            self.model.save(folder)
            return
        with files.new_folder_context(folder) as new:
            self.model.save(new / "saved")
            for file in (new / "saved").iterdir():
                os.replace(file, new / file.name)
            (new / "saved").rmdir()
            encoder.save(new)
            card = build_model_card(self.model, self.training_data, self.summary)
            files.write_bytes_atomically(new / "card.md", card.encode())

    def plot_history(self) -> Figure:
        """Learning curves as a matplotlib figure; the epoch that is kept is marked."""
        if not self.fit_facts.history:
            raise ConfigError(f"'{self.model.name}' does not train in epochs: there is no history to plot")
        return plot_learning_curves(
            {self.model.name: self.fit_facts.history}, {self.model.name: self.summary.best_epoch}
        )

    def plot_transition(self) -> Figure:
        """The estimated P(given class | true class), by the audit or the assessment of the labels."""
        if isinstance(self.audit, Audit):
            return self.audit.plot_transition()
        if self.assessment is None:
            reason = self.assessment_note or "assess=False left it out"
            raise ConfigError(f"the noise of the labels was not estimated ({reason}); pignn.audit() does")
        return plot_transition(self.assessment.estimate.model.transition, self.model.class_names_)

    def plot_confusion(self) -> Figure:
        """How many nodes of each class are predicted as each class, by given and by true labels, if they are known."""
        counts = {name: comparison.count_confusion() for name, comparison in self._list_label_comparisons()}
        return plot_confusion(counts, self.model.class_names_, ("label", "predicted"))

    def plot_calibration(self) -> Figure:
        """How often predictions equal the labels, by confidence. Wrong labels pull the line down."""
        bins = {name: list(one.compute_calibration_bins().values()) for name, one in self._list_label_comparisons()}
        return plot_calibration(bins, "mean confidence", "share of equal labels")

    def plot_map(self) -> Figure:
        """Nodes in two dimensions of the classifier's output, by predicted class; contradicted labels are marked."""
        positions = project_nodes(self.predictions.logits)
        predicted = self.predictions.predicted_classes[positions.nodes]
        given = self.data.y.numpy()[positions.nodes]
        marked = (given >= 0) & (given != predicted)
        title = f"{len(positions.nodes):,} nodes by predicted class"
        names = self.model.class_names_
        return plot_map(positions.xy, predicted, names, title, marked, f"given another label ({marked.sum():,})")

    def _list_label_comparisons(self) -> list[tuple[str, LabelComparison]]:
        scores = compare_with_labels(self.training_data, self.predictions.logits, self.fit_facts.learns_from_val)
        return list_given_and_test_comparisons(scores)

    def suspects(self, n: int = 10) -> pd.DataFrame:
        """The ``n`` given labels that the model contradicts most surely, with names of nodes and classes.

        Where the model was assessed, its copies had not seen these labels; else it may repeat wrong ones.
        """
        if self.assessment is not None:
            table = self.assessment.disagreements
        else:
            table = self.predictions.table
            table = table[table["disagrees"] == 1].sort_values("confidence", ascending=False, kind="stable")
        names = [name for name in SUSPECT_COLUMNS if name in table]
        return table[names].head(n).reset_index(drop=True)

    def report(self, path: str | Path | None = None) -> str:
        """The self-contained HTML page of this run, also written to ``path`` if there is one."""
        logits = self.predictions.logits
        page = build_training_page(self.model, self.training_data, summary=self.summary, logits=logits)
        if path is not None:
            files.write_bytes_atomically(Path(path), page.encode())
        return page

    def _repr_html_(self) -> str:
        return render_training_run_html(self)


def render_training_run_html(run: TrainingRun) -> str:
    """How a notebook shows a run: what it is worth, its settings, why, and the labels that it contradicts."""
    summary, assessment = run.summary, run.assessment
    settings = run.model.get_changed_settings()
    facts = {
        **({} if assessment is None else assessment.build_facts()),
        "test accuracy": summary.test_accuracy,
        "agreement with validation labels": summary.val_agreement,
        "labels": summary.labels_given,
        "contradicted": summary.labels_disagreed_with,
        "suspects": None if summary.suspects is None else f"{summary.suspects:,} {summary.suspects_were}",
        "kept epoch": summary.best_epoch,
        "chosen": summary.chosen,
        "settings": ", ".join(f"{key}={value}" for key, value in settings.items()) or "the defaults",
        "seconds": summary.seconds,
    }
    tables = [] if assessment is None else [assessment.build_class_card_table()]
    suspects = run.suspects(NUM_SHOWN_SUSPECTS).to_dict("records")
    tables.append(CardTable("Labels that it contradicts: suspects(n) has more", suspects))
    texts = (summary.explanation, summary.note, summary.assessment_note, summary.method_reason)
    notes = [*(text for text in texts if text), *([] if assessment is None else assessment.notes)]
    return render_card_html(f"{run.model.name} on {summary.dataset or 'a graph'}", facts, tables, notes)


def list_run_files(folder: Path, report: bool) -> list[Path]:
    """What a run writes into its folder."""
    return [folder / name for name in (*RUN_FILES, *(["report.html"] if report else []))]
