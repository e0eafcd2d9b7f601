"""What a helper network says at its best epoch, by the given validation labels."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .learner import Task


class BestOutputs(nn.Module):
    """The outputs of a network for all nodes at the epoch with the best validation accuracy; part of a checkpoint.

    Without validation labels the newest outputs are kept.
    """

    outputs: Tensor
    score: Tensor

    def __init__(self, num_nodes: int, channels: int) -> None:
        super().__init__()
        self.register_buffer("outputs", torch.zeros(num_nodes, channels))
        self.register_buffer("score", torch.tensor(-1.0))

    @torch.no_grad()
    def keep_if_better(self, task: Task, outputs: Tensor, predicted: Tensor) -> bool:
        """Keep the outputs if their predictions are better than all before. Says whether they are."""
        labels = task.given_labels
        nodes, y = labels.nodes.to(predicted.device), labels.y.to(predicted.device)
        held_out = task.y[nodes] < 0
        score = torch.tensor(-1.0)
        if bool(held_out.any()):
            score = (predicted[nodes[held_out]] == y[held_out]).float().mean().cpu()
            if not bool(score > self.score.cpu()):
                return False
        self.outputs.copy_(outputs)
        self.score.fill_(score)
        return True
