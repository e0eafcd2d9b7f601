"""The paper's studies by name, and the numbers it printed.

Du et al., "Noise-robust Graph Learning by Estimating and Leveraging Pairwise Interactions", TMLR 2023. What its tables
call asymmetric noise is ``flip`` here (its released program), not ``pair`` (the formula of its appendix). Curves were
published as pictures only: for them there are no numbers to compare with.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from ..core.errors import unknown
from .protocol import PRESETS
from .study import DatasetSpec, NoiseSpec, Study, StudyRow, vary

RUNS = 10  # behind each of the paper's means


class Published(NamedTuple):
    mean: float
    std: float | None


def _noises(*rates: float, clean: bool = False) -> tuple[NoiseSpec, ...]:
    kinds = [NoiseSpec(kind, rate) for kind in ("symmetric", "flip") for rate in rates]
    return (NoiseSpec("none"), *kinds) if clean else tuple(kinds)


def _study(
    name: str, datasets: str, noises: tuple[NoiseSpec, ...], rows: list[StudyRow], title: str, **others: Any
) -> Study:
    return Study(
        name=name,
        datasets=tuple(DatasetSpec(dataset) for dataset in datasets.split()),
        noises=noises,
        rows=tuple(rows),
        title=title,
        protocol=PRESETS["paper"],
        **others,
    )


def _of(backbone: str, name: str) -> list[StudyRow]:
    return [
        StudyRow(name, "vanilla", {"backbone": backbone}),
        StudyRow(f"{name} + PI w/o pc", "pi-gnn", {"backbone": backbone, "pair_labels": "connectivity"}),
        StudyRow(f"{name} + PI", "pi-gnn", {"backbone": backbone}),
    ]


NINE = _noises(0.2, 0.4, 0.6, 0.8, clean=True)
EIGHT = _noises(0.2, 0.4, 0.6, 0.8)
FOUR = _noises(0.4, 0.6)
TWO = _noises(0.6)
GCN = StudyRow("GCN", "vanilla")
WITHOUT = StudyRow("PI-GNN w/o pc", "pi-gnn", {"pair_labels": "connectivity"})
PI = StudyRow("PI-GNN", "pi-gnn")
BASELINES = [
    StudyRow("Decoupling", "decoupling"),
    StudyRow("GCE", "gce"),
    StudyRow("APL", "apl"),
    StudyRow("Co-teaching", "co-teaching"),
    StudyRow("LPM-1", "lpm"),
    StudyRow("T-revision", "t-revision"),
    StudyRow("DivideMix", "dividemix"),
]
STUDIES = {
    study.name: study
    for study in (
        _study(
            "effectiveness",
            "cora citeseer pubmed wikics ogbn-arxiv",
            NINE,
            [GCN, WITHOUT, PI],
            "Test accuracy with GCN as backbone (the paper's table 1)",
        ),
        _study(
            "architectures",
            "cora citeseer",
            NINE,
            [*_of("gat", "GAT"), *_of("sage", "GraphSAGE")],
            "Two other backbones",
        ),
        _study(
            "baselines",
            "cora citeseer pubmed wikics ogbn-arxiv",
            FOUR,
            [*BASELINES, PI],
            "Other ways to learn with noisy labels",
            note="the paper has PubMed and WikiCS at rate 0.4 only",
        ),
        _study(
            "pair-labels",
            "cora citeseer",
            TWO,
            [
                StudyRow("Random", "pi-gnn", {"pair_labels": "random"}),
                StudyRow("Given labels compared", "pi-gnn", {"pair_labels": "given"}),
                StudyRow("Estimated w/o estimator", "pi-gnn", {"pair_labels": "self"}),
                StudyRow("True labels compared (oracle)", "pi-gnn", {"pair_labels": "true"}),
                PI,
            ],
            "PI-GNN with pair labels from other sources",
            note="the paper's oracle row on Cora repeats CiteSeer's; its appendix has 0.523 and 0.341 (clean-pairs)",
        ),
        _study(
            "warmup",
            "cora citeseer",
            TWO,
            vary("pi-gnn", {}, {"warmup": [0, 10, 25, 50, 75, 100, 150, 200]}),
            "Sensitivity to the length of the warm-up",
            x="warmup",
        ),
        _study(
            "beta",
            "cora citeseer",
            TWO,
            vary("pi-gnn", {}, {"beta": [0.01, 0.05, 0.1, 0.2, 0.5, 1.0, "auto"]}),
            "Sensitivity to the weight of the pair loss",
            x="beta",
        ),
        _study(
            "pi-on-baselines",
            "cora citeseer",
            TWO,
            [
                row
                for name, method in (("T-revision", "t-revision"), ("APL", "apl"), ("DivideMix", "dividemix"))
                for row in (StudyRow(name, method), StudyRow(f"{name} + PI", method, {"pairs": "auto"}))
            ],
            "The pair regulariser on top of other methods",
        ),
        _study(
            "two-architectures",
            "citeseer",
            TWO,
            [
                StudyRow("GAT only", "pi-gnn", {"backbone": "gat"}),
                StudyRow("GCN-GAT", "pi-gnn", {"backbone": "gat", "estimator": "gcn"}),
                StudyRow("GraphSAGE only", "pi-gnn", {"backbone": "sage"}),
                StudyRow("GCN-GraphSAGE", "pi-gnn", {"backbone": "sage", "estimator": "gcn"}),
                StudyRow("GAT-GraphSAGE", "pi-gnn", {"backbone": "sage", "estimator": "gat"}),
            ],
            "Different architectures of estimator and classifier",
        ),
        _study(
            "traditional",
            "cora",
            NINE,
            [
                StudyRow("ICA", "ica"),
                StudyRow("Label propagation", "label-propagation"),
                StudyRow("Planetoid-T", "planetoid-t"),
                PI,
            ],
            "Semi-supervised learning before graph networks",
        ),
        _study("heterophily", "actor chameleon", FOUR, [GCN, WITHOUT, PI], "Heterophilous graphs"),
        _study(
            "significance",
            "cora citeseer",
            _noises(0.8),
            [_of("gat", "GAT")[0], _of("gat", "GAT")[2]],
            "Is PI-GNN better than GAT, and how sure is that?",
        ),
        _study(
            "clean-pairs",
            "cora citeseer pubmed",
            FOUR,
            [StudyRow("PI-GNN clean pairs (oracle)", "pi-gnn", {"pair_labels": "true"}), PI],
            "Pair labels from true labels",
        ),
        _study("low-noise", "cora citeseer", _noises(0.1), [GCN, WITHOUT, PI], "Little noise"),
        _study(
            "training-time",
            "cora citeseer pubmed wikics ogbn-arxiv",
            (NoiseSpec("symmetric", 0.4),),
            [GCN, PI],
            "Seconds of training",
            metric="seconds",
            note="run it with one worker on a quiet machine; the paper's seconds are those of a Tesla P40",
        ),
        _study(
            "initialization",
            "cora citeseer",
            TWO,
            [
                *(
                    StudyRow(f"{name.capitalize()}", "pi-gnn", {"init": name})
                    for name in ("uniform", "normal", "constant")
                ),
                StudyRow("Kaiming", "pi-gnn", {"init": "kaiming"}),
                StudyRow("Glorot", "pi-gnn", {"init": "glorot"}),
            ],
            "Sensitivity to the initialization",
        ),
        _study(
            "larger-graph",
            "ogbn-products",
            NINE,
            [
                StudyRow(row.label, row.method, row.settings | {"batch_size": 1024, "num_neighbors": [15, 10]})
                for row in (GCN, WITHOUT, PI)
            ],
            "A larger graph",
        ),
        _study(
            "low-rank",
            "cora",
            EIGHT,
            [
                *(
                    StudyRow(f"Rank {rank}", "pi-gnn", {"pair_labels": "low-rank", "rank": rank})
                    for rank in (1, 50, 100, 200, 400, 600, 1000)
                ),
                PI,
            ],
            "Pair labels from a low-rank approximation of the graph",
        ),
        _study(
            "schedule",
            "cora citeseer",
            NINE,
            [StudyRow("Pretrain then freeze", "pi-gnn", {"schedule": "pretrain"}), PI],
            "The estimator first, then the classifier",
        ),
        _study(
            "pair-noise",
            "cora citeseer",
            EIGHT,
            [StudyRow("Pair labels", "vanilla")],
            "How noisy are pair labels where node labels are noisy?",
            metric="pair_noise",
            note="share of pairs of labelled nodes; the paper does not say how it defines its own, so expect no match",
        ),
        _study(
            "subgraph-sampling",
            "cora citeseer",
            NINE,
            [StudyRow("PI-GNN sampled", "pi-gnn", {"batch_size": 128, "num_neighbors": [15, 10]}), PI],
            "Training on sampled neighbourhoods",
        ),
    )
}

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


def get_study(name: str) -> Study:
    """One of the paper's studies."""
    if name not in STUDIES:
        raise unknown("study", name, STUDIES)
    return STUDIES[name]


def published(name: str, dataset: str, noise: NoiseSpec, label: str) -> Published | None:
    """What the paper printed for a cell; its table 1 where a study repeats a row of it."""
    found = _published()
    kind = "asymmetric" if noise.kind == "flip" else noise.kind
    rate = noise.rate or 0.0
    if name == "training-time":
        kind, rate = "", 0.0
    for place in (name, *(["effectiveness"] if label in ("GCN", "PI-GNN w/o pc", "PI-GNN") else [])):
        if STUDIES.get(name) is not None and STUDIES[name].metric != "accuracy" and place != name:
            continue
        if (place, dataset, label, kind, rate) in found:
            return found[place, dataset, label, kind, rate]
    return None


def published_test(dataset: str, noise: NoiseSpec) -> tuple[float, float] | None:
    """|t| and p of GAT against PI-GNN, as printed."""
    kind = "asymmetric" if noise.kind == "flip" else noise.kind
    values = {
        row["item"].rpartition(" ")[2]: float(row["value"])
        for row in _read("other.csv")
        if (row["study"], row["dataset"], row["noise"]) == ("significance", dataset, kind)
        and float(row["rate"]) == noise.rate
    }
    return (values["|t|"], values["p"]) if values else None


@cache
def _published() -> dict[tuple[str, str, str, str, float], Published]:
    found = {}
    for row in _read("accuracy.csv"):
        name = row["study"]
        called = row["backbone"] if name == "two-architectures" else row["method"]
        key = (name, row["dataset"], _label(name, called), row["noise"], float(row["rate"]))
        found[key] = Published(float(row["mean"]), float(row["std"]))
    for row in _read("other.csv"):
        key = (row["study"], row["dataset"], _label(row["study"], row["item"]), row["noise"], float(row["rate"] or 0))
        found[key] = Published(float(row["value"]), None)
    return found


def _label(name: str, called: str) -> str:
    special = _LABELS.get(name, {}).get(called)
    return special or _LABELS[""].get(called) or called.capitalize()


@cache
def _read(file: str) -> list[dict[str, str]]:
    text = (resources.files(__package__) / "published" / file).read_text(encoding="utf-8")
    return list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))
