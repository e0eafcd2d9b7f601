"""An encoder with a linear head, for methods that read hidden states."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from ...backbones import GraphInputs
from .network import NetworkMethod

HIDDEN_CHANNELS = 64


class EncodedClassifier(nn.Module):
    """Logits = linear head of an encoder's output.

    The encoder is a backbone without activation after its last layer, so that a GCN of two layers with its head can
    compute what a GCN of two layers can. ``hidden`` are the encoder's outputs in the last forward pass.
    """

    hidden: Tensor

    def __init__(self, encoder: nn.Module, hidden_channels: int, out_channels: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = nn.Linear(hidden_channels, out_channels)
        self.uses_weights = getattr(encoder, "uses_weights", True)

    def forward(self, inputs: GraphInputs) -> Tensor:
        self.hidden = self.encoder(inputs)
        return self.head(self.hidden)


@dataclass(kw_only=True, eq=False, repr=False)
class EncodedMethod(NetworkMethod):
    """A method whose classifier is an :class:`EncodedClassifier`: it reads the hidden states of the nodes."""

    def make_networks(self, in_channels: int, num_classes: int, num_nodes: int) -> dict[str, nn.Module]:
        networks = super().make_networks(in_channels, num_classes, num_nodes)
        return {**networks, "classifier": self.build_encoded_classifier(in_channels, num_classes)}

    def build_encoded_classifier(
        self, in_channels: int, out_channels: int, width: int = HIDDEN_CHANNELS
    ) -> EncodedClassifier:
        """A fresh encoder of the method's backbone with a linear head."""
        return EncodedClassifier(self.build_network(self.backbone, in_channels, width), width, out_channels)
