"""Methods that train networks: a pointwise objective, optionally the pair regularizer, one common loop."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Data

from ... import backbones, graphs, pairs
from ...core import validation as settings
from ...core.errors import ConfigError, ModelFileError, PignnWarning, unknown
from ...core.settings import Float, Int
from ...pairs import PairLabelSource
from ...training import SELECTIONS, Phase, Selection, TrainingLoop, distributed
from ...training.callbacks import Callback, EarlyStopping, ProgressBar, resolve_callbacks
from ...training.checkpoint import Checkpointer
from ...training.loop import seed_context
from ...training.selection import LastEpoch
from .base import FitFacts, Method, checked_inputs, class_names, plain
from .fingerprint import fingerprint
from .learner import NetworkLearner, Step, Task
from .pair_regularizer import PairRegularizer, choose_pair_mode

SCHEDULES = ("joint", "pretrain")
PAIRS = ("auto", "exact", "sampled")


@dataclass(kw_only=True, eq=False, repr=False)
class NetworkMethod(Method):
    """Settings that all methods with networks share.

    Args:
        backbone: ``"gcn"``, ``"gat"``, ``"sage"``, or a callable ``(inputs, outputs)`` that builds a module which is
            called as PyG's are, ``module(x, edge_index)``.
        hidden_channels: width of the hidden layers; ``None`` is the backbone's own.
        layers: of the backbone.
        dropout: of the backbone; ``None`` is the backbone's own.
        init: ``"glorot"``, ``"uniform"``, ``"normal"``, ``"constant"`` or ``"kaiming"``.
        epochs: of the training.
        lr: learning rate of Adam; ``None`` is 0.01 (GAT 0.005).
        weight_decay: of Adam, on all parameters.
        patience: stop after this many epochs without a better validation accuracy; ``None`` trains all epochs.
        selection: which epoch is kept: ``"noisy-val"`` (best on the given validation labels; the last one where
            there are none), ``"clean-val"`` (best on the true ones: an oracle) or ``"last"``.
        class_weight: ``None``, ``"balanced"``, or one number a class.
        directed: propagate along the edges' direction only (pairs are undirected always).
        device: ``"cpu"``, ``"cuda"``, ``"cuda:1"``, ...
        seed: of the weights, dropout and random pair labels.
        pairs: ``None`` for no pair regularizer; ``"exact"`` over all pairs; ``"sampled"`` over all connected pairs and
            random ones, an unbiased estimate whose cost grows with nodes + edges; ``"auto"`` takes ``"exact"`` if that
            takes about a minute at most (``pairs_`` and ``pairs_explanation_`` say which it was, and why).
        num_negatives: random partners of each node in a step, where pairs are sampled.
        edge_fraction: of the connected pairs, drawn anew in each step; 1 for all of them.
        batch_size: ``None`` for the whole graph in one step; else nodes a step. Pairs are then those among the nodes
            of a batch, weighed so that the expected loss is the whole one.
        num_neighbors: how many neighbors are sampled in each hop around the nodes of a batch.
        pair_labels: where they come from: ``"estimated"``, ``"connectivity"`` ("w/o pc"), ``"random"``,
            ``"given"`` or ``"true"`` (comparison of labels; the latter an oracle), ``"self"`` (the classifier's own)
            or ``"low-rank"``.
        target: ``"masked"`` or ``"soft"``, see :func:`pignn.pairs.regularizer`.
        beta: weight of the pair loss; ``"auto"`` is c = N²/(2(N² − Q)).
        warmup: the last epoch before pair labels are used.
        estimator: the estimator's backbone; ``None`` for the classifier's.
        schedule: ``"joint"``, or ``"pretrain"``: the estimator first, for as many epochs, then frozen.
        rank: of the ``"low-rank"`` pair labels.
    """

    backbone: str | Callable[[int, int], nn.Module] = "gcn"
    hidden_channels: int | None = None
    num_layers: int = 2
    dropout: float | None = None
    init: str = "glorot"
    epochs: int = 400
    lr: float | None = None
    weight_decay: float = 5e-4
    patience: int | None = None
    selection: str = "noisy-val"
    class_weight: str | Sequence[float] | None = None
    directed: bool = False
    device: str = "cpu"
    pairs: str | None = None
    num_negatives: int = 63
    edge_fraction: float = 1.0
    batch_size: int | None = None
    num_neighbors: Sequence[int] = (15, 10)
    pair_labels: str = "estimated"
    target: str = "masked"
    beta: float | str = "auto"
    warmup: int = 50
    estimator: str | Callable[[int, int], nn.Module] | None = None
    schedule: str = "joint"
    rank: int = 400

    # What else a method learns, as JSON can hold it: kept in the model's folder.
    learned: ClassVar[tuple[str, ...]] = ()

    # ---- what a method may change ----

    def pointwise(self, h: Tensor, y: Tensor) -> Tensor:
        """The loss of each labelled node, from its logits and its given label: here −log softmax(h)_y."""
        return F.cross_entropy(h, y, reduction="none")

    def objective(self, step: Step) -> Tensor:
        """The class loss of one step: here the weighted mean of :meth:`pointwise`."""
        return step.weighted_mean(self.pointwise(step.logits, step.y))

    def phases(self) -> list[Phase]:
        """What is trained, in order; the last one selects. A phase named ``estimator`` leaves the classifier alone."""
        return [Phase("estimator", self.epochs, selects=False)] * self._pretrains_estimator() + [
            Phase("training", self.epochs)
        ]

    def make_networks(self, width: int, classes: int, nodes: int) -> dict[str, nn.Module]:
        """``classifier``, which predicts, and whatever else is trained, for a graph of so many features and nodes."""
        networks = {"classifier": self.build(self.backbone, width, classes)}
        if self.pairs is not None and self._label_source().needs_estimator:
            networks["estimator"] = self.build(self.estimator or self.backbone, width, classes)
        return networks

    def optimizer(self, name: str, network: nn.Module) -> torch.optim.Optimizer:
        """Adam with the common settings."""
        kind = (self.estimator or self.backbone) if name == "estimator" else self.backbone
        lr = backbones.default_lr(kind) if self.lr is None else float(self.lr)
        return torch.optim.Adam(network.parameters(), lr=lr, weight_decay=float(self.weight_decay))

    def prepare(self, task: Task, networks: dict[str, nn.Module], phase: Phase) -> None:
        """Called before a phase, and again when a run is resumed inside it: what is found here must be the same."""

    def check_settings(self) -> None:
        """Refuse what cannot be meant, in one line; a method with settings of its own adds to it."""
        for value, name, known in (
            (self.init, "initialisation", backbones.INITIALIZATIONS),
            (self.selection, "selection", SELECTIONS),
            (self.pair_labels, "pair_labels", pairs.PAIR_LABEL_SOURCES),
            (self.target, "target", pairs.PAIR_TARGETS),
            (self.schedule, "schedule", SCHEDULES),
            (self.pairs, "pairs", (None, *PAIRS)),
        ):
            if value not in known:
                raise unknown(name, value, [text for text in known if text])
        backbones.resolve_backbone(self.backbone)
        if self.estimator is not None:
            backbones.resolve_backbone(self.estimator)
        settings.seed("seed", self.seed)
        settings.whole("epochs", self.epochs, 1)
        settings.whole("num_layers", self.num_layers, 1)
        settings.whole("rank", self.rank, 1)
        settings.whole("num_negatives", self.num_negatives, 1)
        if not isinstance(self.edge_fraction, Real) or not 0 < self.edge_fraction <= 1:
            raise ConfigError(f"edge_fraction must be above 0 and at most 1, not {self.edge_fraction!r}")
        settings.whole("warmup", self.warmup, -1)
        settings.number("weight_decay", self.weight_decay)
        if self.patience is not None:
            settings.whole("patience", self.patience, 1)
        settings.flag("directed", self.directed)
        if self.batch_size is not None:
            settings.whole("batch_size", self.batch_size, 2)
            if not hasattr(self.num_neighbors, "__len__") or isinstance(self.num_neighbors, str):
                raise ConfigError(
                    f"num_neighbors must be a list of numbers, one for each layer, not {self.num_neighbors!r}"
                )
            if len(self.num_neighbors) < self.num_layers:
                raise ConfigError(
                    f"num_neighbors must be at least {self.num_layers} numbers, one for each layer: [15, 10]"
                )
            for most in self.num_neighbors:
                settings.whole("each of num_neighbors", most, 1)
        if self.hidden_channels is not None:
            settings.whole("hidden_channels", self.hidden_channels, 1, bits=31)
        if self.lr is not None:
            settings.number("lr", self.lr)
        if self.dropout is not None:
            settings.number("dropout", self.dropout, below=1)
        if self.beta != "auto":
            if isinstance(self.beta, str):
                raise ConfigError(f"beta must be 'auto' or a number, not {self.beta!r}")
            settings.number("beta", self.beta)

    def fit_facts(self) -> FitFacts:
        return replace(
            super().fit_facts(),
            # A loaded model no longer knows how its training ended.
            pairs=getattr(self, "pairs_explanation_", "") or getattr(self, "pairs_", None),
            uses_true_labels=self._label_source().is_oracle,
            selection=self.selection_,
            best_epoch=self.best_epoch_,
            kept_in_warmup=self.best_epoch_ <= self.last_warmup_epoch(),
            epochs_done=len(self.history_),
            history=self.history_,
            stopped_by=getattr(self, "stopped_by_", None),
            warning=self.warmup_warning_text() or None,
        )

    def _label_source(self) -> PairLabelSource:
        return pairs.PAIR_LABEL_SOURCES.get(self.pair_labels)

    def last_warmup_epoch(self) -> int:
        """The last epoch before pair labels are used; −1 where they never are, or need not be waited for."""
        if self.pairs is None or self._label_source().is_connectivity:
            return -1
        # A frozen estimator has learned already: there is nothing to warm up.
        return -1 if self._pretrains_estimator() else self.warmup

    def _pretrains_estimator(self) -> bool:
        return self.pairs is not None and self._label_source().needs_estimator and self.schedule == "pretrain"

    def warmup_warning_text(self) -> str:
        """What a warm-up as long as the training leaves out, and what to do. Empty where nothing is left out."""
        if self.epochs > self.last_warmup_epoch() + 1:
            return ""
        return f"warmup ({self.warmup}) covers all {self.epochs} epochs, so pair labels are never used; lower warmup"

    # ---- fitting ----

    def fit(
        self,
        data: Data,
        *,
        split_index: int | None = None,
        callbacks: Iterable[str | Callback] = (),
        checkpoint: str | Path | None = None,
        checkpoint_every: int = 50,
        checkpoint_minutes: float = 5.0,
        resume: bool = False,
        progress: bool | None = None,
    ) -> Self:
        """Learn from the given labels of the training nodes.

        Args:
            data: a PyG graph; ``y`` holds given labels, −1 where there is none.
            split_index: which column of the masks to use if they have several.
            callbacks: objects that follow the training, or their names, see :mod:`pignn.training.callbacks`.
            checkpoint: a folder for the state of the training, written every ``checkpoint_every`` epochs or
                ``checkpoint_minutes``, whichever comes first.
            resume: continue from that state if there is one. The result is the same as without the interruption.
            progress: whether to show a progress bar; ``None`` shows it on a terminal only.

        Ctrl-C ends the training after the current epoch, keeps the best classifier so far, and is raised again as
        ``KeyboardInterrupt``.
        """
        self.check_settings()
        Int(min=1).check("checkpoint_every", checkpoint_every)
        Float(min=0).check("checkpoint_minutes", checkpoint_minutes)
        if self.batch_size is None and distributed.get_rank_and_world_size()[1] > 1:
            raise ConfigError("several processes share the batches: set batch_size (1024, say)")
        data = graphs.check_graph(data, split_index=split_index)
        self._choose_pair_mode(int(data.num_nodes))
        device = _find_device(str(self.device))
        with seed_context(int(self.seed), device):
            learner = self._build_learner(data, device)
            selection, scored = self._build_selection(data, device)
            loop = TrainingLoop(self.phases(), selection, self.name, self._plain_settings(), scored)
            loop.callbacks = [ProgressBar(progress), *resolve_callbacks(callbacks)]
            if self.patience is not None:
                loop.callbacks.append(EarlyStopping(self.patience))
            if checkpoint:
                identity = self._build_identity(data)
                loop.checkpointer = Checkpointer(Path(checkpoint), identity, checkpoint_every, checkpoint_minutes)
            loop.run(learner, resume=resume)
        self._keep_results(data, learner, loop)
        if loop.stopped_by:
            raise KeyboardInterrupt
        if text := self.warmup_warning_text():  # last: a run that fails should give one line only
            warnings.warn(text, PignnWarning, stacklevel=2)
        return self

    def _choose_pair_mode(self, num_nodes: int) -> None:
        self.pairs_, self.pairs_explanation_ = self.pairs, ""
        if self.batch_size is not None and self.pairs is not None:
            self.pairs_ = "batch"
        elif self.pairs == "auto":
            self.pairs_, reason = choose_pair_mode(num_nodes, self.epochs)
            self.pairs_explanation_ = f"{self.pairs_}: {reason}"
        if self.edge_fraction < 1 and self.pairs_ != "sampled":
            raise ConfigError("edge_fraction goes with pairs='sampled'")

    def _keep_results(self, data: Data, learner: NetworkLearner, loop: TrainingLoop) -> None:
        if loop.stopped_by and loop.selection.epoch < 0:  # the classifier has learned nothing yet
            raise KeyboardInterrupt
        self.history_ = loop.history
        self.settings_ = self._plain_settings()
        self.networks_ = nn.ModuleDict(learner.networks).eval()
        self.num_nodes_ = int(data.num_nodes)
        self.num_features_ = int(data.x.shape[1])
        self.class_names_ = class_names(data)
        self.best_epoch_ = loop.selection.epoch
        self.selection_ = loop.selection.rule.name
        self.stopped_by_ = loop.stopped_by

    def _build_learner(self, data: Data, device: torch.device) -> NetworkLearner:
        inputs = checked_inputs(data, self.directed, device, stacklevel=4)
        task = Task.from_data(data, inputs, self.class_weight)
        regularizer = None if self.pairs is None else self._build_regularizer(data, task)
        networks = self.make_networks(inputs.x.shape[1], task.num_classes, inputs.num_nodes)
        networks = {name: network.to(device) for name, network in networks.items()}
        for name, network in networks.items():
            if inputs.edge_weight is not None and not getattr(network, "uses_weights", True):
                warnings.warn(f"the {name} makes no use of edge_weight", PignnWarning, stacklevel=4)
        trainable = {name: network for name, network in networks.items() if any(True for _ in network.parameters())}
        optimizers = {name: self.optimizer(name, network) for name, network in trainable.items()}
        rank, world_size = distributed.get_rank_and_world_size()
        if world_size > 1:  # the same networks everywhere, but not the same dropout
            torch.manual_seed(self.seed + 1_000_003 * (1 + rank))
        return NetworkLearner(self, task, networks, optimizers, regularizer)

    def build(self, kind: str | Callable[[int, int], nn.Module], inputs: int, outputs: int) -> nn.Module:
        """A network of a kind, with the common settings."""
        return backbones.build(
            kind,
            inputs,
            outputs,
            init=self.init,
            hidden_channels=self.hidden_channels,
            num_layers=self.num_layers,
            dropout=self.dropout,
        )

    def _build_regularizer(self, data: Data, task: Task) -> PairRegularizer:
        inputs, source, target = task.inputs, self._label_source(), pairs.PAIR_TARGETS.get(self.target)()
        if inputs.directed:
            graph = pairs.PairGraph(inputs.edge_index, inputs.num_nodes)
        else:
            graph = pairs.PairGraph.from_pattern(inputs.adj)
        if source.is_self and target.vanishes_on_own_labels:
            warnings.warn(
                f"pair_labels='{source.name}' with target='{target.name}' has no gradient: "
                "the pair loss does nothing after the warm-up",
                PignnWarning,
                stacklevel=5,
            )
        y_true = data.get("y_true") if source.is_oracle else None
        source_inputs = pairs.SourceInputs(graph, task.y, y_true, self.seed, self.rank)
        return PairRegularizer(
            graph,
            source,
            target,
            beta=self.beta,
            warmup=self.last_warmup_epoch(),
            fixed=None if source.build is None else source.build(source_inputs),
            num_negatives=self.num_negatives if self.pairs_ == "sampled" else None,
            edge_fraction=self.edge_fraction,
        )

    def _build_selection(self, data: Data, device: torch.device) -> tuple[Selection, dict[str, tuple[Tensor, Tensor]]]:
        """Who decides which epoch is kept, and what else the history shows. The only reader of true labels here."""
        y_true = data.get("y_true")
        rule = SELECTIONS.get(self.selection)()
        nodes, labels = rule.find_nodes_and_labels(data)
        if rule.keeps_best and not nodes.numel():
            warnings.warn(f"no validation label: the last epoch is kept, not '{rule.name}'", PignnWarning, stacklevel=4)
            rule = LastEpoch()
        train = data.train_mask.nonzero().view(-1)
        scored = {"train_agreement": (train.to(device), data.y[train].to(device))}
        if y_true is not None:
            test = (data.test_mask & (y_true.reshape(-1) >= 0)).nonzero().view(-1)
            scored["test_accuracy"] = (test.to(device), y_true.reshape(-1)[test].to(device))
        return Selection(rule, nodes.to(device), labels.to(device)), scored

    def _build_identity(self, data: Data) -> dict[str, Any]:
        # More epochs may be asked for, unless their number says where a second phase begins.
        free = ("device",) if len(self.phases()) > 1 else ("epochs", "device")
        kept = {k: v for k, v in self._plain_settings().items() if k not in free}
        oracle = SELECTIONS.get(self.selection).is_oracle or self._label_source().is_oracle
        return {
            "method": self.name,
            **kept,
            "processes": distributed.get_rank_and_world_size()[1],
            "data": fingerprint(data, truth=oracle),
        }

    # ---- answers ----

    def _outputs(self, data: Data) -> Tensor:
        device = _find_device(str(self.device))
        inputs = backbones.GraphInputs.from_data(data, directed=self.directed, device=device)
        self.networks_.to(device)
        return self.networks_["classifier"](inputs.as_chunked())

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        about = {
            "best_epoch": self.best_epoch_,
            "selection": self.selection_,
            "num_nodes": self.num_nodes_,
            "history": self.history_,
            "learned": {name: plain(getattr(self, name)) for name in self.learned},
        }
        return dict(self.networks_.state_dict()), about

    def _set_state(self, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
        self.num_nodes_ = about["num_nodes"]
        self.networks_ = nn.ModuleDict(self.make_networks(self.num_features_, self.num_classes_, self.num_nodes_))
        missing = set(self.networks_.state_dict()) ^ set(tensors)
        if missing:
            raise ModelFileError(f"the weights are not those of this method ({sorted(missing)[0]} differs)")
        self.networks_.load_state_dict(tensors)
        self.networks_.eval()
        self.best_epoch_ = about["best_epoch"]
        self.selection_ = about["selection"]
        self.history_ = about["history"]
        for name in self.learned:
            setattr(self, name, about["learned"][name])


def _find_device(name: str) -> torch.device:
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError):
        device = torch.device("meta")
    if device.type not in ("cpu", "cuda") or (device.type == "cpu" and device.index):
        raise ConfigError(f"unknown device '{name}'; use 'cpu', 'cuda' or 'cuda:0'")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ConfigError(f"device '{name}' is not there: torch sees {torch.cuda.device_count()} GPUs; use 'cpu'")
    return device
