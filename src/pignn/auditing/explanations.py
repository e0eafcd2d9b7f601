"""The noise of judged labels: what the views say becomes a probability that each label is wrong."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from ..noise import NoiseEstimate
from ..noise.estimation import estimate_noise_from_model
from ..noise.model import CONFUSIONS, NoiseModel, fit_noise_model, normalize_rows
from .columns import Findings
from .diagnostics import has_excess_flags
from .evidence import Evidence
from .judging import ASSUMED_NOISE, Judgment, raise_transition_to_rate

# In log-likelihood per label, before classes count as confused: a classifier's own mistakes between many classes gain
# nearly as much, pair noise of 0.1 gains 0.06 or more.
MIN_CONFUSION_GAIN = 0.05


def fit_noise_and_build_findings(evidence: Evidence, judgment: Judgment, intervals: bool) -> Findings:
    """Fit the noise model to the judged labels; trusted ones are right, whatever they were before."""
    sample, before = evidence.noise_sample_positions, evidence.given_before_review
    given, log_probs, trusted = evidence.given[sample], judgment.log_probs[sample], evidence.trusted[sample]
    sample_before = None if before is None else before[sample]
    fit = partial(fit_noise_model, given, log_probs, trusted, sample_before, assumed_rate=ASSUMED_NOISE)
    model = fit(min_gain=MIN_CONFUSION_GAIN)
    p_wrong = 1 - model.compute_posterior(given, log_probs)[np.arange(len(given)), given]
    rate_by_votes = judgment.rate_dawid_skene or 0.0
    if model.form in CONFUSIONS and has_excess_flags(float(p_wrong.mean()), rate_by_votes):
        # Errors follow more than the class, which such a matrix would mistake for confusions of classes.
        model = fit(allow_confusions=False)
    noise = estimate_noise_from_model(
        evidence.given,
        judgment.log_probs,
        model,
        intervals=intervals,
        seed=evidence.seed,
        trusted=evidence.trusted,
        given_before_review=before,
    )
    rate_by_class_alone = noise.rate
    noise = _average_noise_with_raised_transition(evidence, judgment, noise, model)
    noise = _shrink_p_wrong_to_mean_by_reliability(evidence, noise)
    return Findings(evidence, judgment, noise, model.predict_true_probs(judgment.log_probs), rate_by_class_alone)


def _average_noise_with_raised_transition(
    evidence: Evidence, judgment: Judgment, noise: NoiseEstimate, model: NoiseModel
) -> NoiseEstimate:
    """The noise as the mean of two explanations that given labels cannot decide between.

    Fitted to what the views say, T counts errors that depend on the class alone. The three votes also count those that
    follow features or a region, and with them some nodes that are only hard to classify: T raised to their rate.
    """
    weight = judgment.confidence / 2
    if judgment.rate_dawid_skene is None or not weight:
        return noise
    rows, given, trusted = np.arange(len(evidence.given)), evidence.given, evidence.trusted
    raised = raise_transition_to_rate(model.transition, evidence, judgment.rate_dawid_skene * judgment.confidence)
    posterior = replace(model, transition=raised).compute_posterior(given, judgment.log_probs)
    posterior[trusted] = np.eye(evidence.num_classes)[given[trusted]]
    posterior = (1 - weight) * noise.posterior + weight * posterior
    rate = float(1 - posterior[rows, given].mean())
    interval = noise.rate_interval
    return replace(
        noise,
        posterior=posterior,
        rate=rate,
        transition=(1 - weight) * noise.transition + weight * raised,
        prior=posterior.mean(axis=0),
        rate_interval=None if interval is None else (min(interval[0], rate), max(interval[1], rate)),
    )


def _shrink_p_wrong_to_mean_by_reliability(evidence: Evidence, noise: NoiseEstimate) -> NoiseEstimate:
    """The noise, where labels of a class that can hardly be judged are wrong as often as others.

    A class of few labels is learned badly. That nothing resembles it says little about its labels.
    """
    rows, given = np.arange(len(evidence.given)), evidence.given
    reliability = np.where(evidence.trusted, 1.0, evidence.class_reliability[given])
    p_wrong = 1 - noise.posterior[rows, given]
    rate = float(p_wrong @ reliability / max(reliability.sum(), 1e-12))
    tempered = reliability * p_wrong + (1 - reliability) * rate
    others = noise.posterior.copy()
    others[rows, given] = 0.0
    posterior = normalize_rows(others) * tempered[:, None]
    posterior[rows, given] = 1 - tempered
    return replace(noise, posterior=posterior, rate=float(tempered.mean()), prior=posterior.mean(axis=0))
