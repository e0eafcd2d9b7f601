"""Methods by name: our own, and those of other packages (entry-point group ``pignn.methods``)."""

from __future__ import annotations

from typing import Any

from ..core.registry import Entry, Registry


def _entry(name: str, target: str, summary: str) -> Entry:
    return Entry(name, f"pignn.methods.{target}", summary)


# Targets are texts: listing the methods must not import torch.
METHODS: Registry[Any] = Registry(
    "method",
    "pignn.methods",
    [
        _entry("apl", "apl:APL", "active passive loss, NCE + RCE (Ma et al., ICML 2020)"),
        _entry("appnp", "references:APPNP", "an MLP smoothed by personalized PageRank (Gasteiger et al., ICLR 2019)"),
        _entry("auto", "auto:Auto", "chooses among methods by held-out given labels and explains the choice"),
        _entry(
            "backward",
            "correction:Backward",
            "loss correction by the inverse transition matrix (Patrini et al., CVPR 2017)",
        ),
        _entry(
            "co-teaching",
            "co_teaching:CoTeaching",
            "two networks teach each other the small-loss nodes (Han et al., NeurIPS 2018)",
        ),
        _entry(
            "decoupling",
            "decoupling:Decoupling",
            "two networks learn where they disagree (Malach & Shalev-Shwartz, NeurIPS 2017)",
        ),
        _entry(
            "denoised",
            "denoised:Denoised",
            "linear classifier of smoothed features, learned from corrected labels; no network",
        ),
        _entry("dividemix", "dividemix:DivideMix", "Gaussian mixture on losses, then MixMatch (Li et al., ICLR 2020)"),
        _entry("forward", "correction:Forward", "loss correction by the transition matrix (Patrini et al., CVPR 2017)"),
        _entry("gce", "gce:GCE", "generalized cross-entropy (Zhang & Sabuncu, NeurIPS 2018)"),
        _entry("ica", "ica:ICA", "iterative classification by logistic regression (Lu & Getoor, ICML 2003)"),
        _entry("jocor", "jocor:JoCoR", "two networks with a joint loss of agreement (Wei et al., CVPR 2020)"),
        _entry(
            "label-propagation",
            "label_propagation:LabelPropagation",
            "labels along the edges, no features (Zhu & Ghahramani, 2002)",
        ),
        _entry(
            "low-density",
            "low_density:LowDensity",
            "linear classifier of smoothed features whose boundaries avoid nodes; no network",
        ),
        _entry("lpm", "lpm:LPM", "label propagation + meta learning on trusted nodes (Xia et al., 2021)"),
        _entry("mlp", "references:MLP", "features alone, no graph"),
        _entry("pi-gnn", "pi_gnn:PIGNN", "cross-entropy + pair regularizer (Du et al., TMLR 2023)"),
        _entry(
            "planetoid-t", "planetoid:Planetoid", "embedding that predicts walks and labels (Yang et al., ICML 2016)"
        ),
        _entry(
            "prototypes",
            "prototypes:Prototypes",
            "nearest class direction in smoothed features, with a noise model; no network",
        ),
        _entry(
            "s-model", "s_model:SModel", "a learned noise layer after the softmax (Goldberger & Ben-Reuven, ICLR 2017)"
        ),
        _entry("sce", "sce:SCE", "symmetric cross-entropy (Wang et al., ICCV 2019)"),
        _entry("sgc", "references:SGC", "linear classifier on propagated features (Wu et al., ICML 2019)"),
        _entry(
            "t-revision",
            "t_revision:TRevision",
            "importance weights with a revised transition matrix (Xia et al., NeurIPS 2019)",
        ),
        _entry("vanilla", "vanilla:Vanilla", "the backbone alone, trained by cross-entropy"),
    ],
)


def list_methods() -> list[Entry]:
    """Every method that :func:`~pignn.make` knows, built in or installed beside pignn."""
    return METHODS.entries()
