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
CHECKPOINT_FILE = "checkpoint.safetensors"
PREVIOUS_FILE = "checkpoint.before.safetensors"


def write_checkpoint(
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
    for rank, random in enumerate(distributed.gather_tensors(torch.get_rng_state())):
        tensors[f"random.cpu.{rank}"] = random
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        tensors |= {f"random.cuda.{i}": state for i, state in enumerate(torch.cuda.get_rng_state_all())}
    if not distributed.is_main_process():
        return
    new = path.with_name(f".{CHECKPOINT_FILE}.new")
    write_tensors(new, tensors, {"format": FORMAT, "kind": "checkpoint", "groups": groups, **about})
    if path.exists():  # kept in case the new one is damaged later
        os.replace(path, path.with_name(PREVIOUS_FILE))
    os.replace(new, path)


def has_checkpoint(folder: Path) -> bool:
    return (folder / CHECKPOINT_FILE).exists() or (folder / PREVIOUS_FILE).exists()


def read_newest_checkpoint(folder: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The last checkpoint, or the one before where the last is damaged or was not finished."""
    try:
        return read_checkpoint(folder / CHECKPOINT_FILE)
    except ModelFileError as error:
        if not (folder / PREVIOUS_FILE).exists():
            raise
        found = read_checkpoint(folder / PREVIOUS_FILE)
        warnings.warn(f"{error}; going on from the one before", PignnWarning, stacklevel=2)
        return found


def read_checkpoint(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    tensors, about = read_tensors(path)
    if about.get("kind") != "checkpoint":
        raise ModelFileError(f"{path} is not a checkpoint")
    if about.get("format") != FORMAT:
        raise ModelFileError(f"{path} has format {about.get('format')}, this pignn reads {FORMAT}; train again")
    return tensors, about


def restore_checkpoint(
    tensors: Mapping[str, Tensor],
    about: Mapping[str, Any],
    networks: Mapping[str, nn.Module],
    optimizers: Mapping[str, Optimizer],
) -> dict[str, Tensor]:
    """Put a read checkpoint back; returns the best weights so far."""
    for name, network in networks.items():
        network.load_state_dict(_select_prefix(tensors, f"network.{name}."))
    for name, optimizer in optimizers.items():
        state: dict[int, dict[str, Tensor]] = {}
        for key, value in _select_prefix(tensors, f"optimizer.{name}.").items():
            index, entry = key.split(".", 1)
            state.setdefault(int(index), {})[entry] = value
        optimizer.load_state_dict({"state": state, "param_groups": about["groups"][name]})
    torch.set_rng_state(tensors[f"random.cpu.{distributed.get_rank_and_world_size()[0]}"])
    cuda = _select_prefix(tensors, "random.cuda.")
    if cuda:
        torch.cuda.set_rng_state_all([cuda[str(i)] for i in range(len(cuda))])
    return _select_prefix(tensors, "best.")


def _select_prefix(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {key[len(prefix) :]: value for key, value in tensors.items() if key.startswith(prefix)}
