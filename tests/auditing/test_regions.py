"""Regions that were labeled by mistake: seen by models that know no label of the region, and only then."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.metrics import average_precision_score
from torch_geometric.data import Data

from pignn import graphs
from pignn.auditing import audit_labels
from pignn.auditing.evidence import Evidence, build_checked_evidence
from pignn.graphs.regions import grow_regions
from pignn.noise import corrupt


def make_grid(side: int = 40) -> Data:
    """A grid of four quarters, one class each, with features that tell the class."""
    rng = np.random.default_rng(0)
    place = np.arange(side * side)
    row, column = place // side, place % side
    true = 2 * (row >= side // 2) + (column >= side // 2)
    right, down = place[column < side - 1], place[row < side - 1]
    edges = np.hstack([np.stack([right, right + 1]), np.stack([down, down + side])])
    x = np.eye(4)[true] + 0.8 * rng.standard_normal((len(true), 4))
    return Data(
        x=torch.from_numpy(x).float(),
        edge_index=torch.from_numpy(np.hstack([edges, edges[::-1]])),
        y=torch.from_numpy(true),
    )


def test_a_region_is_what_is_nearest_to_a_center() -> None:
    # 0-1-2-3-4   5: a path, and a node that no center reaches.
    neighbors = np.array([1, 0, 2, 1, 3, 2, 4, 3])
    region = grow_regions(np.array([1, 2, 2, 2, 1, 0]), neighbors, np.array([0, 4]))
    assert region[[0, 1]].tolist() == [0, 0]
    assert region[[3, 4]].tolist() == [1, 1]
    assert region[2] in (0, 1)
    assert region[5] == 2


def test_a_region_is_in_one_fold_and_folds_are_even() -> None:
    evidence = build_checked_evidence(make_grid(), 5, 0)
    fold = evidence.fold_by_region_or_none
    assert fold is not None
    assert np.ptp(np.bincount(fold, minlength=5)) < 0.1 * len(fold)
    ends = evidence.labeled_edge_positions
    assert (fold[ends[0]] == fold[ends[1]]).mean() > 0.6 > (evidence.fold[ends[0]] == evidence.fold[ends[1]]).mean()


@pytest.mark.parametrize("reason", ["no edges", "one region", "sources"])
def test_without_regions_there_are_no_such_folds(reason: str) -> None:
    data = make_grid(20)
    if reason == "no edges":
        data.edge_index = data.edge_index[:, :0]
    elif reason == "one region":
        others = torch.arange(1, 400)  # of a hub, whose region has all nodes but centers
        star = torch.stack([torch.zeros_like(others), others])
        data.edge_index = torch.cat([star, star.flip(0)], dim=1)
    else:
        data.label_source = torch.arange(400) % 7
    assert build_checked_evidence(data, 5, 0).fold_by_region_or_none is None


def make_graph_with_memorable_regions() -> Data:
    """Few links and many features: what a node and its neighbors share is shared with nobody else."""
    return graphs.csbm(1000, 4, homophily=0.9, degree=3, signal=3.0, num_features=600)


@pytest.mark.filterwarnings("ignore:.*flagged")
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_regions_labeled_by_mistake_are_found(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    data = corrupt(make_graph_with_memorable_regions(), "cluster", 0.2, seed=seed, splits=("all",))
    found = audit_labels(data)
    monkeypatch.setattr(Evidence, "fold_by_region_or_none", None)
    found_by_neighbors_too = audit_labels(data)
    assert any("regions" in note for note in found.hints)
    assert not any("regions" in note for note in found_by_neighbors_too.hints)
    precision, precision_by_neighbors_too = (
        average_precision_score((data.y != data.y_true).numpy()[each.issues["node"]], each.issues["p_wrong"])
        for each in (found, found_by_neighbors_too)
    )
    assert precision > precision_by_neighbors_too + 0.02


@pytest.mark.filterwarnings("ignore:.*flagged")
@pytest.mark.parametrize("noise", ["none", "symmetric", "pair", "rule"])
def test_other_labels_are_judged_by_their_surroundings_too(noise: str) -> None:
    data = make_graph_with_memorable_regions()
    data = corrupt(data, noise, None if noise == "none" else 0.2, splits=("all",))
    assert not any("regions" in note for note in audit_labels(data).hints)
