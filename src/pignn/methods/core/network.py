"""Methods that train networks: a pointwise objective, optionally the pair regularizer, one common loop."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from sklearn.base import clone
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Data

from ... import backbones, graphs, pairs
from ...core.errors import ConfigError, ModelFileError, warn_user
from ...core.progress import ShowProgress
from ...core.settings import Float, Int
from ...core.threads import threads_context
from ...training import SELECTIONS, DivergedError, Phase, Selection, TrainingLoop, distributed
from ...training.callbacks import Callback, EarlyStopping, ProgressBar, resolve_callbacks
from ...training.checkpoint import Checkpointer
from ...training.loop import seed_context
from ...training.selection import LastEpoch
from .base import FitFacts, build_inputs_and_warn_of_edge_changes, to_json_value
from .collapse import (
    LR_FACTOR,
    MAX_RESTARTS,
    MIN_EPOCHS,
    compute_max_believable_class_share,
    derive_seed_of_attempt,
    describe_restarts_or_empty,
    has_classifier_collapsed,
)
from .data_hash import hash_training_data
from .edge_evidence import estimate_edge_evidence
from .labels import mask_labels_of_positive_weight
from .learner import NetworkLearner, Step, Task
from .network_settings import NetworkSettings
from .pair_regularizer import PairRegularizer, choose_pair_mode_and_reason

SCALING_PREFIX = "feature_scaling."  # of the tensors of a model that are no weights


@dataclass(kw_only=True, eq=False, repr=False)
class NetworkMethod(NetworkSettings):
    """A method that trains networks: a pointwise objective, optionally the pair regularizer, one common loop.

    The smallest method overrides :meth:`pointwise`. One that needs more than a loss per node overrides
    :meth:`objective`, one with networks of its own :meth:`make_networks`, one with several stages :meth:`list_phases`.
    """

    # Attributes that are saved with the model, as JSON can hold them.
    learned_attributes: ClassVar[tuple[str, ...]] = ()
    needs_whole_graph: ClassVar[bool] = False  # every step: there are no mini-batches

    # ---- what a method may change ----

    def pointwise(self, logits: Tensor, y: Tensor) -> Tensor:
        """The loss of each labeled node, from its logits and its given label: here −log softmax(logits)_y."""
        return F.cross_entropy(logits, y, reduction="none")

    def objective(self, step: Step) -> Tensor:
        """The class loss of one step: here the weighted mean of :meth:`pointwise`."""
        return step.weighted_mean(self.pointwise(step.logits, step.y))

    def list_phases(self) -> list[Phase]:
        """The stages of the training. The last one selects an epoch; ``estimator`` leaves the classifier alone."""
        phases = [Phase("training", self.epochs)]
        return [Phase("estimator", self.epochs, selects=False), *phases] if self.pretrains_estimator() else phases

    def make_networks(self, in_channels: int, num_classes: int, num_nodes: int) -> dict[str, nn.Module]:
        """The networks by name: ``classifier``, which predicts, and whatever else is trained."""
        networks = {"classifier": self.build_network(self.backbone, in_channels, num_classes)}
        if self.pairs is not None and self.get_pair_label_source().needs_estimator:
            networks["estimator"] = self.build_network(self.estimator or self.backbone, in_channels, num_classes)
        return networks

    def build_network(
        self, backbone: str | Callable[[int, int], nn.Module], in_channels: int, out_channels: int
    ) -> nn.Module:
        """A network with the common settings."""
        hidden_channels = self.resolve_hidden_channels_or_none(backbone)
        options = {"hidden_channels": hidden_channels, "num_layers": self.num_layers, "dropout": self.dropout}
        return backbones.build(backbone, in_channels, out_channels, init=self.init, **options)

    def make_optimizer(self, name: str, network: nn.Module) -> torch.optim.Optimizer:
        """Adam with the common settings."""
        backbone = (self.estimator or self.backbone) if name == "estimator" else self.backbone
        lr, decay = self.resolve_lr(backbone), float(self.weight_decay)
        return torch.optim.Adam(network.parameters(), lr=lr, weight_decay=decay)

    def prepare_phase(self, task: Task, networks: dict[str, nn.Module], phase: Phase) -> None:
        """Called before a phase, and again if a run is resumed within it: both calls must have the same effect."""

    def check_settings(self) -> None:
        super().check_settings()
        if self.needs_whole_graph and self.batch_size is not None:
            raise ConfigError(f"{self.name} learns from the whole graph and has no mini-batches: leave batch_size")

    def get_fit_facts(self) -> FitFacts:
        return replace(
            super().get_fit_facts(),
            # A loaded model no longer knows how its training ended.
            pairs=getattr(self, "pairs_explanation_", "") or getattr(self, "pairs_", None),
            uses_true_labels=self.get_pair_label_source().is_oracle,
            explanation=getattr(self, "noise_explanation_", None),  # of methods that estimate the noise
            selection=self.selection_,
            best_epoch=self.best_epoch_,
            kept_in_warmup=self.best_epoch_ <= self.get_last_warmup_epoch(),
            epochs_done=len(self.history_),
            history=self.history_,
            stopped_by=getattr(self, "stopped_by_", None),
            warning=self.build_warmup_warning_text_or_empty() or self.collapse_ or None,
        )

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
        progress: ShowProgress = None,
    ) -> Self:
        """Learn from the given labels of the training nodes.

        Args:
            data: a PyG graph; ``y`` holds given labels, −1 where there is none.
            split_index: which column of the masks to use if they have several.
            callbacks: objects that follow the training, or their names, see :mod:`pignn.training.callbacks`.
            checkpoint: a folder for the state of the training, written every ``checkpoint_every`` epochs or
                ``checkpoint_minutes``, whichever comes first.
            resume: continue from that state if there is one. The result is the same as without the interruption.
            progress: whether to show a progress bar, or a function to tell; ``None`` shows it on a terminal only.

        Ctrl-C ends the training after the current epoch, keeps the best classifier so far, and is raised again as
        ``KeyboardInterrupt``.
        """
        self.check_settings()
        Int(min=1).raise_unless_valid("checkpoint_every", checkpoint_every)
        Float(min=0).raise_unless_valid("checkpoint_minutes", checkpoint_minutes)
        if self.batch_size is None and distributed.get_rank_and_world_size()[1] > 1:
            raise ConfigError("several processes share the batches: set batch_size (1024, say)")
        data = graphs.copy_checked_graph(data, split_index=split_index)
        self._set_pair_mode_and_explanation(int(data.num_nodes))
        device = _parse_available_device(str(self.device))
        with seed_context(int(self.seed), device), threads_context(self._count_entries_of_largest_array(data)):
            task, regularizer = self._build_task_and_regularizer(data, device)
            learner = self._build_learner(task, regularizer)
            selection, scored = self._build_selection_and_scored_labels(data, device)
            loop = TrainingLoop(self.list_phases(), selection, self.name, self.get_json_compatible_settings(), scored)
            loop.callbacks = [ProgressBar(progress), *resolve_callbacks(callbacks)]
            if self.patience is not None:
                loop.callbacks.append(EarlyStopping(self.patience))
            if checkpoint:
                identity = self._build_checkpoint_identity(data)
                loop.checkpointer = Checkpointer(Path(checkpoint), identity, checkpoint_every, checkpoint_minutes)
            learner, loop = self._run_and_restart_while_collapsed(learner, loop, resume)
        self._store_results(data, learner, loop)
        if loop.stopped_by:
            raise KeyboardInterrupt
        for text in (
            self.build_warmup_warning_text_or_empty(),
            self.collapse_,
        ):  # last: a run that fails should give one line only
            if text:
                warn_user(text)
        return self

    def _run_and_restart_while_collapsed(
        self, learner: NetworkLearner, loop: TrainingLoop, resume: bool
    ) -> tuple[NetworkLearner, TrainingLoop]:
        """Train again, with other initial weights and smaller steps, as long as training fails.

        The number of the attempt is part of a checkpoint, and the decision follows from the weights that it holds: a
        resumed run takes the same way.
        """
        is_collapsed = self._run_and_find_collapse(learner, loop, resume=resume)
        while is_collapsed and loop.attempt < MAX_RESTARTS:
            loop = loop.copy_for_next_attempt()
            torch.manual_seed(derive_seed_of_attempt(int(self.seed), loop.attempt))
            learner = self._build_learner(learner.task, learner.regularizer)
            for optimizer in learner.optimizers.values():
                for group in optimizer.param_groups:
                    group["lr"] *= LR_FACTOR**loop.attempt
            is_collapsed = self._run_and_find_collapse(learner, loop)
        self.collapse_ = describe_restarts_or_empty(loop.attempt, is_collapsed)
        return learner, loop

    def _run_and_find_collapse(self, learner: NetworkLearner, loop: TrainingLoop, *, resume: bool = False) -> bool:
        """Train. Whether nearly all nodes get one class, or a loss was not finite, which is raised the last time."""
        is_one_process = distributed.get_rank_and_world_size()[1] == 1  # others would not know of a loss seen in one
        try:
            loop.train_and_restore_best(learner, resume=resume)
        except DivergedError:
            if self.follows_paper() or loop.attempt == MAX_RESTARTS or not is_one_process:
                raise
            return True
        is_unfinished = loop.stopped_by is not None or len(loop.history) < MIN_EPOCHS
        return not (self.follows_paper() or is_unfinished) and has_classifier_collapsed(learner)

    def _count_entries_of_largest_array(self, data: Data) -> int:
        """Size of the largest arrays that an epoch works on."""
        num_nodes = int(data.num_nodes)
        return max(data.x.numel(), num_nodes**2 if self.pairs_ == "exact" else 0)

    def _set_pair_mode_and_explanation(self, num_nodes: int) -> None:
        self.pairs_, self.pairs_explanation_ = self.pairs, ""
        if self.batch_size is not None and self.pairs is not None:
            self.pairs_ = "batch"
        elif self.pairs == "auto":
            self.pairs_, reason = choose_pair_mode_and_reason(num_nodes, self.epochs)
            self.pairs_explanation_ = f"{self.pairs_}: {reason}"
        if self.edge_fraction < 1 and self.pairs_ != "sampled":
            raise ConfigError("edge_fraction goes with pairs='sampled'")

    def _store_results(self, data: Data, learner: NetworkLearner, loop: TrainingLoop) -> None:
        if loop.stopped_by and loop.selection.epoch < 0:  # the classifier has learned nothing yet
            raise KeyboardInterrupt
        self.history_ = loop.history
        self.networks_ = nn.ModuleDict(learner.networks).eval()
        self.num_nodes_ = int(data.num_nodes)
        self._set_num_features_classes_and_settings(data)
        self.best_epoch_ = loop.selection.epoch
        self.selection_ = loop.selection.rule.name
        self.stopped_by_ = loop.stopped_by

    def _build_task_and_regularizer(self, data: Data, device: torch.device) -> tuple[Task, PairRegularizer | None]:
        self.feature_scaling_ = backbones.FeatureScaling.fit(data.x, self.resolve_feature_scaling())
        inputs = build_inputs_and_warn_of_edge_changes(data, self.directed, device).copy_with_scaling(
            self.feature_scaling_
        )
        task = Task.from_data(data, inputs, self.class_weight)
        if self.pairs is None:
            return task, None
        strength = self._estimate_pair_strength_and_note_reason(data, task)
        return task, self._build_pair_regularizer(data, task, strength) if strength else None

    def _estimate_pair_strength_and_note_reason(self, data: Data, task: Task) -> float:
        """The share of the automatic weight that the pair loss gets, by what the given labels say about edges."""
        if self.beta != "auto" or self.follows_paper() or self.get_pair_label_source().is_oracle:
            return 1.0
        y = data.y.where(mask_labels_of_positive_weight(data, data.train_mask | data.val_mask), -1).to(task.y.device)
        evidence = estimate_edge_evidence(task.inputs, y, task.num_classes)
        if text := evidence.describe_pair_loss_reduction_or_empty():
            self.pairs_explanation_ = "; ".join(filter(None, (self.pairs_explanation_ or self.pairs_, text)))
        return evidence.pair_loss_share

    def _build_learner(self, task: Task, regularizer: PairRegularizer | None) -> NetworkLearner:
        inputs, device = task.inputs, task.inputs.device
        sizes, random_state = (inputs.raw_x.shape[1], task.num_classes, inputs.num_nodes), torch.get_rng_state()
        networks = self.make_networks(*sizes)
        if regularizer is None and "estimator" in networks:  # the same dropout as without pairs: the backbone alone
            torch.set_rng_state(random_state)
            clone(self).set_params(pairs=None).make_networks(*sizes)
        networks = {name: network.to(device) for name, network in networks.items()}
        for name, network in networks.items():
            if inputs.edge_weight is not None and not getattr(network, "uses_weights", True):
                warn_user(f"the {name} makes no use of edge_weight")
        trainable = {name: network for name, network in networks.items() if any(True for _ in network.parameters())}
        optimizers = {name: self.make_optimizer(name, network) for name, network in trainable.items()}
        rank, world_size = distributed.get_rank_and_world_size()
        if world_size > 1:  # the same networks everywhere, but not the same dropout
            torch.manual_seed(self.seed + 1_000_003 * (1 + rank))
        fresh = None if regularizer is None else replace(regularizer)
        return NetworkLearner(self, task, networks, optimizers, fresh)

    def _build_pair_regularizer(self, data: Data, task: Task, strength: float) -> PairRegularizer:
        inputs, source, target = task.inputs, self.get_pair_label_source(), pairs.PAIR_TARGETS.get(self.target)()
        if inputs.directed:
            graph = pairs.PairGraph(inputs.edge_index, inputs.num_nodes)
        else:
            graph = pairs.PairGraph.from_pattern(inputs.adj)
        if source.is_estimated_by_classifier and target.vanishes_on_own_labels:
            warn_user(
                f"pair_labels='{source.name}' with target='{target.name}' has no gradient: "
                "the pair loss does nothing after the warm-up"
            )
        y_true = data.get("y_true") if source.is_oracle else None
        source_inputs = pairs.SourceInputs(graph, task.y, y_true, self.seed, self.rank)
        return PairRegularizer(
            graph,
            source,
            target,
            beta=self.beta,
            strength=strength,
            warmup=self.get_last_warmup_epoch(),
            fixed=None if source.build is None else source.build(source_inputs),
            num_negatives=self.num_negatives if self.pairs_ == "sampled" else None,
            edge_fraction=self.edge_fraction,
        )

    def _build_selection_and_scored_labels(
        self, data: Data, device: torch.device
    ) -> tuple[Selection, dict[str, tuple[Tensor, Tensor]]]:
        """Who decides which epoch is kept, and what else the history shows. The only reader of true labels here."""
        y_true = data.get("y_true")
        rule = SELECTIONS.get(self.selection)()
        nodes, labels = rule.find_validation_nodes_and_labels(data)
        if rule.keeps_best and not nodes.numel():
            warn_user(f"no validation label: the last epoch is kept, not '{rule.name}'")
            rule = LastEpoch()
        train = data.train_mask.nonzero().view(-1)
        scored = {"train_agreement": (train.to(device), data.y[train].to(device))}
        if y_true is not None:
            test = (data.test_mask & (y_true.reshape(-1) >= 0)).nonzero().view(-1)
            scored["test_accuracy"] = (test.to(device), y_true.reshape(-1)[test].to(device))
        max_share = 1.0 if self.follows_paper() else compute_max_believable_class_share(data.y[train])
        return Selection(rule, nodes.to(device), labels.to(device), max_share), scored

    def _build_checkpoint_identity(self, data: Data) -> dict[str, Any]:
        # More epochs may be asked for, unless their number says where a second phase begins.
        free = ("device",) if len(self.list_phases()) > 1 else ("epochs", "device")
        kept = {k: v for k, v in self.get_json_compatible_settings().items() if k not in free}
        oracle = SELECTIONS.get(self.selection).is_oracle or self.get_pair_label_source().is_oracle
        return {
            "method": self.name,
            **kept,
            "processes": distributed.get_rank_and_world_size()[1],
            "data": hash_training_data(data, include_truth=oracle),
        }

    # ---- answers ----

    def _compute_logits(self, data: Data) -> Tensor:
        device = _parse_available_device(str(self.device))
        inputs = backbones.GraphInputs.from_data(data, directed=self.directed, device=device)
        inputs = inputs.copy_with_scaling(self.feature_scaling_)
        self.networks_.to(device)
        return self.networks_["classifier"](inputs.copy_for_chunked_inference())

    def _get_tensors_and_metadata(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        metadata = {
            "best_epoch": self.best_epoch_,
            "selection": self.selection_,
            "num_nodes": self.num_nodes_,
            "history": self.history_,
            "collapse": self.collapse_,
            "feature_scaling": None if self.feature_scaling_ is None else self.feature_scaling_.kind,
            "learned": {name: to_json_value(getattr(self, name)) for name in self.learned_attributes},
        }
        tensors = dict(self.networks_.state_dict())
        if self.feature_scaling_ is not None:
            tensors |= {f"{SCALING_PREFIX}{key}": value for key, value in self.feature_scaling_.tensors().items()}
        return tensors, metadata

    def _set_tensors_and_metadata(self, tensors: dict[str, Tensor], metadata: dict[str, Any]) -> None:
        self.num_nodes_ = metadata["num_nodes"]
        kind = metadata.get("feature_scaling")  # a model of an older version has none
        statistics = {key: tensors.pop(key) for key in list(tensors) if key.startswith(SCALING_PREFIX)}
        statistics = {key.removeprefix(SCALING_PREFIX): value for key, value in statistics.items()}
        self.feature_scaling_ = None if kind is None else backbones.FeatureScaling(kind, **statistics)
        self.networks_ = nn.ModuleDict(self.make_networks(self.num_features_, self.num_classes_, self.num_nodes_))
        missing = set(self.networks_.state_dict()) ^ set(tensors)
        if missing:
            raise ModelFileError(f"the weights are not those of this method ({sorted(missing)[0]} differs)")
        self.networks_.load_state_dict(tensors)
        self.networks_.eval()
        self.best_epoch_ = metadata["best_epoch"]
        self.selection_ = metadata["selection"]
        self.history_ = metadata["history"]
        self.collapse_ = metadata.get("collapse", "")
        for name in self.learned_attributes:
            setattr(self, name, metadata["learned"][name])


def _parse_available_device(name: str) -> torch.device:
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError):
        device = torch.device("meta")
    if device.type not in ("cpu", "cuda") or (device.type == "cpu" and device.index):
        raise ConfigError(f"unknown device '{name}'; use 'cpu', 'cuda' or 'cuda:0'")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ConfigError(f"device '{name}' is not there: torch sees {torch.cuda.device_count()} GPUs; use 'cpu'")
    return device
