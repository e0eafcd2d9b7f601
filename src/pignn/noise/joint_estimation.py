"""How noisy labels are, estimated together with a linear classifier of features.

A classifier that learned from noisy labels has T mixed into its probabilities, and with few labels it can hardly be
taken out again. So the classifier learns *through* T, P(given = j | z) = Σ_k softmax(W·z + c)_k · T[k, j], T is fitted
to its held-out probabilities (`noise.model`), and so on in turn. Each form of T is followed by itself to the end: a
classifier that learned through one form speaks for it. The form whose held-out likelihood is highest, less its number
of parameters, is taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import softmax
from scipy.stats import beta, chi2

from .estimation import NoiseEstimate, estimate_noise_from_model
from .kinds import Floats, Ints
from .model import Likelihood, NoiseModel, compute_log_probs

Singles = NDArray[np.float32]
NUM_FOLDS = 5
NUM_ROUNDS = 4
START_RATES = (0.2, 0.5)
MAX_RESTART_LABELS = 3_000  # with more labels, one start is enough
MIN_LIKELIHOOD = 1e-6
# Between these p-values of a likelihood-ratio test, the labels cannot tell two forms of T apart.
UNDECIDED_P_VALUES = (1e-4, 0.5)


def estimate_noise_from_features(features: Singles, given: Ints, num_classes: int, *, seed: int = 0) -> NoiseEstimate:
    """Noise of given labels (none is -1) from the features of their nodes, [labels, dimensions], with an interval.

    The interval of the rate holds what a bootstrap and the number of labels leave open, and the rate of another form of
    T if the labels can hardly tell which form is right. With too few labels to hold some out, it is 0 to 1.
    """
    if len(given) < 2 * NUM_FOLDS or len(np.unique(given)) < 2:
        nothing = estimate_noise_from_model(
            given,
            np.zeros((len(given), num_classes)),
            NoiseModel(1.0, np.zeros(num_classes), np.eye(num_classes)),
            intervals=False,
        )
        return replace(nothing, rate=0.0, rate_interval=(0.0, 1.0))
    fold = _assign_stratified_folds(given, np.random.default_rng(seed))
    forms = Likelihood(given, np.zeros((len(given), num_classes)), None).num_free_parameters
    fitted = {form: _fit_best_noise_model_over_starts(features, given, num_classes, fold, form) for form in forms}
    best = max(fitted, key=lambda form: fitted[form][0].penalized_log_likelihood)
    model, log_probs = fitted[best]
    estimate = estimate_noise_from_model(given, log_probs, model, intervals=True, seed=seed)
    assert estimate.rate_interval is not None
    wrong = estimate.rate * len(given)
    # Even if it were seen which labels are wrong, so many would leave this much open (Jeffreys).
    by_number = beta.ppf([0.025, 0.975], wrong + 0.5, len(given) - wrong + 0.5)
    rates = [estimate.rate, *estimate.rate_interval, *map(float, by_number)]
    for form, (other, other_log_probs) in fitted.items():
        if form != best and _are_forms_undecided(model, other, forms[best], forms[form]):
            rates.append(estimate_noise_from_model(given, other_log_probs, other, intervals=False).rate)
    return replace(estimate, rate_interval=(min(rates), max(rates)))


def _are_forms_undecided(model: NoiseModel, other: NoiseModel, num_free: int, num_free_of_other: int) -> bool:
    """Whether labels can hardly tell two forms of T apart, by a likelihood-ratio test."""
    gain = model.penalized_log_likelihood + num_free - other.penalized_log_likelihood - num_free_of_other
    difference = num_free - num_free_of_other
    if difference == 0:
        return abs(gain) < 2.0
    p_value = float(chi2.sf(2 * gain * np.sign(difference), abs(difference)))
    return UNDECIDED_P_VALUES[0] < p_value < UNDECIDED_P_VALUES[1]


def _fit_best_noise_model_over_starts(
    features: Singles, given: Ints, num_classes: int, fold: Ints, form: str
) -> tuple[NoiseModel, Floats]:
    """The best model whose T has this form, over several starts, and the log probabilities that it was fitted to."""
    best: tuple[NoiseModel, Floats] | None = None
    for rate in START_RATES if len(given) <= MAX_RESTART_LABELS else START_RATES[:1]:
        transition = np.full((num_classes, num_classes), rate / (num_classes - 1))
        np.fill_diagonal(transition, 1 - rate)
        weights: list[Floats | None] = [None] * NUM_FOLDS
        for _ in range(NUM_ROUNDS):
            likelihood = np.maximum(transition.T[given], MIN_LIKELIHOOD).astype(np.float32)
            probs = np.empty((len(given), num_classes))
            for number, train, held_out in _iter_folds_with_train_and_held_out(fold):
                weights[number] = fit_flat_linear_weights(features[train], likelihood[train], weights[number])
                probs[held_out] = predict_linear_probs(features[held_out], weights[number], num_classes)
            log_probs = compute_log_probs(probs)
            model = Likelihood(given, log_probs, None).fit_most_likely_model(form)
            transition = model.transition
        if best is None or model.penalized_log_likelihood > best[0].penalized_log_likelihood:
            best = model, log_probs
    assert best is not None
    return best


def fit_flat_linear_weights(features: Singles, likelihood: Singles, start: Floats | None = None) -> Floats:
    """W and c of a logistic regression with penalty ½‖W‖², where [labels, classes] has P(given label | true = k)."""
    num_classes = likelihood.shape[1]
    size = features.shape[1] * num_classes

    def compute_loss(weights: Floats) -> tuple[float, Floats]:
        single = weights.astype(np.float32)
        probs = predict_linear_probs(features, single, num_classes)
        joint = probs * likelihood
        total = joint.sum(axis=1, keepdims=True)
        difference = probs - joint / total
        value = 0.5 * float((single[:size] ** 2).sum()) - float(np.log(total).sum(dtype=np.float64))
        slope = np.concatenate([(features.T @ difference).ravel() + single[:size], difference.sum(axis=0)])
        return value, slope.astype(np.float64)

    begin = np.zeros(size + num_classes) if start is None else start
    options = {"maxiter": 60 if start is None else 40}
    return minimize(compute_loss, begin, jac=True, method="L-BFGS-B", options=options).x


def predict_linear_probs(features: Singles, weights: Floats | Singles | None, num_classes: int) -> Singles:
    """Class probabilities by weights of :func:`fit_flat_linear_weights`."""
    assert weights is not None
    size = features.shape[1] * num_classes
    single = weights.astype(np.float32)
    return softmax(features @ single[:size].reshape(-1, num_classes) + single[size:], axis=-1)


def _assign_stratified_folds(given: Ints, rng: np.random.Generator) -> Ints:
    """The fold of every label: each class is dealt out in random order, each from where the one before ended."""
    order = rng.permutation(len(given))
    order = order[np.argsort(given[order], kind="stable")]
    fold = np.empty(len(given), dtype=np.int64)
    fold[order] = np.arange(len(given)) % NUM_FOLDS
    return fold


def _iter_folds_with_train_and_held_out(fold: Ints) -> Iterator[tuple[int, Ints, Ints]]:
    for number in range(NUM_FOLDS):
        yield number, np.flatnonzero(fold != number), np.flatnonzero(fold == number)
