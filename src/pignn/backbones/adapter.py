"""Modules that are called the way PyG's models are, as backbones."""

from __future__ import annotations

import inspect

from torch import Tensor, nn

from ..core.errors import ConfigError
from .inputs import GraphInputs


class PyGAdapter(nn.Module):
    """A module that is called as ``module(x, edge_index[, edge_weight])``. It initializes itself."""

    def __init__(self, module: nn.Module, out_channels: int) -> None:
        super().__init__()
        self.module = module
        self.out_channels = out_channels
        self.uses_weights = "edge_weight" in inspect.signature(module.forward).parameters

    def forward(self, inputs: GraphInputs) -> Tensor:
        weights = {"edge_weight": inputs.edge_weight} if self.uses_weights and inputs.edge_weight is not None else {}
        try:
            result = self.module(inputs.x, inputs.edge_index, **weights)
        except TypeError as error:
            if not _accepts_two_arguments(self.module):  # else it is an error inside of it, whose trace is needed
                raise ConfigError(f"a backbone is called as module(x, edge_index): {error}") from None
            raise
        expected = [inputs.num_nodes, self.out_channels]
        if list(result.shape) != expected:
            raise ConfigError(f"the backbone gives {list(result.shape)}; nodes × classes is {expected}")
        return result


def _accepts_two_arguments(module: nn.Module) -> bool:
    try:
        inspect.signature(module.forward).bind(None, None)
    except TypeError:
        return False
    return True
