"""The state of a training in one file: networks, optimizers, random states, selection, history.

The file is replaced as a whole, so that there is always one that can be continued from.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from ..core.errors import ModelFileError, PignnWarning
from ..io.files import read_tensors, write_tensors
from . import distributed

FORMAT = 1
NAME = "checkpoint.safetensors"
BEFORE = "checkpoint.before.safetensors"


def write(
    path: Path,
    networks: Mapping[str, nn.Module],
    optimizers: Mapping[str, Optimizer],
    best: Mapping[str, Tensor],
    about: Mapping[str, Any],
) -> None:
    tensors = {f"best.{name}": value for name, value in best.items()}
    groups = {}
    for name, network in networks.items():
        tensors |= {f"network.{name}.{key}": value for key, value in network.state_dict().items()}
    for name, optimizer in optimizers.items():
        state = optimizer.state_dict()
        groups[name] = state["param_groups"]
        for index, entries in state["state"].items():
            tensors |= {f"optimizer.{name}.{index}.{key}": torch.as_tensor(value) for key, value in entries.items()}
    for rank, random in enumerate(distributed.gather(torch.get_rng_state())):
        tensors[f"random.cpu.{rank}"] = random
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        tensors |= {f"random.cuda.{i}": state for i, state in enumerate(torch.cuda.get_rng_state_all())}
    if not distributed.is_first():
        return
    new = path.with_name(f".{NAME}.new")
    write_tensors(new, tensors, {"format": FORMAT, "kind": "checkpoint", "groups": groups, **about})
    if path.exists():  # kept in case the new one is damaged later
        os.replace(path, path.with_name(BEFORE))
    os.replace(new, path)


def exists(folder: Path) -> bool:
    return (folder / NAME).exists() or (folder / BEFORE).exists()


def read_newest(folder: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The last checkpoint, or the one before where the last is damaged or was not finished."""
    try:
        return read(folder / NAME)
    except ModelFileError as error:
        if not (folder / BEFORE).exists():
            raise
        found = read(folder / BEFORE)
        warnings.warn(f"{error}; going on from the one before", PignnWarning, stacklevel=2)
        return found


def read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    tensors, about = read_tensors(path)
    if about.get("kind") != "checkpoint":
        raise ModelFileError(f"{path} is not a checkpoint")
    if about.get("format") != FORMAT:
        raise ModelFileError(f"{path} has format {about.get('format')}, this pignn reads {FORMAT}; train again")
    return tensors, about


def restore(
    tensors: Mapping[str, Tensor],
    about: Mapping[str, Any],
    networks: Mapping[str, nn.Module],
    optimizers: Mapping[str, Optimizer],
) -> dict[str, Tensor]:
    """Put a read checkpoint back; returns the best weights so far."""
    for name, network in networks.items():
        network.load_state_dict(_below(tensors, f"network.{name}."))
    for name, optimizer in optimizers.items():
        state: dict[int, dict[str, Tensor]] = {}
        for key, value in _below(tensors, f"optimizer.{name}.").items():
            index, entry = key.split(".", 1)
            state.setdefault(int(index), {})[entry] = value
        optimizer.load_state_dict({"state": state, "param_groups": about["groups"][name]})
    torch.set_rng_state(tensors[f"random.cpu.{distributed.place()[0]}"])
    cuda = _below(tensors, "random.cuda.")
    if cuda:
        torch.cuda.set_rng_state_all([cuda[str(i)] for i in range(len(cuda))])
    return _below(tensors, "best.")


def _below(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {key[len(prefix) :]: value for key, value in tensors.items() if key.startswith(prefix)}
