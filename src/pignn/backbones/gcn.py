"""Graph convolutional network."""

from __future__ import annotations

from torch import Tensor

from .inputs import GraphInputs
from .mlp import MLP


class GCN(MLP):
    """Kipf & Welling (ICLR 2017): H ← ReLU(D^{-½}(A + I)D^{-½} H W + b), no ReLU after the last layer.

    Dropout between the layers, none on the input.
    """

    uses_weights = True
    paper_hidden_channels = 16

    def aggregate(self, inputs: GraphInputs, h: Tensor) -> Tensor:
        return inputs.gcn_adj @ h
