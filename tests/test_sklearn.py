"""scikit-learn's model selection works on (graph, labeled nodes), and lets no other label through."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict, cross_val_score, learning_curve

import pignn
from pignn.core.errors import ConfigError, DataError
from pignn.methods.prototypes import Prototypes
from pignn.sklearn import NodeClassifier, agreement, list_labeled_nodes_and_labels


@pytest.fixture
def labeled(noisy):
    return list_labeled_nodes_and_labels(noisy)


def test_labeled_nodes_are_those_of_training_and_validation(noisy, labeled):
    nodes, y = labeled
    assert nodes.tolist() == torch.nonzero(noisy.train_mask | noisy.val_mask).view(-1).tolist()
    assert y.tolist() == noisy.y[nodes].tolist()


@pytest.mark.parametrize(
    "scoring", ["accuracy", "balanced_accuracy", "f1_macro", "neg_log_loss", "roc_auc_ovr", None, agreement]
)
def test_cross_val_score_with_scorers_by_name(noisy, labeled, scoring):
    scores = cross_val_score(NodeClassifier("prototypes", noisy), *labeled, cv=3, scoring=scoring, error_score="raise")
    assert scores.shape == (3,)
    assert np.isfinite(scores).all()
    if scoring == "accuracy":
        assert scores.mean() > 0.55  # of labels 30 % of which are wrong


def test_grid_search_sets_the_settings_of_the_method(noisy, labeled):
    search = GridSearchCV(
        NodeClassifier(pignn.make("prototypes"), noisy),
        {"method__noise": ["none", "symmetric"], "method__seed": [0, 1]},
        cv=3,
        error_score="raise",
    )
    search.fit(*labeled)
    assert set(search.best_params_) == {"method__noise", "method__seed"}
    assert search.best_estimator_.model_.noise == search.best_params_["method__noise"]
    truth = noisy.y_true.numpy()
    assert (search.predict(np.arange(noisy.num_nodes)) == truth).mean() > 0.7
    by_name = GridSearchCV(NodeClassifier(data=noisy), {"method": ["prototypes", "denoised"]}, cv=3).fit(*labeled)
    assert by_name.best_params_["method"] in ("prototypes", "denoised")


def test_learning_curve_and_processes(noisy, labeled):
    classifier = NodeClassifier(pignn.make("prototypes"), noisy)
    sizes, train, test = learning_curve(classifier, *labeled, train_sizes=[0.3, 1.0], cv=3, n_jobs=2, shuffle=True)
    assert len(sizes) == 2
    assert np.isfinite(train).all()
    assert np.isfinite(test).all()


def test_only_the_labels_that_are_given_are_seen(noisy, labeled, monkeypatch):
    seen = []
    fit = Prototypes.fit
    monkeypatch.setattr(
        Prototypes, "fit", lambda self, data, **options: seen.append(data) or fit(self, data, **options)
    )
    nodes, y = labeled
    noisy.trusted_mask = noisy.train_mask
    given = y.copy()
    given[:10] = -1
    classifier = NodeClassifier("prototypes", noisy, validation_fraction=0.2).fit(nodes[:60], given[:60])
    (graph,) = seen
    assert torch.nonzero(graph.y >= 0).view(-1).tolist() == nodes[10:60].tolist()
    assert graph.get("y_true") is None
    assert int(graph.val_mask.sum()) == 10
    assert not (graph.trusted_mask & (graph.y < 0)).any()
    assert not (graph.train_mask & graph.val_mask).any()
    assert classifier.score(nodes[:20], given[:20]) == classifier.score(nodes[10:20], given[10:20])
    expected = classifier.predict_proba(nodes)
    noisy.y_true = (noisy.y_true + 1) % 3
    noisy.y = (noisy.y + 1) % 3  # the labels of the graph itself do not count
    again = NodeClassifier("prototypes", noisy, validation_fraction=0.2).fit(nodes[:60], given[:60])
    assert (again.predict_proba(nodes) == expected).all()


def test_classes_may_have_names_and_gaps(noisy, labeled):
    nodes, y = labeled
    for names in (np.array(["sport", "arts", "law"]), np.array([10, 5, 7])):
        classifier = NodeClassifier("prototypes", noisy).fit(nodes, names[y])
        assert classifier.classes_.tolist() == sorted(names.tolist())
        assert (classifier.predict(nodes) == names[y]).mean() > 0.55
    some = names[y].astype(object)
    some[:5] = None
    assert classifier.fit(nodes[:, None], some).classes_.tolist() == [5, 7, 10]


def test_parameters_clones_and_copies(noisy, labeled):
    classifier = NodeClassifier(pignn.make("prototypes", seed=3), noisy, validation_fraction=0.1)
    copy = clone(classifier)
    assert is_classifier(copy)
    assert copy.data is noisy
    assert copy.method is not classifier.method
    assert copy.get_params()["method__seed"] == 3
    copy.set_params(method__seed=4, validation_fraction=0.0)
    assert (classifier.method.seed, classifier.validation_fraction) == (3, 0.1)
    assert not hasattr(clone(classifier.fit(*labeled)), "model_")
    again = pickle.loads(pickle.dumps(classifier))  # noqa: S301
    assert (again.predict(labeled[0]) == classifier.predict(labeled[0])).all()
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    assert len(cross_val_predict(classifier, *labeled, cv=folds, method="predict_proba")) == len(labeled[0])


def test_weights_count(noisy, labeled):
    nodes, y = labeled
    weight = np.where(y == 0, 1.0, 0.0)
    weight[y == 1] = 1.0
    classifier = NodeClassifier("prototypes", noisy).fit(nodes, y, sample_weight=weight)
    assert not (classifier.predict(nodes) == 2).any()


def test_mistakes_are_told(noisy, labeled):
    nodes, y = labeled
    with pytest.raises(NotFittedError, match="fit"):
        NodeClassifier("prototypes", noisy).predict(nodes)
    for data, x, labels, word in (
        (None, nodes, y, "data="),
        (noisy, noisy.x.numpy(), y, "numbers of nodes"),
        (noisy, nodes, y[:-1], "one for each"),
        (noisy, np.r_[nodes[:1], nodes[:1]], y[:2], "twice"),
        (noisy, nodes, np.zeros_like(y), "one class"),
        (noisy, nodes + 10_000, y, "is not one of"),
    ):
        with pytest.raises((ConfigError, DataError), match=word):
            NodeClassifier("prototypes", data).fit(x, labels)
    with pytest.raises(DataError, match="none of these"):
        NodeClassifier("prototypes", noisy).fit(nodes, y).score(nodes, -np.ones_like(y))
