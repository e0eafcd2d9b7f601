"""Which raw files a dataset of PyG has, and which of PyG's classes reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .base import Dataset, RawFiles


@dataclass(frozen=True, kw_only=True)
class PyGSpec(Dataset):
    """A dataset of `torch_geometric.datasets`: its files and its loader's name, without the call of it."""

    raw: RawFiles
    check_raw_file: Callable[[Path, str], None]  # (path, name in messages); raises a DataError
    loader: str  # name of PyG's class
    loader_options: Mapping[str, Any] = field(default_factory=dict)
    subfolder: str = ""  # below the loader's root, where it expects raw/

    def get_raw_files(self, options: Mapping[str, Any]) -> RawFiles | None:
        return self.raw

    def read_class_names(self, folder: Path) -> list[str]:
        """Names of the classes, if the raw files below `folder` are one .npz file that has them."""
        from ...io.safe_readers import read_npz

        if len(self.raw.files) > 1 or not self.raw.files[0].endswith(".npz"):
            return []
        return [str(name) for name in read_npz(folder / self.raw.files[0], label=self.name).get("class_names", ())]
