"""A model of given labels: what the truth probably is, and how it becomes the label that was given.

    P(given = j | x) = Σ_k P(true = k | x) · T[k, j],    P(true = k | x) ∝ q_k(x)^a · exp(b_k),

where q are the class probabilities of a classifier that has not seen the label. Without further assumptions T cannot
be told from classes that overlap: T = I with blurred probabilities and T ≠ I with sharp ones give the same labels. What
separates them is how disagreement depends on confidence. A classifier's own mistakes become rare where it is
confident, but wrong labels do not. The inverse temperature a, the bias b and T are therefore fitted together by maximum
likelihood. T gets a weak prior that favors its diagonal: what the data leave open is put down to the classifier. The
prior is stronger for a classifier that agrees with the given labels hardly more than by chance, because its mistakes
and theirs look alike. Such a classifier cannot tell how many labels are wrong: the rate is then what the caller
assumes, nothing unless he says otherwise.

A full T has n(n − 1) free parameters and absorbs part of the classifier's own confusions. It is tried where there are
ten labels for each of them, and used where it raises the log-likelihood by more than its number of parameters
(Akaike's criterion). A strict choice counts only labels of nodes that the classifier gives one class more than half,
and asks for half the logarithm of the number of labels per parameter (Schwarz's criterion): where the classifier is
undecided, a full T explains its indecision and not the labels. A full T of many classes hardly pays for that with fewer
than some thousand labels. Wrong labels may then be spread as classifier and labels disagree, with one rate: that is
enough to see by Akaike's criterion, for three parameters per class, that classes are taken for each other. Where they
are, the better of both forms by that criterion is used. Without this, wrong labels that pass for mistakes of the
classifier would all be put down to it. Otherwise all wrong labels are equally likely, which takes one parameter. If
some class has hardly any label (it may be misspelled), the lack of wrong labels there would speak against all noise.
Then wrong labels may also be as frequent as the given ones of their class, or as the root of that. A class without any
label gets no wrong ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import softmax

from .kinds import Floats, Ints

Bools = NDArray[np.bool_]
MIN_PROB = 1e-6  # a classifier that says 0 means "hardly"
RARE_CLASS_SHARE = 0.1  # of the mean number of labels per class: with a tenth of all labels wrong and all wrong
# labels equally likely, no class has fewer
MAX_BIAS = 3.0  # the true share of a class is at most 20 times, and at least a twentieth of, what a classifier says
MIN_LABELS_PER_PARAMETER = 10  # of a full T; with fewer labels it is not tried
CONFUSION_PSEUDO_COUNT = 0.2  # labels per entry, added to what a classifier and few given labels disagree about
PARAMETERS_PER_CONFUSED_CLASS = 3  # which classes it is confused with is read off the labels: one or two, and a rate
MIN_GAIN = 0.02  # in log-likelihood per label, by confused classes; pair noise of 0.1 gains 0.06 or more
SURE_LIFT = 0.3  # agreement of a classifier with given labels beyond chance (Cohen's kappa, nearly) that is enough
# Forms of T: every entry free; all wrong labels alike; as frequent as the given labels of their class; between these;
# as the classifier and the given labels disagree, times one rate.
FULL, EQUAL, BY_CLASS, BY_ROOT, CONFUSED = "full", "equal", "by class", "by root of class", "confused"
CONFUSIONS = (FULL, CONFUSED)  # some classes are taken for each other more than for the rest


@dataclass(frozen=True, eq=False)
class NoiseModel:
    """The inverse temperature a, the bias b and T, and how well they explain the given labels."""

    inverse_temperature: float
    bias: Floats  # [classes]
    transition: Floats  # [classes, classes]
    penalized_log_likelihood: float = 0.0  # log-likelihood less the number of free parameters of T
    form: str = EQUAL  # of T
    assumed_rate: float = 0.0  # of wrong labels, as far as the classifier cannot tell

    def predict_true_probs(self, log_probs: Floats) -> Floats:
        """P(true = k | x), [nodes, classes], from the logarithms of class probabilities."""
        return softmax(self.inverse_temperature * log_probs + self.bias, axis=-1)

    def compute_posterior(self, given: Ints, log_probs: Floats) -> Floats:
        """P(true = k | x, given), or P(true = k | x) for nodes without a label (-1)."""
        probs = self.predict_true_probs(log_probs)
        known = given >= 0
        probs[known] = normalize_rows(probs[known] * self.transition.T[given[known]])
        return probs


def fit_noise_model(
    given: Ints,
    log_probs: Floats,
    trusted: Bools | None = None,
    given_before_review: Ints | None = None,
    *,
    refit_from: NoiseModel | None = None,
    counts: Ints | None = None,
    min_gain: float | None = None,
    allow_confusions: bool = True,
    assumed_rate: float = 0.0,
) -> NoiseModel:
    """The noise model of given labels, none of which is -1. Where `trusted`, the given label is the true one.

    `given_before_review` is the label that a trusted node had before somebody verified it, -1 where that is not known.
    It shows how truth becomes a given label. Reviewing top suspects first does no harm: given x and the label before,
    who is looked at does not depend on the truth.

    With `refit_from`, only its form of T is fitted, in few steps, and `counts` says how often each label is there: for
    the bootstrap. `min_gain` asks for so much log-likelihood per label, and more, before classes count as confused.
    Without `allow_confusions` they never do. `assumed_rate` is the share of wrong labels that is assumed of a
    classifier without any knowledge.
    """
    num_classes = log_probs.shape[1]
    if not len(given) or num_classes < 2:
        return NoiseModel(1.0, np.zeros(num_classes), np.eye(num_classes))
    assumed_rate = assumed_rate if refit_from is None else refit_from.assumed_rate
    likelihood = Likelihood(given, log_probs, trusted, given_before_review, assumed_rate, counts)
    if refit_from is not None:
        return likelihood.fit_most_likely_model(refit_from.form, refit_from)
    forms = [form for form in likelihood.num_free_parameters if allow_confusions or form not in CONFUSIONS]
    models = {form: likelihood.fit_most_likely_model(form) for form in forms}
    if min_gain is None:
        return _choose_best(models.values())
    even = _choose_best(model for form, model in models.items() if form not in CONFUSIONS)
    confused = [models[form] for form in CONFUSIONS if form in models]
    clear = [model for model in confused if likelihood.is_gain_clear(model, even, min_gain)]
    if not clear:
        return even
    return clear[0] if clear[0].form == FULL else _choose_best(confused)


def _choose_best(models: Iterable[NoiseModel]) -> NoiseModel:
    return max(models, key=lambda model: model.penalized_log_likelihood)


class Likelihood:
    """Minus the logarithm of likelihood and priors, with its gradient, over (a, b, parameters of T)."""

    def __init__(
        self,
        given: Ints,
        log_probs: Floats,
        trusted: Bools | None,
        given_before_review: Ints | None = None,
        assumed_rate: float = 0.0,
        counts: Ints | None = None,
    ) -> None:
        self.log_probs = log_probs
        # Classes are rows: sums over the few classes then run along all nodes at once.
        self.log_prob_rows = np.ascontiguousarray(log_probs.T)
        self.counts = np.ones(len(given)) if counts is None else counts.astype(np.float64)
        self.assumed_rate = assumed_rate
        self.num_classes = log_probs.shape[1]
        self.truth: Floats | None = None  # [classes, nodes], what is known of the truth
        self.ignores_noise: Bools | None = None  # [nodes], where T plays no part
        if trusted is not None and trusted.any():
            has_before = (
                np.zeros(len(given), dtype=bool)
                if given_before_review is None
                else trusted & (given_before_review >= 0)
            )
            self.truth = np.where(trusted, np.eye(self.num_classes)[:, given] + 1e-12, 1.0)
            self.ignores_noise = trusted & ~has_before
            given = given if given_before_review is None else np.where(has_before, given_before_review, given)
        self.given = given
        self.counted_one_hot = np.eye(self.num_classes)[given] * self.counts[:, None]
        # A tenth of a label off the diagonal keeps T inside; one label and a hundredth of the class on it.
        self.pseudo_counts = np.full((self.num_classes, self.num_classes), 0.1 / self.num_classes)
        class_sizes = np.bincount(given, weights=self.counts, minlength=self.num_classes)
        num_labels = self.counts.sum()
        doubt = 1 - compute_agreement_above_chance(given, log_probs, self.counts)
        self.pseudo_counts += np.diag(1.0 + (0.01 + doubt * (1 - assumed_rate)) * class_sizes)
        wrong_class_shares = _normalize_rows_off_diagonal(np.ones(self.num_classes))
        self.pseudo_counts += doubt * assumed_rate * class_sizes[:, None] * wrong_class_shares
        num_present = int((class_sizes > 0).sum())
        confusions = self._count_given_labels_by_predicted_class()
        self.wrong_label_shares = {
            EQUAL: _normalize_rows_off_diagonal(np.where(class_sizes > 0, 1.0, MIN_PROB)),
            BY_CLASS: _normalize_rows_off_diagonal(np.maximum(class_sizes / num_labels, MIN_PROB)),
            BY_ROOT: _normalize_rows_off_diagonal(np.maximum(np.sqrt(class_sizes / num_labels), MIN_PROB)),
            CONFUSED: _normalize_rows_off_diagonal(
                confusions + np.where(class_sizes > 0, CONFUSION_PSEUDO_COUNT, MIN_PROB)
            ),
        }
        self.num_free_parameters = {EQUAL: 1}  # of each form that is tried
        num_of_full, num_of_confused = num_present * (num_present - 1), PARAMETERS_PER_CONFUSED_CLASS * num_present
        is_full_tried = num_of_full * MIN_LABELS_PER_PARAMETER <= num_labels
        if is_full_tried:
            self.num_free_parameters[FULL] = num_of_full
        if not is_full_tried or num_of_confused < num_of_full:
            self.num_free_parameters[CONFUSED] = num_of_confused
        if class_sizes[class_sizes > 0].min() < RARE_CLASS_SHARE * num_labels / num_present:
            self.num_free_parameters |= {BY_ROOT: 1, BY_CLASS: 1}

    def _count_given_labels_by_predicted_class(self) -> Floats:
        """How many labels of each given class are on nodes that the classifier puts into each class."""
        predicted = np.eye(self.num_classes)[self.log_probs.argmax(axis=1)]
        return predicted.T @ self.counted_one_hot

    def fit_most_likely_model(self, form: str, start: NoiseModel | None = None) -> NoiseModel:
        """The most likely model whose T has this form."""
        n = self.num_classes
        matrix = np.full((n, n), 0.1 / (n - 1)) if start is None else start.transition.copy()
        if start is None:
            np.fill_diagonal(matrix, 0.9)
        of_matrix = np.log(matrix).ravel() if form == FULL else [np.log((1 - matrix[0, 0]) / matrix[0, 0])]
        a, b = (1.5, np.zeros(n)) if start is None else (start.inverse_temperature, start.bias)
        parameters = minimize(
            self.compute_loss_and_gradient,
            np.concatenate([[a], b, of_matrix]),
            args=(form,),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.05, 20.0), *[(-MAX_BIAS, MAX_BIAS)] * n, *[(None, None)] * len(of_matrix)],
            options={"maxiter": 100 if start is None else 30},
        ).x
        a, b, matrix = self._unpack_parameters(parameters, form)
        matrix = normalize_rows(matrix)
        model = NoiseModel(float(a), b, matrix, form=form, assumed_rate=self.assumed_rate)
        log_likelihood = float(self.counts @ self.compute_log_likelihoods(model))
        return replace(model, penalized_log_likelihood=log_likelihood - self.num_free_parameters.get(form, 0))

    def compute_log_likelihoods(self, model: NoiseModel) -> Floats:
        """log P(given label | x) of every node."""
        prior = softmax(model.inverse_temperature * self.log_prob_rows + model.bias[:, None], axis=0)
        return np.log(np.maximum((prior * self._compute_label_likelihood(model.transition)).sum(axis=0), 1e-300))

    def is_gain_clear(self, model: NoiseModel, even_model: NoiseModel, min_gain: float) -> bool:
        """Whether labels of nodes that the classifier is decided about gain enough by a model of confused classes.

        It must be what Schwarz's criterion asks for a full T, and `min_gain` each: with very many labels the criterion
        alone would have T mend a classifier that is slightly too sure of some class.
        """
        if model.penalized_log_likelihood <= even_model.penalized_log_likelihood:
            return False
        is_decided = softmax(self.log_probs, axis=-1).max(axis=1) > 0.5
        gain = (self.compute_log_likelihoods(model) - self.compute_log_likelihoods(even_model))[is_decided].sum()
        price = 0.5 * np.log(len(self.given)) if model.form == FULL else 1.0
        return bool(gain > max(price * self.num_free_parameters[model.form], min_gain * is_decided.sum()))

    def compute_loss_and_gradient(self, parameters: Floats, form: str) -> tuple[float, Floats]:
        """The loss and its gradient."""
        a, b, matrix = self._unpack_parameters(parameters, form)
        prior = softmax(a * self.log_prob_rows + b[:, None], axis=0)
        posterior = prior * self._compute_label_likelihood(matrix)
        total = np.maximum(posterior.sum(axis=0), 1e-300)
        posterior /= total
        noisy = posterior if self.ignores_noise is None else posterior * ~self.ignores_noise
        counts = noisy @ self.counted_one_hot + self.pseudo_counts
        log_prior = (self.pseudo_counts * np.log(matrix)).sum()
        value = -(self.counts @ np.log(total)) - log_prior + 0.5 * (b**2).sum() + (a - 1) ** 2
        if form == FULL:
            slope = -(counts - matrix * counts.sum(axis=1, keepdims=True)).ravel()
        else:
            slope = np.array([np.trace(counts) - matrix[0, 0] * counts.sum()])
        difference = (posterior - prior) * self.counts
        of_a = -np.vdot(difference, self.log_prob_rows) + 2 * (a - 1)
        gradient = [[of_a], b - difference.sum(axis=1), slope]
        return float(value), np.concatenate(gradient)

    def _unpack_parameters(self, parameters: Floats, form: str) -> tuple[float, Floats, Floats]:
        """a, b and T."""
        n = self.num_classes
        a, b, of_matrix = parameters[0], parameters[1 : 1 + n], parameters[1 + n :]
        if form == FULL:
            # A step of the search may go far. T stays above what a logarithm can bear.
            return a, b, softmax(np.clip(of_matrix, -500, 500).reshape(n, n), axis=-1) + 1e-12
        rate = 1 / (1 + np.exp(-np.clip(of_matrix[0], -30, 30)))
        return a, b, (1 - rate) * np.eye(n) + rate * self.wrong_label_shares[form]

    def _compute_label_likelihood(self, matrix: Floats) -> Floats:
        """P(given label of a node | true = k), [classes, nodes]."""
        likelihood = matrix.take(self.given, axis=1)
        if self.truth is None or self.ignores_noise is None:
            return likelihood
        return np.where(self.ignores_noise, 1.0, likelihood) * self.truth


def compute_agreement_above_chance(given: Ints, log_probs: Floats, counts: Floats | None = None) -> float:
    """How far a classifier is fit to judge given labels: 0 if it agrees with them by chance, 1 from SURE_LIFT on."""
    counts = np.ones(len(given)) if counts is None else counts
    shares = np.bincount(given, weights=counts, minlength=log_probs.shape[1]) / counts.sum()
    chance = float((shares**2).sum())
    agreement = float(counts @ (log_probs.argmax(axis=1) == given) / counts.sum())
    return min(max((agreement - chance) / max(1 - chance, 1e-12) / SURE_LIFT, 0.0), 1.0)


def compute_log_probs(probs: Floats) -> Floats:
    """Logarithms of class probabilities, bounded from below."""
    return np.log(np.maximum(normalize_rows(probs), MIN_PROB))


def normalize_rows(rows: Floats) -> Floats:
    """Rows that sum to 1; a row of zeros becomes uniform."""
    total = rows.sum(axis=1, keepdims=True)
    return np.where(total > 0, rows / np.where(total > 0, total, 1.0), 1.0 / rows.shape[1])


def _normalize_rows_off_diagonal(class_weights: Floats) -> Floats:
    """How wrong labels are spread over the other classes: rows sum to 1, the diagonal is 0."""
    return normalize_rows(class_weights * (1 - np.eye(len(class_weights))))
