"""The base class of backbones that read :class:`~pignn.backbones.GraphInputs`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import ClassVar

import torch
from torch import Tensor, nn

from .inputs import GraphInputs


class Backbone(nn.Module):
    """A network that maps the inputs of a graph to one row of logits per node.

    A subclass creates its parameters in :meth:`create_parameters`, weight matrices empty: the function
    :func:`~pignn.backbones.initialize_parameters` sets them.
    """

    uses_weights: ClassVar[bool] = True  # whether edge weights change the outputs
    default_lr: ClassVar[float] = 0.01  # learning rate if the user sets none
    default_hidden_channels: ClassVar[int] = 64
    paper_hidden_channels: ClassVar[int | None] = None  # of the paper's experiments, where they had another width
    default_dropout: ClassVar[float] = 0.5

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        hidden_channels: int | None = None,
        num_layers: int = 2,
        dropout: float | None = None,
    ) -> None:
        super().__init__()
        self.hidden_channels = self.default_hidden_channels if hidden_channels is None else hidden_channels
        self.num_layers = num_layers
        self.dropout = self.default_dropout if dropout is None else dropout
        self.create_parameters(in_channels, out_channels)

    @abstractmethod
    def create_parameters(self, in_channels: int, out_channels: int) -> None:
        """Create the parameters of all layers."""

    @abstractmethod
    def forward(self, inputs: GraphInputs) -> Tensor:
        """Logits of all nodes, [N, out_channels]."""

    def list_input_and_layer_widths(self, in_channels: int, out_channels: int) -> list[int]:
        """Channels before the first layer and after each one."""
        return [in_channels, *[self.hidden_channels] * (self.num_layers - 1), out_channels]


def make_empty_matrix_parameters(shapes: Iterable[tuple[int, int]]) -> nn.ParameterList:
    return nn.ParameterList(nn.Parameter(torch.empty(shape)) for shape in shapes)


def make_zero_vector_parameters(sizes: Iterable[int]) -> nn.ParameterList:
    return nn.ParameterList(nn.Parameter(torch.zeros(size)) for size in sizes)
