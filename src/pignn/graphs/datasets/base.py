"""What a named dataset is: its facts, its raw files, and how it is read. Needs no torch, so that listing is quick."""

from __future__ import annotations

import importlib
import inspect
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.errors import ConfigError, DataError, build_unknown_name_error
from ...io.cache_dir import get_cache_dir

if TYPE_CHECKING:
    from torch_geometric.data import Data

Root = str | os.PathLike[str] | None


@dataclass(frozen=True)
class RawFiles:
    """The raw files of a dataset: paths inside a folder that goes by several names, the usual one first."""

    folders: tuple[str, ...]
    files: tuple[str, ...]

    def find_folder_or_none(self, root: Root = None) -> Path | None:
        """The folder that holds all files, or None."""
        for folder in self._iter_existing_folders(root):
            if all(os.path.isfile(folder / file) for file in self.files):
                return folder
        return None

    def list_paths_or_empty(self, root: Root = None) -> list[Path]:
        """The files where they are all there, else nothing."""
        folder = self.find_folder_or_none(root)
        return [] if folder is None else [folder / file for file in self.files]

    def describe_missing_files_or_empty(self, root: Root = None) -> str:
        """Which files are missing where some are there, for messages; "" otherwise."""
        for folder in self._iter_existing_folders(root):
            missing = [file for file in self.files if not os.path.isfile(folder / file)]
            if len(missing) < len(self.files):
                return f"{folder} lacks {', '.join(missing)}"
        return ""

    @property
    def placement_instruction(self) -> str:
        """Which files go where, for messages."""
        inner = os.path.commonpath([os.path.dirname(file) for file in self.files])
        names = ", ".join(os.path.relpath(file, inner or ".") for file in self.files)
        return f"put {names} into {Path('<root>', self.folders[0], inner)}"

    def _iter_existing_folders(self, root: Root) -> Iterator[Path]:
        names = [name.lower() for name in self.folders]
        for parent in _list_raw_file_search_folders(root):
            try:
                children = {child.name: child for child in parent.iterdir() if child.name.lower() in names}
            except OSError:
                continue
            # The exact usual name first, so that the answer does not depend on the order of a listing.
            order = sorted(children, key=lambda name: (name not in self.folders, names.index(name.lower()), name))
            yield from (children[name] for name in order)
            if parent.name.lower() in names:
                yield parent


def _list_raw_file_search_folders(root: Root) -> list[Path]:
    """Where raw files are looked for, in this order: `root`, PIGNN_DATA, the cache."""
    if root is not None and not Path(root).expanduser().is_dir():
        raise DataError(f"root '{root}' is not a folder")
    return [Path(path).expanduser() for path in (root, os.environ.get("PIGNN_DATA"), get_cache_dir()) if path]


@dataclass(frozen=True, kw_only=True)
class Dataset(ABC):
    """A graph with a name. `num_edges` counts both directions of an undirected edge."""

    name: str
    num_nodes: int
    num_edges: int
    num_features: int
    num_classes: int
    kind: str
    note: str = ""
    source: str = ""
    license: str = ""
    class_names: tuple[str, ...] = ()
    default_split: str = "random"  # or "official", or "first" nodes of every class

    @property
    def has_official_split(self) -> bool:
        """Whether everybody uses the split that it comes with."""
        return self.default_split == "official"

    @property
    def option_names(self) -> list[str]:
        """The options that `load` passes on to `read`."""
        return []

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Raise a ConfigError for an option that the dataset does not have."""
        for option in options:
            if option not in self.option_names:
                hint = f"known: {', '.join(self.option_names)}" if self.option_names else "it has none"
                raise ConfigError(f"unknown option '{option}' for dataset '{self.name}'; {hint}")

    def get_raw_files(self, options: Mapping[str, Any]) -> RawFiles | None:
        """The raw files that `read` needs with these options, None where it needs none."""
        return None

    def find_location_or_empty(self, root: Root = None) -> str:
        """Where the raw files are: a path, "built in" if it needs none, or "" if they are not here."""
        raw = self.get_raw_files({})
        return "built in" if raw is None else str(raw.find_folder_or_none(root) or "")

    @abstractmethod
    def read(self, root: Root, **options: Any) -> Data:
        """The graph, with the masks that it comes with, if any."""

    def to_dict(self) -> dict[str, Any]:
        """Facts about the dataset as plain values, for JSON."""
        return {field.name: getattr(self, field.name) for field in fields(Dataset) if field.name != "class_names"}


@dataclass(frozen=True, kw_only=True)
class FileDataset(Dataset):
    """A graph that a function reads from raw files."""

    raw: RawFiles
    reader: str  # function of the dataset, the root, the settings and the options, as "module:name"
    settings: Mapping[str, Any] = field(default_factory=dict)
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # the options and their values
    structure: RawFiles | None = None  # a file with everything but the features

    @property
    def option_names(self) -> list[str]:
        return list(self.choices)

    def check_options(self, options: Mapping[str, Any]) -> None:
        super().check_options(options)
        for option, value in options.items():
            if value not in self.choices[option]:
                raise build_unknown_name_error(f"{option} of {self.name}", value, self.choices[option])

    def get_raw_files(self, options: Mapping[str, Any]) -> RawFiles:
        variant = options.get("variant", "full")
        if variant == "full":
            return self.raw
        paths = [Path(file) for file in self.raw.files]
        return RawFiles(self.raw.folders, tuple(f"{path.stem}_{variant}{path.suffix}" for path in paths))

    def find_location_or_empty(self, root: Root = None) -> str:
        path = super().find_location_or_empty(root)
        if not path and self.structure is not None and (folder := self.structure.find_folder_or_none(root)) is not None:
            return f"{folder} (no features)"
        return path

    def read(self, root: Root, **options: Any) -> Data:
        return _import_function(self.reader)(self, root, **self.settings, **options)


@dataclass(frozen=True, kw_only=True)
class GeneratedDataset(Dataset):
    """A graph that a function makes; the options are the arguments of the function."""

    function: str  # as "module:name"

    @property
    def option_names(self) -> list[str]:
        return list(inspect.signature(_import_function(self.function)).parameters)

    def read(self, root: Root, **options: Any) -> Data:
        data = _import_function(self.function)(**options)
        for mask in ("train_mask", "val_mask", "test_mask"):
            del data[mask]
        return data


def _import_function(target: str) -> Any:
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)
