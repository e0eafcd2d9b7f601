"""noise.estimate against labels whose noise is known, and input that says little."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import check_grad
from scipy.special import log_softmax, softmax

from pignn.core.errors import ConfigError, DataError
from pignn.noise import build_transition_matrix, estimate, estimation, model
from pignn.noise.estimation import unmix_probs
from pignn.noise.model import CONFUSED, CONFUSIONS, EQUAL, FULL, MIN_GAIN, compute_log_probs, fit_noise_model

Floats = NDArray[np.float64]


def sample(matrix: Floats, nodes: int = 4000, sharp: float = 3.0, seed: int = 0) -> tuple[NDArray[np.int64], Floats]:
    """Given labels by T, and P(true | x) of a classifier that is right about itself."""
    rng = np.random.default_rng(seed)
    p = softmax(sharp * rng.standard_normal((nodes, len(matrix))), axis=1)
    true = (p.cumsum(axis=1) < rng.random((nodes, 1))).sum(axis=1)
    given = (matrix[true].cumsum(axis=1) < rng.random((nodes, 1))).sum(axis=1)
    return np.minimum(given, len(matrix) - 1), p


@pytest.mark.parametrize("kind", ["symmetric", "pair"])
@pytest.mark.parametrize("rate", [0.1, 0.3])
def test_the_rate_and_the_matrix_are_found(kind: str, rate: float) -> None:
    matrix = build_transition_matrix(kind, rate, 4)
    given, p = sample(matrix)
    found = estimate(given, p)
    assert abs(found.rate - rate) < 0.03
    np.testing.assert_allclose(found.transition, matrix, atol=0.07)


def test_errors_of_the_classifier_are_not_called_noise() -> None:
    given, p = sample(np.eye(4), sharp=1.5)
    assert (p.argmax(axis=1) != given).mean() > 0.25
    assert estimate(given, p).rate < 0.03


def test_a_full_matrix_is_fitted_only_where_labels_need_it() -> None:
    off = ~np.eye(4, dtype=bool)
    for kind, spread in (("symmetric", False), ("pair", True)):
        given, p = sample(build_transition_matrix(kind, 0.2, 4))
        assert bool(np.ptp(estimate(given, p).transition[off]) > 0.05) is spread


@pytest.mark.parametrize("kind", ["symmetric", "pair"])
def test_classes_without_a_label_change_nothing(kind: str) -> None:
    given, p = sample(build_transition_matrix(kind, 0.2, 3), nodes=1500)
    wide = np.pad(p, ((0, 0), (0, 7)))
    found, padded = estimate(given, p), estimate(given, wide)
    assert abs(found.rate - 0.2) < 0.03
    assert abs(found.rate - padded.rate) < 0.01
    np.testing.assert_allclose(padded.transition[:3, :3], found.transition, atol=0.02)


def test_a_few_misspelled_labels_do_not_hide_the_noise() -> None:
    given, p = sample(build_transition_matrix("symmetric", 0.2, 4), nodes=600)
    some = np.random.default_rng(1).permutation(600)[:15]
    given[some] = 4 + np.arange(15) % 5
    # A classifier learns that these classes are rare.
    rare = np.full((600, 5), 0.004)
    found = estimate(given, np.hstack([p * (1 - rare.sum(axis=1, keepdims=True)), rare]))
    assert 0.15 < found.rate < 0.26


def test_intervals_hold_the_estimate_and_widen_with_the_level() -> None:
    given, p = sample(build_transition_matrix("symmetric", 0.2, 3), nodes=800)
    narrow, wide = (estimate(given, p, intervals=True, level=level) for level in (0.5, 0.99))
    assert narrow.rate_interval is not None
    assert wide.rate_interval is not None
    assert wide.rate_interval[0] < narrow.rate_interval[0] <= narrow.rate_interval[1] < wide.rate_interval[1]
    assert wide.rate_interval[0] < 0.2 < wide.rate_interval[1]
    assert set(narrow.to_dict()) == {"rate", "transition", "prior", "rate_interval", "transition_interval"}


@pytest.mark.parametrize("kind", [model.FULL, model.EQUAL, model.BY_CLASS])
@pytest.mark.parametrize("some_trusted", [True, False])
@pytest.mark.parametrize("told", [True, False])
def test_the_gradient_is_that_of_the_loss(kind: str, some_trusted: bool, told: bool) -> None:
    given, p = sample(build_transition_matrix("pair", 0.2, 3), nodes=40)
    trusted = np.arange(40) < 10 if some_trusted else None
    before = np.where(np.arange(40) < 5, (given + 1) % 3, -1) if told else None
    likelihood = model.Likelihood(given, model.compute_log_probs(p), trusted, before)
    at = np.random.default_rng(0).normal(size=1 + 3 + (9 if kind == model.FULL else 1))
    at[0] = 1.3
    error = check_grad(
        lambda x: likelihood.compute_loss_and_gradient(x, kind)[0],
        lambda x: likelihood.compute_loss_and_gradient(x, kind)[1],
        at,
    )
    assert error < 1e-3


def test_reviewed_suspects_do_not_hide_the_noise() -> None:
    """Half of the wrong labels are found and mended; with what they were before, T is still found."""
    matrix = build_transition_matrix("pair", 0.3, 3)
    rng = np.random.default_rng(3)
    p = softmax(4 * rng.standard_normal((3000, 3)), axis=1)
    true = (p.cumsum(axis=1) < rng.random((3000, 1))).sum(axis=1).clip(max=2)
    given = (matrix[true].cumsum(axis=1) < rng.random((3000, 1))).sum(axis=1).clip(max=2)
    trusted = p[np.arange(3000), given] < 0.1
    assert (given != true)[trusted].mean() > 0.8
    mended, before = np.where(trusted, true, given), np.where(trusted, given, -1)
    np.testing.assert_allclose(model.fit_noise_model(mended, np.log(p), trusted, before).transition, matrix, atol=0.06)
    assert model.fit_noise_model(mended, np.log(p), trusted).transition[0, 1] < 0.2


def test_unmixing_undoes_mixing() -> None:
    matrix = build_transition_matrix("pair", 0.3, 4)
    _, p = sample(matrix, nodes=50)
    np.testing.assert_allclose(unmix_probs(p @ matrix, matrix, num_steps=5000), p, atol=0.02)


@pytest.mark.parametrize(
    ("labels", "probabilities"),
    [
        ([0, 0, 0], [[1.0, 0.0]] * 3),  # one class, of two
        ([0] * 5, [[1.0]] * 5),  # of one
        ([-1, -1], [[0.5, 0.5]] * 2),  # no label
        ([0, 1, 0, 1, 2], np.eye(3)[[0, 1, 0, 1, 1]]),  # zeros and ones
        ([], np.zeros((0, 3))),
        ([0, 1], np.zeros((2, 2))),  # nothing said
    ],
)
@pytest.mark.filterwarnings("error")
def test_uninformative_input_still_gives_finite_estimates(labels: list[int], probabilities: Floats) -> None:
    found = estimate(labels, probabilities, intervals=True)
    assert 0 <= found.rate <= 1
    np.testing.assert_allclose(found.transition.sum(axis=1), 1)
    assert np.isfinite(found.posterior).all()
    assert np.isfinite(found.prior).all()


def test_unlabeled_nodes_do_not_change_the_estimate() -> None:
    given, p = sample(build_transition_matrix("symmetric", 0.2, 3), nodes=600)
    more = estimate(np.concatenate([given, [-1] * 50]), np.concatenate([p, p[:50]]))
    assert abs(more.rate - estimate(given, p).rate) < 1e-9
    assert len(more.posterior) == 650


@pytest.mark.parametrize(
    ("labels", "probabilities"),
    [
        ([0, 2], [[0.5, 0.5]] * 2),
        ([0], [0.5]),
        ([0.5], [[1.0]]),
        ([0], [[np.nan, 1]]),
        ([0], [[-1, 1]]),
        ([0], [[1, 1]]),
    ],
)
def test_labels_and_probabilities_that_do_not_fit_are_refused(
    labels: list[float], probabilities: list[list[float]]
) -> None:
    with pytest.raises(DataError):
        estimate(labels, probabilities)


def test_a_level_outside_0_to_1_is_refused() -> None:
    with pytest.raises(ConfigError, match="level"):
        estimate([0, 1], [[1, 0], [0, 1]], intervals=True, level=95)


def test_labels_must_be_numbers() -> None:
    with pytest.raises(DataError, match="labels must be integers"):
        estimate(np.array(["a", "b"]), np.full((2, 2), 0.5))


def test_a_strict_choice_takes_a_full_matrix_only_where_labels_ask_for_it() -> None:
    rng = np.random.default_rng(0)
    true = rng.integers(0, 6, 4000)
    probs = np.full((4000, 6), 0.02)
    predicted = np.where(rng.random(4000) < 0.9, true, rng.integers(0, 6, 4000))
    probs[np.arange(4000), predicted] = 0.9
    flipped = rng.random(4000) < 0.2
    symmetric = np.where(flipped, (true + rng.integers(1, 6, 4000)) % 6, true)
    pair = np.where(flipped, (true + 1) % 6, true)
    logs = compute_log_probs(probs)
    assert fit_noise_model(symmetric, logs, min_gain=MIN_GAIN).form == EQUAL
    assert fit_noise_model(pair, logs, min_gain=MIN_GAIN).form == FULL


def test_the_bias_of_a_rare_class_is_bounded() -> None:
    """A class that the classifier never recognizes keeps a share."""
    given = np.repeat([0, 1, 2], [1000, 1000, 40])
    probs = np.tile([0.45, 0.45, 1e-5], (2040, 1))
    probs[np.arange(2000), given[:2000]] = 0.9
    model = fit_noise_model(given, compute_log_probs(probs))
    assert np.abs(model.bias).max() <= 3.0


def test_classes_taken_for_each_other_are_seen_with_fewer_labels_than_a_full_matrix_needs() -> None:
    rng = np.random.default_rng(0)
    true = np.arange(500) % 10
    given = np.where(rng.random(500) < 0.3, (true + 1) % 10, true)
    logits = 4.0 * np.eye(10)[np.where(rng.random(500) < 0.05, rng.integers(0, 10, 500), true)]
    found = fit_noise_model(given, np.log(softmax(logits + rng.normal(size=(500, 10)), axis=1)))
    assert found.form == CONFUSED
    rate = 1 - found.transition.diagonal().mean()
    assert abs(rate - (given != true).mean()) < 0.05
    assert (found.transition[np.arange(10), (np.arange(10) + 1) % 10] > 0.15).all()
    clean = fit_noise_model(true, np.log(softmax(logits + rng.normal(size=(500, 10)), axis=1)))
    assert clean.form == EQUAL  # mistakes of the classifier fall anywhere


def test_classes_taken_for_each_other_are_seen_where_a_full_matrix_alone_does_not_pay() -> None:
    """A thousand labels of ten classes, some of them rare, by a classifier that is often undecided."""
    shares = np.array([0.37, 0.16, 0.15, 0.1, 0.06, 0.04, 0.04, 0.04, 0.02, 0.02])
    for seed in range(3):
        rng = np.random.default_rng(seed)
        true = rng.choice(10, 1000, p=shares)
        given = np.where(rng.random(1000) < 0.2, (true + 1) % 10, true)
        logs = log_softmax(2 * (2 * np.eye(10)[true] + rng.normal(size=(1000, 10))) + np.log(shares), axis=1)
        noisy = fit_noise_model(given, logs, min_gain=MIN_GAIN)
        p_right = noisy.compute_posterior(given, logs)[np.arange(1000), given]
        assert noisy.form in CONFUSIONS
        assert abs((1 - p_right).mean() - (given != true).mean()) < 0.04
        clean = fit_noise_model(true, logs, min_gain=MIN_GAIN)
        assert clean.form == EQUAL
        assert clean.transition[0, 0] > 0.98


def test_a_classifier_that_knows_nothing_leaves_the_rate_to_be_assumed() -> None:
    rng = np.random.default_rng(0)
    given = rng.integers(0, 4, 2000)
    log_probs = model.compute_log_probs(rng.dirichlet(np.full(4, 2.0), 2000))

    def estimate_rate(logs: np.ndarray, assumed_rate: float) -> float:
        fitted = model.fit_noise_model(given, logs, assumed_rate=assumed_rate)
        again = model.fit_noise_model(given, logs, refit_from=fitted)
        rates = [1 - each.compute_posterior(given, logs)[np.arange(2000), given].mean() for each in (fitted, again)]
        assert abs(rates[0] - rates[1]) < 0.02
        return float(rates[0])

    assert estimate_rate(log_probs, 0.0) < 0.01
    assert abs(estimate_rate(log_probs, 0.1) - 0.1) < 0.02
    # One that knows tells the rate, whatever is assumed.
    true = np.where(rng.random(2000) < 0.2, (given + rng.integers(1, 4, 2000)) % 4, given)
    knowing = model.compute_log_probs(0.9 * np.eye(4)[true] + 0.1 * rng.dirichlet(np.ones(4), 2000))
    assert abs(estimate_rate(knowing, 0.0) - 0.2) < 0.02
    assert estimate_rate(knowing, 0.0) == estimate_rate(knowing, 0.1)


def test_the_interval_contains_the_rate(monkeypatch):
    bounds = ((0.5, 0.6), (np.eye(2), np.eye(2)))
    monkeypatch.setattr(estimation, "_bootstrap_rate_and_transition_bounds", lambda *_: bounds)
    probs = np.tile([[0.99, 0.01], [0.01, 0.99]], (50, 1))
    found = estimate(np.tile([0, 1], 50), probs, intervals=True)
    assert found.rate < 0.1
    assert found.rate_interval == (found.rate, 0.6)


def test_a_label_that_counts_twice_is_there_twice() -> None:
    given, p = sample(build_transition_matrix("pair", 0.2, 3), nodes=300)
    log_probs, counts = model.compute_log_probs(p), np.random.default_rng(1).integers(0, 3, 300)
    trusted = np.arange(300) < 30
    for form in (model.FULL, model.CONFUSED):
        start = model.Likelihood(given, log_probs, trusted).fit_most_likely_model(form)
        rows = np.repeat(np.arange(300), counts)
        repeated = model.fit_noise_model(given[rows], log_probs[rows], trusted[rows], refit_from=start)
        counted = model.fit_noise_model(given, log_probs, trusted, refit_from=start, counts=counts)
        assert np.abs(repeated.transition - counted.transition).max() < 1e-3
