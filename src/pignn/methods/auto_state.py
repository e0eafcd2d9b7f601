"""The state of ``auto`` as tensors and plain values."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from ..core.errors import ModelFileError
from ..propagation import NodeViews
from .auto_candidates import LEARNER_CLASSES, Candidate

STATE_ATTRIBUTES = (
    *("weights", "inverse_temperature", "uniform_mass", "chosen", "fallback", "explanation"),
    *("holdout_log_likelihood", "agreement", "seconds"),
)


def get_tensors_and_metadata(auto: Any) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The views, the averaged models, and how they are averaged."""
    tensors, views = auto.views_.get_state()
    tensors = {f"views.{key}": value.clone() for key, value in tensors.items()}
    tensors |= {"auto.transition": auto.transition_.clone(), "auto.bias": auto.bias_.clone()}
    models = []
    for number, (name, model) in enumerate(auto.models_.items()):
        own, metadata = model._get_tensors_and_metadata()
        tensors |= {f"{number}.{key}": value.clone() for key, value in own.items()}  # some are shared
        candidate = auto.candidates_[name]
        place = {"learner": candidate.learner, "view": candidate.view, "subset": candidate.subset}
        place |= {"num_features": getattr(model, "num_features_", auto.num_features_)}
        place |= {"inverse_temperature": float(model.inverse_temperature_), "method": model.name}
        models.append(place | {"settings": model.get_json_compatible_settings(), "metadata": metadata})
    state = {name: getattr(auto, f"{name}_") for name in STATE_ATTRIBUTES}
    return tensors, {"models": models, "views": views} | state


def set_tensors_and_metadata(auto: Any, tensors: dict[str, Tensor], metadata: dict[str, Any]) -> None:
    """Restore what :func:`get_tensors_and_metadata` returned."""
    auto.transition_, auto.bias_ = tensors["auto.transition"], tensors["auto.bias"]
    view_tensors, seed = _select_and_strip_prefix(tensors, "views."), int(auto.seed) % 2**31
    auto.views_ = NodeViews.from_state(view_tensors, metadata["views"], directed=auto.directed, seed=seed)
    auto.models_, auto.candidates_ = {}, {}
    for number, inner in enumerate(metadata["models"]):
        if inner["method"] not in LEARNER_CLASSES:
            raise ModelFileError(f"the model inside is '{inner['method']}', which 'auto' never chooses")
        model: Any = LEARNER_CLASSES[inner["method"]](**inner["settings"])
        model.class_names_, model.num_features_ = auto.class_names_, inner["num_features"]
        model._set_tensors_and_metadata(_select_and_strip_prefix(tensors, f"{number}."), inner["metadata"])
        model.inverse_temperature_ = float(inner["inverse_temperature"])
        candidate = Candidate(str(inner["learner"]), str(inner["view"]), inner["subset"])
        auto.models_[candidate.name], auto.candidates_[candidate.name] = model, candidate
    for name in STATE_ATTRIBUTES:
        setattr(auto, f"{name}_", metadata[name])
    auto.weights_ = {str(name): float(weight) for name, weight in metadata["weights"].items()}
    auto.inverse_temperature_ = float(metadata["inverse_temperature"])
    auto.uniform_mass_ = float(metadata["uniform_mass"])


def _select_and_strip_prefix(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)}
