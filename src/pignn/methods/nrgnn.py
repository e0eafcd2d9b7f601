"""NRGNN."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from ..core.settings import Float, Int, setting
from ..training import Phase
from .core.best_outputs import BestOutputs
from .core.learner import Step, Task, eval_mode_context
from .core.links import (
    LinkedClassifier,
    LinkedGraph,
    build_edge_predictor,
    find_columns_with_largest_products,
    find_pairs_of_similar_nodes,
    reconstruction_loss,
    symmetrize_pairs_without_edges,
)
from .core.losses import soft_cross_entropy
from .core.network import NetworkMethod


@dataclass(kw_only=True, eq=False, repr=False)
class NRGNN(NetworkMethod):
    """Predicted links to labeled nodes bring supervision to unlabeled ones; a second network adds pseudo-labels.

    Dai, Aggarwal & Wang, "NRGNN: Learning a Label Noise-Resistant Graph Neural Network on Sparsely and Noisily Labeled
    Graphs", KDD 2021. An edge predictor gives z, and a link the weight w = relu(z_i·z_j), 0 below ``min_weight``. The
    miner learns on the graph with links to the ``num_links`` labeled nodes of most similar features. P are the
    unlabeled nodes of which it is sure (> ``confidence``) at its best validation epoch, q its probabilities then; the
    classifier learns on the graph that has links to P too. The loss is CE(miner) + CE(classifier) + α·R +
    β·mean_{v∈P} CE(classifier, q), R the reconstruction of edges by z. Both classifiers train the edge predictor.

    Of the |U|·|P| links to P the ``num_links`` heaviest per node are kept, found in tiles; links count in both
    directions; R has the mean over all non-edges. The authors have 50 links, a learning rate of 0.001 and 200 epochs.
    Other ports freeze P at epoch 0, where an untrained miner is sure of nothing, and pass no gradient to the edge
    predictor.
    """

    needs_whole_graph: ClassVar[bool] = True

    reconstruction_weight: float = setting(0.03, Float(), "weight α of the reconstruction of edges")
    pseudo_weight: float = setting(1.0, Float(), "weight β of the pseudo-labels")
    num_links: int = setting(15, Int(min=1), "candidates per node among labeled nodes, and among pseudo-labeled ones")
    min_weight: float = setting(0.1, Float(), "weight below which a link is left out")
    confidence: float = setting(0.8, Float(max=1), "probability above which the miner's class is a pseudo-label")
    num_recon_negatives: int = setting(50, Int(min=1), "non-edges per node that the reconstruction counts")

    def make_networks(self, in_channels: int, num_classes: int, num_nodes: int) -> dict[str, nn.Module]:
        networks = super().make_networks(in_channels, num_classes, num_nodes)
        predictor = build_edge_predictor(in_channels, self.init)
        classifier = LinkedClassifier(predictor, networks["classifier"], self.min_weight, unit=False)
        miner = self.build_network(self.backbone, in_channels, num_classes)
        return {**networks, "classifier": classifier, "miner": miner, "mined": BestOutputs(num_nodes, num_classes)}

    def prepare_phase(self, task: Task, networks: dict[str, nn.Module], phase: Phase) -> None:
        self._task = task
        if phase.name != "training":
            return
        classifier = networks["classifier"]
        assert isinstance(classifier, LinkedClassifier)
        everyone = torch.arange(task.inputs.num_nodes, device=task.y.device)
        self._first_links = symmetrize_pairs_without_edges(
            find_pairs_of_similar_nodes(task.inputs, everyone, task.nodes, self.num_links), task.inputs.adj
        )
        self._first_graph = LinkedGraph(task.inputs.adj, self._first_links)
        if not classifier.fingerprint.any():  # a resumed run has its links already
            classifier.set_training_links(task.inputs, self._first_links)

    def objective(self, step: Step) -> Tensor:
        classifier, miner, mined = step.networks["classifier"], step.networks["miner"], step.networks["mined"]
        assert isinstance(classifier, LinkedClassifier)
        assert isinstance(mined, BestOutputs)
        miner_logits = miner(classifier.copy_inputs_with_links_of_graph(self._first_graph, step.inputs))
        losses = [self.pointwise(logits, step.y) for logits in (step.logits, miner_logits[step.rows])]
        loss = step.weighted_mean(losses[0] + losses[1])
        loss = loss + self.reconstruction_weight * reconstruction_loss(
            classifier.z, step.inputs.adj, self.num_recon_negatives
        )
        sure = self.find_sure_unlabeled_nodes(mined.outputs)
        if sure.numel():
            pseudo = soft_cross_entropy(step.logits_all[sure], mined.outputs[sure])
            loss = loss + self.pseudo_weight * pseudo.mean()
        if step.epoch:  # an untrained miner has nothing to say
            self.update_pseudo_labels_and_links_if_better(classifier, miner, mined, step)
        return loss

    def find_sure_unlabeled_nodes(self, probs: Tensor) -> Tensor:
        """P: the unlabeled nodes whose class the miner is sure of."""
        return ((probs.amax(1) > self.confidence) & (self._task.y < 0)).nonzero().view(-1)

    @torch.no_grad()
    def update_pseudo_labels_and_links_if_better(
        self, classifier: LinkedClassifier, miner: nn.Module, mined: BestOutputs, step: Step
    ) -> None:
        """Where the miner is better than before: its probabilities, and the links to the nodes it is sure of."""
        with eval_mode_context(miner):
            probs = miner(classifier.copy_inputs_with_links_of_graph(self._first_graph, step.inputs)).softmax(-1)
        if not mined.keep_if_better(self._task, probs, probs.argmax(1)):
            return
        sure = self.find_sure_unlabeled_nodes(probs)
        links = self._first_links
        if sure.numel():
            unlabeled = (self._task.y < 0).nonzero().view(-1)
            nearest, weight = find_columns_with_largest_products(
                classifier.z[unlabeled], classifier.z[sure], self.num_links
            )
            pairs = torch.stack([unlabeled[:, None].expand_as(nearest), sure[nearest]])[:, weight >= self.min_weight]
            links = symmetrize_pairs_without_edges(torch.cat([links, pairs], dim=1), step.inputs.adj)
        classifier.set_training_links(step.inputs, links)
