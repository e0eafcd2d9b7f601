"""Datasets by name, built in or brought by an installed package."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import pignn
from pignn.core.errors import ConfigError
from pignn.graphs import DATASETS, get_dataset, is_available, list_datasets


@pytest.fixture
def installed_star_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A distribution of somebody else's that brings the dataset `star`."""
    (tmp_path / "astronomy.py").write_text(
        "from dataclasses import dataclass\n"
        "import torch\n"
        "from torch_geometric.data import Data\n"
        "from pignn.graphs import Dataset\n"
        "class StarDataset(Dataset):\n"
        "    @property\n"
        "    def option_names(self):\n"
        "        return ['brightness']\n"
        "    def read(self, root, brightness=1.0):\n"
        "        ends = torch.stack([torch.zeros(8, dtype=torch.long), torch.arange(1, 9)])\n"
        "        return Data(x=torch.full((9, 2), brightness), edge_index=ends, y=torch.arange(9) % 2)\n"
        "STAR = StarDataset(name='star', num_nodes=9, num_edges=8, num_features=2, num_classes=2, kind='toy',\n"
        "                   class_names=('even', 'odd'))\n"
    )
    metadata = tmp_path / "astronomy-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: astronomy\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[pignn.datasets]\nstar = astronomy:STAR\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    DATASETS._objects.pop("star", None)
    sys.modules.pop("astronomy", None)


@pytest.mark.usefixtures("installed_star_dataset")
def test_a_dataset_of_another_package_works_everywhere_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert "star" in {dataset.name for dataset in pignn.list_datasets()}
    data = pignn.load("Star", brightness=3.0, split_seed=1)
    assert data.name == "star"
    assert data.class_names == ["even", "odd"]
    assert torch.equal(data.x, torch.full((9, 2), 3.0))
    assert int((data.train_mask | data.val_mask | data.test_mask).sum()) == 9
    with pytest.raises(ConfigError, match="unknown option 'color' for dataset 'star'; known: brightness"):
        pignn.load("star", color="red")
    from pignn.cli import run

    assert run(["datasets", "--json"]) == 0
    assert {row["name"] for row in json.loads(capsys.readouterr().out)} >= {"star", "cora"}


def test_every_dataset_says_of_itself_what_it_is() -> None:
    for dataset in list_datasets():
        assert get_dataset(dataset.name.upper()) is dataset
        assert dataset.kind
        assert dataset.source
        assert len(dataset.class_names) in (0, dataset.num_classes)
        assert json.dumps(dataset.to_dict())
    assert [dataset.name for dataset in list_datasets() if dataset.has_official_split] == [
        "citeseer",
        "cora",
        "ogbn-arxiv",
        "ogbn-products",
        "pubmed",
    ]


def test_graphs_that_are_generated_need_no_raw_files() -> None:
    assert get_dataset("digits").get_raw_files({}) is None
    assert is_available("csbm")
