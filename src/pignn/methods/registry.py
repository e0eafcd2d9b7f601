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
            "co-teaching",
            "co_teaching:CoTeaching",
            "two networks teach each other the small-loss nodes (Han et al., NeurIPS 2018)",
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
            "dividemix", "dividemix:DivideMix", "Gaussian mixture on losses, then MixMatch (Li et al., ICLR 2020)"
        ),
        _make_entry(
            "forward", "correction:Forward", "loss correction by the transition matrix (Patrini et al., CVPR 2017)"
        ),
        _make_entry("gce", "gce:GCE", "generalized cross-entropy (Zhang & Sabuncu, NeurIPS 2018)"),
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
            "s-model", "s_model:SModel", "a learned noise layer after the softmax (Goldberger & Ben-Reuven, ICLR 2017)"
        ),
        _make_entry("sce", "sce:SCE", "symmetric cross-entropy (Wang et al., ICCV 2019)"),
        _make_entry("sgc", "references:SGC", "linear classifier on propagated features (Wu et al., ICML 2019)"),
        _make_entry(
            "t-revision",
            "t_revision:TRevision",
            "importance weights with a revised transition matrix (Xia et al., NeurIPS 2019)",
        ),
        _make_entry("vanilla", "vanilla:Vanilla", "the backbone alone, trained by cross-entropy"),
    ],
)


def list_methods() -> list[Entry]:
    """Every method that :func:`~pignn.make` knows, built in or installed beside pignn."""
    return METHODS.list_entries()
