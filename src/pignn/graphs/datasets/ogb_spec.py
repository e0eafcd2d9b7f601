"""Where the raw files of an OGB graph are, and what its official split is called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...core.errors import unknown
from .base import OFFICIAL, Dataset, RawFiles, Root

_RAW = ("edge", "node-feat", "node-label", "num-node-list", "num-edge-list")
STAND_IN = "stand-in"


@dataclass(frozen=True, kw_only=True)
class OGBSpec(Dataset):
    """A graph of OGB: its files, without their reader."""

    split_rule: str  # the folder of the official split
    is_undirected: bool = False  # the edge file has every undirected edge once
    default_split: str = OFFICIAL
    structure: RawFiles | None = None  # a file with everything but the features

    @property
    def option_names(self) -> list[str]:
        return [] if self.structure is None else ["features"]

    def check_options(self, options: Mapping[str, Any]) -> None:
        super().check_options(options)
        if options.get("features") not in (None, STAND_IN):
            raise unknown(f"features of {self.name}", options["features"], (STAND_IN,))

    def get_raw_files(self, options: Mapping[str, Any]) -> RawFiles:
        folders = (self.name.replace("-", "_"), self.name, self.name.removeprefix("ogbn-"))
        return RawFiles(folders, (*(f"raw/{part}.csv.gz" for part in _RAW), *self.split_files))

    @property
    def split_files(self) -> tuple[str, ...]:
        """The files of the official split."""
        return tuple(f"split/{self.split_rule}/{part}.csv.gz" for part in ("train", "valid", "test"))

    def get_path(self, root: Root = None) -> str:
        path = super().get_path(root)
        if not path and self.structure is not None and (folder := self.structure.find_folder(root)) is not None:
            return f"{folder} (no features)"
        return path
