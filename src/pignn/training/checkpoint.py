"""The state of a training in one file: networks, optimizers, random states, selection, history, callbacks.

The file is replaced as a whole, so that there is always one to resume from.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from ..core.errors import ModelFileError, warn_user
from ..io.files import read_tensors_and_metadata, write_tensors_and_metadata
from . import distributed
from .checkpoint_files import CHECKPOINT_FILE, PREVIOUS_FILE, has_checkpoint

FORMAT = 2


class Checkpointer:
    """Writes a checkpoint when one is due, and reads it back.

    Args:
        folder: where the checkpoint goes.
        identity: what a checkpoint must agree with before it is resumed.
        every_epochs: a checkpoint is due after this many epochs,
        every_minutes: or after this much time, whichever comes first.
    """

    def __init__(self, folder: Path, identity: dict[str, Any], every_epochs: int, every_minutes: float) -> None:
        self.folder = folder
        self.identity = identity
        self.every_epochs = every_epochs
        self.every_seconds = 60 * every_minutes
        self._last_time = time.monotonic()

    def is_due_by_epochs_or_time(self, num_epochs: int) -> bool:
        """Whether a checkpoint is due after this many epochs. The main process looks at the clock for all."""
        is_late = distributed.is_main_process() and time.monotonic() - self._last_time > self.every_seconds
        return bool(distributed.max_over_processes_or_none(is_late or num_epochs % self.every_epochs == 0))

    def save_and_keep_previous(
        self,
        networks: Mapping[str, nn.Module],
        optimizers: Mapping[str, Optimizer],
        best: Mapping[str, Tensor],
        header: Mapping[str, Any],
    ) -> None:
        """Write a checkpoint now, see :func:`write_checkpoint_from_all_processes`."""
        self._last_time = time.monotonic()
        header = {"identity": self.identity, **header}
        write_checkpoint_from_all_processes(self.folder / CHECKPOINT_FILE, networks, optimizers, best, header)

    def load_checkpoint_or_none(self) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """The tensors and the header of the last checkpoint of this training; ``None`` if there is none."""
        if not has_checkpoint(self.folder):
            return None
        tensors, header = read_newest_intact_checkpoint(self.folder)
        for key, expected in self.identity.items():
            saved = header["identity"].get(key)
            if saved != expected:
                raise self.build_resume_error(f"{key} was {saved!r} and is now {expected!r}")
        return tensors, header

    def build_resume_error(self, reason: str) -> ModelFileError:
        return ModelFileError(f"cannot resume from {self.folder / CHECKPOINT_FILE}: {reason}")

    def delete_previous_checkpoint(self) -> None:
        """Delete the checkpoint before the last: a training that is done does not need it."""
        if distributed.is_main_process():
            (self.folder / PREVIOUS_FILE).unlink(missing_ok=True)


def write_checkpoint_from_all_processes(
    path: Path,
    networks: Mapping[str, nn.Module],
    optimizers: Mapping[str, Optimizer],
    best: Mapping[str, Tensor],
    header: Mapping[str, Any],
) -> None:
    """Write a checkpoint and keep the one before it. All processes take part; the main one writes.

    Args:
        path: the file.
        networks: the networks in training, by name.
        optimizers: their optimizers, by the same names.
        best: the selected weights so far.
        header: what else a resumed run must know, as JSON can hold it.
    """
    tensors = {f"best.{name}": value for name, value in best.items()}
    groups = {}
    for name, network in networks.items():
        tensors |= {f"network.{name}.{key}": value for key, value in network.state_dict().items()}
    for name, optimizer in optimizers.items():
        state = optimizer.state_dict()
        groups[name] = state["param_groups"]
        for index, entries in state["state"].items():
            tensors |= {f"optimizer.{name}.{index}.{key}": torch.as_tensor(value) for key, value in entries.items()}
    for rank, random in enumerate(distributed.gather_tensors_by_rank(torch.get_rng_state())):
        tensors[f"random.cpu.{rank}"] = random
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        tensors |= {f"random.cuda.{i}": state for i, state in enumerate(torch.cuda.get_rng_state_all())}
    if not distributed.is_main_process():
        return
    new = path.with_name(f".{CHECKPOINT_FILE}.new")
    write_tensors_and_metadata(new, tensors, {"format": FORMAT, "kind": "checkpoint", "groups": groups, **header})
    if path.exists():  # kept in case the new one is damaged later
        os.replace(path, path.with_name(PREVIOUS_FILE))
    os.replace(new, path)


def read_newest_intact_checkpoint(folder: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and header of the last checkpoint, or of the one before if the last is damaged or incomplete."""
    try:
        return read_checkpoint_tensors_and_header(folder / CHECKPOINT_FILE)
    except ModelFileError as error:
        if not (folder / PREVIOUS_FILE).exists():
            raise
        previous = read_checkpoint_tensors_and_header(folder / PREVIOUS_FILE)
        warn_user(f"{error}; resuming from the checkpoint before it")
        return previous


def read_checkpoint_tensors_and_header(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and the header of a checkpoint."""
    tensors, header = read_tensors_and_metadata(path)
    if header.get("kind") != "checkpoint":
        raise ModelFileError(f"{path} is not a checkpoint")
    if header.get("format") != FORMAT:
        raise ModelFileError(f"{path} has format {header.get('format')}, this pignn reads {FORMAT}; train again")
    return tensors, header


def restore_checkpoint_and_get_selected_weights(
    tensors: Mapping[str, Tensor],
    header: Mapping[str, Any],
    networks: Mapping[str, nn.Module],
    optimizers: Mapping[str, Optimizer],
) -> dict[str, Tensor]:
    """Load a checkpoint into networks, optimizers and random generators. Returns the selected weights so far."""
    for name, network in networks.items():
        network.load_state_dict(_select_and_strip_prefix(tensors, f"network.{name}."))
    for name, optimizer in optimizers.items():
        state: dict[int, dict[str, Tensor]] = {}
        for key, value in _select_and_strip_prefix(tensors, f"optimizer.{name}.").items():
            index, entry = key.split(".", 1)
            state.setdefault(int(index), {})[entry] = value
        optimizer.load_state_dict({"state": state, "param_groups": header["groups"][name]})
    torch.set_rng_state(tensors[f"random.cpu.{distributed.get_rank_and_world_size()[0]}"])
    cuda = _select_and_strip_prefix(tensors, "random.cuda.")
    if cuda:
        torch.cuda.set_rng_state_all([cuda[str(i)] for i in range(len(cuda))])
    return _select_and_strip_prefix(tensors, "best.")


def _select_and_strip_prefix(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {key[len(prefix) :]: value for key, value in tensors.items() if key.startswith(prefix)}
