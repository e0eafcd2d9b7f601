"""CLNode."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..backbones import GraphInputs
from ..core.settings import Choice, Float, Int, setting
from ..graphs.sparse import spmm
from .core.curriculum import PACES, compute_difficulty_rank_shares, compute_easy_share
from .core.encoding import EncodedClassifier
from .core.learner import Step, Task
from .core.pretraining import TeacherPretrainedMethod

TEACHER_CHANNELS = 16
SIMILAR_ENOUGH = 0.95  # share of its class's typical similarity from which a node is as easy as can be


def compute_neighborhood_label_entropy(inputs: GraphInputs, labels: Tensor, num_classes: int) -> Tensor:
    """The entropy of the classes among each node and its neighbors, [N]."""
    one_hot = F.one_hot(labels, num_classes).float()
    counts = one_hot + spmm(inputs.adj.to_csr(torch.ones(inputs.adj.num_entries, device=labels.device)), one_hot)
    share = counts / counts.sum(1, keepdim=True)
    return -torch.xlogy(share, share).sum(1)


def compute_dissimilarity_to_class_direction(embedding: Tensor, labels: Tensor, num_classes: int) -> Tensor:
    """1 / how similar each node is to the direction of its class, relative to the others and to its class, [N]."""
    unit = F.normalize(embedding, dim=1)
    one_hot = F.one_hot(labels, num_classes).to(unit)
    similarity = (unit @ F.normalize(one_hot.t() @ unit, dim=1).t()).clamp(min=0)
    own = num_classes * similarity.gather(1, labels[:, None]).view(-1) / similarity.sum(1).clamp(min=1e-12)
    typical = (one_hot.t() @ own) / one_hot.sum(0).clamp(min=1)
    relative = own / typical[labels].clamp(min=1e-12)
    return 1 / torch.where(relative > SIMILAR_ENOUGH, 1.0, relative).clamp(min=1e-6)


@dataclass(kw_only=True, eq=False, repr=False)
class CLNode(TeacherPretrainedMethod):
    """Easy nodes first: those whose neighbors share their class and whose embedding is typical of it.

    Wei et al., "CLNode: Curriculum Learning for Node Classification", WSDM 2023. A teacher gives an embedding e (the
    softmax of 16 hidden units) and classes for nodes that have no label. The difficulty is the entropy of the classes
    around a node plus ``global_weight`` times 1/(similarity of e to its class). Epoch t learns from the easiest share
    g(t) of the labels, by default λ^(1 − t/T). Costs are linear in nodes and edges.

    Another port minimizes raw logits in the pretraining and gives all unlabeled nodes one constant class.
    """

    pace: str = setting("geometric", Choice(PACES), "how the share of labels grows")
    start_share: float = setting(0.5, Float(max=1, open_min=True), "share λ of the labels at the beginning")
    pace_epochs: int = setting(50, Int(), "epochs T after which all labels are learned from")
    global_weight: float = setting(1.0, Float(), "weight of how untypical a node is of its class")

    def make_teacher_and_num_outputs(self, in_channels: int, num_classes: int) -> tuple[nn.Module, int]:
        encoder = self.build_network(self.backbone, in_channels, TEACHER_CHANNELS)
        return EncodedClassifier(encoder, TEACHER_CHANNELS, num_classes), TEACHER_CHANNELS + num_classes

    def build_teacher_outputs(self, teacher: nn.Module, logits: Tensor) -> Tensor:
        assert isinstance(teacher, EncodedClassifier)
        return torch.cat([teacher.hidden.softmax(-1), logits], dim=1)

    def prepare_from_teacher_outputs(self, task: Task, outputs: Tensor) -> None:
        embedding, logits = outputs[:, :TEACHER_CHANNELS], outputs[:, TEACHER_CHANNELS:]
        labels = torch.where(task.y >= 0, task.y, logits.argmax(1))
        difficulty = compute_neighborhood_label_entropy(task.inputs, labels, task.num_classes)
        difficulty += self.global_weight * compute_dissimilarity_to_class_direction(embedding, labels, task.num_classes)
        difficulty[task.trusted] = -torch.inf
        self._rank = torch.ones(len(labels), device=labels.device)
        self._rank[task.nodes] = compute_difficulty_rank_shares(difficulty[task.nodes])

    def train_objective(self, step: Step) -> Tensor:
        share = compute_easy_share(self.pace, self.start_share, step.epoch, self.pace_epochs)
        easy = self._rank[step.nodes] <= max(share, float(self._rank[self._task.nodes].min()))
        return step.weighted_mean(self.pointwise(step.logits, step.y), easy)
