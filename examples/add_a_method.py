"""A method of your own in one small class: here, labels are softened more the longer the training goes on."""

from dataclasses import dataclass
from typing import ClassVar

import torch

import pignn
from pignn.methods import NetworkMethod


@dataclass(kw_only=True, eq=False, repr=False)
class Bootstrapped(NetworkMethod):
    """Reed et al., 2015: cross-entropy with a share of each target taken from the prediction itself."""

    name: ClassVar[str] = "bootstrapped"

    own: float = 0.4  # the share, reached after half of the epochs

    def objective(self, step):
        logs = step.logits.log_softmax(-1)
        share = self.own * min(1.0, 2 * step.epoch / self.epochs)
        given = torch.nn.functional.one_hot(step.y, logs.shape[-1])
        target = (1 - share) * given + share * logs.detach().exp()
        return step.weighted_mean(-(target * logs).sum(-1))


noisy = pignn.corrupt(pignn.load("digits"), "symmetric", 0.6, seed=0)
common = {"epochs": 200, "seed": 0}
for title, method in {
    "plain": pignn.make("vanilla", **common),
    "bootstrapped": Bootstrapped(**common),
    "bootstrapped + PI": Bootstrapped(pairs="exact", **common),
}.items():
    print(f"{title:18s} {method.fit(noisy).score(noisy):.3f}")
