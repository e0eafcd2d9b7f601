"""C-GNN."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..backbones import GraphInputs
from ..core.settings import Float, Int, setting
from ..graphs.sparse import spmm
from ..training import Phase
from .core.contrast import compute_infonce_loss, sample_row_indices
from .core.encoding import EncodedClassifier, EncodedMethod
from .core.learner import Step, Task, eval_mode_context
from .core.views import copy_with_random_edges_dropped, copy_with_random_features_masked


def replace_labels_by_neighbor_majority(
    inputs: GraphInputs, y: Tensor, logits: Tensor, similarity_threshold: float
) -> Tensor:
    """The label of each labeled node (−1 elsewhere) after those that contradict their neighborhood are replaced.

    A neighbor has its given label, or the predicted one if it has none. The majority of the neighbors replaces a label
    if it differs and more than ``similarity_threshold`` of the neighbors have a cosine above the same threshold to the
    node in logits.
    """
    adj = inputs.adj
    labels = torch.where(y >= 0, y, logits.argmax(1))
    votes = spmm(adj.to_csr(logits.new_ones(adj.num_entries)), F.one_hot(labels, logits.shape[1]).to(logits))
    unit = F.normalize(logits, dim=1)
    near = (adj.compute_dot_products_at_entries(unit, unit) > similarity_threshold).to(logits)
    share = torch.segment_reduce(near, "sum", lengths=adj.entries_per_row, initial=0) / adj.entries_per_row.clamp(min=1)
    majority = votes.argmax(1)
    return torch.where((y >= 0) & (majority != y) & (share > similarity_threshold), majority, y)


@dataclass(kw_only=True, eq=False, repr=False)
class CGNN(EncodedMethod):
    """Contrast between two augmented views, and labels that contradict a coherent neighborhood are replaced.

    Yuan et al., "Learning on Graphs under Label Noise", ICASSP 2023. One view drops edges, the other single feature
    entries. The loss is CE of the edge-dropped view + InfoNCE of the hidden states (cosine, both directions). After
    ``warm_epochs`` every epoch learns from the labels of :func:`replace_labels_by_neighbor_majority`, found anew from
    the given ones.

    At most ``contrast_nodes`` random nodes a step are contrasted. The authors have three layers (``num_layers=3``).
    Another port cleans nodes outside the training set and copies training labels back unchanged, takes all pairs for
    positives, and reads the labels of test nodes.
    """

    contrast_weight: float = setting(1.0, Float(), "weight of the contrast")
    edge_drop: float = setting(0.5, Float(max=1, open_max=True), "share of edges that the first view drops")
    feature_drop: float = setting(0.5, Float(max=1, open_max=True), "share of feature entries that the second drops")
    temperature: float = setting(0.5, Float(open_min=True), "temperature of the contrast")
    threshold: float = setting(
        0.8, Float(max=1), "similarity, and share of similar neighbors, from which a label moves"
    )
    warm_epochs: int = setting(180, Int(), "epochs before labels are replaced")
    contrast_nodes: int = setting(700, Int(min=2), "most nodes that a step contrasts")

    def prepare_phase(self, task: Task, networks: dict[str, nn.Module], phase: Phase) -> None:
        self._y = task.y

    def objective(self, step: Step) -> Tensor:
        classifier = step.networks["classifier"]
        assert isinstance(classifier, EncodedClassifier)
        logits = classifier(copy_with_random_edges_dropped(step.inputs, self.edge_drop))
        first = classifier.hidden
        classifier(copy_with_random_features_masked(step.inputs, self.feature_drop, whole_columns=False))
        rows = sample_row_indices(len(first), self.contrast_nodes, first.device)
        contrast = compute_infonce_loss(first[rows], classifier.hidden[rows], self.temperature)
        loss = step.weighted_mean(
            self.pointwise(logits[step.rows], self.choose_given_or_majority_labels(step, classifier))
        )
        return loss + self.contrast_weight * contrast

    @torch.no_grad()
    def choose_given_or_majority_labels(self, step: Step, classifier: nn.Module) -> Tensor:
        """The labels to learn in this step. Trusted ones stay."""
        if step.epoch < self.warm_epochs:
            return step.y
        with eval_mode_context(classifier):
            logits = classifier(step.inputs)
        pure = replace_labels_by_neighbor_majority(step.inputs, self._y[step.input_nodes], logits, self.threshold)[
            step.rows
        ]
        return torch.where(step.trusted, step.y, pure)
