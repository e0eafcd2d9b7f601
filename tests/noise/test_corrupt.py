from __future__ import annotations

import itertools
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from pignn import noise
from pignn.core.errors import ConfigError, DataError, PignnWarning
from pignn.noise import (
    NOISES,
    Corrupt,
    RecordedLabels,
    build_transition_matrix,
    corrupt,
    load_labels_or_matrix_or_check_noise_name,
    load_recorded_labels,
    summarize_noise,
)

MATRIX_KINDS = [name for name in NOISES if NOISES.get(name).has_transition_matrix]
quick = settings(max_examples=25, deadline=None)


def graph(nodes: int = 600, classes: int = 5, seed: int = 0, **extra: Any) -> Data:
    """A ring with random labels and features; a quarter each trains, validates, tests and is in no split."""
    rng = np.random.default_rng(seed)
    y = torch.from_numpy(rng.permutation(np.arange(nodes) % classes))
    ring = torch.arange(nodes)
    edges = torch.stack([ring, ring.roll(-1)])
    part = torch.from_numpy(rng.integers(0, 4, nodes))
    masks = {f"{name}_mask": part == k for k, name in enumerate(("train", "val", "test"))}
    x = torch.from_numpy(rng.standard_normal((nodes, 8))).float()
    return Data(x=x, edge_index=torch.cat([edges, edges.flip(0)], 1), y=y, **masks, **extra)


def wrong(data: Data) -> torch.Tensor:
    return (data.y != data.y_true) & (data.y >= 0)


# --- transition matrices ------------------------------------------------------------------------------------


def test_symmetric_matrix() -> None:
    expected = [[0.7, 0.1, 0.1, 0.1], [0.1, 0.7, 0.1, 0.1], [0.1, 0.1, 0.7, 0.1], [0.1, 0.1, 0.1, 0.7]]
    np.testing.assert_allclose(build_transition_matrix("symmetric", 0.3, 4), expected, atol=1e-15)


def test_pair_matrix() -> None:
    np.testing.assert_allclose(
        build_transition_matrix("pair", 0.4, 3), [[0.6, 0.4, 0], [0, 0.6, 0.4], [0.4, 0, 0.6]], atol=1e-15
    )


def test_flip_matrix_has_one_other_class_in_each_row() -> None:
    matrix = build_transition_matrix("flip", 0.4, 6, seed=3)
    assert (np.sort(matrix, axis=1)[:, -2:] == [0.4, 0.6]).all()
    assert (np.diag(matrix) == 0.6).all()


def test_previous_pair_matrix_is_the_pair_matrix_the_other_way() -> None:
    np.testing.assert_array_equal(
        build_transition_matrix("pair-previous", 0.3, 5), build_transition_matrix("pair", 0.3, 5).T
    )


def test_random_matrix_keeps_the_rate_and_is_drawn_once_per_seed() -> None:
    matrix = build_transition_matrix("random", 0.4, 6, seed=3)
    np.testing.assert_allclose(matrix.diagonal(), 0.6)
    np.testing.assert_allclose(matrix.sum(axis=1), 1)
    assert np.unique(matrix[~np.eye(6, dtype=bool)]).size == 30
    np.testing.assert_array_equal(matrix, build_transition_matrix("random", 0.4, 6, seed=3))
    assert not np.allclose(matrix, build_transition_matrix("random", 0.4, 6, seed=4))


def test_entries_of_the_random_matrix_are_uniform_numbers_that_were_scaled() -> None:
    # With three classes, u / (u + v) of two uniform numbers is below a quarter with probability 1/6.
    first = np.array([build_transition_matrix("random", 1.0, 3, seed)[0, 1] for seed in range(3000)])
    assert abs((first < 0.25).mean() - 1 / 6) < 0.02


def test_flip_targets_are_uniform_over_the_other_classes() -> None:
    matrices = np.stack([build_transition_matrix("flip", 1.0, 4, seed) for seed in range(600)])
    np.testing.assert_allclose(matrices.mean(axis=0), (1 - np.eye(4)) / 3, atol=0.08)


@quick
@given(st.sampled_from(MATRIX_KINDS), st.floats(0, 1), st.integers(2, 12), st.integers(0, 99))
def test_matrices_are_stochastic(kind: str, rate: float, classes: int, seed: int) -> None:
    matrix = build_transition_matrix(kind, rate, classes, seed)
    assert matrix.dtype == np.float64
    assert (matrix >= 0).all()
    np.testing.assert_allclose(matrix.sum(axis=1), 1, atol=1e-12)
    # One-sided noise leaves the first class alone.
    np.testing.assert_allclose(np.diag(matrix)[kind == "one-sided" :], 1 - rate)
    np.testing.assert_array_equal(matrix, build_transition_matrix(kind, rate, classes, seed))


# --- corrupt ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", MATRIX_KINDS)
@pytest.mark.parametrize("rate", [0.2, 0.6])
def test_the_realized_transition_is_the_requested_one(kind: str, rate: float) -> None:
    result = summarize_noise(corrupt(graph(40_000), kind, rate, seed=7, splits=("all",)))
    np.testing.assert_allclose(result.transition, build_transition_matrix(kind, rate, 5, seed=7), atol=0.025)


def test_a_custom_matrix_is_followed() -> None:
    matrix = [[0.5, 0.5, 0.0], [0.0, 0.2, 0.8], [0.3, 0.3, 0.4]]
    noisy = corrupt(graph(30_000, 3), torch.tensor(matrix), splits=("all",))
    np.testing.assert_allclose(summarize_noise(noisy).transition, matrix, atol=0.02)
    assert noisy.noise["kind"] == "matrix"
    np.testing.assert_allclose(noisy.noise["matrix"], matrix, atol=1e-6)


@quick
@given(
    st.sampled_from(NOISES.list_names()),
    st.floats(0, 1),
    st.integers(0, 50),
    st.lists(st.sampled_from(("train", "val", "test")), unique=True),
)
def test_given_labels_are_visible_in_the_right_splits_only(
    kind: str, rate: float, seed: int, splits: list[str]
) -> None:
    data = graph(120, 3)
    truth = data.y.clone()
    noisy = corrupt(data, kind, None if kind == "none" else rate, seed=seed, splits=splits)
    chosen = torch.zeros(120, dtype=torch.bool)
    for split in splits:
        chosen |= data[f"{split}_mask"]
    visible = data.train_mask | data.val_mask | chosen
    assert torch.equal(noisy.y_true, truth)
    assert torch.equal(data.y, truth)
    assert "y_true" not in data
    assert "noise" not in data
    assert (noisy.y[~visible] == -1).all()
    assert torch.equal(noisy.y[visible & ~chosen], truth[visible & ~chosen])
    assert ((noisy.y[chosen] >= 0) & (noisy.y[chosen] < 3)).all()
    assert json.loads(json.dumps(noisy.noise))["kind"] == kind
    assert noisy.noise["splits"] == splits
    assert noisy.class_names == ["0", "1", "2"]


def test_test_labels_are_hidden_by_default() -> None:
    data = graph()
    noisy = corrupt(data, "symmetric", 0.4)
    assert (noisy.y[data.test_mask] == -1).all()
    assert torch.equal((noisy.y >= 0), data.train_mask | data.val_mask)


@pytest.mark.parametrize("kind", ["symmetric", "pair", "flip", "instance"])
def test_rates_zero_and_one_are_exact(kind: str) -> None:
    data = graph()
    assert not wrong(corrupt(data, kind, 0.0)).any()
    noisy = corrupt(data, kind, 1.0)
    assert torch.equal(wrong(noisy), data.train_mask | data.val_mask)


@pytest.mark.parametrize("kind", [kind for kind in NOISES.list_names() if kind != "none"])
def test_same_seed_same_noise_whatever_torch_does(kind: str) -> None:
    data = graph()
    torch.manual_seed(1)
    first = corrupt(data, kind, 0.4, seed=5)
    torch.manual_seed(2)
    before = torch.get_rng_state()
    assert torch.equal(first.y, Corrupt(kind, 0.4, seed=5)(data).y)
    assert torch.equal(before, torch.get_rng_state())
    assert not torch.equal(first.y, corrupt(data, kind, 0.4, seed=6).y)


def test_every_kind_has_its_own_random_numbers() -> None:
    data = graph()
    flipped = [wrong(corrupt(data, kind, 0.5, seed=0)) for kind in ("symmetric", "pair", "flip")]
    assert all(not torch.equal(a, b) for a, b in itertools.combinations(flipped, 2))


@pytest.mark.parametrize("kind", ["symmetric", "pair", "flip", "instance"])
def test_flips_are_nested_in_the_rate(kind: str) -> None:
    few, many = (wrong(corrupt(graph(), kind, rate)) for rate in (0.2, 0.5))
    assert (few <= many).all()
    assert few.sum() < many.sum()


def test_a_label_does_not_depend_on_the_other_splits() -> None:
    data = graph()
    both, train = corrupt(data, "symmetric", 0.5), corrupt(data, "symmetric", 0.5, splits="train")
    assert torch.equal(both.y[data.train_mask], train.y[data.train_mask])


def test_corrupting_twice_starts_from_the_truth() -> None:
    data = graph()
    twice = corrupt(corrupt(data, "pair", 0.9, seed=1), "symmetric", 0.3, seed=2)
    assert torch.equal(twice.y, corrupt(data, "symmetric", 0.3, seed=2).y)
    assert torch.equal(twice.y_true, data.y)
    clean = corrupt(twice, "none")
    assert torch.equal(clean.y[data.train_mask], data.y[data.train_mask])


def test_trusted_and_unlabeled_nodes_keep_their_labels() -> None:
    data = graph()
    trusted = torch.arange(600) % 2 == 0
    data.trusted_mask = trusted
    data.y[:60] = -1
    with pytest.warns(PignnWarning, match="without a label"):
        noisy = corrupt(data, "symmetric", 1.0, splits=("all",))
    assert (noisy.y[:60] == -1).all()
    assert (noisy.y_true[:60] == -1).all()
    assert torch.equal(noisy.y[trusted], data.y[trusted])
    assert wrong(noisy)[60:][~trusted[60:]].all()


def test_splits_all_needs_no_masks() -> None:
    data = graph()
    for name in ("train", "val", "test"):
        del data[f"{name}_mask"]
    noisy = corrupt(data, "symmetric", 0.4, splits=("all",))
    assert (noisy.y >= 0).all()
    assert 0.3 < wrong(noisy).float().mean() < 0.5
    assert not any("mask" in key for key in noisy.to_dict())


def test_number_of_classes_stays_declared_when_a_class_disappears() -> None:
    vanish = np.eye(5)
    vanish[4] = vanish[0]
    noisy = corrupt(graph(), vanish)
    assert noisy.y.max() == 3
    assert len(noisy.class_names) == 5
    assert np.shape(summarize_noise(noisy).transition) == (5, 5)


def test_one_of_several_splits() -> None:
    data = graph()
    masks = torch.stack([data.train_mask, data.val_mask, data.test_mask], 1)
    data.train_mask, data.val_mask, data.test_mask = masks, masks.roll(-1, 1), masks.roll(-2, 1)
    noisy = corrupt(data, "symmetric", 1.0, splits=("train",), split_index=1)
    assert torch.equal(wrong(noisy), masks[:, 1])
    assert torch.equal(noisy.y >= 0, masks[:, 1] | masks[:, 2])


# --- instance noise -----------------------------------------------------------------------------------------


@quick
@given(st.lists(st.floats(-30, 30), min_size=1, max_size=50), st.floats(0, 1))
def test_mean_flip_probability_is_the_rate(scores: list[float], rate: float) -> None:
    q = noise.compute_flip_probs_with_mean_rate(np.array(scores), rate)
    assert abs(q.mean() - rate) < 1e-6
    assert ((q >= 0) & (q <= 1)).all()
    assert (np.diff(q[np.argsort(scores)]) >= 0).all()


def test_instance_noise_has_the_rate_and_follows_the_features() -> None:
    data = graph(20_000)
    noisy = corrupt(data, "instance", 0.3, splits=("all",))
    assert abs(summarize_noise(noisy).rate - 0.3) < 0.015
    # A linear map of the features must predict the flips, and permuted features give other flips.
    x = torch.cat([data.x, torch.ones(20_000, 1)], 1)
    flips = wrong(noisy).float()
    fitted = x @ torch.linalg.lstsq(x, flips[:, None]).solution
    assert torch.corrcoef(torch.stack([fitted[:, 0], flips]))[0, 1] > 0.3
    uniform = wrong(corrupt(data, "symmetric", 0.3, splits=("all",))).float()
    fitted = x @ torch.linalg.lstsq(x, uniform[:, None]).solution
    assert torch.corrcoef(torch.stack([fitted[:, 0], uniform]))[0, 1] < 0.05


def test_instance_noise_on_constant_features_has_the_rate() -> None:
    data = graph(20_000)
    data.x = torch.ones(20_000, 3)
    result = summarize_noise(corrupt(data, "instance", 0.4, splits=("all",)))
    np.testing.assert_allclose(result.transition, build_transition_matrix("symmetric", 0.4, 5), atol=0.03)


# --- recorded labels and files ------------------------------------------------------------------------------


def test_recorded_labels_become_the_given_labels() -> None:
    data = graph()
    labels = (data.y.numpy() + 1) % 5
    labels[::2] = -1
    noisy = corrupt(data, RecordedLabels(labels, source="survey"), splits=("train",))
    assert torch.equal(noisy.y[data.train_mask], torch.from_numpy(labels)[data.train_mask])
    assert torch.equal(noisy.y[data.val_mask], data.y[data.val_mask])
    assert (noisy.y[data.test_mask] == -1).all()
    assert noisy.noise["kind"] == "recorded"
    assert noisy.noise["source"] == "survey"


def test_labels_recorded_for_another_order_of_nodes_are_refused() -> None:
    data = graph()
    order = np.random.default_rng(0).permutation(600)
    corrupt(data, RecordedLabels(data.y, true_labels=data.y))
    with pytest.raises(DataError, match="recorded for another order of nodes"):
        corrupt(data, RecordedLabels(data.y.numpy()[order], true_labels=data.y.numpy()[order]))


def test_recorded_classes_are_matched_by_name() -> None:
    names = ["a", "b", "c", "d", "e"]
    data = graph(class_names=names)
    labels = (data.y + 2) % 5
    labels[0] = -1
    reverse = torch.tensor([4, 3, 2, 1, 0, -1])
    record = RecordedLabels(reverse[labels], class_names=names[::-1], true_labels=reverse[data.y])
    noisy = corrupt(data, record, splits=("all",))
    assert torch.equal(noisy.y, labels)
    assert noisy.class_names == names


def test_class_names_of_the_record_are_used_where_the_graph_has_none() -> None:
    data = graph()
    assert corrupt(data, RecordedLabels(data.y, class_names=list("abcde"))).class_names == list("abcde")


def test_recorded_classes_unknown_to_the_graph_are_refused() -> None:
    data = graph(class_names=list("abcde"))
    with pytest.raises(DataError, match="class 'x' of the recorded labels is not a class of the graph"):
        corrupt(data, RecordedLabels(data.y, class_names=["a", "b", "x", "y", "z"]))
    with pytest.raises(DataError, match="true labels must be -1 or 0 to 4, not 7"):
        corrupt(data, RecordedLabels(data.y, class_names=list("edcba"), true_labels=np.full(600, 7)))


def test_noise_files_hold_labels_or_a_matrix(tmp_path: Path) -> None:
    data, matrix = graph(), build_transition_matrix("pair", 0.2, 5)
    np.savez(tmp_path / "r.npz", noisy_label=data.y, clean_label=data.y, class_names=np.array(list("abcde")))
    np.savez(tmp_path / "m.npz", transition=matrix)
    np.save(tmp_path / "m.npy", matrix)
    np.savetxt(tmp_path / "m.csv", matrix, delimiter=",")
    record = load_recorded_labels(tmp_path / "r.npz")
    assert record.class_names == list("abcde")
    assert record.source == "r.npz"
    assert isinstance(load_labels_or_matrix_or_check_noise_name(str(tmp_path / "r.npz")), RecordedLabels)
    for name in ("m.npz", "m.npy", "m.csv"):
        np.testing.assert_array_equal(load_labels_or_matrix_or_check_noise_name(str(tmp_path / name)), matrix)
    assert load_labels_or_matrix_or_check_noise_name("pair") == "pair"


def test_unusable_noise_files_are_one_line_errors(tmp_path: Path) -> None:
    objects = np.array([{"a": 1}], dtype=object)
    np.savez(tmp_path / "objects.npz", noisy_label=objects)
    np.save(tmp_path / "objects.npy", objects)
    (tmp_path / "pickle.npz").write_bytes(pickle.dumps([1, 2]))
    np.savez(tmp_path / "other.npz", something=np.arange(3))
    np.savez(tmp_path / "whole.npz", noisy_label=np.arange(3000))
    (tmp_path / "cut.npz").write_bytes((tmp_path / "whole.npz").read_bytes()[:500])
    (tmp_path / "empty.npz").write_bytes(b"")
    (tmp_path / "words.csv").write_text("a,b\nc,d\n")
    np.savez(tmp_path / "fraction.npz", noisy_label=np.array([0.5, 1.0]))
    for name, words in {
        "objects.npz": "pickled",
        "objects.npy": "pickled",
        "pickle.npz": "is damaged or not an .npz file",
        "other.npz": "holds no labels",
        "cut.npz": "is damaged",
        "empty.npz": "is damaged or not an .npz file",
        "words.csv": "table of numbers separated by commas",
        "fraction.npz": "must be integers",
        "absent.npz": "no such file",
    }.items():
        with pytest.raises(DataError, match=words) as caught:
            load_labels_or_matrix_or_check_noise_name(str(tmp_path / name))
        assert name in str(caught.value)
        assert "\n" not in str(caught.value)


# --- bad settings -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "options", "error", "words"),
    [
        ("symetric", {"rate": 0.1}, ConfigError, "did you mean 'symmetric'"),
        ("asymmetric", {"rate": 0.1}, ConfigError, "'pair' .* 'flip'"),
        ("symmetric", {}, ConfigError, "needs a rate"),
        ("symmetric", {"rate": 1.2}, ConfigError, "between 0 and 1"),
        ("symmetric", {"rate": -0.1}, ConfigError, "between 0 and 1"),
        ("symmetric", {"rate": float("nan")}, ConfigError, "between 0 and 1"),
        ("symmetric", {"rate": "much"}, ConfigError, "between 0 and 1"),
        ("symmetric", {"rate": 0.1, "seed": -1}, ConfigError, "seed"),
        ("symmetric", {"rate": 0.1, "seed": 0.5}, ConfigError, "seed"),
        ("symmetric", {"rate": 0.1, "splits": ("trian",)}, ConfigError, "did you mean 'train'"),
        ("none", {"rate": 0.1}, ConfigError, "no rate"),
        (np.eye(5), {"rate": 0.1}, ConfigError, "noise 'matrix' takes no rate, but 0.1 was given"),
        (np.eye(4), {}, DataError, "5 classes"),
        (np.ones((2, 3)), {}, ConfigError, "square"),
        ([[1, 0], [1]], {}, ConfigError, "square"),
        (np.eye(5) * 0.9, {}, ConfigError, "sum to 1"),
        ([[1.5, -0.5], [0, 1]], {}, ConfigError, "between 0 and 1"),
        (np.full((5, 5), np.nan), {}, ConfigError, "between 0 and 1"),
        (RecordedLabels([0, 1]), {}, DataError, "2 recorded labels for a graph of 600"),
        (RecordedLabels([9] * 600), {}, DataError, "0 to 4"),
        (RecordedLabels([0] * 600), {"rate": 0.1}, ConfigError, "noise 'recorded' takes no rate"),
    ],
)
def test_bad_settings_are_one_line(kind: Any, options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words) as caught:
        corrupt(graph(), kind, **options)
    assert "\n" not in str(caught.value)


def test_a_graph_with_one_class_is_refused() -> None:
    one = graph()
    one.y[:] = 0
    with pytest.raises(DataError, match="class"):
        corrupt(one, "symmetric", 0.1)


def test_without_train_mask_labels_that_nothing_holds_out_are_corrupted() -> None:
    without = graph()
    del without.train_mask
    with pytest.warns(PignnWarning, match="no train_mask"):
        noisy = corrupt(without, "symmetric", 0.1)
    assert torch.equal(noisy.y >= 0, ~without.test_mask)
    assert torch.equal(noisy.train_mask, ~without.val_mask & ~without.test_mask)


def test_validation_nodes_are_not_needed() -> None:
    data = graph()
    del data.val_mask
    assert torch.equal(corrupt(data, "symmetric", 0.1).y >= 0, data.train_mask)


def test_the_truth_counts_even_where_given_labels_are_useless() -> None:
    data = graph()
    data.y, data.y_true = torch.full((600,), -1), data.y
    assert torch.equal(corrupt(data, "none").y[data.train_mask], data.y_true[data.train_mask])


# --- report -------------------------------------------------------------------------------------------------


@quick
@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 3)), min_size=2, max_size=25))
def test_the_summary_equals_brute_force(rows: list[tuple[int, int]]) -> None:
    rows = [*rows, (0, 1), (3, 3)]
    y, true = (torch.tensor(column) for column in zip(*rows, strict=True))
    data = Data(y=y, y_true=true, class_names=list("abcd"), num_nodes=len(rows))
    known = [(g, t) for g, t in rows if g >= 0 and t >= 0]
    pairs = list(itertools.combinations(known, 2))
    result = summarize_noise(data)
    assert result.labeled == len(known)
    assert result.wrong == sum(g != t for g, t in known)
    assert result.rate == pytest.approx(result.wrong / len(known))
    assert result.pair_rate == pytest.approx(sum((a[0] == b[0]) != (a[1] == b[1]) for a, b in pairs) / len(pairs))
    for true_class, given_class in itertools.product(range(4), repeat=2):
        assert result.counts[true_class][given_class] == known.count((given_class, true_class))


def test_the_summary_has_rates_per_split_and_class() -> None:
    data = graph(classes=2)
    noisy = corrupt(data, [[1.0, 0.0], [1.0, 0.0]], splits=("train",))
    result = summarize_noise(noisy)
    assert result.split_rates["train"] == pytest.approx(float(data.y[data.train_mask].float().mean()))
    assert result.split_rates["val"] == 0.0
    assert result.class_rates[0] == 0.0
    assert json.loads(json.dumps(result.to_dict()))["wrong"] == result.wrong
    assert str(result).startswith(f"{result.wrong} of {result.labeled} given labels wrong")
    assert "\n" not in str(result)


def test_the_summary_needs_given_and_true_labels() -> None:
    with pytest.raises(DataError, match="y_true"):
        summarize_noise(graph())
    with pytest.raises(DataError, match="both known"):
        summarize_noise(Data(y=torch.tensor([-1, 0]), y_true=torch.tensor([0, -1]), num_nodes=2))
