"""The method that chooses methods, by given labels alone."""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import Tensor
from torch_geometric.data import Data

from .. import backbones, graphs
from ..core import validation as settings
from ..core.errors import DataError, ModelFileError, NotFittedError, PignnWarning, unknown
from ..propagation import Embedding
from .core.base import FitFacts, Method, checked_inputs, class_names
from .core.calibration import fit_inverse_temperature, folds, found_transition, under_own_noise
from .core.embedding_classifier import Embedded
from .core.ensembling import average, likely, not_surer, surely_better
from .core.homophily import homophily
from .core.labels import GivenLabels, evidence
from .factory import make, method_class

SMOOTHED: dict[str, tuple[str, dict[str, Any]]] = {
    "denoised": ("denoised", {}),
    "denoised, nearer": ("denoised", {"alpha": 0.3}),
    "mixture": ("prototypes", {"unlabelled": 0.01}),
    "low density": ("low-density", {}),
}
CAREFUL = ("denoised", "denoised, nearer")  # that put less down to noise than the others
MORE: dict[str, tuple[str, dict[str, Any]]] = {  # that only labels apart can tell from one another
    "class means": ("prototypes", {"noise": "none"}),
    "class means, nearer": ("prototypes", {"noise": "none", "alpha": 0.3}),
    "mixture, more unlabelled": ("prototypes", {"unlabelled": 0.05}),
    "mixture, any noise": ("prototypes", {"unlabelled": 0.01, "noise": "full"}),
    "low density, nearer": ("low-density", {"alpha": 0.3}),
    "low density, weak": ("low-density", {"push": 5.0}),
    "low density, strong": ("low-density", {"push": 40.0}),
}
PARTED = {f"{name}, part {k}": name for name in ("low density", "denoised") for k in range(1, 25)}
SHARE = 0.6  # of the labels of each class: what a candidate learns from that has but a part of them
MOST_TOLD = 4  # candidates, in words
ALONE = "features alone"
LINEAR = SMOOTHED | MORE | {ALONE: ("denoised", {"alpha": 1.0})}
LABELS = ("train+val", "train", "noisy-val")
NETWORKS: dict[str, tuple[str, dict[str, Any]]] = {"GCN": ("vanilla", {}), "MLP": ("mlp", {})}
PARTS = 5  # of the labels, in the comparison with networks: one is held out at a time
ASKED = 2  # of these parts
LINEAR_ONES = "without a network"
ENOUGH = 300  # labels from which a held-out part can tell a network from the rest
HALF = 0.5  # of the links join nodes of one class: where surely fewer do, networks are tried
MIXED = "most links join different classes"
UNEVEN = "without a network, fewer held-out labels are met than the largest class has"
MOST_NODES = 50_000  # of a graph on which networks are tried: beyond, they would take too long


@dataclass(kw_only=True, eq=False, repr=False)
class Auto(Method):
    """Tries several methods on held-out *given* labels, under the noise that was estimated, and averages the good ones.

    What is compared is the log-likelihood of given labels that a candidate has not seen, Σ log Σ_c softmax(s·scores)_c
    T[c, given], under the transition matrix T and the sharpness s that suit the candidate best: one that is sure, and
    puts the rest down to noise, loses nothing against one that has learnt the noise. Candidates are linear classifiers
    of smoothed features and a mixture of prototypes; their probabilities are averaged with weights ∝ likelihood^0.3.
    Features without the graph take their place where they are better by more than a standard error. Where surely
    fewer than half of the links join nodes of one class, or the average surely agrees with fewer held-out labels than
    the largest class has, and there are 300 labels or more, a GCN and an MLP are tried too, on two fifths of the
    labels, held out one fifth at a time; what agrees with them most often is taken. With
    ``labels="noisy-val"`` there are more candidates, many of which learn from random parts of the labels, so that some
    have seen fewer wrong ones; and the weights are ∝ exp(0.3·labels of validation nodes that one agrees with). No true
    label is read.

    Fitted: ``chosen_`` (the name of what weighs most), ``weights_``, ``explanation_`` (one line),
    ``holdout_log_likelihood_`` (means), ``agreement_`` (with held-out labels, where it was asked for), ``models_``
    (what is averaged,
    learnt from all labels), ``transition_``, ``homophily_`` (share of links within a class and its standard error, the
    lower of two estimates; None where no link joins two labels), ``inverse_temperature_``.

    Args:
        labels: learn from all given labels, ``"train+val"``; from the ``"train"`` ones only; or, as
            networks do, from the training labels, and choose by those of validation nodes: ``"noisy-val"``.
        networks: ``"auto"`` as above; ``"never"``.
        directed: propagate along the edges' direction only.
    """

    labels: str = "train+val"
    networks: str = "auto"
    directed: bool = False

    def fit(self, data: Data, *, split_index: int | None = None) -> Self:
        """Choose and learn from the given labels."""
        self.check_settings()
        start = time.perf_counter()
        data = graphs.check_graph(data, split_index=split_index)
        inputs = checked_inputs(data, self.directed)
        given = GivenLabels.of(data, self._learnt_from())
        judges = GivenLabels.of(data, "val") if self.labels == "noisy-val" else given
        fitted, unseen = self._trial(data, inputs, given, judges)
        held_out = self._weigh(fitted, unseen, judges, apart=judges is not given)
        self.uniform_mass_ = 1 / (len(given.y) + 1)
        self.models_: dict[str, Any] = {name: fitted[name] for name in self.weights_}
        found = [homophily(inputs, given, fitted[name].transition_) for name in CAREFUL]
        self.homophily_ = min((each for each in found if each is not None), key=at_most, default=None)
        doubt = self._doubt(held_out, judges)
        if doubt and self.networks == "auto" and len(given.y) >= ENOUGH and inputs.num_nodes <= MOST_NODES:
            self._try_networks(data, given, judges, held_out)
        self.chosen_ = max(self.weights_, key=lambda name: self.weights_[name])
        self.warning_ = None
        if doubt == UNEVEN and self.chosen_ not in NETWORKS:
            self.warning_ = (
                f"auto: {doubt}: rare classes are found at its cost; a network ('vanilla', 'pi-gnn') may suit better"
            )
            warnings.warn(self.warning_, PignnWarning, stacklevel=2)
        self.explanation_ = self._why(float(1 - (self.transition_.diag()[given.y]).mean()), doubt)
        self.seconds_ = time.perf_counter() - start
        self.num_features_ = int(data.x.shape[1])
        self.class_names_ = class_names(data)
        self.settings_ = self._plain_settings()
        return self

    def refit(self, data: Data) -> Self:
        """A copy: what was chosen, learnt from the labels of this graph; the choice, weights and sharpness stay.

        For folds of the same labels, and for new labels of the same kind: many times faster than to choose again.
        Random parts of other labels are other parts, so that ``labels="noisy-val"`` loses by it.
        """
        if not hasattr(self, "models_"):
            raise NotFittedError("this Auto is not fitted yet; call fit(data) first")
        again = copy.copy(self)
        data = graphs.check_graph(data)
        features, classes = int(data.x.shape[1]), graphs.num_classes(data)
        if features != self.num_features_ or classes > len(self.class_names_):
            raise DataError(
                f"the model was fitted on {self.num_features_} features and {len(self.class_names_)} classes, this "
                f"graph has {features} and {classes}; fit anew"
            )
        given = GivenLabels.of(data, self._learnt_from())
        again.uniform_mass_ = 1 / (len(given.y) + 1)
        made: dict[float, tuple[Embedding, Tensor]] = {}
        if self._smoothed():
            made = self._embeddings(checked_inputs(data, self.directed), self.models_)
        again.models_ = {}
        known: dict[str, Any] = {}
        for name, model in self.models_.items():
            if name in NETWORKS:
                again.models_[name] = self._network(name, data, given, int(model.epochs))
            else:
                again.models_[name] = self._learnt(name, given, made, known)
                again.models_[name].inverse_temperature_ = model.inverse_temperature_
        return again

    def _why(self, rate: float, doubt: str) -> str:
        if self.chosen_ in NETWORKS:
            rest = _told({name: self.agreement_[name] for name in (LINEAR_ONES, *NETWORKS)}, "{:.1%}", self.chosen_)
            mine = f"'{self.chosen_}' was taken: of held-out given labels it agrees with"
            return f"{mine} {self.agreement_[self.chosen_]:.1%} ({rest}); {doubt}"
        most = dict(sorted(self.weights_.items(), key=lambda each: -each[1])[:MOST_TOLD])
        weights = " + ".join(f"{weight:.2f} '{name}'" for name, weight in most.items())
        if len(self.weights_) > len(most):
            weights += f" + {1 - sum(most.values()):.2f} of the rest"
        taken = f"'{self.chosen_}' was taken" if len(self.weights_) == 1 else f"{weights} were averaged"
        if self.labels == "noisy-val":
            mine = f"'{self.chosen_}' agrees with {self.agreement_[self.chosen_]:.1%} of them"
            least = min(self.agreement_[name] for name in self.holdout_log_likelihood_)
            worst = f"the worst of {len(self.holdout_log_likelihood_)} with {least:.1%}"
            return f"{taken} by given labels of validation nodes: {mine}, {worst}"
        values = self.holdout_log_likelihood_
        return (
            f"{taken} by held-out given labels: log-likelihood of '{self.chosen_}' {values[self.chosen_]:.3f} "
            f"under an estimated {rate:.0%} of wrong labels ({_told(values, '{:.3f}', self.chosen_)})"
        )

    def _learnt_from(self) -> str:
        return "train+val" if self.labels == "train+val" else "train"

    def _trial(
        self, data: Data, inputs: backbones.GraphInputs, given: GivenLabels, judges: GivenLabels
    ) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """By name: candidates learnt from ``given``, and their scores of labels in ``judges`` that they have not seen.

        Labels that nobody learns from can tell more candidates apart, and need no folds.
        """
        names = [name for name in LINEAR if judges is not given or name not in MORE]
        made = self._embeddings(inputs, names)
        fitted: dict[str, Any]
        if judges is given:
            fitted = {name: self._candidate(name).fit_embedded(data, given, *made[alpha_of(name)]) for name in names}
            return fitted, {name: model.held_out_ for name, model in fitted.items()}
        fitted = {}
        for name in (*names, *PARTED):
            fitted[name] = self._learnt(name, given, made, known=fitted)
            fitted[name].class_names_ = class_names(data)
        return fitted, {name: model.scores(made[alpha_of(name)][1][judges.nodes]) for name, model in fitted.items()}

    def _learnt(
        self, name: str, given: GivenLabels, made: dict[float, tuple[Embedding, Tensor]], known: dict[str, Any]
    ) -> Any:
        """A candidate. One that has a part of the labels is a copy of another, that has all; it is in ``known``."""
        whole = PARTED.get(name, name)
        if whole not in known:
            known[whole] = self._candidate(whole).learn_embedded(given, *made[alpha_of(whole)])
        if whole == name:
            return known[whole]
        draw = (int(self.seed) * len(PARTED) + list(PARTED).index(name)) % 2**63
        return known[whole].of_part(given.part(SHARE, draw), made[alpha_of(whole)][1])

    def _weigh(self, fitted: dict[str, Any], unseen: dict[str, Tensor], judges: GivenLabels, *, apart: bool) -> Tensor:
        """Weights, noise and sharpness by ``judges``, ``apart`` from what was learnt or not; their averaged scores."""
        # The noise by the candidate that puts the least down to it: how sure to be is told by this one.
        self.transition_ = fitted[CAREFUL[0]].transition_
        total = float(judges.weight.sum())
        share = judges.weight.double() / total
        scaled, self.holdout_log_likelihood_ = {}, {}
        for name, method in fitted.items():
            begin = self.transition_ if apart else method.transition_
            method.inverse_temperature_, likelihood = under_own_noise(unseen[name], judges, begin)
            scaled[name], self.holdout_log_likelihood_[name] = (
                method.inverse_temperature_ * unseen[name],
                float(share @ likelihood),
            )
        self.agreement_ = {name: _agreement(scores, judges) for name, scores in scaled.items()} if apart else {}
        proof = self.agreement_ if apart else self.holdout_log_likelihood_
        self.weights_ = likely({name: total * value for name, value in proof.items() if name != ALONE})
        held_out = average(scaled, self.weights_)
        if apart:  # labels that nobody learnt from tell it better
            self.transition_ = found_transition(held_out, judges.y, judges.trusted)
        reach = evidence(judges, self.transition_).exp()
        self.inverse_temperature_, value = fit_inverse_temperature(held_out, reach, judges.weight)
        if surely_better(fit_inverse_temperature(unseen[ALONE], reach, judges.weight)[1], value, share):
            self.weights_, self.inverse_temperature_ = {ALONE: 1.0}, 1.0
            return scaled[ALONE]
        return held_out

    def _candidate(self, name: str) -> Any:
        method, chosen = (LINEAR | NETWORKS)[PARTED.get(name, name)]
        own = {} if name in NETWORKS else {"labels": self._learnt_from()}
        return make(method, seed=self.seed, directed=self.directed, **chosen, **own)

    def _embeddings(self, inputs: backbones.GraphInputs, names: Iterable[str]) -> dict[float, tuple[Embedding, Tensor]]:
        """By alpha: what is made once for all candidates that share it."""
        made: dict[float, tuple[Embedding, Tensor]] = {}
        for method in map(self._candidate, names):
            if method.alpha not in made:
                embedding = method.embedding()
                made[method.alpha] = embedding, embedding.fit_transform(inputs)
        return made

    def _doubt(self, held_out: Tensor, judges: GivenLabels) -> str:
        """Why classifiers of smoothed features, whose classes are drawn towards one size, may not suit this graph."""
        if self.homophily_ is not None and at_most(self.homophily_) < HALF:
            return MIXED
        largest = float(torch.bincount(judges.y, weights=judges.weight.double()).max() / judges.weight.sum())
        error = (largest * (1 - largest) / len(judges.y)) ** 0.5
        return UNEVEN if at_most((_agreement(held_out, judges), error)) < largest else ""

    def _try_networks(self, data: Data, given: GivenLabels, judges: GivenLabels, linear: Tensor) -> None:
        """A network that agrees with held-out labels more often than ``linear`` scores takes their place.

        By agreement: the transition matrix is that of a linear classifier, and where that is poor it takes mistakes for
        noise.
        """
        part = folds(judges.y, PARTS if judges is given else ASKED, int(self.seed))
        trials = []
        for number in range(ASKED):
            learnt = given.nodes[part != number] if judges is given else given.nodes
            trials.append(_with_labels(data, learnt, judges.nodes[part == number]))
        asked = part < ASKED
        self.agreement_[LINEAR_ONES] = _agreement(linear[asked], judges.take(asked))
        epochs = {}
        for name in NETWORKS:
            self.agreement_[name], epochs[name] = self._network_agreement(name, trials)
        best = max((LINEAR_ONES, *NETWORKS), key=lambda name: self.agreement_[name])
        if best in NETWORKS:
            self.weights_, self.inverse_temperature_ = {best: 1.0}, 1.0
            self.models_ = {best: self._network(best, data, given, epochs[best])}

    def _network_agreement(self, name: str, trials: list[Data]) -> tuple[float, int]:
        """(share of held-out labels that a network agrees with, how many epochs were good for them).

        Each held-out part is judged after the epochs that were best for the other ones: after those that were best for
        itself, agreement would be luck as well.
        """
        curves = []
        for trial in trials:
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
        inputs = backbones.GraphInputs.from_data(data, directed=self.directed)
        made: dict[float, Tensor] = {}
        for model in self.models_.values():
            if model.alpha not in made:
                made[model.alpha] = model.embedded(inputs)
        scores = {
            name: model.inverse_temperature_ * model.scores(made[model.alpha]) for name, model in self.models_.items()
        }
        return not_surer(self.inverse_temperature_ * average(scores, self.weights_), self.uniform_mass_)

    def _smoothed(self) -> bool:
        return all(isinstance(model, Embedded) for model in self.models_.values())

    def fit_facts(self) -> FitFacts:
        return replace(
            super().fit_facts(),
            learns_from_val=self.labels == "train+val",
            chosen=self.chosen_,
            weights=self.weights_,
            explanation=self.explanation_,
            warning=getattr(self, "warning_", None),
        )

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors, models = {"auto.transition": self.transition_.clone()}, []
        for number, (name, model) in enumerate(self.models_.items()):
            own, about = model._state()
            if "components" in own:  # by far the largest, and the same wherever alpha is
                tensors[_embedding_key(model)] = own.pop("components").clone()
            tensors |= {f"{number}.{key}": value.clone() for key, value in own.items()}  # some are shared
            models.append({"name": name, "method": model.name, "settings": model._plain_settings(), "about": about})
        return tensors, {
            "models": models,
            "weights": self.weights_,
            "chosen": self.chosen_,
            "explanation": self.explanation_,
            "holdout_log_likelihood": self.holdout_log_likelihood_,
            "agreement": self.agreement_,
            "homophily": self.homophily_,
            "inverse_temperature": self.inverse_temperature_,
            "uniform_mass": self.uniform_mass_,
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
            if isinstance(model, Embedded) and "components" not in own:  # models of before have one each
                own["components"] = tensors[_embedding_key(model)]
            model._set_state(own, inner["about"])
            self.models_[inner["name"]] = model
        self.weights_ = dict(about["weights"])
        self.inverse_temperature_, self.uniform_mass_ = (
            float(about["inverse_temperature"]),
            float(about["uniform_mass"]),
        )
        self.chosen_, self.explanation_, self.holdout_log_likelihood_ = (
            about["chosen"],
            about["explanation"],
            about["holdout_log_likelihood"],
        )
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


def _embedding_key(model: Embedded) -> str:
    return f"embedding.{float(model.alpha)!r}"


def at_most(estimate: tuple[float, float]) -> float:
    """What a value, estimated with a standard error, hardly exceeds."""
    value, error = estimate
    return value + 2 * error


def _told(values: dict[str, float], form: str, but: str) -> str:
    return ", ".join(f"{name} {form.format(value)}" for name, value in values.items() if name != but)


def _agreement(scores: Tensor, labels: GivenLabels) -> float:
    """Share of labels that are the likeliest class."""
    right = (scores.argmax(1) == labels.y).double()
    return float(labels.weight.double() @ right / labels.weight.sum())


def alpha_of(name: str) -> float:
    method, chosen = LINEAR[PARTED.get(name, name)]
    return float(chosen.get("alpha", method_class(method).alpha))
