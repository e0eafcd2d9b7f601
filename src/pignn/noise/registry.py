"""The kinds of label noise by name. Other packages add theirs through the entry-point group ``pignn.noises``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..core.errors import ConfigError, DataError
from ..core.registry import Entry, Registry

if TYPE_CHECKING:
    from .kinds import NoiseKind

_MATRIX, _DEPENDENT = "pignn.noise.matrix_kinds", "pignn.noise.dependent_kinds"
_BENCHMARK = "pignn.noise.benchmark_kinds"

NOISES: Registry[type[NoiseKind]] = Registry(
    "noise kind",
    "pignn.noises",
    [
        Entry("none", f"{_MATRIX}:NoNoise", "given labels are the true ones"),
        Entry("symmetric", f"{_MATRIX}:SymmetricNoise", "a wrong label is any other class, all equally likely"),
        Entry("pair", f"{_MATRIX}:PairNoise", "class i becomes class i + 1"),
        Entry("flip", f"{_MATRIX}:FlipToRandomClassNoise", "class i becomes one other class, drawn once per seed"),
        Entry("pair-previous", f"{_MATRIX}:PreviousPairNoise", "class i becomes class i - 1 (NoisyGL's pair noise)"),
        Entry("random", f"{_MATRIX}:RandomMatrixNoise", "a transition matrix that is drawn once per seed"),
        Entry(
            "one-sided",
            f"{_MATRIX}:FlipToFirstClassNoise",
            "every class but 0 is sometimes labeled 0, as if it was missed",
        ),
        Entry("instance", f"{_DEPENDENT}:InstanceNoise", "how likely a label is wrong depends on the features"),
        Entry("rule", f"{_DEPENDENT}:KeywordRuleNoise", "labels follow keywords, that is, sums of some features"),
        Entry("cluster", f"{_DEPENDENT}:ClusterNoise", "whole regions of the graph carry one wrong class"),
        Entry("instance-noisygl", f"{_BENCHMARK}:NoisyGLInstanceNoise", "NoisyGL's: a random class by the features"),
        Entry("topology", f"{_BENCHMARK}:TopologyNoise", "BeGIN's: labels are taken for the classes around the node"),
        Entry("feature", f"{_BENCHMARK}:FeatureNoise", "BeGIN's: labels are taken for classes of similar features"),
        Entry("confidence", f"{_BENCHMARK}:ConfidenceNoise", "BeGIN's: labels are taken for what a classifier says"),
        Entry("feature-pair", f"{_BENCHMARK}:FeaturePairNoise", "a class becomes that of most similar features"),
        Entry("structure-pair", f"{_BENCHMARK}:StructurePairNoise", "a class becomes the most frequent one around it"),
    ],
)


def list_noises() -> list[Entry]:
    """Every kind of noise that :func:`~pignn.corrupt` knows by name, built in or from an installed package."""
    return NOISES.list_entries()


def check_and_tell_if_noise_file(name_or_path: str) -> bool:
    """Whether it is a file with labels or a transition matrix, and not a name. A file that is missing is an error."""
    path = Path(name_or_path)
    if path.suffix.lower() not in (".npz", ".npy", ".csv"):
        if path.is_file():
            raise ConfigError(f"{path}: a noise file must end in .npz (labels or matrix), .npy or .csv (matrix)")
        return False
    if not path.is_file():
        raise DataError(f"{path}: no such file of labels or transition matrix; check the path")
    return True


def resolve_noise_name(name: str) -> str:
    """The name of a kind of noise, or an error that names the nearest one."""
    if name == "asymmetric":
        raise ConfigError(
            "noise 'asymmetric' has two meanings: 'pair' (i to i + 1) and 'flip' (i to a random class); give one"
        )
    return NOISES.resolve_name(name)


def make_noise_kind(name: str) -> NoiseKind:
    """The kind of noise called `name`."""
    return NOISES.get(resolve_noise_name(name))()
