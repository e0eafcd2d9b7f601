"""The named datasets: what each is, which raw files it needs, and where they are found. Needs no torch."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...core.errors import DataError, unknown


@dataclass(frozen=True)
class DatasetInfo:
    """One row of the list of datasets; `edges` counts both directions of an undirected edge."""

    name: str
    nodes: int
    edges: int
    features: int
    classes: int
    kind: str
    note: str
    source: str


@dataclass(frozen=True)
class RawFiles:
    """The files of a dataset: paths inside a folder that goes by several names, the usual one first."""

    folders: tuple[str, ...]
    files: tuple[str, ...]

    @property
    def place(self) -> str:
        """Where they go below a root, for messages."""
        inner = os.path.commonpath([os.path.dirname(file) for file in self.files])
        return str(Path("<root>", self.folders[0], inner))

    def names(self) -> str:
        inner = os.path.commonpath([os.path.dirname(file) for file in self.files])
        return ", ".join(os.path.relpath(file, inner or ".") for file in self.files)


_INFO = [
    DatasetInfo("digits", 1797, 24680, 64, 10, "images", "built in", "scikit-learn, UCI (CC BY 4.0)"),
    DatasetInfo("csbm", 1000, 10000, 32, 4, "synthetic", "built in; any size, homophily, degree", "made here"),
    DatasetInfo("cora", 2708, 10556, 1433, 7, "citation", "public split", "kimiyoung/planetoid (MIT)"),
    DatasetInfo("citeseer", 3327, 9104, 3703, 6, "citation", "public split", "kimiyoung/planetoid (MIT)"),
    DatasetInfo("pubmed", 19717, 88648, 500, 3, "citation", "public split", "kimiyoung/planetoid (MIT)"),
    DatasetInfo("wikics", 11701, 431726, 300, 10, "hyperlinks", "20 splits", "pmernyei/wiki-cs-dataset (MIT)"),
    DatasetInfo("ogbn-arxiv", 169343, 1166243, 128, 40, "citation", "directed, time split", "OGB (ODC-BY)"),
    DatasetInfo("ogbn-products", 2449029, 123718280, 100, 47, "co-purchase", "sales split", "OGB (Amazon)"),
    DatasetInfo("actor", 7600, 30019, 932, 5, "co-occurrence", "heterophilous, 10 splits", "geom-gcn"),
    DatasetInfo(
        "chameleon",
        2277,
        62742,
        2325,
        5,
        "hyperlinks",
        "heterophilous, 10 splits; variant='filtered' has no duplicate nodes",
        "yandex-research/heterophilous-graphs (MIT)",
    ),
    DatasetInfo("dblp", 17716, 105734, 1639, 4, "citation", "", "EdisonLeeeee/GraphData (MIT)"),
    DatasetInfo("photo", 7650, 238162, 745, 8, "co-purchase", "", "shchur/gnn-benchmark (MIT)"),
]
_BY_NAME = {info.name: info for info in _INFO}
BUILT_IN = ("digits", "csbm")


def _planetoid(folder: str) -> RawFiles:
    parts = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
    return RawFiles((folder,), tuple(f"raw/ind.{folder.lower()}.{part}" for part in parts))


def _ogb(name: str, split: str) -> RawFiles:
    raw = ("edge", "node-feat", "node-label", "num-node-list", "num-edge-list")
    files = [f"raw/{part}.csv.gz" for part in raw]
    files += [f"split/{split}/{part}.csv.gz" for part in ("train", "valid", "test")]
    return RawFiles((name.replace("-", "_"), name, name.removeprefix("ogbn-")), tuple(files))


RAW = {
    "cora": _planetoid("Cora"),
    "citeseer": _planetoid("CiteSeer"),
    "pubmed": _planetoid("PubMed"),
    "wikics": RawFiles(("WikiCS", "wiki-cs"), ("raw/data.json",)),
    "ogbn-arxiv": _ogb("ogbn-arxiv", "time"),
    "ogbn-products": _ogb("ogbn-products", "sales_ranking"),
    "actor": RawFiles(
        ("Actor", "film"),
        (
            "raw/out1_node_feature_label.txt",
            "raw/out1_graph_edges.txt",
            *(f"raw/film_split_0.6_0.2_{i}.npz" for i in range(10)),
        ),
    ),
    "chameleon": RawFiles(("chameleon",), ("chameleon.npz",)),
    "chameleon filtered": RawFiles(("chameleon",), ("chameleon_filtered.npz",)),
    "dblp": RawFiles(("dblp",), ("raw/dblp.npz",)),
    "photo": RawFiles(("Photo",), ("raw/amazon_electronics_photo.npz",)),
    # ogbn-arxiv without its features: edges, labels, years and split in one file.
    "ogbn-arxiv structure": RawFiles(("ogbn-arxiv", "ogbn_arxiv", "arxiv"), ("arxiv_structure_labels_split.npz",)),
}


def list_datasets() -> list[DatasetInfo]:
    """All datasets that `load` knows by name."""
    return list(_INFO)


def info(name: str) -> DatasetInfo:
    """The row of one dataset; upper and lower case do not matter."""
    found = _BY_NAME.get(str(name).lower())
    if found is None:
        raise unknown("dataset", name, _BY_NAME)
    return found


def is_available(name: str, root: str | os.PathLike[str] | None = None) -> bool:
    """Whether the dataset can be loaded without a download (ogbn-arxiv perhaps with stand-in features)."""
    return dataset_path(name, root) != ""


def dataset_path(name: str, root: str | os.PathLike[str] | None = None) -> str:
    """Where the raw files are, "built in" if there are none to find, "" if they are not here."""
    key = info(name).name
    if key in BUILT_IN:
        return "built in"
    folder = find(key, root)
    if folder is None and key == "ogbn-arxiv":
        folder = find("ogbn-arxiv structure", root)
        return "" if folder is None else f"{folder} (no features)"
    return "" if folder is None else str(folder)


def cache_dir() -> Path:
    """PIGNN_CACHE, else pignn below XDG_CACHE_HOME, else ~/.cache/pignn."""
    if chosen := os.environ.get("PIGNN_CACHE"):
        return Path(chosen).expanduser()
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base, "pignn")
    try:
        return Path.home() / ".cache" / "pignn"
    except RuntimeError:  # no home folder
        return Path(tempfile.gettempdir(), "pignn")


def roots(root: str | os.PathLike[str] | None = None) -> list[Path]:
    """Where raw files are looked for, in this order: `root`, PIGNN_DATA, the cache."""
    places = [root, os.environ.get("PIGNN_DATA"), cache_dir()]
    if root is not None and not Path(root).expanduser().is_dir():
        raise DataError(f"root '{root}' is not a folder")
    return [Path(place).expanduser() for place in places if place]


def find(key: str, root: str | os.PathLike[str] | None = None) -> Path | None:
    """The folder that holds all raw files of `key` (a key of `RAW`)."""
    raw = RAW[key]
    for folder in _folders(raw, root):
        if all(os.path.isfile(folder / file) for file in raw.files):
            return folder
    return None


def incomplete(key: str, root: str | os.PathLike[str] | None = None) -> str:
    """Which files are missing where some are there, for messages; "" otherwise."""
    raw = RAW[key]
    for folder in _folders(raw, root):
        missing = [file for file in raw.files if not os.path.isfile(folder / file)]
        if len(missing) < len(raw.files):
            return f"{folder} lacks {', '.join(missing)}"
    return ""


def _folders(raw: RawFiles, root: str | os.PathLike[str] | None) -> Iterator[Path]:
    wanted = [name.lower() for name in raw.folders]
    for place in roots(root):
        try:
            here = {child.name: child for child in place.iterdir() if child.name.lower() in wanted}
        except OSError:
            continue
        # The exact usual name first, so that the answer does not depend on the order of a listing.
        order = sorted(here, key=lambda name: (name not in raw.folders, wanted.index(name.lower()), name))
        yield from (here[name] for name in order)
        if place.name.lower() in wanted:
            yield place
