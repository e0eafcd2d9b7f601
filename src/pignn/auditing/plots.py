"""Pictures of an audit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..core.errors import ConfigError
from ..noise.kinds import Floats
from ..report import plot_calibration, plot_confusion, plot_map
from ..report.training.scores import MAX_DRAWN_NODES
from .crossfit import Bools
from .evidence import Evidence

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NUM_BINS = 10


def plot_expected_confusion(evidence: Evidence, posterior: Floats) -> Figure:
    """How many labels of each given class are expected to be of each true class."""
    names = evidence.class_names
    expected = np.zeros((len(names), len(names)))
    np.add.at(expected, evidence.given, posterior)
    return plot_confusion({"expected number of labels": expected.tolist()}, names, ("given class", "true class"))


def plot_p_wrong_calibration(evidence: Evidence, issues: pd.DataFrame) -> Figure:
    """How many labels are wrong by the true labels, among those of equal probability to be wrong."""
    truth = evidence.graph.get("y_true")
    nodes = issues["node"].to_numpy()
    true = np.full(len(nodes), -1) if truth is None else truth.cpu().numpy()[nodes]
    if not (true >= 0).any():
        raise ConfigError(
            "calibration compares with true labels, and none is known: give some as truth=, or look at run.plot_"
            "calibration() of a training, which compares with given labels"
        )
    p_wrong = issues["p_wrong"].to_numpy()[true >= 0]
    is_wrong = (issues["given"].to_numpy() != true)[true >= 0]
    bin_of_label = np.minimum((p_wrong * NUM_BINS).astype(int), NUM_BINS - 1)
    points = [
        (float(p_wrong[here].mean()), float(is_wrong[here].mean()), int(here.sum()))
        for b in np.unique(bin_of_label)
        for here in [bin_of_label == b]
    ]
    return plot_calibration({"labels": points}, "mean probability to be wrong", "share that is wrong")


def plot_label_map(evidence: Evidence, is_suspect: Bools, seed: int = 0) -> Figure:
    """The first two principal components of the embedding of labeled nodes, at random if there are many."""
    shown = np.arange(len(evidence.nodes))
    if len(shown) > MAX_DRAWN_NODES:
        shown = np.sort(np.random.default_rng(seed).choice(len(shown), MAX_DRAWN_NODES, replace=False))
    rows = evidence.embedding[shown].astype(np.float64)
    centered = rows - rows.mean(axis=0)
    _, _, directions = np.linalg.svd(centered, full_matrices=False)
    marked = is_suspect[evidence.nodes[shown]]
    title, label = f"{len(shown):,} labeled nodes by given class", f"suspect ({marked.sum():,})"
    xy = centered @ directions[:2].T
    return plot_map(xy, evidence.given[shown], evidence.class_names, title, marked, label)
