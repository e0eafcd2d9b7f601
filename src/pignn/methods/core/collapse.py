"""Trainings that diverge or end with nearly all nodes in one class: noticed from given labels alone, and answered."""

from __future__ import annotations

import torch
from torch import Tensor

from .learner import NetworkLearner, Task

MAX_RESTARTS = 2
MIN_EPOCHS = 20  # after fewer, a network is not collapsed but unfinished
LR_FACTOR = 1 / 3  # of the learning rate, with every restart
SEED_STEP = 7_368_787  # between the random seeds of two attempts


def compute_max_believable_class_share(y: Tensor) -> float:
    """The share of all nodes above which a class is given too many to be believed without good reason.

    Labels are often drawn class by class, so that a class may well be larger than its share of them.
    """
    return min(max(0.5, 1.5 * float(torch.bincount(y).max()) / len(y) + 0.1), 1.0)


def are_predictions_collapsed(predicted: Tensor, task: Task) -> bool:
    """Whether one class gets far more nodes than any has given labels, and the training labels are not fitted either.

    The second condition spares graphs in which one class is frequent although as many nodes of each were labeled.
    """
    y = task.y[task.nodes]
    largest_given = float(torch.bincount(y).max()) / len(y)
    largest_predicted = float(torch.bincount(predicted).max()) / len(predicted)
    agreement = float((predicted[task.nodes] == y).float().mean())
    return largest_predicted > 1.5 * largest_given + 0.1 and agreement < largest_given + 0.25 * (1 - largest_given)


@torch.no_grad()
def has_classifier_collapsed(learner: NetworkLearner) -> bool:
    """Whether the classifier that a training kept has collapsed: one forward pass."""
    for network in learner.networks.values():
        network.eval()
    return are_predictions_collapsed(learner.compute_logits().argmax(dim=1), learner.task)


def derive_seed_of_attempt(seed: int, attempt: int) -> int:
    return (seed + SEED_STEP * attempt) % 2**63


def describe_restarts_or_empty(num_restarts: int, is_still_collapsed: bool) -> str:
    """What happened, in one line; empty where nothing did."""
    if not num_restarts:
        return ""
    times = "once" if num_restarts == 1 else "twice" if num_restarts == 2 else f"{num_restarts} times"
    what = "the training collapsed (nearly all nodes got one class, or a loss was not finite)"
    begin = f"{what} and was restarted {times} with a smaller lr"
    return f"{begin}; it still is: look at the features, or use another backbone" if is_still_collapsed else begin
