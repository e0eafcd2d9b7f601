"""Noise that depends on more than the true class: on the features, or on where a node lies in the graph."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch_geometric.data import Data

from ..graphs.edges import simplify_edges
from .kinds import Floats, Ints, stream


def instance(data: Data, truth: Ints, at: Ints, rate: float, n: int, draws: Floats, seed: int) -> Ints:
    """Feature-dependent noise, see `corrupt`."""
    x = data.x.detach()[torch.from_numpy(at).to(data.x.device)].cpu().double().numpy()
    directions = stream("instance-directions", seed).standard_normal((x.shape[1], n + 1))
    projected = x @ directions
    projected -= projected.mean(axis=0)
    spread = projected.std(axis=0)
    projected /= np.where(spread > 1e-12, spread, 1.0)

    wrong = draws[0] < compute_flip_probs(projected[:, 0], rate)
    logits = projected[:, 1:]
    logits[np.arange(len(at)), truth] = -np.inf
    weight = np.exp(logits - logits.max(axis=1, keepdims=True)).cumsum(axis=1)
    other = (weight / weight[:, -1:] <= draws[1][:, None]).sum(axis=1)
    return np.where(wrong, other, truth)


def rule(data: Data, truth: Ints, at: Ints, rate: float, n: int, draws: Floats, seed: int) -> Ints:
    """Labels by keywords, see `corrupt`."""
    x = data.x.detach()[torch.from_numpy(at).to(data.x.device)].cpu().double().numpy()
    size = min(max(3, x.shape[1] // 20), x.shape[1])
    rng = stream("rule-keywords", seed)
    score = np.stack([x[:, rng.permutation(x.shape[1])[:size]].sum(axis=1) for _ in range(n)], axis=1)
    score -= score.mean(axis=0)
    spread = score.std(axis=0)
    score /= np.where(spread > 1e-12, spread, 1.0)
    score += 1e-9 * draws[1][:, None]  # features often tie
    found = score.argmax(axis=1)
    return _until(truth, found, np.argsort(-score.max(axis=1), kind="stable"), rate)


def cluster(data: Data, truth: Ints, at: Ints, rate: float, n: int, draws: Floats, seed: int) -> Ints:
    """Regions labelled by mistake, see `corrupt`."""
    rng = stream("cluster-centres", seed)
    region, regions = _regions(data, rng)
    region = region[at]
    counts = np.bincount(region * n + truth, minlength=regions * n).reshape(regions, n)
    label = (counts.argmax(axis=1) + rng.integers(1, n, regions)) % n
    order = np.argsort(rng.permutation(regions)[region] + draws[1], kind="stable")
    return _until(truth, label[region], order, rate)


def _regions(data: Data, rng: np.random.Generator) -> tuple[Ints, int]:
    """The region of every node, by steps from the centres outwards; where no centre reaches, a node is its own."""
    nodes = int(data.num_nodes or 0)
    if data.get("edge_index") is None:
        row = np.repeat(np.arange(nodes), np.diff(data.crow.cpu().numpy()))
        col = data.col.cpu().numpy()
    else:
        row, col = simplify_edges(data.edge_index.cpu(), nodes).edge_index.numpy()
    region = np.full(nodes, -1, dtype=np.int64)
    centres = rng.permutation(nodes)[: max(nodes // 20, 1)]
    region[centres] = np.arange(len(centres))
    while True:
        border = (region[row] >= 0) & (region[col] < 0)
        if not border.any():
            break
        region[col[border]] = region[row[border]]
    alone = np.flatnonzero(region < 0)
    region[alone] = len(centres) + np.arange(len(alone))
    return region, len(centres) + len(alone)


def _until(truth: Ints, label: Ints, order: Ints, rate: float) -> Ints:
    """Give nodes their `label` in this order until the share `rate` of all is wrong."""
    wrong = (label != truth)[order].cumsum()
    taken = order[: np.searchsorted(wrong, round(rate * len(truth)), side="right")]
    given = truth.copy()
    given[taken] = label[taken]
    return given


DEPENDENT = {"instance": instance, "rule": rule, "cluster": cluster}


def compute_flip_probs(scores: Floats, rate: float) -> Floats:
    """q_i = σ(a + scores_i) with a found by bisection so that the mean of q is `rate`."""
    if rate in (0.0, 1.0) or not len(scores):
        return np.full(len(scores), rate)
    # At the ends of the bracket every σ(a + s_i) is below, or above, the rate.
    centre = math.log(rate) - math.log1p(-rate)
    low, high = centre - float(scores.max()), centre - float(scores.min())
    for _ in range(100):
        a = (low + high) / 2
        if _sigmoid(a + scores).mean() < rate:
            low = a
        else:
            high = a
    return _sigmoid((low + high) / 2 + scores)


def _sigmoid(value: Floats) -> Floats:
    return 0.5 * (1.0 + np.tanh(0.5 * value))
