"""How weights are initialized."""

from __future__ import annotations

import math

import torch
from torch import nn

from ..core.errors import build_unknown_name_error

INITIALIZATIONS = ("glorot", "uniform", "normal", "constant", "kaiming")


@torch.no_grad()
def initialize_parameters(network: nn.Module, init: str = "glorot") -> None:
    """Set every weight matrix by the named rule and every bias to zero.

    glorot U(±√(6/(a + b))) · uniform U(±1/√a) · normal N(0, 0.1²) · constant 0.1 ·
    kaiming N(0, 2/a), for a matrix that maps a inputs to b outputs. After ``constant`` all hidden units are alike
    until dropout tells them apart: without dropout it cannot learn. Parameters that are no matrices, such as the
    scales of normalization layers, stay as they are.
    """
    if init not in INITIALIZATIONS:
        raise build_unknown_name_error("init", init, INITIALIZATIONS)
    for name, parameter in network.named_parameters():
        if "bias" in name:
            parameter.zero_()
        elif parameter.dim() == 2:
            _initialize_matrix_in_place(parameter, init)


def _initialize_matrix_in_place(matrix: nn.Parameter, init: str) -> None:
    fan_in, fan_out = matrix.shape
    if init == "glorot":
        bound = math.sqrt(6 / (fan_in + fan_out))
        matrix.uniform_(-bound, bound)
    elif init == "uniform":
        matrix.uniform_(-1 / math.sqrt(fan_in), 1 / math.sqrt(fan_in))
    elif init == "normal":
        matrix.normal_(0, 0.1)
    elif init == "kaiming":
        matrix.normal_(0, math.sqrt(2 / fan_in))
    else:
        matrix.fill_(0.1)
