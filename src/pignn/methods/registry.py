"""Methods by name: our own, and those that other packages bring through the entry-point group ``pignn.methods``."""

from __future__ import annotations

import importlib
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.errors import ConfigError, unknown

if TYPE_CHECKING:
    from .core.base import Method

GROUP = "pignn.methods"


class MethodInfo(NamedTuple):
    name: str
    home: str
    summary: str


# Name → where it lives. Names alone must not import torch.
BUILT_IN = {
    info.name: info
    for info in (
        MethodInfo("apl", "pignn.methods.apl:APL", "active passive loss, NCE + RCE (Ma et al., ICML 2020)"),
        MethodInfo(
            "appnp",
            "pignn.methods.references:APPNP",
            "an MLP smoothed by personalised PageRank (Gasteiger et al., ICLR 2019)",
        ),
        MethodInfo("auto", "pignn.methods.auto:Auto", "chooses a method by held-out given labels, and says why"),
        MethodInfo(
            "backward",
            "pignn.methods.correction:Backward",
            "loss correction by the inverse transition matrix (Patrini et al., CVPR 2017)",
        ),
        MethodInfo(
            "co-teaching",
            "pignn.methods.co_teaching:CoTeaching",
            "two networks teach each other the small-loss nodes (Han et al., NeurIPS 2018)",
        ),
        MethodInfo(
            "decoupling",
            "pignn.methods.decoupling:Decoupling",
            "two networks learn where they disagree (Malach & Shalev-Shwartz, NeurIPS 2017)",
        ),
        MethodInfo(
            "denoised",
            "pignn.methods.denoised:Denoised",
            "linear classifier of smoothed features, learnt from corrected labels; no network",
        ),
        MethodInfo(
            "dividemix",
            "pignn.methods.dividemix:DivideMix",
            "Gaussian mixture on losses, then MixMatch (Li et al., ICLR 2020)",
        ),
        MethodInfo(
            "forward",
            "pignn.methods.correction:Forward",
            "loss correction by the transition matrix (Patrini et al., CVPR 2017)",
        ),
        MethodInfo("gce", "pignn.methods.gce:GCE", "generalised cross-entropy (Zhang & Sabuncu, NeurIPS 2018)"),
        MethodInfo(
            "ica", "pignn.methods.ica:ICA", "iterative classification by logistic regression (Lu & Getoor, ICML 2003)"
        ),
        MethodInfo(
            "jocor", "pignn.methods.jocor:JoCoR", "two networks with a joint loss of agreement (Wei et al., CVPR 2020)"
        ),
        MethodInfo(
            "label-propagation",
            "pignn.methods.label_propagation:LabelPropagation",
            "labels along the edges, no features (Zhu & Ghahramani, 2002)",
        ),
        MethodInfo(
            "low-density",
            "pignn.methods.low_density:LowDensity",
            "linear classifier of smoothed features whose boundaries avoid nodes; no network",
        ),
        MethodInfo(
            "lpm", "pignn.methods.lpm:LPM", "label propagation + meta learning on trusted nodes (Xia et al., 2021)"
        ),
        MethodInfo("mlp", "pignn.methods.references:MLP", "features alone, no graph"),
        MethodInfo("pi-gnn", "pignn.methods.pi_gnn:PIGNN", "cross-entropy + pair regulariser (Du et al., TMLR 2023)"),
        MethodInfo(
            "planetoid-t",
            "pignn.methods.planetoid:Planetoid",
            "embedding that foretells walks and labels (Yang et al., ICML 2016)",
        ),
        MethodInfo(
            "prototypes",
            "pignn.methods.prototypes:Prototypes",
            "nearest class direction in smoothed features, with a noise model; no network",
        ),
        MethodInfo(
            "s-model",
            "pignn.methods.s_model:SModel",
            "a learnt noise layer after the softmax (Goldberger & Ben-Reuven, ICLR 2017)",
        ),
        MethodInfo("sce", "pignn.methods.sce:SCE", "symmetric cross-entropy (Wang et al., ICCV 2019)"),
        MethodInfo(
            "sgc", "pignn.methods.references:SGC", "linear classifier on propagated features (Wu et al., ICML 2019)"
        ),
        MethodInfo(
            "t-revision",
            "pignn.methods.t_revision:TRevision",
            "importance weights with a revised transition matrix (Xia et al., NeurIPS 2019)",
        ),
        MethodInfo("vanilla", "pignn.methods.vanilla:Vanilla", "the backbone alone, trained by cross-entropy"),
    )
}


def list_methods() -> list[MethodInfo]:
    """Every method that :func:`make` knows, built in or installed beside pignn."""
    found = dict(BUILT_IN)
    for point in entry_points(group=GROUP):
        found.setdefault(point.name, MethodInfo(point.name, point.value, f"from {point.value.split(':')[0]}"))
    return [found[name] for name in sorted(found)]


def method_class(name: str) -> type[Method]:
    info = BUILT_IN.get(name)
    if info is None:  # what is installed beside pignn takes longer to find
        known = {each.name: each for each in list_methods()}
        if name not in known and name in ("gcn", "gat", "sage"):
            raise ConfigError(f"unknown method '{name}'; a plain {name} is method 'vanilla' with backbone '{name}'")
        if name not in known:
            raise unknown("method", name, known)
        info = known[name]
    module, _, attribute = info.home.partition(":")
    return getattr(importlib.import_module(module), attribute)


def make(name: str, **settings: Any) -> Method:
    """The method called ``name``, with its settings: ``make("pi-gnn", backbone="gat", warmup=20)``."""
    kind = method_class(name)
    known = kind._get_param_names()
    for setting in settings:
        if setting not in known:
            if setting in method_class("vanilla")._get_param_names():
                raise ConfigError(
                    f"method '{name}' has no setting '{setting}': that is for methods that train networks"
                )
            raise ConfigError(f"method '{name}': {unknown('setting', setting, known)}")
    return kind(**settings)
