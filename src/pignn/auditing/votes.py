"""Several annotators' labels of one node, by the model of Dawid and Skene (1979) with the graph as one more witness.

    P(true = k, votes of node i) = P(k | x_i) · Π_a A_a[k, vote of a]^w,

where A_a[k, j] is how often annotator a says j where k is true, and w is the confidence of the vote (1 where none is
stated). P(k | x) comes from outside, or is the frequency of class k. Expectation–maximization finds A and the
posterior.

An annotator with few votes says little about a matrix. So its rows are pulled towards errors that are spread as
everybody's, at a rate of its own, which is pulled towards everybody's rate. Few votes in all say little about how
errors are spread. Then all wrong classes may be equally likely (EQUAL, one parameter per annotator), if a free matrix
(FULL) does not explain the votes better by more than its parameters cost (Bayesian information criterion).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp, softmax

from ..graphs.votes import Votes, sum_weights_by_cell
from ..noise.kinds import Floats, Ints
from ..noise.model import normalize_rows

EQUAL, FULL = "equal", "full"  # forms of A
MIN_VOTES_PER_PARAMETER = 100  # with more votes, A is full
MAX_ROUNDS = 200
TOLERANCE = 1e-4
POOL_PRIOR_VOTES = 50.0  # votes that the first round's rate counts as, in everybody's
RATE_PRIOR_VOTES = 20.0  # votes that everybody's error rate counts as, in an annotator's
MIN_SHARE = 1e-9
ROW_PRIOR_VOTES = 10.0  # votes that errors spread as everybody's count as, in a row of an annotator's matrix
SPREAD_PRIOR_VOTES = 1.0  # votes per class that equal wrong classes count as, in how everybody's errors are spread
START_RATE = 0.2  # error rate that the first round assumes: better than chance, so that classes keep their names


@dataclass(frozen=True, eq=False)
class VoteModel:
    """The estimate: A of every annotator, and what the votes say of every node."""

    confusions: Floats  # [annotators, classes, classes], rows sum to 1
    posterior: Floats  # [nodes, classes], P(true = k | votes, x)
    prior: Floats  # [classes] frequencies of the true classes among nodes with votes


def list_confusion_forms_to_compare(votes: Votes) -> list[str]:
    """The forms of A that are worth trying."""
    return [FULL] if len(votes) >= MIN_VOTES_PER_PARAMETER * count_confusion_parameters(votes, FULL) else [EQUAL, FULL]


def count_confusion_parameters(votes: Votes, form: str) -> int:
    """Free parameters of the confusions of all annotators that have votes."""
    num_annotators = int((votes.count_per_annotator() > 0).sum())
    return num_annotators * (votes.num_classes * (votes.num_classes - 1) if form == FULL else 1)


def fit_vote_model_by_em(
    votes: Votes,
    class_log_probs: Floats | None = None,
    known: Ints | None = None,
    initial_confusions: Floats | None = None,
    form: str = FULL,
) -> VoteModel:
    """Annotators' confusions and the probable truth, by expectation–maximization.

    Args:
        votes: of all annotators.
        class_log_probs: [nodes, classes], log P(true = k | x) from a model that has not seen the votes of the node.
            Without it the frequencies of the classes, which are estimated too.
        known: [nodes], true classes that somebody verified, -1 elsewhere.
        initial_confusions: confusions to start from. By default every annotator is right in four of five votes.
        form: of the confusions.
    """
    has_votes = votes.count_per_node() > 0
    confusions = _make_initial_confusions(votes) if initial_confusions is None else initial_confusions
    prior = np.full(votes.num_classes, 1 / votes.num_classes)
    posterior = np.zeros((votes.num_nodes, votes.num_classes))
    for _ in range(MAX_ROUNDS):
        before = posterior
        logs = np.log(prior)[None] if class_log_probs is None else class_log_probs
        posterior = make_posterior_certain_where_known(
            softmax(logs + compute_vote_log_likelihood(votes, confusions), axis=-1), known
        )
        prior = normalize_rows(posterior[has_votes].sum(axis=0)[None] + 1.0)[0]
        confusions = fit_confusions(votes, posterior, form)
        if np.abs(posterior - before).max() < TOLERANCE:
            break
    return VoteModel(confusions, posterior, prior)


def compute_vote_log_likelihood(votes: Votes, confusions: Floats) -> Floats:
    """[nodes, classes]: log P(votes of the node | true = k)."""
    logs = np.log(confusions)
    total = np.empty((votes.num_nodes, votes.num_classes))
    for k in range(votes.num_classes):
        each = votes.confidence * logs[votes.annotator, k, votes.label]
        total[:, k] = np.bincount(votes.node, weights=each, minlength=votes.num_nodes)
    return total


def fit_confusions(votes: Votes, posterior: Floats, form: str = FULL) -> Floats:
    """A of every annotator from the probable truth, with the priors of this module."""
    n = votes.num_classes
    counts = count_confusions(votes, posterior)
    pooled = counts.sum(axis=0) if form == FULL else np.zeros((n, n))
    off_diagonal = 1 - np.eye(n)
    spread = normalize_rows((pooled + SPREAD_PRIOR_VOTES / max(n - 1, 1)) * off_diagonal) if n > 1 else off_diagonal
    wrong, total = (counts * off_diagonal).sum(axis=(1, 2)), counts.sum(axis=(1, 2))
    everybody = (wrong.sum() + POOL_PRIOR_VOTES * START_RATE) / (total.sum() + POOL_PRIOR_VOTES)
    rate = (wrong + RATE_PRIOR_VOTES * everybody) / (total + RATE_PRIOR_VOTES)
    expected = (1 - rate)[:, None, None] * np.eye(n) + rate[:, None, None] * spread
    if form == EQUAL:
        return np.maximum(expected, MIN_SHARE)
    raw = counts + ROW_PRIOR_VOTES * expected
    return raw / raw.sum(axis=2, keepdims=True)


def count_confusions(votes: Votes, posterior: Floats) -> Floats:
    """[annotators, classes, classes]: how often each annotator said j where k is probably true."""
    n = votes.num_classes
    counts = np.empty((votes.num_annotators, n, n))
    for k in range(n):
        each = votes.confidence * posterior[votes.node, k]
        counts[:, k] = sum_weights_by_cell(votes.annotator * n + votes.label, each, (votes.num_annotators, n))
    return counts


def compute_annotator_error_rates(votes: Votes, posterior: Floats) -> Floats:
    """Expected share of wrong votes of each annotator; NaN without votes."""
    p_wrong = 1 - posterior[votes.node, votes.label]
    counts = votes.count_per_annotator()
    total = np.bincount(votes.annotator, weights=p_wrong, minlength=votes.num_annotators)
    return np.where(counts > 0, total / np.maximum(counts, 1), np.nan)


def compute_krippendorff_alpha_or_none(votes: Votes) -> float | None:
    """Agreement beyond chance over all pairs of votes on one node, 1 at best, 0 by chance; None without such pairs."""
    per_class = sum_weights_by_cell(
        votes.node * votes.num_classes + votes.label, None, (votes.num_nodes, votes.num_classes)
    )
    per_node = per_class.sum(axis=1)
    per_class, per_node = per_class[per_node > 1], per_node[per_node > 1]
    total = per_node.sum()
    if not total:
        return None
    same = (per_class * (per_class - 1)).sum(axis=1) / (per_node - 1)
    by_class = per_class.sum(axis=0)
    expected_disagreement = 1 - (by_class * (by_class - 1)).sum() / (total * (total - 1))
    if expected_disagreement <= 0:
        return 1.0  # only one class was ever voted for
    return float(1 - (1 - same.sum() / total) / expected_disagreement)


def compute_pairwise_agreement_or_none(votes: Votes) -> float | None:
    """Share of pairs of votes on one node that agree; None without such pairs."""
    per_class = sum_weights_by_cell(
        votes.node * votes.num_classes + votes.label, None, (votes.num_nodes, votes.num_classes)
    )
    per_node = per_class.sum(axis=1)
    pairs = (per_node * (per_node - 1)).sum()
    return float((per_class * (per_class - 1)).sum() / pairs) if pairs else None


def compute_expected_gains_per_annotator_and_node(posterior: Floats, confusions: Floats) -> Floats:
    """[annotators, nodes]: by how much one more vote of each annotator is expected to raise the largest probability.

    That is the expected accuracy of the consensus after the vote, less that before: Σ_j max_k p_k·A[k, j] − max_k p_k.
    """
    best = posterior.max(axis=1)
    gains = np.zeros((len(confusions), len(posterior)))
    for number, confusion in enumerate(confusions):
        for j in range(posterior.shape[1]):
            gains[number] += (posterior * confusion[:, j]).max(axis=1)
        gains[number] -= best
    return np.maximum(gains, 0.0)


def compute_penalized_log_evidence(votes: Votes, class_log_probs: Floats, model: VoteModel, form: str) -> float:
    """log P(votes) less what the free parameters of the confusions cost, half a log of the number of votes each."""
    logs = class_log_probs - logsumexp(class_log_probs, axis=1, keepdims=True)
    each = logsumexp(logs + compute_vote_log_likelihood(votes, model.confusions), axis=1)
    return float(each[votes.count_per_node() > 0].sum()) - 0.5 * np.log(len(votes)) * count_confusion_parameters(
        votes, form
    )


def make_posterior_certain_where_known(posterior: Floats, known: Ints | None) -> Floats:
    """The posterior with certainty where the truth is known."""
    if known is None:
        return posterior
    return np.where((known >= 0)[:, None], np.eye(posterior.shape[1])[known], posterior)


def _make_initial_confusions(votes: Votes) -> Floats:
    n = votes.num_classes
    matrix = np.full((n, n), START_RATE / max(n - 1, 1))
    np.fill_diagonal(matrix, 1 - START_RATE if n > 1 else 1.0)
    return np.tile(matrix, (votes.num_annotators, 1, 1))
