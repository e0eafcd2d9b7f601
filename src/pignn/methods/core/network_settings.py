"""The settings of all methods that train networks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import nn

from ... import backbones
from ...core.errors import ConfigError
from ...core.settings import Anything, Bool, Choice, Either, Float, Int, ListOf, Range, setting
from ...pairs import PAIR_LABEL_SOURCES, PAIR_TARGETS, PairLabelSource
from ...training import SELECTIONS
from .base import Method
from .labels import CLASS_WEIGHT_HELP

SCHEDULES = ("joint", "pretrain")
PAIR_MODES = ("auto", "exact", "sampled")
PRESETS = ("default", "paper")
BACKBONE_HELP = (
    "network that is trained; in Python also a callable (in_channels, out_channels) that builds a module which is "
    "called as PyG's are, module(x, edge_index)"
)
PAIRS_HELP = (
    "pair regularizer: over all pairs (exact), over all connected pairs and random other ones (sampled), or exact if "
    "that takes about a minute at most (auto)"
)


@dataclass(frozen=True)
class BackboneName:
    """The name of a backbone, or a callable that builds one."""

    def raise_unless_valid(self, setting_name: str, value: Any) -> None:
        backbones.get_backbone_class_or_builder(value)

    def describe(self) -> str:
        return ", ".join(backbones.BACKBONES)


@dataclass(kw_only=True, eq=False, repr=False)
class NetworkSettings(Method):
    """What can be set about networks, their training and the pair regularizer."""

    # What a method takes in place of the backbone's own, if nothing is set.
    default_lr: ClassVar[float | None] = None
    default_hidden_channels: ClassVar[int | None] = None

    preset: str = setting(
        "default",
        Choice(PRESETS),
        "what settings mean that are not given: our defaults, or those of the paper to the letter (GCN of width 16, "
        "features as they are, the pair loss at full weight, no restart after a collapse)",
    )
    backbone: str | Callable[[int, int], nn.Module] = setting("gcn", BackboneName(), BACKBONE_HELP)
    feature_scaling: str = setting(
        "auto",
        Choice(("auto", *backbones.FEATURE_SCALINGS)),
        "how features enter the networks: as they are, rows of length 1, standardized columns, or by what they look "
        "like (auto: rows if at least a third of the values are zero, else columns; none with preset 'paper')",
    )
    hidden_channels: int | None = setting(
        None,
        Int(min=1, bits=31),
        "width of the hidden layers; by default the backbone's own (GCN: 64, or 16 with preset 'paper')",
        search=(16, 32, 64, 128),
    )
    num_layers: int = setting(2, Int(min=1), "number of layers of the backbone")
    dropout: float | None = setting(
        None, Float(max=1, open_max=True), "dropout probability; by default the backbone's own", search=Range(0.0, 0.8)
    )
    init: str = setting("glorot", Choice(backbones.INITIALIZATIONS), "how weights are initialized")
    epochs: int = setting(400, Int(min=1), "number of training epochs")
    lr: float | None = setting(
        None,
        Float(),
        "learning rate of Adam; by default the backbone's own (0.01 for GCN)",
        search=Range(1e-3, 0.1, log=True),
    )
    weight_decay: float = setting(
        5e-4, Float(), "weight decay of Adam on all parameters", search=Range(1e-5, 1e-2, log=True)
    )
    selection: str = setting(
        "noisy-val",
        Choice(SELECTIONS),
        "which epoch is kept: best on the given validation labels (the last one if there are none), best on the true "
        "ones (an oracle), or the last one",
    )
    patience: int | None = setting(
        None, Int(min=1), "stop after this many epochs without a better validation accuracy; by default never"
    )
    class_weight: str | Sequence[float] | None = setting(None, Anything("balanced, list of numbers"), CLASS_WEIGHT_HELP)
    directed: bool = setting(False, Bool(), "propagate along the direction of edges only; pairs stay undirected")
    device: str = setting("cpu", Anything("cpu, cuda, cuda:1"), "where to train")
    pairs: str | None = setting(None, Choice(PAIR_MODES), PAIRS_HELP)
    num_negatives: int = setting(63, Int(min=1), "random pairs per node and step if pairs are sampled")
    edge_fraction: float = setting(
        1.0, Float(max=1, open_min=True), "share of the connected pairs that each step draws if pairs are sampled"
    )
    batch_size: int | None = setting(
        None, Int(min=2), "nodes per step; by default the whole graph. Pairs are then those within a batch"
    )
    num_neighbors: Sequence[int] = setting(
        (15, 10), ListOf(Int(min=1)), "how many neighbors each hop samples around the nodes of a batch"
    )
    pair_labels: str = setting(
        "estimated",
        Choice(PAIR_LABEL_SOURCES),
        "source of pair labels; 'given' and 'true' compare labels (the latter is an oracle), 'self' takes the "
        "classifier's own",
    )
    target: str = setting("masked", Choice(PAIR_TARGETS), "how pair labels enter the pair loss")
    beta: float | str = setting(
        "auto",
        Either(("auto",), Float()),
        "weight of the pair loss; auto is N²/(2(N² − Q)) for Q directed edges, times how far edges tell of classes "
        "(0 to 1, estimated from given labels; 1 with preset 'paper')",
    )
    warmup: int = setting(50, Int(min=-1), "last epoch before pair labels are used")
    estimator: str | Callable[[int, int], nn.Module] | None = setting(
        None, BackboneName(), "backbone of the estimator; by default the classifier's"
    )
    schedule: str = setting(
        "joint", Choice(SCHEDULES), "train the estimator with the classifier, or before it for as many epochs"
    )
    rank: int = setting(400, Int(min=1), "rank of the low-rank pair labels")

    def check_settings(self) -> None:
        super().check_settings()
        if self.batch_size is not None and len(self.num_neighbors) < self.num_layers:
            raise ConfigError(f"num_neighbors must be at least {self.num_layers} numbers, one per layer: [15, 10]")

    def follows_paper(self) -> bool:
        return self.preset == "paper"

    def resolve_feature_scaling(self) -> str:
        """The scaling to fit: the one that is set, or what ``auto`` means under the preset."""
        return "none" if self.feature_scaling == "auto" and self.follows_paper() else self.feature_scaling

    def resolve_hidden_channels_or_none(self, backbone: str | Callable[[int, int], nn.Module]) -> int | None:
        """The width that is set, or that of the preset; ``None`` for the backbone's own."""
        if self.hidden_channels is None and self.follows_paper():
            return backbones.get_paper_hidden_channels_or_none(backbone)
        return self.default_hidden_channels if self.hidden_channels is None else self.hidden_channels

    def resolve_lr(self, backbone: str | Callable[[int, int], nn.Module]) -> float:
        """The learning rate that is set, or the method's, or the backbone's."""
        if self.lr is not None:
            return float(self.lr)
        return backbones.get_default_lr(backbone) if self.default_lr is None else self.default_lr

    def get_pair_label_source(self) -> PairLabelSource:
        return PAIR_LABEL_SOURCES.get(self.pair_labels)

    def get_last_warmup_epoch(self) -> int:
        """The last epoch before pair labels are used; −1 where they never are, or need not be waited for."""
        if self.pairs is None or self.get_pair_label_source().is_connectivity:
            return -1
        # A frozen estimator has learned already: there is nothing to warm up.
        return -1 if self.pretrains_estimator() else self.warmup

    def pretrains_estimator(self) -> bool:
        return self.pairs is not None and self.get_pair_label_source().needs_estimator and self.schedule == "pretrain"

    def build_warmup_warning_text_or_empty(self) -> str:
        """What a warm-up as long as the training leaves out, and what to do. Empty where nothing is left out."""
        if self.epochs > self.get_last_warmup_epoch() + 1:
            return ""
        return f"warmup ({self.warmup}) covers all {self.epochs} epochs, so pair labels are never used; lower warmup"
