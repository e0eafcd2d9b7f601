"""The files of a checkpoint. Needs no torch."""

from __future__ import annotations

from pathlib import Path

CHECKPOINT_FILE = "checkpoint.safetensors"
PREVIOUS_FILE = "checkpoint.before.safetensors"


def has_checkpoint(folder: Path) -> bool:
    """Whether a training in this folder can be resumed."""
    return (folder / CHECKPOINT_FILE).exists() or (folder / PREVIOUS_FILE).exists()
