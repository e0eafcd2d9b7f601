"""GraphCleaner: a detector of wrong labels, and training without the labels that it finds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .. import noise
from ..backbones import GraphInputs
from ..core.settings import Float, Int, setting
from ..training import Phase
from .core.committee import Committee
from .core.learner import Step, Task
from .core.pretraining import TeacherPretrainedMethod

MAX_POWER = 3
DETECTOR_CHANNELS, DETECTOR_EPOCHS, DETECTOR_LR = 32, 500, 0.01
ROWS_PER_CHUNK = 4096
NUM_FOLDS = 5


class NeighborhoodFeatures:
    """What the neighborhood says of each label: p(y), (Sᵏp)(y) and (Sᵏy)(y) for k = 1, 2, 3, S = D^{-½}AD^{-½}.

    Diagonals of Sᵏ are taken out, so that no label confirms itself. They are all that is computed of S² and S³, some
    rows at a time; everything else are products with as many columns as classes.
    """

    def __init__(self, inputs: GraphInputs) -> None:
        adj = inputs.adj
        scale = adj.entries_per_row.clamp(min=1).double().rsqrt()
        values = (scale[adj.row] * scale[adj.col.long()]).cpu().numpy()
        crow, col = adj.crow.cpu().numpy(), adj.col.cpu().numpy()
        self.matrix = sp.csr_matrix((values, col, crow), shape=adj.shape)
        self.diagonals = [
            np.zeros(adj.shape[0]),
            self._compute_diagonal_of_power(2),
            self._compute_diagonal_of_power(3),
        ]

    def _compute_diagonal_of_power(self, power: int) -> np.ndarray:
        """The diagonal of S² or S³: row sums of S∘Sᵀ and S²∘Sᵀ; S is symmetric in an undirected graph."""
        transposed, parts = self.matrix.T.tocsr(), []
        for start in range(0, self.matrix.shape[0], ROWS_PER_CHUNK):
            rows = slice(start, start + ROWS_PER_CHUNK)
            left = self.matrix[rows] if power == 2 else self.matrix[rows] @ self.matrix
            parts.append(np.asarray(left.multiply(transposed[rows]).sum(axis=1)).ravel())
        return np.concatenate(parts)

    def compute_features_of_labels(self, probs: np.ndarray, labels: np.ndarray, nodes: np.ndarray) -> np.ndarray:
        """The seven features of the labels of ``nodes``, from probabilities [N, C] and labels [N], −1 for none.

        Unlabeled neighbors say nothing in the features that read labels.
        """
        given = np.zeros_like(probs)
        known = labels >= 0
        given[known, labels[known]] = 1
        own, columns = labels[nodes], [probs[nodes, labels[nodes]]]
        for source in (probs, given):
            smoothed = source
            for diagonal in self.diagonals:
                smoothed = self.matrix @ smoothed
                columns.append(smoothed[nodes, own] - diagonal[nodes] * source[nodes, own])
        return np.stack(columns, axis=1)


def flip_half_of_labels_and_get_mask(
    labels: np.ndarray, nodes: np.ndarray, transition: np.ndarray, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Labels in which every second of ``nodes``, at random, has another class drawn by T; and which of them moved."""
    generator = np.random.default_rng(seed)
    off = np.array(transition, dtype=np.float64)
    np.fill_diagonal(off, 0)
    empty = off.sum(axis=1) <= 0
    off[empty] = 1 - np.eye(len(off))[empty]  # a class that is never wrong may be taken for any other
    moved = generator.permutation(len(nodes)) < len(nodes) // 2
    flipped, total = labels.copy(), off.cumsum(axis=1) / off.sum(axis=1, keepdims=True)
    draws = generator.random(len(nodes))[moved]
    flipped[nodes[moved]] = (total[labels[nodes[moved]]] <= draws[:, None]).sum(axis=1)
    return flipped, moved


def compute_wrong_label_probs(
    features: NeighborhoodFeatures,
    probs: np.ndarray,
    labels: np.ndarray,
    known_nodes: np.ndarray,
    nodes: np.ndarray,
    seed: int,
) -> np.ndarray:
    """How probably each label of ``nodes`` is wrong, by a network trained on flipped labels of ``known_nodes``.

    The probabilities of ``known_nodes`` must come from a classifier that has not seen their labels.
    """
    if len(known_nodes) < 2 or probs.shape[1] < 2:
        return np.zeros(len(nodes))
    transition = noise.estimate(labels[known_nodes], probs[known_nodes]).transition
    flipped, moved = flip_half_of_labels_and_get_mask(labels, known_nodes, transition, seed)
    seen, asked = (
        features.compute_features_of_labels(probs, flipped, known_nodes),
        features.compute_features_of_labels(probs, labels, nodes),
    )
    center, spread = seen.mean(axis=0), seen.std(axis=0) + 1e-6
    x, new = (torch.as_tensor((part - center) / spread, dtype=torch.float32) for part in (seen, asked))
    target = torch.as_tensor(moved, dtype=torch.float32)
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        torch.manual_seed(seed)
        network = nn.Sequential(nn.Linear(x.shape[1], DETECTOR_CHANNELS), nn.ReLU(), nn.Linear(DETECTOR_CHANNELS, 2))
        optimizer = torch.optim.Adam(network.parameters(), lr=DETECTOR_LR)
        for _ in range(DETECTOR_EPOCHS):
            optimizer.zero_grad()
            F.l1_loss(network(x).softmax(-1)[:, 1], target).backward()
            optimizer.step()
    with torch.no_grad():
        return network(new).softmax(-1)[:, 1].numpy().astype(np.float64)


def draw_folds(num_nodes: int, nodes: Tensor, y: Tensor, seed: int) -> Tensor:
    """A fold of every node, [N]; the labels of a class are spread evenly over the folds."""
    generator = torch.Generator().manual_seed(seed)
    folds = torch.randint(NUM_FOLDS, (num_nodes,), generator=generator).to(y.device)
    order = torch.randperm(len(nodes), generator=generator).to(y.device)
    order = order[y[order].argsort(stable=True)]
    folds[nodes[order]] = torch.arange(len(nodes), device=y.device) % NUM_FOLDS
    return folds


@dataclass(kw_only=True, eq=False, repr=False)
class GraphCleaner(TeacherPretrainedMethod):
    """Labels that a detector finds wrong are left out, and the backbone is trained again.

    Li et al., "GraphCleaner: Detecting Mislabelled Samples in Popular Graph Learning Benchmarks", ICML 2023. Five
    networks predict classes, those of a training node by the one that has not learned its label; the noise of the
    validation labels gives T; half of them are flipped by T; a small network (7 → 32 → 2, L1 loss) learns to see which,
    from what probabilities and labels of the neighborhood within three steps say (:class:`NeighborhoodFeatures`).
    Training labels above ``threshold`` are left out. T is estimated by :func:`pignn.noise.estimate` in place of the
    confident joint.

    The paper detects among labels that no network has learned, and a network that has learned a wrong label believes
    it: hence five. Another port counts true labels of all other nodes as labels of the neighborhood; here they are
    unknown. Without validation labels the detector learns from the training labels. After fit: ``num_dropped_``.
    """

    learned_attributes: ClassVar[tuple[str, ...]] = ("num_dropped_",)

    threshold: float = setting(0.5, Float(max=1), "probability of being wrong above which a label is left out")
    min_labels: int = setting(1, Int(min=1), "labels of a class that are kept at least, the least doubtful ones")
    num_dropped_: int = field(init=False)

    def make_teacher_and_num_outputs(self, in_channels: int, num_classes: int) -> tuple[nn.Module, int]:
        members = [self.build_network(self.backbone, in_channels, num_classes) for _ in range(NUM_FOLDS)]
        return Committee(members), num_classes

    def prepare_phase(self, task: Task, networks: dict[str, nn.Module], phase: Phase) -> None:
        self._folds = draw_folds(len(task.y), task.nodes, task.y[task.nodes], int(self.seed))
        super().prepare_phase(task, networks, phase)

    def build_teacher_outputs(self, teacher: nn.Module, logits: Tensor) -> Tensor:
        """Of every node by the network that leaves its fold out, validation nodes included: all are judged alike."""
        assert isinstance(teacher, Committee)
        members = teacher.compute_member_logits(self._task.inputs)
        return members[self._folds, torch.arange(len(self._folds), device=members.device)]

    def compute_teacher_loss(self, step: Step, teacher: nn.Module) -> Tensor:
        folds, loss = self._folds[step.nodes], step.logits.new_zeros(())
        for fold, logits in enumerate(teacher(step.inputs)[:, step.rows]):
            loss = loss + step.weighted_mean(self.pointwise(logits, step.y), folds != fold)
        return loss

    def prepare_from_teacher_outputs(self, task: Task, outputs: Tensor) -> None:
        given = task.given_labels
        labels = np.full(len(task.y), -1)
        labels[given.nodes.numpy()] = given.y.numpy()
        train = task.nodes.cpu().numpy()
        known = np.setdiff1d(given.nodes.numpy(), train)
        probs = outputs.softmax(-1).double().cpu().numpy()
        features = NeighborhoodFeatures(task.inputs)
        scores = compute_wrong_label_probs(
            features, probs, labels, known if len(known) else train, train, int(self.seed)
        )
        dropped = build_dropped_label_mask(
            scores, labels[train], task.trusted[task.nodes].cpu().numpy(), self.threshold, self.min_labels
        )
        self.num_dropped_ = int(dropped.sum())
        self._kept = torch.ones(len(task.y), dtype=torch.bool, device=task.y.device)
        self._kept[task.nodes[torch.as_tensor(dropped, device=task.y.device)]] = False

    def train_objective(self, step: Step) -> Tensor:
        return step.weighted_mean(self.pointwise(step.logits, step.y), self._kept[step.nodes])


def build_dropped_label_mask(
    scores: np.ndarray, y: np.ndarray, trusted: np.ndarray, threshold: float, min_labels: int
) -> np.ndarray:
    """Which labels are left out: the doubtful ones, but no trusted one, and never the last ones of a class."""
    dropped = (scores > threshold) & ~trusted
    for c in np.unique(y):
        members = np.flatnonzero(y == c)
        dropped[members[np.argsort(scores[members], kind="stable")[:min_labels]]] = False
    return dropped
