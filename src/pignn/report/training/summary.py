"""The typed summary of one training: what run.json, the model card and the report page tell."""

from __future__ import annotations

from typing import Any

import msgspec

from ...core.records import Record


class TrainingSummary(Record, kw_only=True):
    """What a training gave, in words that do not promise too much. What does not apply is None and left out of JSON."""

    dataset: str | None
    method: str
    seed: int
    noise: str | None = None  # that was added on purpose
    rate: float | None = None
    realized_noise: float | None = None  # share of given labels that are wrong, by the true ones
    pair_noise: float | None = None
    pairs: str | None = None
    selection: str | None = None
    best_epoch: int | None = None
    kept_in_warmup: bool | None = None
    epochs_done: int | None = None
    chosen: str | None = None
    explanation: str | None = None
    note: str | None = None
    test_accuracy: float | None = None
    test_macro_f1: float | None = None
    assessment: dict[str, Any] | None = None  # what the model is worth, by cross-validation
    assessment_note: str | None = None  # why there is none
    val_agreement: float | None = None  # with given labels, some of which are wrong
    labels_given: int | None = None
    labels_disagreed_with: int | None = None
    seconds: float | None = None
    data_fingerprint: str | None = None  # of features, edges, labels and masks
    settings: dict[str, Any] = msgspec.field(default_factory=dict)
    votes: int | None = None  # of several annotators
    votes_alpha: float | None = None  # Krippendorff's
    consensus_expected_right: float | None = None
    estimated_wrong: float | None = None  # by the audit that came first
    suspects: int | None = None
    suspects_were: str | None = None  # left out, relabeled or weighted
    method_reason: str | None = None  # why another method than auto was chosen
    import_summary: dict[str, Any] | None = None


class TrainingRecord(TrainingSummary, kw_only=True):
    """The content of run.json: the summary, where the graph came from, and the version of pignn."""

    graph: dict[str, Any]
    pignn: str
