"""Fits of ``auto``'s linear candidates as pieces of work: one after the other, or side by side on a cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from ..core.progress import track
from ..propagation import NodeRows, NodeVectors, get_block_work_or_none
from .auto_candidates import Candidate
from .core.embedding_classifier import EmbeddingClassifier
from .core.labels import GivenLabels, draw_unlabeled_nodes
from .low_density import MAX_NODES
from .prototypes import MAX_UNLABELED

Views = Mapping[str, NodeVectors]
Fitted = tuple[EmbeddingClassifier, Tensor]  # a classifier, and its scores of labels that it has not learned from


@dataclass(frozen=True, eq=False)
class LinearFit:
    """A linear candidate and the labels to fit it to: what another process needs beside the view of the nodes.

    Without ``judging_nodes`` its labels are scored in folds, which also give it a temperature.
    """

    model: EmbeddingClassifier
    labels: GivenLabels
    judging_nodes: Tensor | None = None
    transitions: list[Tensor] | None = None

    def compute(self, embedded: NodeVectors, /) -> Fitted:
        """The fitted candidate with its scores."""
        if self.judging_nodes is None:
            model = self.model.fit_and_calibrate(embedded, self.labels, self.transitions)
            return model, model.held_out_
        model = self.model.fit_uncalibrated(embedded, self.labels, self.transitions)
        return model, model.compute_scores_of_embedded_nodes(embedded[self.judging_nodes])


class Trials:
    """Counts the candidates that are tried until the time is over. The first one always is."""

    def __init__(self, deadline: float | None) -> None:
        self.deadline, self.num_tried, self.num_left_out = deadline, 0, 0

    def iter_waves_in_time(self, waves: Iterable[Sequence[Candidate]]) -> Iterator[Sequence[Candidate]]:
        """Those of candidates that are tried side by side."""
        for wave in waves:
            if self.num_tried and self.deadline is not None and time.perf_counter() > self.deadline:
                self.num_left_out += len(wave)
            else:
                self.num_tried += len(wave)
                yield wave

    def describe_left_out(self) -> str:
        """The end of an explanation: how many candidates there was no time for, if any."""
        return f"; the time limit left {self.num_left_out} candidates untried" if self.num_left_out else ""

    def iter_in_time(self, candidates: Iterable[Candidate]) -> Iterator[Candidate]:
        """Those of candidates that are tried one after the other."""
        for wave in self.iter_waves_in_time([each] for each in track(candidates, "auto: methods tried")):
            yield from wave


def iter_fitted_candidates(
    fits: Mapping[Candidate, LinearFit],
    views: Views,
    group: Callable[[Candidate], str],
    trials: Trials,
    nodes: Tensor | None,
) -> Iterator[tuple[Candidate, Fitted]]:
    """Fit candidates. The first of a group estimates the noise for the others.

    ``nodes`` are those that a fit may ask for.
    """
    work = get_block_work_or_none()
    first = {group(each): each for each in reversed(list(fits))}.values()
    waves = [[each for each in fits if each in first], [each for each in fits if each not in first]]
    if work is None or work.ray is None:
        waves = [[each] for each in fits]
    transitions: dict[str, Any] = {}
    for wave in trials.iter_waves_in_time(waves):
        wave_fits = {each: replace(fits[each], transitions=transitions.get(group(each))) for each in wave}
        for candidate, fitted in _iter_fitted(wave_fits, views, nodes):
            transitions.setdefault(group(candidate), fitted[0].transitions_)
            yield candidate, fitted


def refit_candidates(fits: Mapping[Candidate, LinearFit], views: Views, nodes: Tensor | None) -> dict[Candidate, Any]:
    """Fit candidates whose noise is known already."""
    return {candidate: model for candidate, (model, _) in _iter_fitted(fits, views, nodes)}


def _iter_fitted(
    fits: Mapping[Candidate, LinearFit], views: Views, nodes: Tensor | None
) -> Iterator[tuple[Candidate, Fitted]]:
    work = get_block_work_or_none()
    if work is None or work.ray is None:
        for candidate, fit in fits.items():
            yield candidate, fit.compute(views[candidate.view])
        return
    shared = {view: _keep_rows(views[view], nodes) for view in dict.fromkeys(each.view for each in fits)}
    yield from work.iter_results({each: (fit, shared[each.view]) for each, fit in fits.items()})


def _keep_rows(vectors: NodeVectors, nodes: Tensor | None) -> NodeVectors:
    return vectors.subset(nodes) if isinstance(vectors, NodeRows) and nodes is not None else vectors


def list_nodes_to_keep(data: Data, given_labels: GivenLabels, seed: int, before: Tensor | None) -> Tensor | None:
    """The nodes whose views are kept where a graph store is read by blocks; None for all.

    Fits to these labels or to some of them read labeled nodes, and random ones without a label.
    """
    if get_block_work_or_none() is None:
        return None
    labeled = ((data.train_mask | data.val_mask) & (data.y >= 0)).nonzero().view(-1)
    num_nodes = len(data.y)
    parts = [labeled, draw_unlabeled_nodes(num_nodes, given_labels, MAX_UNLABELED, seed)]
    if num_nodes > MAX_NODES:
        generator = torch.Generator().manual_seed(seed % 2**31)
        parts.append(torch.randperm(num_nodes, generator=generator)[:MAX_NODES])
    return choose_if_all_inside(torch.cat(parts).unique(), before)


def choose_if_all_inside(nodes: Tensor, others: Tensor | None) -> Tensor:
    """The other nodes if these are among them: what is kept of them serves again."""
    return others if others is not None and bool(torch.isin(nodes, others).all()) else nodes
