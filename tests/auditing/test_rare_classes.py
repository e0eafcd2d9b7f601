"""Classes of few labels: they are not outvoted, not deleted, and it is said where they cannot be judged."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from pignn import graphs
from pignn.auditing import audit_labels, clean_labels, diagnostics
from pignn.auditing.suspects import compute_class_reliability, compute_suspect_mask
from pignn.core.errors import PignnWarning
from pignn.noise import corrupt

DOUBTS = pytest.mark.filterwarnings("ignore::pignn.core.errors.PignnWarning")


def make_classes(sizes: np.ndarray, spread: float = 1.0, homophily: float = 0.7) -> Data:
    """Clean labels of classes of these sizes, which features and graph tell."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(len(sizes)), sizes)
    x = rng.standard_normal((len(sizes), 32))[y] + spread * rng.standard_normal((len(y), 32))
    first = np.cumsum(sizes) - sizes
    source = rng.integers(0, len(y), 3 * len(y))
    same = first[y[source]] + rng.integers(0, 1 << 30, len(source)) % sizes[y[source]]
    target = np.where(rng.random(len(source)) < homophily, same, rng.integers(0, len(y), len(source)))
    edges = np.stack([source, target])[:, source != target]
    edges = np.unique(np.concatenate([edges, edges[::-1]], axis=1), axis=1)
    return Data(x=torch.from_numpy(x).float(), edge_index=torch.from_numpy(edges), y=torch.from_numpy(y))


@DOUBTS
def test_clean_labels_of_fifty_classes_have_few_suspects() -> None:
    data = make_classes(np.round(np.geomspace(3, 300, 50)).astype(int))
    found = audit_labels(data)
    issues = found.issues
    assert issues["suspect"].mean() <= 0.02
    assert issues.groupby("given")["suspect"].mean().max() <= 0.2
    sizes = issues["given"].map(issues["given"].value_counts())
    assert issues.loc[sizes < 12, "p_wrong"].max() < 0.5
    assert not issues.loc[sizes < 5, "judged"].any()
    assert issues.loc[sizes >= 5, "judged"].all()
    assert set(clean_labels(data, issues).y.tolist()) == set(range(50))
    assert any("are not judged" in note for note in found.notes)


@DOUBTS
def test_a_misspelled_label_is_not_judged_and_this_is_said() -> None:
    data = corrupt(graphs.csbm(400, 3, homophily=0.85, degree=8, signal=2.0), "symmetric", 0.1, splits=("all",))
    data.class_names = ["arts", "news", "sports", "sprots"]
    data.y[5] = 3
    with pytest.warns(PignnWarning, match=r"1 class has fewer than 5 labels \('sprots'\).*not judged"):
        issues = audit_labels(data).issues
    row = issues[issues["given"] == 3].iloc[0]
    assert not row["judged"]
    assert not row["suspect"]
    assert abs(row["p_wrong"] - issues["p_wrong"].mean()) < 0.05


def test_reliability_grows_with_the_labels_to_learn_from() -> None:
    found = compute_class_reliability(np.array([0, 1, 4, 5, 50, 5000]), 5)
    assert (found[:3] == 0).all()
    assert (np.diff(found[2:]) > 0).all()
    assert found[-1] > 0.99


def test_a_class_is_never_deleted() -> None:
    """Nearly all labels of class 1 look wrong: none is a suspect, and an alarm names the class."""
    given = np.repeat([0, 1], [90, 10])
    p_wrong = np.where(given == 1, 0.99, 0.0)
    nobody = np.zeros(100, dtype=bool)
    assert not compute_suspect_mask(given, p_wrong, nobody, nobody, np.ones(2)).any()
    p_wrong[-3:] = 0.0
    assert compute_suspect_mask(given, p_wrong, nobody, nobody, np.ones(2)).sum() == 7
    note = diagnostics.build_message_if_doubted_classes(np.array([0.0, 0.7]), np.array([90, 10]), ["a", "b"])
    assert note is not None
    assert "most labels of 1 class look wrong ('b')" in note
    assert "none is a suspect" not in note
    assert "none is a suspect" in str(
        diagnostics.build_message_if_doubted_classes(np.array([0.0, 1.0]), given[-2:], ["a", "b"])
    )
    assert diagnostics.build_message_if_doubted_classes(np.array([0.1, 0.5]), np.array([90, 10]), ["a", "b"]) is None


@DOUBTS
def test_most_labels_of_a_class_wrong_are_an_alarm() -> None:
    data = graphs.csbm(600, 3, homophily=0.9, degree=8, signal=3.0)
    zero, one = ((data.y == c).nonzero().flatten() for c in (0, 1))
    data.y[one[20:]] = 2
    data.y[zero[:80]] = 1  # of the class "1", 20 labels are right
    with pytest.warns(PignnWarning, match="most labels of 1 class look wrong"):
        issues = audit_labels(data).issues
    assert 1 in clean_labels(data, issues).y


@DOUBTS
def test_shifted_rows_are_warned_of() -> None:
    data = graphs.csbm(600, 4, homophily=0.85, degree=8, signal=2.0)
    order = torch.randperm(600, generator=torch.Generator().manual_seed(0))  # rows of a file have no order by class
    shifted = data.clone()
    shifted.y = data.y[order]
    with pytest.warns(PignnWarning, match="rows shifted, or ids mismatched"):
        found = audit_labels(shifted)
    assert found.issues["suspect"].mean() < 0.02
    assert not any("shifted" in note for note in audit_labels(data).notes)


def test_the_interval_includes_what_labels_alone_cannot_tell() -> None:
    widen = diagnostics.widen_rate_interval
    assert widen((0.08, 0.12), 0.1, None, 0.1) == (0.08, 0.12)
    assert widen((0.08, 0.12), 0.1, 0.15, 0.1) == (0.08, 0.15)  # the second estimate is always included
    low, high = widen((0.0, 0.002), 0.001, 0.118, 0.115)
    assert low == 0.0
    assert 0.3 < high <= 0.35
    assert widen((0.3, 0.5), 0.4, 0.9, 0.95)[1] <= 0.65


@DOUBTS
def test_the_rate_is_the_mean_of_two_explanations() -> None:
    """Errors that follow a region are seen by one of them only; without errors there is nothing to see for either."""
    clean = graphs.csbm(1000, 4, homophily=0.85, degree=8, signal=2.0)
    found = audit_labels(clean, intervals=True)
    assert found.rate_by_class_alone <= found.noise.rate < 0.02
    assert found.issues["suspect"].mean() < 0.02
    wrong = audit_labels(corrupt(clean, "cluster", 0.2, splits=("all",)), intervals=True)
    assert wrong.noise.rate >= wrong.rate_by_class_alone
    assert wrong.noise.rate == pytest.approx(wrong.issues["p_wrong"].mean(), abs=1e-6)
    for each in (found, wrong):
        assert each.noise.rate_interval is not None
        assert each.noise.rate_interval[0] <= each.noise.rate <= each.noise.rate_interval[1]
        assert each.noise.transition.sum(axis=1) == pytest.approx(np.ones(4))


@DOUBTS
def test_errors_of_a_region_are_inside_the_stated_interval() -> None:
    data = corrupt(graphs.csbm(1000, 4, homophily=0.85, degree=8, signal=1.0), "cluster", 0.2, splits=("all",))
    interval = audit_labels(data, intervals=True).noise.rate_interval
    assert interval is not None
    assert interval[0] <= 0.2 <= interval[1]
    assert interval[1] - interval[0] <= 0.35
