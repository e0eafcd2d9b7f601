"""What the graph says of nodes with votes, learned from the votes themselves.

Each view of a node (features smoothed over the graph, its own features, the votes of its neighbors) gives class
probabilities. A classifier learns through the annotators' confusions, P(votes | x) = Σ_k softmax(W·z)_k · P(votes | k),
so errors of annotators are not learned as classes. No node is judged by a model that saw its votes. How much each view
counts is what makes held-out votes most probable: P(k | x) ∝ exp(b_k) · Π_v q_v[k]^a_v.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import softmax

from ..backbones import GraphInputs
from ..graphs.votes import Votes
from ..noise.kinds import Floats, Ints
from ..noise.model import compute_log_probs
from .crossfit import CrossFitLogistic, Singles, assign_stratified_or_source_folds
from .evidence import embed_nodes
from .votes import compute_vote_log_likelihood

ALPHAS = (0.1, 0.4, 1.0)  # restart probabilities of the views: far around, near, the node alone
WEIGHT_PENALTY, BIAS_PENALTY = 1.0, 1.0


@dataclass(eq=False)
class VoteEvidence:
    """Classifiers of the nodes in several views, each with one model per fold of the nodes with votes."""

    inputs: GraphInputs
    votes: Votes
    known: Ints
    num_folds: int
    seed: int
    voted: Ints = field(init=False)  # nodes with votes or a known class
    fold: Ints = field(init=False)  # of these
    views: list[tuple[Singles, CrossFitLogistic]] = field(init=False)
    weights: Floats = field(init=False)  # of the views

    def __post_init__(self) -> None:
        votes = self.votes
        self.voted = np.flatnonzero((votes.count_per_node() > 0) | (self.known >= 0))
        plurality = np.where(self.known >= 0, self.known, votes.choose_plurality_classes())[self.voted]
        self.fold = assign_stratified_or_source_folds(plurality, self.num_folds, self.seed)
        everybody, nobody = np.arange(votes.num_nodes), np.zeros(len(self.voted), dtype=bool)
        self.views = []
        for alpha in ALPHAS:
            features = embed_nodes(self.inputs, everybody, alpha, votes.num_classes, self.seed)
            model = CrossFitLogistic(features[self.voted], plurality, self.fold, votes.num_classes, nobody)
            self.views.append((features, model))

    def reset_classifier_weights(self) -> None:
        """Let the classifiers start anew."""
        for _, model in self.views:
            model.weights = [None] * len(model.weights)

    def fit_predict_log_probs(self, confusions: Floats) -> Floats:
        """[nodes, classes]: log P(true = k | x) of all nodes, by models that learned through these confusions."""
        votes = self.votes
        logs = compute_vote_log_likelihood(votes, confusions)
        likelihood = softmax(logs, axis=-1)
        known = self.known >= 0
        likelihood[known] = np.eye(votes.num_classes)[self.known[known]]
        of_views = [self._fit_predict_view_log_probs(*view, likelihood[self.voted]) for view in self.views]
        of_views.append(self._compute_log_class_shares_of_neighbors(likelihood))
        stacked = np.stack(of_views)  # [views, nodes, classes]
        self.weights, bias = fit_view_weights_and_bias(stacked[:, self.voted], likelihood[self.voted])
        return compute_log_probs(softmax(np.tensordot(self.weights, stacked, 1) + bias, axis=-1))

    def _fit_predict_view_log_probs(self, features: Singles, model: CrossFitLogistic, likelihood: Floats) -> Floats:
        """Log probabilities of all nodes: of those without votes, the mean over the models."""
        held_out = model.fit_predict_proba_through_likelihood(likelihood)
        probs = model.predict_mean_proba_of_fold_models(features)
        probs[self.voted] = held_out
        return compute_log_probs(probs)

    def _compute_log_class_shares_of_neighbors(self, likelihood: Floats) -> Floats:
        """What the votes of the neighbors say, with one vote of the class frequencies."""
        crow, col = self.inputs.adj.crow.numpy(), self.inputs.adj.col.numpy()
        is_voted = np.zeros(self.votes.num_nodes, dtype=bool)
        is_voted[self.voted] = True
        adj = sp.csr_array((np.ones(len(col)), col, crow), shape=(self.votes.num_nodes,) * 2)
        sure = likelihood * is_voted[:, None]
        total = sure.sum(axis=0)
        counts = adj @ sure + total / total.sum()
        return np.log(counts / counts.sum(axis=1, keepdims=True))


def fit_view_weights_and_bias(log_probs: Floats, likelihood: Floats) -> tuple[Floats, Floats]:
    """Weights a_v ≥ 0 of the views and a bias per class, by penalized maximum likelihood of the votes."""
    num_views, _, n = log_probs.shape

    def compute_loss(parameters: Floats) -> tuple[float, Floats]:
        a, b = parameters[:num_views], parameters[num_views:]
        prior = softmax(np.tensordot(a, log_probs, 1) + b, axis=-1)
        joint = prior * likelihood
        total = np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
        difference = prior - joint / total
        value = -np.log(total).sum() + 0.5 * WEIGHT_PENALTY * (a**2).sum() + 0.5 * BIAS_PENALTY * (b**2).sum()
        of_views = np.tensordot(log_probs, difference, ([1, 2], [0, 1])) + WEIGHT_PENALTY * a
        return float(value), np.concatenate([of_views, difference.sum(axis=0) + BIAS_PENALTY * b])

    start = np.concatenate([np.full(num_views, 1 / num_views), np.zeros(n)])
    bounds = [(0.0, 10.0)] * num_views + [(-20.0, 20.0)] * n
    result = minimize(compute_loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 100})
    return result.x[:num_views], result.x[num_views:]
