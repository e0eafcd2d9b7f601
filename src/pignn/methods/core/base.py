"""What every method is: settings in the constructor, ``fit``, and answers that do not depend on how it learnt."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from torch import Tensor
from torch_geometric.data import Data

from ... import backbones, graphs
from ..._version import __version__
from ...core.errors import ConfigError, DataError, ModelFileError, NotFittedError, PignnWarning, unknown
from ...graphs.checks import check_data_type
from ...io import files
from ...training.metrics import score as metric_score
from ..registry import METHODS

FORMAT = 1
SPLITS = ("train", "val", "test", "all")
AGAINST = ("truth", "given")


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
    """A way to learn node classes from labels that may be wrong; a scikit-learn estimator over a graph.

    Settings are dataclass fields: a subclass adds its own and inherits the rest. Learned state is in attributes
    that end in ``_``.
    """

    name: ClassVar[str]  # the one under which the class is registered; else its own
    trusted_per_class: ClassVar[int] = 0  # trusted labels that it cannot do without

    seed: int = 0

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in cls.__dict__:
            cls.name = METHODS.find_name(f"{cls.__module__}:{cls.__qualname__}") or cls.__name__

    @abstractmethod
    def fit(self, data: Data, *, split_index: int | None = None) -> Self:
        """Learn from the given labels ``data.y`` of the nodes in ``data.train_mask``."""

    def check_settings(self) -> None:
        """Refuse what cannot be meant, in one line; ``fit`` asks first."""

    @abstractmethod
    def _outputs(self, data: Data) -> Tensor:
        """One row of logits for every node of a checked graph."""

    @abstractmethod
    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Learned state: tensors, and what else JSON can hold."""

    @abstractmethod
    def _set_state(self, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
        """Take back what :meth:`_state` gave; the settings are there already."""

    # What was learnt about any graph, set by fit.
    num_features_: int = field(init=False)
    class_names_: list[str] = field(init=False)

    def _answer(self, data: Data) -> Tensor:
        if not hasattr(self, "class_names_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit(data) first")
        data = graphs.check_graph(data, with_labels=False)
        if data.x.shape[1] != self.num_features_:
            raise DataError(
                f"the model was fitted on {self.num_features_} features, this graph has {data.x.shape[1]}; "
                "give it a graph with the same features"
            )
        with torch.no_grad():
            h = self._outputs(data).cpu()
        if h.shape[1] != len(self.class_names_):
            known, named = h.shape[1], len(self.class_names_)
            raise ModelFileError(f"the model is damaged: it knows {known} classes and names {named}")
        return h

    def embed(self, data: Data) -> np.ndarray:
        """The classifier's raw output h in evaluation mode, [N, classes]."""
        return self._answer(data).numpy()

    def predict_proba(self, data: Data) -> np.ndarray:
        """Class probabilities [N, classes]."""
        return self._answer(data).softmax(dim=1).numpy()

    def predict(self, data: Data) -> np.ndarray:
        """The most probable class of every node, as an integer."""
        return self._answer(data).argmax(dim=1).numpy()

    def score(
        self,
        data: Data,
        *,
        split: str = "test",
        metric: str = "accuracy",
        split_index: int | None = None,
        against: str = "truth",
    ) -> float:
        """How right the predictions are: against ``y_true`` where there is one, else against the given labels.

        ``against="given"`` takes the given labels always: use it to tune on validation nodes without an oracle.
        Agreement with given labels is not accuracy: some of them are wrong.
        """
        nodes, labels = truth(data, split, split_index, against)
        proba = self.predict_proba(data)[nodes]
        return metric_score(labels, proba.argmax(1), proba, metric=metric, num_classes=len(self.class_names_))

    def save(self, path: str | Path) -> None:
        """Write the model as a folder of safetensors and JSON, whole or not at all."""
        if not hasattr(self, "class_names_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; there is nothing to save")
        tensors, about = self._state()
        model = {
            "format": FORMAT,
            "pignn": __version__,
            "method": self.name,
            "settings": getattr(self, "settings_", None) or self._plain_settings(),  # those of fit, not of now
            "num_features": self.num_features_,
            "class_names": self.class_names_,
            **about,
        }
        with files.open_new_folder(Path(path)) as folder:
            files.write_tensors(folder / "model.safetensors", tensors, {"kind": "model"})
            files.write_json(folder / "model.json", model)

    def fit_facts(self) -> FitFacts:
        """What this fitted method can say about its training; a method that has more to say replaces fields."""
        if not hasattr(self, "class_names_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit(data) first")
        return FitFacts(
            method=self.name,
            seed=self.seed,
            settings=getattr(self, "settings_", None) or self._plain_settings(),
            estimates_noise=hasattr(self, "transition_"),
        )

    def _plain_settings(self) -> dict[str, Any]:
        """Settings as JSON can hold them; somebody's own backbone by its name only."""
        return {key: plain(value) for key, value in self.get_params(deep=False).items()}

    @property
    def num_classes_(self) -> int:
        return len(self.class_names_)

    @property
    def classes_(self) -> np.ndarray:
        """What ``predict`` answers with, in the order of ``predict_proba``'s columns; ``class_names_`` names them."""
        return np.arange(len(self.class_names_))

    @property
    def n_features_in_(self) -> int:
        return self.num_features_


def checked_inputs(
    data: Data, directed: bool, device: str | torch.device = "cpu", *, stacklevel: int = 3
) -> backbones.GraphInputs:
    """What is learnt from of a checked graph; what was found odd about its edges is said."""
    inputs = backbones.GraphInputs.from_data(data, directed=directed, device=device)
    for note in inputs.notes:
        warnings.warn(f"edges: {note}", PignnWarning, stacklevel=stacklevel)
    return inputs


def class_names(data: Data) -> list[str]:
    """As the graph has them, else their numbers."""
    names = data.get("class_names")
    return [str(i) for i in range(graphs.num_classes(data))] if names is None else [str(name) for name in names]


def plain(value: Any) -> Any:
    """As JSON can hold it; a callable by its name only."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, torch.device):
        return str(value)
    if callable(value):
        return {"callable": f"{value.__module__}:{getattr(value, '__qualname__', type(value).__name__)}"}
    if isinstance(value, np.ndarray | Tensor):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value  # as it comes back from JSON


def truth(
    data: Data, split: str, split_index: int | None = None, against: str = "truth"
) -> tuple[np.ndarray, np.ndarray]:
    """(nodes of a split, what they are scored against: ``y_true`` where there is one, else ``y``; or ``y`` always)."""
    if split not in SPLITS:
        raise unknown("split", split, SPLITS)
    if against not in AGAINST:
        raise unknown("against", against, AGAINST)
    check_data_type(data)
    labels = data.get("y_true") if against == "truth" else None
    labels = data.get("y") if labels is None else labels
    if labels is None:
        raise DataError("there is nothing to score against: the graph has neither y_true nor y")
    labels = torch.as_tensor(labels).reshape(-1).cpu().numpy()
    if len(labels) != data.num_nodes:
        raise DataError(f"there are {len(labels)} labels to score against, and {data.num_nodes} nodes")
    nodes = np.arange(len(labels))
    if split != "all":
        mask = data.get(f"{split}_mask")
        if mask is None:
            raise DataError(f"the graph has no {split}_mask to score on; use split='all' or add it")
        mask = torch.as_tensor(mask).cpu()
        if mask.dim() == 2:
            count = mask.shape[1]
            if split_index is None and count > 1:
                raise DataError(f"{split}_mask has {count} splits; say which with split_index=")
            if not 0 <= (split_index or 0) < count:
                raise DataError(f"split_index {split_index} is out of range: {split}_mask has {count} splits")
            mask = mask[:, split_index or 0]
        if len(mask) != len(nodes):
            raise DataError(f"{split}_mask has {len(mask)} entries, and there are {len(nodes)} nodes")
        nodes = nodes[mask.bool().numpy()]
    if not (labels[nodes] >= 0).any():
        raise DataError(f"there is nothing to score against: no node of split '{split}' has a label; choose another")
    return nodes, labels[nodes]


def load_model(path: str | Path, **callables: Any) -> Method:
    """The model that :meth:`Method.save` wrote.

    A backbone that was a callable is not in the folder: pass it again, as in ``load_model(path, backbone=build)``.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise ModelFileError(f"no model folder at {folder}")
    if (folder / "model" / "model.json").exists():  # the folder of a run
        folder = folder / "model"
    model = _read_json(folder / "model.json")
    if model.get("format") != FORMAT:
        raise ModelFileError(f"{folder} has model format {model.get('format')}, this pignn reads {FORMAT}")
    try:
        settings = dict(model["settings"])
        kind = _class_of(str(model["method"]), folder)
        names, width = list(model["class_names"]), int(model["num_features"])
        if len({name for name in names if isinstance(name, str)}) < len(names):
            raise ValueError("class_names must be texts, each once")
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ModelFileError(f"{folder / 'model.json'} is damaged: {error}") from None
    tensors, _ = files.read_tensors(folder / "model.safetensors")
    for key, value in settings.items():
        if isinstance(value, dict) and "callable" in value:
            if key not in callables:
                raise ModelFileError(f"{folder} was made with {key}={value['callable']}; load_model(path, {key}=...)")
            settings[key] = callables[key]
    try:
        method = kind(**settings)
        method.check_settings()
        method.class_names_, method.num_features_ = names, width
        method._set_state(tensors, model)
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RuntimeError, ConfigError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ModelFileError(f"{folder} does not fit this version of '{model['method']}': {reason}") from None
    return method


def _class_of(name: str, folder: Path) -> type[Method]:
    try:
        kind: type[Method] = METHODS.get(name)
        return kind
    except ConfigError as error:
        raise ModelFileError(
            f"{folder} has a model of '{name}', which is not here ({error}); if a package brings it, install that"
        ) from None


def _read_json(path: Path) -> dict[str, Any]:
    import json

    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelFileError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise ModelFileError(f"{path} is damaged: not JSON") from None
    if not isinstance(content, dict):
        raise ModelFileError(f"{path} is damaged: not a model description")
    return content
