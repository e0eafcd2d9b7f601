"""Methods by name: our own, and those of other packages (entry-point group ``pignn.methods``)."""

from __future__ import annotations

from typing import Any

from ..core.registry import Entry, Registry


def _make_entry(name: str, target: str, summary: str) -> Entry:
    return Entry(name, f"pignn.methods.{target}", summary)


# Targets are texts: listing the methods must not import torch.
METHODS: Registry[Any] = Registry(
    "method",
    "pignn.methods",
    [
        _make_entry("apl", "apl:APL", "active passive loss, NCE + RCE (Ma et al., ICML 2020)"),
        _make_entry(
            "appnp", "references:APPNP", "an MLP smoothed by personalized PageRank (Gasteiger et al., ICLR 2019)"
        ),
        _make_entry("auto", "auto:Auto", "chooses among methods by held-out given labels and explains the choice"),
        _make_entry(
            "backward",
            "correction:Backward",
            "loss correction by the inverse transition matrix (Patrini et al., CVPR 2017)",
        ),
        _make_entry(
            "c-gnn", "c_gnn:CGNN", "contrast of two views, labels purified by neighbors (Yuan et al., ICASSP 2023)"
        ),
        _make_entry("clnode", "clnode:CLNode", "a curriculum from easy to hard nodes (Wei et al., WSDM 2023)"),
        _make_entry(
            "co-teaching",
            "co_teaching:CoTeaching",
            "two networks teach each other the small-loss nodes (Han et al., NeurIPS 2018)",
        ),
        _make_entry("cp", "cp:CP", "communities are predicted beside classes (Zhang et al., ICDM 2020)"),
        _make_entry(
            "cr-gnn", "cr_gnn:CRGNN", "labels on which two contrasted views agree (Li et al., Neural Networks 2024)"
        ),
        _make_entry(
            "d-gnn", "d_gnn:DGNN", "GIN with backward correction, matrix from its surest nodes (NT et al., 2019)"
        ),
        _make_entry(
            "decoupling",
            "decoupling:Decoupling",
            "two networks learn where they disagree (Malach & Shalev-Shwartz, NeurIPS 2017)",
        ),
        _make_entry(
            "denoised",
            "denoised:Denoised",
            "linear classifier of smoothed features, learned from corrected labels; no network",
        ),
        _make_entry(
            "dnd-net", "dnd_net:DnDNeT", "smoothed features, learned perturbations, neighbors (Ding et al., KDD 2024)"
        ),
        _make_entry(
            "dividemix", "dividemix:DivideMix", "Gaussian mixture on losses, then MixMatch (Li et al., ICLR 2020)"
        ),
        _make_entry(
            "erase", "erase:ERASE", "codes spread out by class, labels denoised by propagation (Chen et al., CIKM 2024)"
        ),
        _make_entry(
            "forward", "correction:Forward", "loss correction by the transition matrix (Patrini et al., CVPR 2017)"
        ),
        _make_entry("gcod", "gcod:GCOD", "a learned discount per label, class centroids (Wani et al., 2024)"),
        _make_entry("gce", "gce:GCE", "generalized cross-entropy (Zhang & Sabuncu, NeurIPS 2018)"),
        _make_entry(
            "graph-cleaner",
            "graph_cleaner:GraphCleaner",
            "a detector of flipped labels, then training without what it finds (Li et al., ICML 2023)",
        ),
        _make_entry("ica", "ica:ICA", "iterative classification by logistic regression (Lu & Getoor, ICML 2003)"),
        _make_entry("jocor", "jocor:JoCoR", "two networks with a joint loss of agreement (Wei et al., CVPR 2020)"),
        _make_entry(
            "label-propagation",
            "label_propagation:LabelPropagation",
            "labels along the edges, no features (Zhu & Ghahramani, 2002)",
        ),
        _make_entry(
            "low-density",
            "low_density:LowDensity",
            "linear classifier of smoothed features whose boundaries avoid nodes; no network",
        ),
        _make_entry("lpm", "lpm:LPM", "label propagation + meta learning on trusted nodes (Xia et al., 2021)"),
        _make_entry("mlp", "references:MLP", "features alone, no graph"),
        _make_entry(
            "nrgnn", "nrgnn:NRGNN", "links to labeled nodes are predicted, pseudo-labels mined (Dai et al., KDD 2021)"
        ),
        _make_entry("pi-gnn", "pi_gnn:PIGNN", "cross-entropy + pair regularizer (Du et al., TMLR 2023)"),
        _make_entry(
            "planetoid-t", "planetoid:Planetoid", "embedding that predicts walks and labels (Yang et al., ICML 2016)"
        ),
        _make_entry(
            "prototypes",
            "prototypes:Prototypes",
            "nearest class direction in smoothed features, with a noise model; no network",
        ),
        _make_entry(
            "r2lp", "r2lp:R2LP", "labels propagated on a learned graph, round by round (Cheng et al., KDD 2024)"
        ),
        _make_entry(
            "rncgln",
            "rncgln:RNCGLN",
            "a transformer that replaces labels and edges as it improves (Zhu et al., AAAI 2024)",
        ),
        _make_entry(
            "rtgnn", "rtgnn:RTGNN", "two networks on predicted links divide and mend labels (Qian et al., WSDM 2023)"
        ),
        _make_entry(
            "s-model", "s_model:SModel", "a learned noise layer after the softmax (Goldberger & Ben-Reuven, ICLR 2017)"
        ),
        _make_entry("sce", "sce:SCE", "symmetric cross-entropy (Wang et al., ICCV 2019)"),
        _make_entry("sgc", "references:SGC", "linear classifier on propagated features (Wu et al., ICML 2019)"),
        _make_entry(
            "t-revision",
            "t_revision:TRevision",
            "importance weights with a revised transition matrix (Xia et al., NeurIPS 2019)",
        ),
        _make_entry("tfr", "tfr:TFR", "class probabilities must tell features; confident nodes teach themselves"),
        _make_entry("tss", "tss:TSS", "labels far from class boundaries first (Wu et al., ICML 2024)"),
        _make_entry(
            "unionnet", "unionnet:UnionNET", "labels weighed and corrected by similar nodes (Li et al., PAKDD 2021)"
        ),
        _make_entry("vanilla", "vanilla:Vanilla", "the backbone alone, trained by cross-entropy"),
    ],
)


# Names of papers and tables that are a method with a setting: plain networks, the nearest mean of smoothed features.
NAMED_SETTINGS: dict[str, tuple[str, dict[str, str]]] = {
    "gcn": ("vanilla", {"backbone": "gcn"}),
    "gat": ("vanilla", {"backbone": "gat"}),
    "sage": ("vanilla", {"backbone": "sage"}),
    "graphsage": ("vanilla", {"backbone": "sage"}),
    "classmean": ("prototypes", {"noise": "none"}),
}


def resolve_method_name_and_settings(name: str) -> tuple[str, dict[str, str]]:
    """The method that a name means, and the setting that the name says: "GCN" is vanilla with a GCN.

    Case, blanks and hyphens do not matter: "PI-GNN", "Co-Teaching" and "label propagation" are names too.
    """
    if not isinstance(name, str) or name in METHODS:
        return name, {}
    squeezed = _normalize_name(name)
    if squeezed in NAMED_SETTINGS:
        return NAMED_SETTINGS[squeezed]
    known = {_normalize_name(each): each for each in METHODS.list_names()}
    return known.get(squeezed, name), {}


def _normalize_name(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def list_methods() -> list[Entry]:
    """Every method that :func:`~pignn.make` knows, built in or installed beside pignn."""
    return METHODS.list_entries()
