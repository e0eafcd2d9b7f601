"""Reading what :meth:`Method.save` wrote."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

from ...core.errors import ConfigError, ModelFileError
from ...io import files
from ..registry import METHODS
from .base import MODEL_FORMAT, Method


def load_model(path: str | Path, **callables: Any) -> Method:
    """The model that :meth:`Method.save` wrote.

    A backbone that was a callable is not in the folder: pass it again, as in ``load_model(path, backbone=build)``.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise ModelFileError(f"no model folder at {folder}")
    if (folder / "model" / "model.json").exists():  # the folder of a run
        folder = folder / "model"
    model = _read_model_json(folder / "model.json")
    if model.get("format") != MODEL_FORMAT:
        raise ModelFileError(f"{folder} has model format {model.get('format')}, this pignn reads {MODEL_FORMAT}")
    try:
        settings = dict(model["settings"])
        kind = _get_method_class_or_raise(str(model["method"]), folder)
        class_names, num_features = list(model["class_names"]), int(model["num_features"])
        if len({name for name in class_names if isinstance(name, str)}) < len(class_names):
            raise ValueError("class_names must be texts, each once")
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ModelFileError(f"{folder / 'model.json'} is damaged: {error}") from None
    tensors, _ = files.read_tensors_and_metadata(folder / "model.safetensors")
    for key, value in settings.items():
        if isinstance(value, dict) and "callable" in value:
            if key not in callables:
                raise ModelFileError(f"{folder} was made with {key}={value['callable']}; load_model(path, {key}=...)")
            settings[key] = callables[key]
    try:
        for each in fields(kind):
            if isinstance(each.default, tuple) and isinstance(settings.get(each.name), list):  # JSON has no tuples
                settings[each.name] = tuple(settings[each.name])
        method = kind(**settings)
        method.check_settings()
        method.class_names_, method.num_features_ = class_names, num_features
        method._set_tensors_and_metadata(tensors, model)
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RuntimeError, ConfigError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ModelFileError(f"{folder} does not fit this version of '{model['method']}': {reason}") from None
    return method


def _get_method_class_or_raise(name: str, folder: Path) -> type[Method]:
    try:
        kind: type[Method] = METHODS.get(name)
    except ConfigError as error:
        raise ModelFileError(
            f"{folder} has a model of '{name}', which is not here ({error}); import the module that registers it "
            "before loading, or install the package that brings it (entry points 'pignn.methods')"
        ) from None
    return kind


def _read_model_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelFileError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise ModelFileError(f"{path} is damaged: not JSON") from None
    if not isinstance(content, dict):
        raise ModelFileError(f"{path} is damaged: not a model description")
    return content
