"""RTGNN."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..core.settings import Float, Int, setting
from ..training import Phase
from .core.committee import TwoNetworkMethod
from .core.learner import Step, Task
from .core.links import (
    LinkedClassifier,
    build_edge_predictor,
    find_pairs_of_similar_nodes,
    reconstruction_loss,
    sort_pairs_without_edges,
)


class Division(NamedTuple):
    """What becomes of each labeled node: clean, relabeled or neither; the predicted class, the factor of its loss."""

    clean: Tensor
    relabeled: Tensor
    predicted: Tensor
    factor: Tensor


def divide_labels_into_clean_and_relabeled(
    losses: Tensor, probs: Tensor, y: Tensor, progress: float, trusted: Tensor
) -> Division:
    """Which labels are learned, from the summed losses [n] and probabilities [2, n, C] of both networks.

    Clean are the κn smallest losses, κ = max(1 − t/(2T), share of losses below their mean), and trusted ones. Of the
    others, a node on which both networks agree against its label, with p₁p₂ > 1 − (1 − min(½, 1/C))·t/T, takes their
    class, with a factor of (p₁p₂)^(½ − t/(2T)).
    """
    num_kept = round(max(1 - progress / 2, float((losses < losses.mean()).float().mean())) * len(losses))
    clean = trusted.clone()
    clean[losses.argsort(stable=True)[:num_kept]] = True
    (first, second), (class_one, class_two) = probs.max(-1)
    product = first * second
    threshold = 1 - (1 - min(0.5, 1 / probs.shape[-1])) * progress
    relabeled = ~clean & (class_one == class_two) & (class_one != y) & (product > threshold)
    return Division(clean, relabeled, class_one, product ** (0.5 - progress / 2))


@dataclass(kw_only=True, eq=False, repr=False)
class RTGNN(TwoNetworkMethod):
    """Two networks on one graph with predicted links divide the labels, relabel some and teach unlabeled nodes.

    Qian et al., "Robust Training of Graph Neural Networks via Noise Governance", WSDM 2023. Links join each labeled
    node with the ``num_links`` unlabeled ones of most similar features, and each unlabeled node with labeled ones;
    their weight is relu(cos(z_i, z_j)), 0 below ``min_weight``. The loss is S + α·R + U + λ·I: S learns clean labels,
    relabeled ones (:func:`divide_labels_into_clean_and_relabeled`) and the rest by a tenth, with
    λ·(KL(p₁‖p₂) + KL(p₂‖p₁)); U learns the class of unlabeled nodes on which both agree with p₁p₂ > th²; I pulls
    labeled nodes toward their neighbors, Σ w·KL(p_neighbor ‖ p), weights normalized per node; R reconstructs edges.
    Both predict by their mean probability.

    A link goes from the node that chose it to the chosen one, as in the authors' program: an unlabeled node hears from
    the few labeled ones to which it is most similar, not from ``num_links`` of them. Candidates are found in tiles, R
    has the mean over all non-edges. The authors have 100 links, a learning rate of 0.001 on features that are not
    scaled (0.002 suits rows of length 1) and 200 epochs. Other ports never relabel the first node of the list,
    multiply a mean KL by the weights (so that they cancel), fail where there are fewer labels than links, and detach
    the weights.
    """

    needs_whole_graph: ClassVar[bool] = True
    default_lr: ClassVar[float | None] = 2e-3
    default_hidden_channels: ClassVar[int | None] = 128

    reconstruction_weight: float = setting(1.0, Float(), "weight α of the reconstruction of edges")
    agreement: float = setting(0.1, Float(), "weight λ of the agreement between networks and with neighbors")
    rest_weight: float = setting(0.1, Float(), "weight of labels that are neither clean nor relabeled")
    confidence: float = setting(0.95, Float(max=1), "mean probability th above which an unlabeled node is learned from")
    num_links: int = setting(20, Int(min=1), "candidate links per node")
    min_weight: float = setting(0.05, Float(), "weight below which a link is left out")
    num_recon_negatives: int = setting(100, Int(min=1), "non-edges per node that the reconstruction counts")

    def make_networks(self, in_channels: int, num_classes: int, num_nodes: int) -> dict[str, nn.Module]:
        networks = super().make_networks(in_channels, num_classes, num_nodes)
        predictor = build_edge_predictor(in_channels, self.init)
        linked = LinkedClassifier(predictor, networks["classifier"], self.min_weight, unit=True)
        return {**networks, "classifier": linked}

    def prepare_phase(self, task: Task, networks: dict[str, nn.Module], phase: Phase) -> None:
        self._y = task.y
        classifier = networks["classifier"]
        assert isinstance(classifier, LinkedClassifier)
        unlabeled = (task.y < 0).nonzero().view(-1)
        sender_receiver_pairs = [
            find_pairs_of_similar_nodes(task.inputs, senders, receivers, self.num_links)
            for senders, receivers in ((task.nodes, unlabeled), (unlabeled, task.nodes))
        ]
        links = sort_pairs_without_edges(torch.cat(sender_receiver_pairs, dim=1).flip(0), task.inputs.adj)
        classifier.set_training_links(task.inputs, links)

    def objective(self, step: Step) -> Tensor:
        classifier = step.networks["classifier"]
        assert isinstance(classifier, LinkedClassifier)
        loss = self.compute_labeled_loss(step) + self.compute_pseudo_label_loss(step)
        loss = loss + self.agreement * self.compute_neighbor_divergence_loss(step, classifier)
        recon = reconstruction_loss(classifier.z, step.inputs.adj, self.num_recon_negatives)
        return loss + self.reconstruction_weight * recon

    def compute_labeled_loss(self, step: Step) -> Tensor:
        """S."""
        losses = self.compute_losses_by_network(step).sum(0)
        divergence = compute_symmetric_divergence(step.logits)
        if not step.epoch:
            return step.weighted_mean(losses + self.agreement * divergence)
        with torch.no_grad():
            progress = step.epoch / self.epochs
            division = divide_labels_into_clean_and_relabeled(
                losses, step.logits.softmax(-1), step.y, progress, step.trusted
            )
        new = sum(self.pointwise(logits, division.predicted) for logits in step.logits)
        learned = torch.where(division.relabeled, division.factor * new, self.rest_weight * losses)
        return step.weighted_mean(torch.where(division.clean, losses, learned) + self.agreement * divergence)

    def compute_pseudo_label_loss(self, step: Step) -> Tensor:
        """U; 0 where the networks are sure of no unlabeled node."""
        with torch.no_grad():
            (first, second), (class_one, class_two) = step.logits_all.softmax(-1).max(-1)
            sure = (class_one == class_two) & (first * second > self.confidence**2) & (self._y < 0)
        if not bool(sure.any()):
            return step.logits.new_zeros(())
        logits, classes = step.logits_all[:, sure], class_one[sure]
        losses = sum(self.pointwise(member, classes) for member in logits)
        return (losses + self.agreement * compute_symmetric_divergence(logits)).mean()

    def compute_neighbor_divergence_loss(self, step: Step, classifier: LinkedClassifier) -> Tensor:
        """I: mean over labeled nodes of Σ_j w_ij·KL(p_j ‖ p_i), w normalized over the neighbors j of a node."""
        log_probs = F.log_softmax(step.logits_all, dim=-1)
        fixed = log_probs.detach().exp()
        entropy = (fixed * log_probs.detach()).sum(-1)  # −H(p_j), constant
        means = [
            classifier.linked.mean_adj @ torch.cat([p, e[:, None]], dim=1) for p, e in zip(fixed, entropy, strict=True)
        ]
        total = step.logits.new_zeros(())
        for mean, log_prob in zip(means, log_probs, strict=True):
            divergence = mean[:, -1] - (mean[:, :-1] * log_prob).sum(1)
            total = total + divergence[step.rows].mean()
        return total


def compute_symmetric_divergence(logits: Tensor) -> Tensor:
    """KL(p₁‖p₂) + KL(p₂‖p₁) of each node, from logits [2, n, C]."""
    first, second = F.log_softmax(logits, dim=-1)
    return ((first.exp() - second.exp()) * (first - second)).sum(-1)
