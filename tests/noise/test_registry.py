"""Kinds of noise by name, built in or brought by an installed package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

import pignn
from pignn import graphs
from pignn.core.errors import ConfigError
from pignn.noise import NOISES, load_labels_or_matrix_or_check_noise_name, make_noise_kind


@pytest.fixture
def installed_reverse_noise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution of somebody else's that brings the noise kind `reverse`."""
    (tmp_path / "mirrors.py").write_text(
        "from pignn.noise import NoiseKind\n"
        "class Reverse(NoiseKind):\n"
        "    '''Class c becomes class n - 1 - c where a draw is below the rate.'''\n"
        "    name = 'reverse'\n"
        "    def corrupt_labels(self, labels_to_corrupt):\n"
        "        reverse = labels_to_corrupt.num_classes - 1 - labels_to_corrupt.true_labels\n"
        "        flips = labels_to_corrupt.uniform_draws[0] < labels_to_corrupt.rate\n"
        "        return labels_to_corrupt.true_labels * ~flips + reverse * flips\n"
    )
    metadata = tmp_path / "mirrors-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: mirrors\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[pignn.noises]\nreverse = mirrors:Reverse\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    NOISES._objects.pop("reverse", None)
    sys.modules.pop("mirrors", None)


@pytest.mark.usefixtures("installed_reverse_noise")
def test_a_kind_of_another_package_works_everywhere_by_its_name(tmp_path: Path) -> None:
    assert "reverse" in {entry.name for entry in pignn.list_noises()}
    data = graphs.csbm(60, 3)
    noisy = pignn.corrupt(data, "reverse", 1.0, splits=("all",))
    assert torch.equal(noisy.y, 2 - data.y)
    assert noisy.noise["kind"] == "reverse"
    assert load_labels_or_matrix_or_check_noise_name("reverse") == "reverse"
    with pytest.raises(ConfigError, match="noise 'reverse' needs a rate"):
        pignn.corrupt(data, "reverse")


def test_every_kind_says_of_itself_what_it_is() -> None:
    for entry in pignn.list_noises():
        kind = make_noise_kind(entry.name)
        assert kind.name == entry.name
        assert kind.__doc__
        assert entry.summary
        assert not (kind.has_transition_matrix and kind.depends_on_graph)
    assert [name for name in NOISES if not NOISES.get(name).takes_rate] == ["none"]


def test_listing_the_kinds_does_not_import_torch() -> None:
    code = "import sys, pignn; assert pignn.list_noises(); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
