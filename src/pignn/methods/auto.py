"""The method that chooses a method, by given labels alone."""

from __future__ import annotations

import copy
import time
import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import torch
from torch import Tensor
from torch_geometric.data import Data

from .. import backbones, graphs, settings
from ..errors import ModelFileError, PignnWarning, unknown
from ..propagation import Embedding
from .base import Method, class_names
from .calibration import folds, sharpness
from .embedded import Embedded, checked_inputs
from .given import LABELS, GivenLabels, evidence
from .registry import make, method_class

# The first is taken unless another is better beyond doubt.
LINEAR: dict[str, tuple[str, dict[str, Any]]] = {
    "denoised": ("denoised", {}),
    "denoised, nearer": ("denoised", {"restart": 0.3}),
    "mixture": ("prototypes", {"unlabelled": 0.01}),
    "features alone": ("denoised", {"restart": 1.0}),
}
NETWORKS: dict[str, tuple[str, dict[str, Any]]] = {"GCN": ("vanilla", {}), "MLP": ("mlp", {})}
PARTS = 5  # of the labels, in the comparison with networks: one of them is held out
ENOUGH = 300  # labels from which a held-out part can tell a network from the rest
HALF = 0.5  # of the links join nodes of one class: where fewer do, smoothing is in doubt and networks are tried
MOST_NODES = 50_000  # of a graph on which networks are tried: beyond, they would take too long


@dataclass(kw_only=True, eq=False, repr=False)
class Auto(Method):
    """Tries several methods on held-out *given* labels, under the noise that was estimated, and keeps the best.

    What is compared is the mean log-likelihood of given labels that a candidate has not seen,
    log Σ_c softmax(s·scores)_c T[c, given], with one transition matrix T for all and each candidate's best sharpness
    s: a candidate that foretells the noise gains nothing. Candidates are linear classifiers of smoothed features and
    prototypes. The simplest is taken unless another is better by more than a standard error of the difference. Where
    fewer than half of the links seem to join nodes of one class, and there are 300 labels or more, a GCN and an MLP are
    tried too, on one fifth of the labels, and must agree with them more often by two standard errors. No true label
    is read.

    Fitted: ``chosen_`` (name), ``why_`` (one line), ``compared_`` (held-out log-likelihoods), ``model_`` (the chosen
    method, learnt from all labels), ``transition_``, ``homophily_``.

    Args:
        labels: learn from all ``"given"`` labels, those of validation nodes too, or from the ``"train"`` ones only.
        networks: ``"auto"`` as above; ``"never"``.
        directed: propagate along the edges' direction only.
    """

    name: ClassVar[str] = "auto"

    labels: str = "given"
    networks: str = "auto"
    directed: bool = False

    def fit(self, data: Data, *, split_index: int | None = None) -> Self:
        """Choose and learn from the given labels."""
        self._check_settings()
        start = time.perf_counter()
        data = graphs.check(data, split_index=split_index)
        inputs = checked_inputs(data, self.directed)
        given = GivenLabels.of(data, self.labels)
        fitted = self._linear(data, inputs, given)
        self.transition_ = next(iter(fitted.values())).transition_
        reach = evidence(given, self.transition_).exp()
        found = {name: sharpness(method.held_out_, reach, given.weight)[1] for name, method in fitted.items()}
        weight = given.weight.double() / given.weight.sum()
        self.compared_ = {name: float(weight @ value) for name, value in found.items()}
        chosen = next(iter(LINEAR))
        for name, value in found.items():
            if _surely_better(value, found[chosen], weight):
                chosen = name
        epochs = 0
        self.homophily_ = homophily(inputs, given, self.transition_)
        many = len(given.y) >= ENOUGH and inputs.num_nodes <= MOST_NODES
        if self.networks == "auto" and many and self.homophily_ < HALF:
            part = folds(given.y, PARTS, int(self.seed)) == 0
            share = weight[part] / weight[part].sum()
            # By agreement: the transition matrix is that of a linear classifier, and where that is poor it
            # takes mistakes for noise.
            best = (fitted[chosen].held_out_[part].argmax(1) == given.y[part]).double()
            for name in NETWORKS:
                answers, last = self._network_score(name, data, given, part)
                self.compared_[name] = float(share @ sharpness(answers, reach[part], given.weight[part])[1])
                agrees = (answers.argmax(1) == given.y[part]).double()
                if _surely_better(agrees, best, share, errors=2):
                    best, chosen, epochs = agrees, name, last
        self.model_ = fitted[chosen] if chosen in fitted else self._network(chosen, data, given, epochs)
        self.chosen_ = chosen
        rate = float(1 - (self.transition_.diag()[given.y]).mean())
        others = ", ".join(f"{n} {v:.3f}" for n, v in self.compared_.items() if n != chosen)
        self.why_ = (
            f"'{chosen}' was taken by held-out given labels: log-likelihood {self.compared_[chosen]:.3f} under an "
            f"estimated {rate:.0%} of wrong labels ({others})"
        )
        self.seconds_ = time.perf_counter() - start
        self.num_features_ = int(data.x.shape[1])
        self.class_names_ = class_names(data)
        self.settings_ = self._plain_settings()
        return self

    def _candidate(self, name: str) -> Any:
        method, chosen = (LINEAR | NETWORKS)[name]
        return make(method, seed=self.seed, directed=self.directed, **chosen)

    def _linear(self, data: Data, inputs: backbones.Inputs, given: GivenLabels) -> dict[str, Embedded]:
        """Each candidate, learnt; an embedding is made once for those that share it."""
        made: dict[float, tuple[Embedding, Tensor]] = {}
        fitted: dict[str, Embedded] = {}
        for name in LINEAR:
            method = self._candidate(name)
            if method.restart not in made:
                embedding = method.embedding()
                made[method.restart] = embedding, embedding.fit_transform(inputs)
            fitted[name] = method.set_params(labels=self.labels).fit_embedded(data, given, *made[method.restart])
        return fitted

    def _network_score(self, name: str, data: Data, given: GivenLabels, part: Tensor) -> tuple[Tensor, int]:
        """(scores of one part of the labels, held out, and how many epochs were best for it)."""
        trial = _with_labels(data, given.nodes[~part], given.nodes[part])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PignnWarning)
            method = self._candidate(name).fit(trial, progress=False)
            scores = torch.from_numpy(method.embed(trial))[given.nodes[part]]
        return scores, int(method.best_epoch_) + 1

    def _network(self, name: str, data: Data, given: GivenLabels, epochs: int) -> Method:
        """Learnt from all labels, for as many epochs as were best for the held-out part."""
        with warnings.catch_warnings():  # said once already
            warnings.simplefilter("ignore", PignnWarning)
            method = self._candidate(name).set_params(epochs=max(epochs, 1), selection="last")
            return method.fit(_with_labels(data, given.nodes, given.nodes[:0]), progress=False)

    def _outputs(self, data: Data) -> Tensor:
        return self.model_._outputs(data)

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors, about = self.model_._state()
        inner = {"method": self.model_.name, "settings": self.model_._plain_settings(), "about": about}
        return {**tensors, "auto.transition": self.transition_.clone()}, {
            "inner": inner,
            "chosen": self.chosen_,
            "why": self.why_,
            "compared": self.compared_,
            "homophily": self.homophily_,
            "seconds": self.seconds_,
        }

    def _set_state(self, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
        tensors = dict(tensors)
        self.transition_ = tensors.pop("auto.transition")
        inner = about["inner"]
        if inner["method"] not in {method for method, _ in (LINEAR | NETWORKS).values()}:
            raise ModelFileError(f"the model inside is '{inner['method']}', which 'auto' never chooses")
        self.model_ = method_class(inner["method"])(**inner["settings"])
        self.model_.class_names_, self.model_.num_features_ = self.class_names_, self.num_features_
        self.model_._set_state(tensors, inner["about"])
        self.chosen_, self.why_, self.compared_ = about["chosen"], about["why"], about["compared"]
        self.homophily_, self.seconds_ = float(about["homophily"]), float(about["seconds"])

    def _check_settings(self) -> None:
        for value, name, known in ((self.labels, "labels", LABELS), (self.networks, "networks", ("auto", "never"))):
            if value not in known:
                raise unknown(name, value, known)
        settings.seed("seed", self.seed)
        settings.flag("directed", self.directed)


def _with_labels(data: Data, train: Tensor, val: Tensor) -> Data:
    """The graph with other training and validation nodes, and without what a network must not read."""
    data = copy.copy(data)
    for name, nodes in (("train_mask", train), ("val_mask", val)):
        data[name] = torch.zeros(len(data.y), dtype=torch.bool).index_fill_(0, nodes, True)
    data.test_mask = torch.zeros(len(data.y), dtype=torch.bool)
    if data.get("y_true") is not None:
        del data["y_true"]
    return data


def homophily(inputs: backbones.Inputs, given: GivenLabels, transition: Tensor) -> float:
    """Share of links whose ends have one true class, by how many have one given label and what noise makes of that.

    Where no link joins two labelled nodes it is 0, as if nothing spoke for the graph.
    """
    y = torch.full((inputs.num_nodes,), -1).index_copy_(0, given.nodes, given.y)
    start, to = inputs.gcn.matrix.crow_indices(), inputs.gcn.matrix.col_indices()
    one, other = torch.repeat_interleave(y, start.diff()), y[to]
    both = (one >= 0) & (other >= 0)
    if not bool(both.any()):
        return 0.0
    seen = float((one[both] == other[both]).double().mean())
    meet = transition @ transition.T  # that the given labels are one, for every two true classes
    same = float(meet.diag().mean())
    differ = float((meet.sum() - meet.trace()) / max(meet.numel() - len(meet), 1))
    return min(max((seen - differ) / max(same - differ, 1e-6), 0.0), 1.0)


def _surely_better(value: Tensor, other: Tensor, weight: Tensor, errors: float = 1.0) -> bool:
    """By more than so many standard errors of the mean difference."""
    difference = value - other
    gain = float(weight @ difference)
    return gain > errors * float((weight.square() @ (difference - gain).square()).sqrt())
