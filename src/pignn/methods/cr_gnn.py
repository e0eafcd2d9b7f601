"""CR-GNN."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn import functional as F

from ..core.settings import Float, Int, setting
from ..training.batches import sample_entries_and_counts_per_row
from .core.contrast import compute_infonce_loss, sample_row_indices
from .core.encoding import HIDDEN_CHANNELS, EncodedClassifier, EncodedMethod
from .core.learner import Step
from .core.views import copy_with_random_edges_dropped, copy_with_random_features_masked


class ProjectedClassifier(EncodedClassifier):
    """A second head, of two layers, projects hidden states for the contrast."""

    def __init__(self, encoder: nn.Module, hidden_channels: int, out_channels: int) -> None:
        super().__init__(encoder, hidden_channels, out_channels)
        self.projection = nn.Sequential(
            nn.Linear(hidden_channels, hidden_channels), nn.ReLU(), nn.Linear(hidden_channels, hidden_channels)
        )


def compute_similarity_mismatch(
    projections: tuple[Tensor, Tensor], probs: tuple[Tensor, Tensor], temperature: float, min_similarity: float
) -> Tensor:
    """The mean over pairs of (e^{cos(z¹_i, z²_j)/T} − e^{cos(p¹_i, p²_j)/T})², 0 for cos < ``min_similarity``."""
    projected, classes = (F.normalize(a, dim=1) @ F.normalize(b, dim=1).t() for a, b in (projections, probs))
    wanted = (classes / temperature).exp() * (classes >= min_similarity)
    return ((projected / temperature).exp() - wanted).square().mean()


@dataclass(kw_only=True, eq=False, repr=False)
class CRGNN(EncodedMethod):
    """Two augmented views: contrast between them, and labels are learned where both predict the same class.

    Li et al., "Contrastive Learning of Graphs under Label Noise" (CR-GNN), Neural Networks 2024. Each view drops a
    share of the edges and of the feature columns. The loss is L_sup + α·L_con + α·L_near + β·L_cross: cross-entropy
    of nodes on which both views agree, the mean of both views; InfoNCE of the projections, other nodes of the own
    view among the negatives; the same with a random neighbor as the positive (homophily); and
    :func:`compute_similarity_mismatch` between projections and class distributions. α weighs both contrasts here.

    At most ``contrast_nodes`` random nodes a step are contrasted, so that nothing is N × N. Another port leaves out two
    of the four losses, takes inner products (which overflow), and is NaN where the views agree on no node.
    """

    contrast_weight: float = setting(0.2, Float(), "weight α of the two contrastive losses")
    cross_weight: float = setting(0.2, Float(), "weight β of the match between projections and classes")
    edge_drop: float = setting(0.3, Float(max=1, open_max=True), "share of edges that a view drops")
    feature_drop: float = setting(0.3, Float(max=1, open_max=True), "share of feature columns that a view drops")
    temperature: float = setting(0.5, Float(open_min=True), "temperature of the contrast")
    cross_temperature: float = setting(2.0, Float(open_min=True), "temperature of the match")
    least_similarity: float = setting(0.8, Float(max=1), "similarity of class distributions below which it counts as 0")
    contrast_nodes: int = setting(300, Int(min=2), "most nodes that a step contrasts")

    def build_encoded_classifier(
        self, in_channels: int, out_channels: int, width: int = HIDDEN_CHANNELS
    ) -> EncodedClassifier:
        return ProjectedClassifier(self.build_network(self.backbone, in_channels, width), width, out_channels)

    def objective(self, step: Step) -> Tensor:
        classifier = step.networks["classifier"]
        assert isinstance(classifier, ProjectedClassifier)
        logits, projections = [], []
        for _ in range(2):
            view = copy_with_random_features_masked(
                copy_with_random_edges_dropped(step.inputs, self.edge_drop), self.feature_drop, whole_columns=True
            )
            logits.append(classifier(view))
            projections.append(classifier.projection(classifier.hidden))
        rows = sample_row_indices(len(logits[0]), self.contrast_nodes, logits[0].device)
        z, p = [h[rows] for h in projections], [h[rows].softmax(-1) for h in logits]
        neighbors = projections[1][self.sample_one_neighbor_per_row(step, rows)]
        contrast = compute_infonce_loss(z[0], z[1], self.temperature, include_own_view=True)
        contrast = contrast + compute_infonce_loss(z[0], z[1], self.temperature, positives=neighbors)
        cross = compute_similarity_mismatch((z[0], z[1]), (p[0], p[1]), self.cross_temperature, self.least_similarity)
        supervised = self.compute_loss_where_views_agree(step, logits[0][step.rows], logits[1][step.rows])
        return supervised + self.contrast_weight * contrast + self.cross_weight * cross

    def compute_loss_where_views_agree(self, step: Step, first_logits: Tensor, second_logits: Tensor) -> Tensor:
        """Cross-entropy of the labels of nodes on which both views agree; 0 where they agree on none."""
        agree = (first_logits.argmax(1) == second_logits.argmax(1)) | step.trusted
        losses = 0.5 * (self.pointwise(first_logits, step.y) + self.pointwise(second_logits, step.y))
        return step.weighted_mean(losses, agree)

    def sample_one_neighbor_per_row(self, step: Step, rows: Tensor) -> Tensor:
        """One random neighbor of each row; the row itself if it has none."""
        entries, counts = sample_entries_and_counts_per_row(step.inputs.adj, rows, 1)
        neighbors = rows.clone()
        neighbors[counts > 0] = step.inputs.adj.col[entries].long()
        return neighbors
