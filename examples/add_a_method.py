"""A method of your own in one small class: targets move from given labels toward the network's own predictions."""

from dataclasses import dataclass
from typing import ClassVar

import torch

import pignn
from pignn.core.settings import Float, setting
from pignn.methods import NetworkMethod


@dataclass(kw_only=True, eq=False, repr=False)
class Bootstrapped(NetworkMethod):
    """Cross-entropy with a share of each target taken from the prediction itself (Reed et al., 2015)."""

    name: ClassVar[str] = "bootstrapped"

    share: float = setting(0.4, Float(min=0, max=1), "share of the target that comes from the prediction")

    def objective(self, step):
        log_probs = step.logits.log_softmax(-1)
        share = self.share * min(1.0, 2 * step.epoch / self.epochs)  # grows during the first half
        given = torch.nn.functional.one_hot(step.y, log_probs.shape[-1])
        target = (1 - share) * given + share * log_probs.detach().exp()
        return step.weighted_mean(-(target * log_probs).sum(-1))


noisy = pignn.corrupt(pignn.load("digits"), "symmetric", 0.6, seed=0)
common = {"epochs": 200, "seed": 0}
methods = {
    "plain": pignn.make("vanilla", **common),
    "bootstrapped": Bootstrapped(**common),
    "bootstrapped + pairs": Bootstrapped(pairs="exact", **common),
}
for title, method in methods.items():
    print(f"{title:20s} {method.fit(noisy).score(noisy):.3f}")
