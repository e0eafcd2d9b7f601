"""A linear classifier of smoothed features, learnt from labels whose noise was estimated and taken out."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import torch
from torch import Tensor
from torch.nn import functional as F
from torch_geometric.data import Data

from .. import backbones, graphs, noise, settings
from ..errors import PignnWarning, unknown
from ..propagation import Embedding
from .base import Method, class_names
from .calibration import FOLDS, held_out, sharpness
from .given import LABELS, NEVER, GivenLabels, evidence, symmetric

HEADS = ("ridge", "logistic", "both")
BELIEF = 50.0  # labels that symmetric noise counts as, beside those at hand, when the transition matrix is estimated
SHARP = 20.0  # what cosines are multiplied with before the noise is estimated; the estimate corrects it
TENSORS = ("components", "weight", "bias", "present", "transition", "posterior", "labelled")


def left_out_cosines(h: Tensor, given: GivenLabels) -> Tensor:
    """How near each labelled node is to the direction of every class's mean *without that node*, [labels, classes]."""
    x = h[given.nodes]
    share = F.one_hot(given.y, given.classes).to(h) * given.weight[:, None]
    total = share.T @ x
    along, own = x @ total.T, (x * x).sum(1, keepdim=True)
    length = (total * total).sum(1) - 2 * share * along + share.square() * own
    return (along - share * own) / length.clamp(min=1e-12).sqrt()


def denoise(h: Tensor, given: GivenLabels, transition: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """(T, P(true | features, given label) of the labelled nodes), each label judged by the others.

    T, where it is not given, is what :func:`pignn.noise.estimate` finds, drawn towards symmetric noise of the same
    rate: by much where labels are few. Trusted labels stay what they are.
    """
    classes = given.classes
    cosines = torch.where(given.present, left_out_cosines(h, given), NEVER / SHARP)
    doubtful = ~given.trusted
    if transition is None and not bool(doubtful.any()):
        transition = torch.eye(classes)
    elif transition is None:
        found = noise.estimate(given.y[doubtful].numpy(), (SHARP * cosines[doubtful]).softmax(1).numpy())
        even = symmetric(min(found.rate, 1 - 1 / classes), classes)
        count = int(doubtful.sum())
        transition = (count * torch.from_numpy(found.transition).float() + BELIEF * even) / (count + BELIEF)
    log_reach = evidence(given, transition)
    s, _ = sharpness(SHARP * cosines, log_reach.exp(), given.weight)
    return transition, (s * SHARP * cosines + log_reach).softmax(1)


def ridge(h: Tensor, nodes: Tensor, target: Tensor, weight: Tensor, strength: float) -> tuple[Tensor, Tensor]:
    """(W, b = 0): regression on the classes, each column to length 1 in the metric of the regression.

    With much ``strength`` this is the cosine to the class means; without, least squares. Columns of one length keep a
    class with many labels from winning everywhere.
    """
    x, y, w = h[nodes].double(), target.double(), weight.double()[:, None] / weight.sum()
    metric = x.T @ (x * w)
    metric += strength * metric.trace() / len(metric) * torch.eye(len(metric), dtype=metric.dtype)
    metric += 1e-12 * torch.eye(len(metric), dtype=metric.dtype)
    solved = torch.linalg.solve(metric, x.T @ (y * w))
    length = (solved * (metric @ solved)).sum(0).sqrt()
    solved = torch.where(length > 0, solved / length.clamp(min=1e-30), 0.0)
    return solved.float(), torch.zeros(target.shape[1])


def logistic(h: Tensor, nodes: Tensor, target: Tensor, weight: Tensor, strength: float) -> tuple[Tensor, Tensor]:
    """(W, b) of multinomial logistic regression on soft classes, ½·strength·|W|² beside the sum over labels."""
    x, y, w = h[nodes].double(), target.double(), weight.double()[:, None]
    x = torch.cat([x, torch.ones(len(x), 1, dtype=x.dtype)], 1)
    weights = torch.zeros(x.shape[1], y.shape[1], dtype=x.dtype, requires_grad=True)
    steps = torch.optim.LBFGS([weights], max_iter=30, tolerance_grad=1e-3, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        steps.zero_grad()
        value = -(w * y * (x @ weights).log_softmax(1)).sum()
        value = value + 0.5 * strength * weights[:-1].square().sum() + 1e-3 * weights[-1].square().sum()
        value.backward()
        return value

    with torch.enable_grad():
        steps.step(loss)
    learnt = weights.detach().float()
    return learnt[:-1], learnt[-1]


@dataclass(kw_only=True, eq=False, repr=False)
class Denoised(Method):
    """Labels are corrected first, a linear classifier of smoothed features learns second. No network; seconds.

    The embedding is that of ``prototypes``. Each given label is judged by the class means of the *other* labels; from
    that come a transition matrix and, for each label, the probabilities of what it really is (:func:`denoise`). The
    classifier learns these: regularised regression, logistic regression, or the sum of both, each brought to the
    same spread.

    Fitted: ``transition_`` (P(given | true)), ``posterior_`` (P(true | features, given label) of the nodes in
    ``labelled_``), ``sharpness_``.

    Args:
        head: ``"ridge"``, ``"logistic"`` or ``"both"``.
        labels: learn from the ``"train"`` labels, or from all ``"given"`` ones, of validation nodes too.
        dimensions, restart, steps: of the embedding; ``restart=1`` leaves the graph out.
        ridge_strength: of the regression, in units of its mean variance.
        logistic_strength: of the logistic regression, beside a sum over the labels.
        class_weight: ``None``, ``"balanced"``, or one number a class.
        directed: propagate along the edges' direction only.
    """

    name: ClassVar[str] = "denoised"

    head: str = "both"
    labels: str = "train"
    dimensions: int = 64
    restart: float = 0.1
    steps: int = 20
    ridge_strength: float = 3.0
    logistic_strength: float = 1.0
    class_weight: str | Sequence[float] | None = None
    directed: bool = False

    def fit(self, data: Data, *, split_index: int | None = None) -> Self:
        """Learn from the given labels of the training nodes; with ``labels="given"``, of the validation nodes too."""
        self._check_settings()
        data = graphs.check(data, split_index=split_index)
        inputs = backbones.Inputs.from_data(data, directed=self.directed)
        for note in inputs.notes:
            warnings.warn(f"edges: {note}", PignnWarning, stacklevel=2)
        embedding = self.embedding()
        h = embedding.fit_transform(inputs)
        given = GivenLabels.of(data, self.labels, self.class_weight)
        self.transition_, self.posterior_ = denoise(h, given)
        self.weight_, self.bias_ = self._linear(h, given, self.posterior_)
        scores = self.held_out(h, given, self.transition_)
        self.sharpness_ = sharpness(scores, evidence(given, self.transition_).exp(), given.weight)[0]
        self.components_ = embedding.components_
        self.present_ = given.present
        self.labelled_ = given.nodes
        self.num_features_ = int(data.x.shape[1])
        self.class_names_ = class_names(data)
        self.settings_ = self._plain_settings()
        return self

    def embedding(self) -> Embedding:
        return Embedding(
            self.dimensions, restart=self.restart, steps=self.steps, directed=self.directed, seed=int(self.seed) % 2**31
        )

    def held_out(self, h: Tensor, given: GivenLabels, transition: Tensor | None = None) -> Tensor:
        """Scores of every given label by a classifier that has not seen it; the transition matrix is that of all."""
        transition = denoise(h, given)[0] if transition is None else transition

        def scores(keep: Tensor, ask: Tensor) -> Tensor:
            part = given.take(keep)
            weight, bias = self._linear(h, part, denoise(h, part, transition)[1])
            return torch.where(part.present, h[given.nodes[ask]] @ weight + bias, NEVER)

        return held_out(given.y, given.classes, FOLDS, scores, int(self.seed))

    def _linear(self, h: Tensor, given: GivenLabels, posterior: Tensor) -> tuple[Tensor, Tensor]:
        parts = []
        for name, solve, strength in (
            ("ridge", ridge, self.ridge_strength),
            ("logistic", logistic, self.logistic_strength),
        ):
            if self.head in (name, "both"):
                weight, bias = solve(h, given.nodes, posterior, given.weight, strength)
                spread = float((h[given.nodes] @ weight + bias)[:, given.present].std(dim=1, correction=0).median())
                parts.append((weight / max(spread, 1e-9), bias / max(spread, 1e-9)))
        return sum(weight for weight, _ in parts), sum(bias for _, bias in parts)  # type: ignore[return-value]

    def _outputs(self, data: Data) -> Tensor:
        embedding = self.embedding()
        embedding.components_ = self.components_
        h = embedding.transform(backbones.Inputs.from_data(data, directed=self.directed))
        return self.sharpness_ * torch.where(self.present_, h @ self.weight_ + self.bias_, NEVER)

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        return {name: getattr(self, f"{name}_") for name in TENSORS}, {"sharpness": self.sharpness_}

    def _set_state(self, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
        for name in TENSORS:
            setattr(self, f"{name}_", tensors[name])
        self.sharpness_ = float(about["sharpness"])

    def _check_settings(self) -> None:
        for value, name, known in ((self.head, "head", HEADS), (self.labels, "labels", LABELS)):
            if value not in known:
                raise unknown(name, value, known)
        settings.seed("seed", self.seed)
        settings.number("ridge_strength", self.ridge_strength)
        settings.number("logistic_strength", self.logistic_strength)
        self.embedding()  # checks its own
