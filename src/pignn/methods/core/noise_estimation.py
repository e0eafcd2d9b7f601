"""An estimate of the label noise before a network is trained."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ... import propagation
from ...core.errors import warn_user
from ...noise import NoiseEstimate
from ...noise.joint_estimation import estimate_noise_from_features
from .learner import Task

MAX_LABELS, MAX_LABELS_TIMES_CLASSES = 10_000, 100_000  # of more labels, some are drawn at random
MIN_LABELS = 2_000
DIMENSIONS = 128
WIDE_INTERVAL = 0.2  # of the rate, above which the labels cannot tell it


class StatedNoise(NamedTuple):
    """A noise estimate, and what it says in one line."""

    estimate: NoiseEstimate
    explanation: str


def estimate_noise_with_explanation(task: Task, seed: int) -> StatedNoise:
    """Noise of all given labels, those of validation nodes too, together with a linear model of propagated features.

    It takes a second or two (:func:`pignn.noise.joint_estimation.estimate_noise_from_features`). Trusted labels are
    left out: they are right. A warning says where the labels cannot tell how many of them are wrong.
    """
    labels = task.given_labels
    doubtful = (~labels.trusted).nonzero().view(-1).numpy()
    limit = max(MIN_LABELS, min(MAX_LABELS, MAX_LABELS_TIMES_CLASSES // max(task.num_classes, 1)))
    if len(doubtful) > limit:
        doubtful = np.sort(np.random.default_rng(seed).choice(doubtful, limit, replace=False))
    nodes = labels.nodes[doubtful]
    inputs = task.inputs.copy_with_scaling(None)  # the embedding scales by itself
    x = propagation.Embedding(DIMENSIONS, seed=seed).fit_transform(inputs)[nodes.to(inputs.device)]
    estimate = estimate_noise_from_features(x.cpu().numpy(), labels.y[doubtful].numpy(), task.num_classes, seed=seed)
    low, high = estimate.rate_interval or (estimate.rate, estimate.rate)
    text = f"estimated {estimate.rate:.0%} of {len(doubtful):,} labels wrong (between {low:.0%} and {high:.0%})"
    if high - low > WIDE_INTERVAL:
        message = f"{text}: the labels cannot tell; set what you know of the noise yourself, or use more labels"
        warn_user(message)
    return StatedNoise(estimate, text)
