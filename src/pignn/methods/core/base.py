"""The base class of all methods: declared settings, ``fit``, predictions, saving."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from torch import Tensor
from torch_geometric.data import Data

from ... import backbones, graphs
from ..._version import __version__
from ...core.errors import DataError, ModelFileError, NotFittedError, warn_user
from ...core.notebook import render_card_html
from ...core.progress import ShowProgress
from ...core.settings import SEED, check_settings, setting
from ...io import files
from ...training.metrics import score as metric_score
from ..registry import METHODS
from .scoring import select_scored_nodes_and_labels

MODEL_FORMAT = 1


class MethodNotFittedError(NotFittedError, SklearnNotFittedError):
    """The same error for those who catch scikit-learn's."""


@dataclass(frozen=True, kw_only=True)
class FitFacts:
    """What a fitted method can say about its training. ``None`` where a question does not apply to the method."""

    method: str
    seed: int
    settings: dict[str, Any]  # those of the fit, as JSON can hold them
    learns_from_val: bool = False  # given labels of validation nodes were learned from too
    repeats_given_labels: bool = False  # labeled nodes get their given label back, right or wrong
    estimates_noise: bool = False  # a transition matrix was learned with the classifier
    chosen: str | None = None  # what a method that chooses among others took
    weights: dict[str, float] = field(default_factory=dict)  # of what was averaged, by name
    explanation: str | None = None  # why, in one line
    pairs: str | None = None  # which pairs were learned from, and why
    uses_true_labels: bool = False  # pair labels came from true labels: an oracle
    selection: str | None = None  # the rule that chose the epoch
    best_epoch: int | None = None
    kept_in_warmup: bool | None = None  # that epoch is one before pair labels were used
    epochs_done: int | None = None
    history: list[dict[str, Any]] = field(default_factory=list)
    stopped_by: int | None = None  # the signal that ended the training early
    warning: str | None = None  # what a user should know before believing the result


@dataclass(kw_only=True, eq=False, repr=False)
class Method(ClassifierMixin, BaseEstimator, ABC):
    """A way to learn node classes from labels that may be wrong: a scikit-learn estimator of a graph.

    Settings are dataclass fields that declare what they accept (:func:`pignn.core.settings.setting`). A subclass adds
    its own and inherits the rest. Learned state is in attributes that end in ``_``.
    """

    name: ClassVar[str]  # the one under which the class is registered; else its own
    trusted_per_class: ClassVar[int] = 0  # trusted labels that it needs

    seed: int = setting(0, SEED, "random seed")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in cls.__dict__:
            cls.name = METHODS.find_name_by_import_path_or_none(f"{cls.__module__}:{cls.__qualname__}") or cls.__name__

    @abstractmethod
    def fit(self, data: Data, *, split_index: int | None = None, progress: ShowProgress = None) -> Self:
        """Learn from the given labels ``data.y`` of the nodes in ``data.train_mask``.

        ``progress`` shows a bar with the time left where there is something to wait for, or tells a function of a
        ``pignn.core.progress.Progress``; None shows it on a terminal.
        """

    def check_settings(self) -> None:
        """Raise a one-line error for the first setting that does not fit its declaration. ``fit`` calls this first.

        A method whose settings depend on one another extends it.
        """
        check_settings(self)

    @abstractmethod
    def _compute_logits(self, data: Data) -> Tensor:
        """Logits of all nodes of a checked graph, [N, classes]."""

    @abstractmethod
    def _get_tensors_and_metadata(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """The learned state: tensors, and whatever else as JSON can hold it."""

    @abstractmethod
    def _set_tensors_and_metadata(self, tensors: dict[str, Tensor], metadata: dict[str, Any]) -> None:
        """Restore what :meth:`_get_tensors_and_metadata` returned. The settings are there already."""

    # What every method knows after fit.
    num_features_: int = field(init=False)
    class_names_: list[str] = field(init=False)

    def _check_fitted(self) -> None:
        if not hasattr(self, "class_names_"):
            raise MethodNotFittedError(f"this {type(self).__name__} is not fitted yet; call fit(data) first")

    def _set_num_features_classes_and_settings(self, data: Data) -> None:
        """Set what every method knows after fit."""
        self.num_features_ = int(data.x.shape[1])
        self.class_names_ = get_class_names_or_numbers(data)
        self.settings_ = self.get_json_compatible_settings()

    def _compute_logits_of_nodes(self, data: Data, nodes: Tensor) -> Tensor:
        """Logits of some nodes of a checked graph."""
        return self._compute_logits(data)[nodes]

    def _check_and_compute_logits(self, data: Data, nodes: np.ndarray | None = None) -> Tensor:
        self._check_fitted()
        data = graphs.copy_checked_graph(data, needs_labels=False)
        if data.x.shape[1] != self.num_features_:
            raise DataError(
                f"the model was fitted on {self.num_features_} features, this graph has {data.x.shape[1]}; "
                "give it a graph with the same features"
            )
        with torch.no_grad():
            if nodes is None:
                logits = self._compute_logits(data).cpu()
            else:
                logits = self._compute_logits_of_nodes(data, torch.from_numpy(nodes)).cpu()
        if logits.shape[1] != self.num_classes_:
            raise ModelFileError(
                f"the model is damaged: it knows {logits.shape[1]} classes and names {self.num_classes_}"
            )
        return logits

    def embed(self, data: Data) -> np.ndarray:
        """The classifier's raw output (logits) in evaluation mode, [N, classes]."""
        return self._check_and_compute_logits(data).numpy()

    def predict_proba(self, data: Data, nodes: np.ndarray | None = None) -> np.ndarray:
        """Class probabilities [N, classes], or those of some ``nodes``."""
        return self._check_and_compute_logits(data, nodes).softmax(dim=1).numpy()

    def predict(self, data: Data) -> np.ndarray:
        """The most probable class of every node, as an integer."""
        return self._check_and_compute_logits(data).argmax(dim=1).numpy()

    def score(
        self,
        data: Data,
        *,
        split: str = "test",
        metric: str = "accuracy",
        split_index: int | None = None,
        against: str = "truth",
    ) -> float:
        """Score the predictions against ``y_true`` if the graph has it, else against the given labels.

        ``against="given"`` always takes the given labels: use it to tune on validation nodes without an oracle.
        Agreement with given labels is not accuracy: some of them are wrong.
        """
        nodes, labels = select_scored_nodes_and_labels(data, split, split_index, against)
        proba = self.predict_proba(data)[nodes]
        return metric_score(labels, proba.argmax(1), proba, metric=metric, num_classes=len(self.class_names_))

    def save(self, path: str | Path) -> None:
        """Write the model as a folder of safetensors and JSON, whole or not at all."""
        self._check_fitted()
        tensors, metadata = self._get_tensors_and_metadata()
        model = {
            "format": MODEL_FORMAT,
            "pignn": __version__,
            "method": self.name,
            "settings": getattr(self, "settings_", None)
            or self.get_json_compatible_settings(),  # those of fit, not of now
            "num_features": self.num_features_,
            "class_names": self.class_names_,
            **metadata,
        }
        with files.new_folder_context(Path(path)) as folder:
            files.write_tensors_and_metadata(folder / "model.safetensors", tensors, {"kind": "model"})
            files.write_json(folder / "model.json", model)

    def get_fit_facts(self) -> FitFacts:
        """What this fitted method can say about its training; a method that has more to say replaces fields."""
        self._check_fitted()
        return FitFacts(
            method=self.name,
            seed=self.seed,
            settings=getattr(self, "settings_", None) or self.get_json_compatible_settings(),
            estimates_noise=hasattr(self, "transition_"),
        )

    def get_json_compatible_settings(self) -> dict[str, Any]:
        """The settings as JSON can hold them; a callable by its name only."""
        return {key: to_json_value(value) for key, value in self.get_params(deep=False).items()}

    def get_changed_settings(self) -> dict[str, Any]:
        """The settings that are not the defaults, apart from the seed."""
        defaults = type(self)().get_params(deep=False) | {"seed": self.seed}
        settings = self.get_params(deep=False)
        return {key: getattr(value, "__name__", value) for key, value in settings.items() if value != defaults[key]}

    def _repr_html_(self) -> str:
        return render_method_card_html(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    @property
    def num_classes_(self) -> int:
        return len(self.class_names_)

    @property
    def classes_(self) -> np.ndarray:
        """The classes in the order of ``predict_proba``'s columns; ``class_names_`` has their names."""
        return np.arange(len(self.class_names_))

    @property
    def n_features_in_(self) -> int:
        return self.num_features_


def render_method_card_html(method: Method) -> str:
    """How a notebook shows a method: its settings and, once it is fitted, what it learned and how well it agrees."""
    changed = {key: to_json_value(value) for key, value in method.get_changed_settings().items()}
    settings = ", ".join(f"{key}={value}" for key, value in changed.items()) or "the defaults"
    if not hasattr(method, "class_names_"):
        return render_card_html(f"{method.name}, not fitted yet", {"settings": settings, "seed": method.seed})
    facts = method.get_fit_facts()
    names = method.class_names_
    best = next((row for row in facts.history if row["epoch"] == facts.best_epoch), {})
    shown = {
        "classes": f"{len(names):,}: {', '.join(names[:8])}{' …' if len(names) > 8 else ''}",
        "features": method.num_features_,
        "chosen": facts.chosen,
        "epochs": facts.epochs_done,
        "kept epoch": facts.best_epoch,
        "agreement with training labels": best.get("train_agreement"),
        "agreement with validation labels": best.get("val_accuracy") if facts.selection != "clean-val" else None,
        "settings": settings,
        "seed": method.seed,
    }
    notes = [text for text in (facts.explanation, facts.warning) if text]
    return render_card_html(f"{method.name}, fitted", shown, notes=notes)


def build_inputs_and_warn_of_edge_changes(
    data: Data, directed: bool, device: str | torch.device = "cpu"
) -> backbones.GraphInputs:
    """The inputs of a checked graph, with a warning about every change that was made to its edges."""
    inputs = backbones.GraphInputs.from_data(data, directed=directed, device=device)
    for note in inputs.notes:
        warn_user(f"edges: {note}")
    return inputs


def get_class_names_or_numbers(data: Data) -> list[str]:
    """The names that the graph gives its classes, else their numbers."""
    names = data.get("class_names")
    return [str(i) for i in range(graphs.num_classes(data))] if names is None else [str(name) for name in names]


def to_json_value(value: Any) -> Any:
    """A value as JSON can hold it; a callable by its name only."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, torch.device):
        return str(value)
    if callable(value):
        return {"callable": f"{value.__module__}:{getattr(value, '__qualname__', type(value).__name__)}"}
    if isinstance(value, np.ndarray | Tensor):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value  # as it comes back from JSON
