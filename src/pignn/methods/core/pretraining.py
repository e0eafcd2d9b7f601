"""Methods that train a helper network first and read its predictions."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ...core.settings import Int, setting
from ...training import Phase
from .best_outputs import BestOutputs
from .learner import Step, Task, eval_mode_context
from .network import NetworkMethod


@dataclass(kw_only=True, eq=False, repr=False)
class TeacherPretrainedMethod(NetworkMethod):
    """First a teacher learns the given labels; what it says at its best validation epoch prepares the training.

    A subclass implements :meth:`prepare_from_teacher_outputs` and :meth:`train_objective`.
    """

    pretrain_epochs: int = setting(200, Int(min=1), "epochs of the network whose predictions prepare the training")

    @abstractmethod
    def prepare_from_teacher_outputs(self, task: Task, outputs: Tensor) -> None:
        """Called before the training with the teacher's outputs for all nodes, [N, teacher channels]."""

    @abstractmethod
    def train_objective(self, step: Step) -> Tensor:
        """The class loss of one step of the training."""

    def make_teacher_and_num_outputs(self, in_channels: int, num_classes: int) -> tuple[nn.Module, int]:
        """The teacher, and how many outputs :meth:`build_teacher_outputs` gives per node."""
        return self.build_network(self.backbone, in_channels, num_classes), num_classes

    def build_teacher_outputs(self, teacher: nn.Module, logits: Tensor) -> Tensor:
        """The outputs to keep, after a forward pass that gave ``logits``."""
        return logits

    def list_phases(self) -> list[Phase]:
        return [
            *super().list_phases()[:-1],
            Phase("pretrain", self.pretrain_epochs, False),
            *super().list_phases()[-1:],
        ]

    def make_networks(self, in_channels: int, num_classes: int, num_nodes: int) -> dict[str, nn.Module]:
        networks = super().make_networks(in_channels, num_classes, num_nodes)
        teacher, channels = self.make_teacher_and_num_outputs(in_channels, num_classes)
        return {**networks, "teacher": teacher, "teacher_outputs": BestOutputs(num_nodes, channels)}

    def prepare_phase(self, task: Task, networks: dict[str, nn.Module], phase: Phase) -> None:
        self._task, self._judged_epoch = task, -1
        if phase.name == "training":
            self.keep_teacher_outputs_if_best(networks)
            outputs = networks["teacher_outputs"].outputs
            assert isinstance(outputs, Tensor)
            self.prepare_from_teacher_outputs(task, outputs)

    def keep_teacher_outputs_if_best(self, networks: dict[str, nn.Module]) -> None:
        """Keep what the teacher says of all nodes if it is better than before."""
        best = networks["teacher_outputs"]
        assert isinstance(best, BestOutputs)
        with torch.no_grad(), eval_mode_context(networks["teacher"]) as teacher:
            logits = teacher(self._task.inputs)
            best.keep_if_better(self._task, self.build_teacher_outputs(teacher, logits), logits.argmax(1))

    def objective(self, step: Step) -> Tensor:
        if step.phase != "pretrain":
            return self.train_objective(step)
        if step.epoch != self._judged_epoch:  # once per epoch, not per batch
            if step.epoch:  # a teacher that has learned nothing yet is not judged
                self.keep_teacher_outputs_if_best(step.networks)
            self._judged_epoch = step.epoch
        return self.compute_teacher_loss(step, step.networks["teacher"])

    def compute_teacher_loss(self, step: Step, teacher: nn.Module) -> Tensor:
        """What the teacher learns: here the given labels."""
        return step.weighted_mean(self.pointwise(teacher(step.inputs)[step.rows], step.y))
