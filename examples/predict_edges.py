"""A method with an edge predictor: links to labeled nodes, weighed by an embedding that is learned with them."""

from dataclasses import dataclass
from typing import ClassVar

import torch

import pignn
from pignn.core.settings import Float, Int, setting
from pignn.methods import NetworkMethod
from pignn.methods.core.links import (
    LinkedClassifier,
    build_edge_predictor,
    find_pairs_of_similar_nodes,
    reconstruction_loss,
    symmetrize_pairs_without_edges,
)


@dataclass(kw_only=True, eq=False, repr=False)
class Linked(NetworkMethod):
    """Cross-entropy on a graph with predicted links; the embedding that weighs them must also tell edges."""

    name: ClassVar[str] = "linked"
    needs_whole_graph: ClassVar[bool] = True

    num_links: int = setting(20, Int(min=1), "candidate links per node, to labeled nodes")
    edge_weight: float = setting(0.1, Float(min=0), "weight of the reconstruction of edges")

    def make_networks(self, in_channels, num_classes, num_nodes):
        networks = super().make_networks(in_channels, num_classes, num_nodes)
        predictor = build_edge_predictor(in_channels, self.init)
        return {**networks, "classifier": LinkedClassifier(predictor, networks["classifier"], 0.1, unit=True)}

    def prepare_phase(self, task, networks, phase):
        everyone = torch.arange(task.inputs.num_nodes)
        pairs = find_pairs_of_similar_nodes(task.inputs, everyone, task.nodes, self.num_links)
        networks["classifier"].set_training_links(task.inputs, symmetrize_pairs_without_edges(pairs, task.inputs.adj))

    def objective(self, step):
        recon = reconstruction_loss(step.networks["classifier"].z, step.inputs.adj, num_negatives=50)
        return super().objective(step) + self.edge_weight * recon


noisy = pignn.corrupt(pignn.load("digits"), "symmetric", 0.4, seed=0)
for title, method in {"plain": pignn.make("vanilla", epochs=60), "linked": Linked(epochs=60)}.items():
    print(f"{title:8s} {method.fit(noisy).score(noisy):.3f}")
