"""Networks, one file each, and the graph inputs that they read.

A backbone maps :class:`GraphInputs` to one row per node. GCN, GraphSAGE and GAT multiply with CSR matrices that are
normalized once per graph; their outputs equal those of PyG's layers. To add one, subclass :class:`Backbone` and name it
in ``registry.py``, or in another package under the entry-point group ``pignn.backbones``.
"""

from .adapter import PyGAdapter
from .appnp import APPNP
from .base import Backbone
from .gat import GAT
from .gatv2 import GATv2
from .gcn import GCN
from .gin import GIN
from .init import INITIALIZATIONS, initialize_parameters
from .inputs import GraphInputs
from .mlp import MLP
from .registry import (
    BACKBONES,
    Builder,
    build,
    get_backbone_class_or_builder,
    get_default_lr,
    get_paper_hidden_channels_or_none,
)
from .sage import GraphSAGE
from .scaling import FEATURE_SCALINGS, ChunkedFeatures, FeatureScaling
from .sgc import SGC
from .tuned import TunedGCN

__all__ = [
    "APPNP",
    "BACKBONES",
    "FEATURE_SCALINGS",
    "GAT",
    "GCN",
    "GIN",
    "INITIALIZATIONS",
    "MLP",
    "SGC",
    "Backbone",
    "Builder",
    "ChunkedFeatures",
    "FeatureScaling",
    "GATv2",
    "GraphInputs",
    "GraphSAGE",
    "PyGAdapter",
    "TunedGCN",
    "build",
    "get_backbone_class_or_builder",
    "get_default_lr",
    "get_paper_hidden_channels_or_none",
    "initialize_parameters",
]
