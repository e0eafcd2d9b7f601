"""CP."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import torch
from sklearn.cluster import KMeans
from torch import Tensor, nn
from torch.nn import functional as F

from .. import propagation
from ..backbones import GraphInputs
from ..core.settings import Choice, Float, Int, setting
from ..training import Phase
from .core.encoding import HIDDEN_CHANNELS, EncodedClassifier, EncodedMethod
from .core.learner import Step, Task

SUBSPACE_ROUNDS = 3


def find_communities(inputs: GraphInputs, num_communities: int, dimensions: int, seed: int) -> Tensor:
    """The community of each node, from the edges alone: k-means of the leading directions of smoothed random vectors.

    Subspace iteration with personalized PageRank: the cost is linear in edges × dimensions.
    """
    generator = torch.Generator().manual_seed(seed)
    size = min(dimensions, inputs.num_nodes)
    h = torch.randn(inputs.num_nodes, size, generator=generator).to(inputs.device)
    for _ in range(SUBSPACE_ROUNDS):
        h = torch.linalg.qr(propagation.smooth(inputs, h, alpha=0.1, num_hops=10)).Q
    unit = F.normalize(propagation.smooth(inputs, h, alpha=0.1, num_hops=10), dim=1).cpu().double().numpy()
    with warnings.catch_warnings():  # fewer distinct rows than communities are no harm
        warnings.simplefilter("ignore")
        found = KMeans(min(num_communities, inputs.num_nodes), n_init=4, random_state=seed).fit_predict(unit)
    return torch.as_tensor(found, dtype=torch.int64, device=inputs.device)


class CommunityClassifier(EncodedClassifier):
    """A second linear head predicts the community."""

    def __init__(self, encoder: nn.Module, hidden_channels: int, out_channels: int, num_communities: int) -> None:
        super().__init__(encoder, hidden_channels, out_channels)
        self.community_head = nn.Linear(hidden_channels, num_communities)


@dataclass(kw_only=True, eq=False, repr=False)
class CP(EncodedMethod):
    """The encoder also predicts communities of the graph, which no wrong label can change.

    Zhang et al., "Adversarial Label-Flipping Attack and Defense for Graph Neural Networks", ICDM 2020. The loss is
    CE(classes) + λ·CE(communities), two linear heads on one encoder. Communities come from k-means of an embedding of
    the edges before the training: here the leading directions of smoothed random vectors, which take the place of
    node2vec (the same information, deterministic, linear cost).

    Other ports take the community loss over training nodes only (``community_nodes="train"``), and one deletes 80 % of
    the edges first.
    """

    community_weight: float = setting(0.2, Float(), "weight λ of the communities")
    num_communities: int = setting(8, Int(min=2), "number of communities")
    community_nodes: str = setting("all", Choice(("all", "train")), "nodes whose community is predicted")
    community_dimensions: int = setting(64, Int(min=1), "dimensions of the embedding that is clustered")

    def build_encoded_classifier(
        self, in_channels: int, out_channels: int, width: int = HIDDEN_CHANNELS
    ) -> EncodedClassifier:
        encoder = self.build_network(self.backbone, in_channels, width)
        return CommunityClassifier(encoder, width, out_channels, self.num_communities)

    def prepare_phase(self, task: Task, networks: dict[str, nn.Module], phase: Phase) -> None:
        self._community = find_communities(task.inputs, self.num_communities, self.community_dimensions, int(self.seed))

    def objective(self, step: Step) -> Tensor:
        classifier = step.networks["classifier"]
        assert isinstance(classifier, CommunityClassifier)
        logits, community = classifier.community_head(classifier.hidden), self._community[step.input_nodes]
        losses = F.cross_entropy(logits, community, reduction="none")
        auxiliary = losses.mean() if self.community_nodes == "all" else step.weighted_mean(losses[step.rows])
        return super().objective(step) + self.community_weight * auxiliary
