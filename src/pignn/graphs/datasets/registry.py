"""The datasets by name. Other packages add theirs through the entry-point group ``pignn.datasets``. Needs no torch."""

from __future__ import annotations

from ...core.errors import unknown
from ...core.registry import Entry, Registry
from .base import Dataset, Root

_HERE = "pignn.graphs.datasets"

DATASETS: Registry[Dataset] = Registry(
    "dataset",
    "pignn.datasets",
    [
        Entry("digits", f"{_HERE}.base:DIGITS", "handwritten digits, joined to their nearest neighbors"),
        Entry("csbm", f"{_HERE}.base:CSBM", "contextual stochastic block model"),
        Entry("cora", f"{_HERE}.pyg_datasets:CORA", "citations between papers on machine learning"),
        Entry("citeseer", f"{_HERE}.pyg_datasets:CITESEER", "citations between papers on computer science"),
        Entry("pubmed", f"{_HERE}.pyg_datasets:PUBMED", "citations between papers on diabetes"),
        Entry("photo", f"{_HERE}.pyg_datasets:PHOTO", "Amazon products that are bought together"),
        Entry("dblp", f"{_HERE}.pyg_datasets:DBLP", "citations between papers of DBLP"),
        Entry("wikics", f"{_HERE}.pyg_datasets:WIKICS", "links between Wikipedia articles on computer science"),
        Entry("actor", f"{_HERE}.pyg_datasets:ACTOR", "actors that appear on the same page of Wikipedia"),
        Entry("chameleon", f"{_HERE}.heterophilous:CHAMELEON", "links between Wikipedia articles on chameleons"),
        Entry("ogbn-arxiv", f"{_HERE}.ogb:ARXIV", "citations between arXiv papers on computer science"),
        Entry("ogbn-products", f"{_HERE}.ogb:PRODUCTS", "Amazon products that are bought together"),
    ],
)


def get_dataset(name: str) -> Dataset:
    """The dataset called `name`. Upper and lower case do not matter."""
    names = {known.lower(): known for known in DATASETS.names()}
    if str(name).lower() not in names:
        raise unknown("dataset", name, names.values())
    return DATASETS.get(names[str(name).lower()])


def list_datasets() -> list[Dataset]:
    """All datasets that `load` knows by name, built in or from an installed package."""
    return [DATASETS.get(name) for name in DATASETS]


def is_available(name: str, root: Root = None) -> bool:
    """Whether the dataset can be loaded without a download (ogbn-arxiv perhaps with stand-in features)."""
    return dataset_path(name, root) != ""


def dataset_path(name: str, root: Root = None) -> str:
    """Where the raw files are: a path, "built in" if there are none to find, or "" if they are not here."""
    return get_dataset(name).get_path(root)
