"""Datasets that PyG reads: its own loader classes, run on checked copies of the raw files."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .base import Dataset, RawFiles, Root

if TYPE_CHECKING:
    from torch_geometric.data import Data


@dataclass(frozen=True, kw_only=True)
class PyGDataset(Dataset):
    """A dataset that a class of `torch_geometric.datasets` downloads and reads."""

    raw: RawFiles
    loader: str  # name of PyG's class
    loader_options: Mapping[str, Any] = field(default_factory=dict)
    subfolder: str = ""  # below the loader's root, where it expects raw/

    def get_raw_files(self, options: Mapping[str, Any]) -> RawFiles | None:
        return self.raw

    @abstractmethod
    def check_raw_file(self, path: Path, label: str) -> None:
        """Raise a DataError that names `label` if the file is damaged or could run code."""

    def read_class_names(self, folder: Path) -> list[str]:
        """Names of the classes in the raw files below `folder`, if they are there."""
        return []

    def read(self, root: Root, **options: Any) -> Data:
        from .pyg_reader import read_with_pyg

        return read_with_pyg(self, root)
