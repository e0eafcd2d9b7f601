"""The method that chooses methods, by given labels alone."""

from __future__ import annotations

import copy
import math
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import torch
from torch import Tensor
from torch_geometric.data import Data

from .. import backbones, graphs, settings
from ..errors import DataError, ModelFileError, NotFittedError, PignnWarning, unknown
from ..propagation import Embedding
from .base import Method, class_names
from .calibration import folds, sharpness, under_own_noise
from .embedded import Embedded, checked_inputs
from .given import LABELS, GivenLabels, evidence
from .registry import make, method_class

SMOOTHED: dict[str, tuple[str, dict[str, Any]]] = {
    "denoised": ("denoised", {}),
    "denoised, nearer": ("denoised", {"restart": 0.3}),
    "mixture": ("prototypes", {"unlabelled": 0.01}),
    "low density": ("low-density", {}),
}
ALONE = "features alone"
LINEAR = SMOOTHED | {ALONE: ("denoised", {"restart": 1.0})}
NETWORKS: dict[str, tuple[str, dict[str, Any]]] = {"GCN": ("vanilla", {}), "MLP": ("mlp", {})}
BELIEF = 0.3  # of a held-out label: fewer than one, for labels of near nodes are judged by the same neighbours
LEAST = 0.01  # weight in the average; what has less is left out
PARTS = 5  # of the labels, in the comparison with networks: one is held out at a time
ASKED = 2  # of these parts
LINEAR_ONES = "without a network"
ENOUGH = 300  # labels from which a held-out part can tell a network from the rest
HALF = 0.5  # of the links join nodes of one class: where surely fewer do, networks are tried
MOST_NODES = 50_000  # of a graph on which networks are tried: beyond, they would take too long


@dataclass(kw_only=True, eq=False, repr=False)
class Auto(Method):
    """Tries several methods on held-out *given* labels, under the noise that was estimated, and averages the good ones.

    What is compared is the log-likelihood of given labels that a candidate has not seen, Σ log Σ_c softmax(s·scores)_c
    T[c, given], under the transition matrix T and the sharpness s that suit the candidate best: one that is sure, and
    puts the rest down to noise, loses nothing against one that has learnt the noise. Candidates are linear classifiers
    of smoothed features and a mixture of prototypes; their probabilities are averaged with weights ∝ likelihood^0.3.
    Features without the graph take their place where they are better by more than a standard error. Where surely
    fewer than half of the links join nodes of one class, and there are 300 labels or more, a GCN and an MLP are tried
    too, on two fifths of the labels, held out one fifth at a time; what agrees with them most often is taken. No true
    label is read.

    Fitted: ``chosen_`` (the name of what weighs most), ``weights_``, ``why_`` (one line), ``compared_`` (mean held-out
    log-likelihoods), ``agreement_`` (with held-out labels, where networks were tried), ``models_`` (what is averaged,
    learnt from all labels), ``transition_``, ``homophily_`` (share of links within a class and its standard error; None
    where no link joins two labels), ``sharpness_``.

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
        self.check_settings()
        start = time.perf_counter()
        data = graphs.check(data, split_index=split_index)
        inputs = checked_inputs(data, self.directed)
        given = GivenLabels.of(data, self.labels)
        made = self._embeddings(inputs, LINEAR)
        fitted = {name: self._candidate(name).fit_embedded(data, given, *made[restart(name)]) for name in LINEAR}
        # The noise by the candidate that puts the least down to it: how sure to be is told by this one.
        self.transition_ = next(iter(fitted.values())).transition_
        reach = evidence(given, self.transition_).exp()
        share = given.weight.double() / given.weight.sum()
        likelihood = {}
        for name, method in fitted.items():
            method.sharpness_, likelihood[name] = under_own_noise(method.held_out_, given, method.transition_)
        self.compared_ = {name: float(share @ value) for name, value in likelihood.items()}
        self.weights_ = likely([float(given.weight.double() @ likelihood[name]) for name in SMOOTHED])
        held_out = average(fitted, self.weights_, lambda method: method.held_out_)
        self.sharpness_, value = sharpness(held_out, reach, given.weight)
        if _surely_better(sharpness(fitted[ALONE].held_out_, reach, given.weight)[1], value, share):
            self.weights_, self.sharpness_ = {ALONE: 1.0}, 1.0
            held_out = fitted[ALONE].sharpness_ * fitted[ALONE].held_out_
        self.unsure_ = 1 / (len(given.y) + 1)
        self.models_: dict[str, Any] = {name: fitted[name] for name in self.weights_}
        self.homophily_ = homophily(inputs, given, self.transition_)
        self.agreement_: dict[str, float] = {}
        if self._graph_in_doubt(len(given.y), inputs.num_nodes):
            self._try_networks(data, given, held_out)
        self.chosen_ = max(self.weights_, key=lambda name: self.weights_[name])
        self.why_ = self._why(float(1 - (self.transition_.diag()[given.y]).mean()))
        self.seconds_ = time.perf_counter() - start
        self.num_features_ = int(data.x.shape[1])
        self.class_names_ = class_names(data)
        self.settings_ = self._plain_settings()
        return self

    def refit(self, data: Data) -> Self:
        """A copy: what was chosen, learnt from the labels of this graph; the choice, weights and sharpness stay.

        For folds of the same labels, and for new labels of the same kind: many times faster than to choose again.
        """
        if not hasattr(self, "models_"):
            raise NotFittedError("this Auto is not fitted yet; call fit(data) first")
        again = copy.copy(self)
        data = graphs.check(data)
        features, classes = int(data.x.shape[1]), graphs.num_classes(data)
        if features != self.num_features_ or classes > len(self.class_names_):
            raise DataError(
                f"the model was fitted on {self.num_features_} features and {len(self.class_names_)} classes, this "
                f"graph has {features} and {classes}; fit anew"
            )
        given = GivenLabels.of(data, self.labels)
        again.unsure_ = 1 / (len(given.y) + 1)
        made: dict[float, tuple[Embedding, Tensor]] = {}
        if any(name in LINEAR for name in self.models_):
            made = self._embeddings(checked_inputs(data, self.directed), self.models_)
        again.models_ = {}
        for name, model in self.models_.items():
            if name in NETWORKS:
                again.models_[name] = self._network(name, data, given, int(model.epochs))
            else:
                again.models_[name] = self._candidate(name).learn_embedded(given, *made[restart(name)])
                again.models_[name].sharpness_ = model.sharpness_
        return again

    def _why(self, rate: float) -> str:
        if self.chosen_ in self.agreement_:
            others = ", ".join(f"{name} {v:.1%}" for name, v in self.agreement_.items() if name != self.chosen_)
            mine = f"'{self.chosen_}' was taken: of held-out given labels it agrees with"
            return f"{mine} {self.agreement_[self.chosen_]:.1%} ({others}); most links join different classes"
        others = ", ".join(f"{n} {v:.3f}" for n, v in self.compared_.items() if n != self.chosen_)
        weights = " + ".join(f"{weight:.2f} '{name}'" for name, weight in self.weights_.items())
        taken = f"'{self.chosen_}' was taken" if len(self.weights_) == 1 else f"{weights} were averaged"
        return (
            f"{taken} by held-out given labels: log-likelihood of '{self.chosen_}' {self.compared_[self.chosen_]:.3f} "
            f"under an estimated {rate:.0%} of wrong labels ({others})"
        )

    def _candidate(self, name: str) -> Any:
        method, chosen = (LINEAR | NETWORKS)[name]
        own = {"labels": self.labels} if name in LINEAR else {}
        return make(method, seed=self.seed, directed=self.directed, **chosen, **own)

    def _embeddings(self, inputs: backbones.Inputs, names: Iterable[str]) -> dict[float, tuple[Embedding, Tensor]]:
        """By restart: what is made once for all candidates that share it."""
        made: dict[float, tuple[Embedding, Tensor]] = {}
        for method in map(self._candidate, names):
            if method.restart not in made:
                embedding = method.embedding()
                made[method.restart] = embedding, embedding.fit_transform(inputs)
        return made

    def _graph_in_doubt(self, labels: int, nodes: int) -> bool:
        if self.networks == "never" or labels < ENOUGH or nodes > MOST_NODES or self.homophily_ is None:
            return False
        share, error = self.homophily_
        return share + 2 * error < HALF

    def _try_networks(self, data: Data, given: GivenLabels, linear: Tensor) -> None:
        """A network that agrees with held-out labels more often than ``linear`` scores takes their place.

        By agreement: the transition matrix is that of a linear classifier, and where that is poor it takes mistakes for
        noise.
        """
        part = folds(given.y, PARTS, int(self.seed))
        asked = part < ASKED
        right = (linear.argmax(1) == given.y).double()[asked]
        self.agreement_[LINEAR_ONES] = float(given.weight[asked].double() @ right / given.weight[asked].sum())
        epochs = {}
        for name in NETWORKS:
            self.agreement_[name], epochs[name] = self._network_agreement(name, data, given, part)
        best = max(self.agreement_, key=lambda name: self.agreement_[name])
        if best in NETWORKS:
            self.weights_, self.sharpness_ = {best: 1.0}, 1.0
            self.models_ = {best: self._network(best, data, given, epochs[best])}

    def _network_agreement(self, name: str, data: Data, given: GivenLabels, part: Tensor) -> tuple[float, int]:
        """(share of held-out labels that a network agrees with, how many epochs were good for them).

        Each held-out part is judged after the epochs that were best for the other ones: after those that were best for
        itself, agreement would be luck as well.
        """
        curves = []
        for number in range(ASKED):
            trial = _with_labels(data, given.nodes[part != number], given.nodes[part == number])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PignnWarning)
                method = self._candidate(name).fit(trial, progress=False)
            curves.append(torch.tensor([row["val_accuracy"] for row in method.history_]))
        curve = torch.stack(curves)
        others = (curve.sum(0) - curve).argmax(1)
        return float(curve.gather(1, others[:, None]).mean()), int(curve.mean(0).argmax()) + 1

    def _network(self, name: str, data: Data, given: GivenLabels, epochs: int) -> Method:
        """Learnt from all labels, for as many epochs as were best for the held-out part."""
        with warnings.catch_warnings():  # said once already
            warnings.simplefilter("ignore", PignnWarning)
            method = self._candidate(name).set_params(epochs=max(epochs, 1), selection="last")
            return method.fit(_with_labels(data, given.nodes, given.nodes[:0]), progress=False)

    def _outputs(self, data: Data) -> Tensor:
        if not self._smoothed():
            return next(iter(self.models_.values()))._outputs(data)
        inputs = backbones.Inputs.from_data(data, directed=self.directed)
        made: dict[float, Tensor] = {}
        for model in self.models_.values():
            if model.restart not in made:
                made[model.restart] = model.embedded(inputs)
        mean = average(self.models_, self.weights_, lambda model: model.scores(made[model.restart]))
        return not_surer(self.sharpness_ * mean, self.unsure_)

    def _smoothed(self) -> bool:
        return all(isinstance(model, Embedded) for model in self.models_.values())

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors, models = {"auto.transition": self.transition_.clone()}, []
        for number, (name, model) in enumerate(self.models_.items()):
            own, about = model._state()
            tensors |= {f"{number}.{key}": value.clone() for key, value in own.items()}  # some are shared
            models.append({"name": name, "method": model.name, "settings": model._plain_settings(), "about": about})
        return tensors, {
            "models": models,
            "weights": self.weights_,
            "chosen": self.chosen_,
            "why": self.why_,
            "compared": self.compared_,
            "agreement": self.agreement_,
            "homophily": self.homophily_,
            "sharpness": self.sharpness_,
            "unsure": self.unsure_,
            "seconds": self.seconds_,
        }

    def _set_state(self, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
        self.transition_ = tensors["auto.transition"]
        self.models_ = {}
        for number, inner in enumerate(about["models"]):
            if inner["method"] not in {method for method, _ in (LINEAR | NETWORKS).values()}:
                raise ModelFileError(f"the model inside is '{inner['method']}', which 'auto' never chooses")
            model: Any = method_class(inner["method"])(**inner["settings"])
            model.class_names_, model.num_features_ = self.class_names_, self.num_features_
            mine = f"{number}."
            own = {key.removeprefix(mine): value for key, value in tensors.items() if key.startswith(mine)}
            model._set_state(own, inner["about"])
            self.models_[inner["name"]] = model
        self.weights_ = dict(about["weights"])
        self.sharpness_, self.unsure_ = float(about["sharpness"]), float(about["unsure"])
        self.chosen_, self.why_, self.compared_ = about["chosen"], about["why"], about["compared"]
        self.agreement_ = dict(about.get("agreement", {}))  # models of before have none
        self.homophily_ = None if about["homophily"] is None else tuple(about["homophily"])
        self.seconds_ = float(about["seconds"])

    def check_settings(self) -> None:
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


def likely(evidence: list[float]) -> dict[str, float]:
    """Weights of the smoothed candidates: likelihood to the power of ``BELIEF``, without those that hardly count."""
    weight = (BELIEF * torch.tensor(evidence, dtype=torch.float64)).softmax(0)
    weight = torch.where(weight < LEAST, 0.0, weight)
    return {name: float(w / weight.sum()) for name, w in zip(SMOOTHED, weight, strict=True) if w > 0}


def average(models: dict[str, Any], weights: dict[str, float], scores: Callable[[Any], Tensor]) -> Tensor:
    """Logarithm of the weighted mean of the models' probabilities, [rows, classes]."""
    parts = [
        (model.sharpness_ * scores(model)).log_softmax(1) + math.log(weights[name])
        for name, model in models.items()
        if name in weights
    ]
    return torch.stack(parts).logsumexp(0)


def not_surer(scores: Tensor, share: float) -> Tensor:
    """Logarithms of probabilities of which ``share`` is spread over all classes: no n labels exclude 1 in n."""
    even = torch.full_like(scores, math.log(share / scores.shape[1]))
    return torch.logaddexp(scores.log_softmax(1) + math.log1p(-share), even)


def restart(name: str) -> float:
    method, chosen = LINEAR[name]
    return float(chosen.get("restart", method_class(method).restart))


def homophily(inputs: backbones.Inputs, given: GivenLabels, transition: Tensor) -> tuple[float, float] | None:
    """(share of links whose ends have one true class, standard error), by how many have one given label.

    What the noise makes of both kinds of links is taken out. None where no link joins two labelled nodes.
    """
    y = torch.full((inputs.num_nodes,), -1).index_copy_(0, given.nodes, given.y)
    one, other = torch.repeat_interleave(y, inputs.incoming.crow.diff()), y[inputs.incoming.col]
    both = (one >= 0) & (other >= 0)
    count = int(both.sum())
    if not count:
        return None
    seen = float((one[both] == other[both]).double().mean())
    meet = transition @ transition.T  # that the given labels are one, for every two true classes
    same = float(meet.diag().mean())
    differ = float((meet.sum() - meet.trace()) / max(meet.numel() - len(meet), 1))
    told = max(same - differ, 1e-6)
    links = count if inputs.directed else count / 2
    error = math.sqrt(max(seen * (1 - seen), 0.25 / links) / links) / told
    return min(max((seen - differ) / told, 0.0), 1.0), error


def _surely_better(value: Tensor, other: Tensor, weight: Tensor) -> bool:
    """By more than a standard error of the mean difference."""
    difference = value - other
    gain = float(weight @ difference)
    return gain > float((weight.square() @ (difference - gain).square()).sqrt())
