"""What makes runs comparable: the split, whose labels are noisy, which epoch is kept, and what tuning may cost."""

from __future__ import annotations

from typing import Any

import msgspec

from ..core.errors import build_unknown_name_error
from ..core.settings import SEED, Choice, Int

SPLIT_TEXTS = {
    "default": "default split",
    "own": "the dataset's own split",
    "random": "random split",
    "noisygl": "splits of the NoisyGL benchmark",
    "begin": "50 % of the nodes for training, 10 % for validation, 40 % for testing",
    "no-val": "default split without validation nodes",
}
NOISY_SPLITS = ("train", "val", "test", "all")
NOISE_DRAWS = ("ours", "released", "noisygl")  # also those that are not of the package noise, which is heavy
DRAWS_TEXTS = {"released": "the authors' own draws of noise", "noisygl": "that benchmark's draws of noise"}
PRESETS_OF_SETTINGS = ("default", "paper")


class Protocol(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The rules of a study, the same for all its methods.

    Args:
        name: what tables call it.
        split: ``"default"``, ``"own"`` or ``"random"`` as in :func:`pignn.load`, ``"no-val"`` (the default
            without validation nodes), ``"noisygl"`` or ``"begin"`` (the rules of these benchmarks).
        resplit: whether every seed has a split of its own, where the rule draws at random or there are several.
        split_seed: seed of the split where it is the same for all.
        noisy: the splits whose given labels are made noisy.
        selection: which epoch is kept. ``"clean-val"`` reads true validation labels: an oracle.
        trials: how many settings are tried per run, the same number for all methods. They are compared on *given*
            validation labels. 0 means no tuning.
        sampler: what chooses the settings to try, see :mod:`~pignn.studies.tuning`.
        inductive: whether training sees neither the test nodes nor their edges.
        preset: what settings of networks mean that are not given, see the setting of that name.
        draws: ``"released"`` makes the very labels wrong that the program of the paper's authors does, ``"noisygl"``
            those of that benchmark's program, where it has that kind of noise.
    """

    name: str = "honest"
    split: str = "default"
    resplit: bool = False
    split_seed: int = 0
    noisy: tuple[str, ...] = ("train", "val")
    selection: str = "noisy-val"
    trials: int = 0
    sampler: str = "grid"
    inductive: bool = False
    preset: str = "default"
    draws: str = "ours"

    def __post_init__(self) -> None:
        from ..training.selection import SELECTIONS

        Choice(tuple(SPLIT_TEXTS)).raise_unless_valid("split", self.split)
        Choice(SELECTIONS).raise_unless_valid("selection", self.selection)
        Choice(PRESETS_OF_SETTINGS).raise_unless_valid("preset", self.preset)
        Choice(NOISE_DRAWS).raise_unless_valid("draws", self.draws)
        if self.sampler != "grid":
            from .tuning import SAMPLERS

            SAMPLERS.resolve_name(self.sampler)
        for split in self.noisy:
            Choice(NOISY_SPLITS).raise_unless_valid("split", split)
        Int().raise_unless_valid("trials", self.trials)
        SEED.raise_unless_valid("split_seed", self.split_seed)

    @classmethod
    def from_preset(cls, name: str, **changes: Any) -> Protocol:
        """Return a preset with changes: ``Protocol.from_preset("honest", trials=10)``."""
        if name not in PRESETS:
            raise build_unknown_name_error("protocol", name, PRESETS)
        preset = PRESETS[name]
        for key in changes:
            if key not in cls.__struct_fields__ or key == "name":
                raise build_unknown_name_error("protocol key", key, set(cls.__struct_fields__) - {"name"})
        changes |= {"noisy": tuple(changes["noisy"])} if "noisy" in changes else {}
        if all(getattr(preset, key) == value for key, value in changes.items()):
            return preset
        return msgspec.structs.replace(preset, name=f"{name} changed", **changes)

    @property
    def base_preset_name(self) -> str:
        """The preset that this is, or was made of."""
        return self.name.removesuffix(" changed")

    def get_split_seed(self, run_seed: int) -> int:
        return run_seed if self.resplit else self.split_seed

    def __str__(self) -> str:
        """One sentence for tables."""
        from ..training.selection import SELECTIONS

        oracle = " (an oracle)" if SELECTIONS.get(self.selection).is_oracle else ""
        parts = [
            f"protocol {self.name}: {SPLIT_TEXTS[self.split]}{' per seed' if self.resplit else ''}",
            f"given labels of {' and '.join(self.noisy) or 'no split'} noisy",
            *([DRAWS_TEXTS[self.draws]] if self.draws in DRAWS_TEXTS else []),
            *(["the paper's settings"] if self.preset == "paper" else []),
            f"epoch by {self.selection}{oracle}",
            *(["training without the test nodes and their edges"] if self.inductive else []),
            self._describe_tuning(),
        ]
        return ", ".join(parts)

    def _describe_tuning(self) -> str:
        if not self.trials:
            return "no tuning"
        sampler = "" if self.sampler == "grid" else f" by {self.sampler}"
        return f"{self.trials} trials of settings{sampler} per run on given validation labels"


PRESETS = {
    protocol.name: protocol
    for protocol in (
        # The paper chooses the epoch on clean validation labels. Which given validation labels there are does not
        # matter to that. They are noisy, so that nothing else can profit from clean ones.
        Protocol(name="paper", selection="clean-val", preset="paper"),
        Protocol(name="released", selection="clean-val", noisy=("train",), preset="paper", draws="released"),
        Protocol(name="honest"),
        Protocol(name="honest-resplit", resplit=True),
        # That benchmark's program draws a split from where the last run of the dataset before, of seed 3009, left its
        # generator.
        Protocol(name="noisygl", split="noisygl", split_seed=3009, noisy=("all",), draws="noisygl"),
        Protocol(name="begin", split="begin", resplit=True, noisy=("all",)),
        Protocol(name="inductive", inductive=True),
        Protocol(name="audit", noisy=("all",), selection="last"),
    )
}
