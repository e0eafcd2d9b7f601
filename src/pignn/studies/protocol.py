"""How runs are made comparable: the split, whose labels are noisy, which epoch is kept, and what tuning may cost."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from ..core import validation as settings
from ..core.errors import ConfigError, unknown

SPLIT_RULES = ("default", "own", "random", "noisygl")
SELECTIONS = ("noisy-val", "clean-val", "last")
NOISY = ("train", "val", "test")


@dataclass(frozen=True)
class Protocol:
    """The rules of a study, the same for all its methods.

    Args:
        name: what tables call it.
        split: ``"default"``, ``"own"`` or ``"random"`` as in :func:`pignn.load`, or ``"noisygl"`` (that benchmark's
            rule, see :func:`noisygl_masks`).
        resplit: a new split for every seed, where the rule draws at random or there are several to take.
        noisy: the splits whose given labels are made noisy.
        selection: which epoch is kept; ``"clean-val"`` reads true validation labels: an oracle.
        trials: settings tried for every run, the same number for all methods, compared on *given* validation labels;
            0 for no tuning.
    """

    name: str = "honest"
    split: str = "default"
    resplit: bool = False
    noisy: tuple[str, ...] = ("train", "val")
    selection: str = "noisy-val"
    trials: int = 0

    def __post_init__(self) -> None:
        if self.split not in SPLIT_RULES:
            raise unknown("split", self.split, SPLIT_RULES)
        if self.selection not in SELECTIONS:
            raise unknown("selection", self.selection, SELECTIONS)
        object.__setattr__(self, "noisy", tuple(self.noisy))
        for split in self.noisy:
            if split not in NOISY:
                raise unknown("split", split, NOISY)
        settings.whole("trials", self.trials, 0)
        settings.flag("resplit", self.resplit)

    @classmethod
    def named(cls, name: str, **changes: Any) -> Protocol:
        """A preset, with changes: ``Protocol.named("honest", trials=10)``."""
        if name not in PRESETS:
            raise unknown("protocol", name, PRESETS)
        known = [key for key in cls.__dataclass_fields__ if key != "name"]
        for key in changes:
            if key not in known:
                raise ConfigError(f"protocol: {unknown('key', key, known)}")
        found = PRESETS[name]
        changed = {key: value for key, value in changes.items() if _plain(getattr(found, key)) != _plain(value)}
        return replace(found, name=f"{name} changed", **changed) if changed else found

    def split_seed(self, seed: int) -> int:
        return seed if self.resplit else 0

    def __str__(self) -> str:
        """One sentence for tables."""
        split = {"default": "default split", "own": "the dataset's own split", "random": "random split"}
        parts = [
            f"protocol {self.name}: {split.get(self.split, 'splits of the NoisyGL benchmark')}"
            + (" per seed" if self.resplit else ""),
            f"given labels of {' and '.join(self.noisy) or 'no split'} noisy",
            f"epoch by {self.selection}" + (" (an oracle)" if self.selection == "clean-val" else ""),
            f"{self.trials} trials of settings a run on given validation labels" if self.trials else "no tuning",
        ]
        return ", ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"noisy": list(self.noisy)}


PRESETS = {
    protocol.name: protocol
    for protocol in (
        # The paper's: the epoch is chosen on clean validation labels. Which given validation labels there are does
        # not matter to that; they are noisy, so that nothing else can profit from clean ones.
        Protocol(name="paper", selection="clean-val"),
        Protocol(name="honest"),
        Protocol(name="noisygl", split="noisygl", resplit=True),
    )
}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, list | tuple) else value
