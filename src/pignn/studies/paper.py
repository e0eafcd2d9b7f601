"""The numbers that the paper printed.

Du et al., "Noise-robust Graph Learning by Estimating and Leveraging Pairwise Interactions", TMLR 2023. What its tables
call asymmetric noise is ``flip`` here (its released program), not ``pair`` (the formula of its appendix). Curves were
published as pictures only: for them there are no numbers to compare with.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources
from typing import NamedTuple

from .study import NoiseSpec

PUBLISHED_RUNS = 10  # behind each of the paper's means
TABLE_1_ROWS = ("GCN", "PI-GNN w/o pc", "PI-GNN")
# Studies of other numbers than accuracies.
OTHER_METRICS = ("training-time", "pair-noise")


class PublishedNumber(NamedTuple):
    mean: float
    std: float | None


# What the paper calls a row → our label, study by study; what is not here is called the same everywhere.
_LABELS = {
    "": {
        "gcn": "GCN",
        "pi-gnn w/o pc": "PI-GNN w/o pc",
        "pi-gnn": "PI-GNN",
        "decoupling": "Decoupling",
        "gce": "GCE",
        "apl": "APL",
        "co-teaching": "Co-teaching",
        "lpm-1": "LPM-1",
        "t-revision": "T-revision",
        "dividemix": "DivideMix",
        "ica": "ICA",
        "label-propagation": "Label propagation",
        "planetoid": "Planetoid-T",
        "pi-gnn clean pairs": "PI-GNN clean pairs (oracle)",
        "pi-gnn sampled": "PI-GNN sampled",
        "pretrain then freeze": "Pretrain then freeze",
        "gcn seconds on a Tesla P40": "GCN",
        "pi-gnn seconds on a Tesla P40": "PI-GNN",
        "noise ratio of the pair labels": "Pair labels",
    },
    "pair-labels": {
        "random": "Random",
        "noisy-label": "Given labels compared",
        "estimated w/o f_e": "Estimated w/o estimator",
        "clean-label": "True labels compared (oracle)",
        "estimated": "PI-GNN",
    },
    "two-architectures": {
        "gat-gat": "GAT only",
        "gcn-gat": "GCN-GAT",
        "sage-sage": "GraphSAGE only",
        "gcn-sage": "GCN-GraphSAGE",
        "gat-sage": "GAT-GraphSAGE",
    },
}


def find_published(study: str, dataset: str, noise: NoiseSpec, label: str) -> PublishedNumber | None:
    """What the paper printed for a cell; its table 1 where a study repeats a row of it."""
    kind = "asymmetric" if noise.kind == "flip" else noise.kind
    rate = noise.rate or 0.0
    if study == "training-time":
        kind, rate = "", 0.0
    numbers = read_published()
    number = numbers.get((study, dataset, label, kind, rate))
    if number is None and label in TABLE_1_ROWS and study not in OTHER_METRICS:
        number = numbers.get(("effectiveness", dataset, label, kind, rate))
    return number


def find_published_test(dataset: str, noise: NoiseSpec) -> tuple[float, float] | None:
    """|t| and p of GAT against PI-GNN, as printed."""
    kind = "asymmetric" if noise.kind == "flip" else noise.kind
    values = {
        row["item"].rpartition(" ")[2]: float(row["value"])
        for row in read_published_file("other.csv")
        if (row["study"], row["dataset"], row["noise"]) == ("significance", dataset, kind)
        and float(row["rate"]) == noise.rate
    }
    return (values["|t|"], values["p"]) if values else None


@cache
def read_published() -> dict[tuple[str, str, str, str, float], PublishedNumber]:
    """All printed numbers by study, dataset, row, noise and rate."""
    numbers = {}
    for row in read_published_file("accuracy.csv"):
        study = row["study"]
        printed = row["backbone"] if study == "two-architectures" else row["method"]
        key = (study, row["dataset"], _label_of_row(study, printed), row["noise"], float(row["rate"]))
        numbers[key] = PublishedNumber(float(row["mean"]), float(row["std"]))
    for row in read_published_file("other.csv"):
        study, rate = row["study"], float(row["rate"] or 0)
        key = (study, row["dataset"], _label_of_row(study, row["item"]), row["noise"], rate)
        numbers[key] = PublishedNumber(float(row["value"]), None)
    return numbers


def _label_of_row(study: str, printed: str) -> str:
    special = _LABELS.get(study, {}).get(printed)
    return special or _LABELS[""].get(printed) or printed.capitalize()


@cache
def read_published_file(name: str) -> list[dict[str, str]]:
    text = (resources.files(__package__) / "published" / name).read_text(encoding="utf-8")
    return list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))
