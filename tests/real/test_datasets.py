"""The real raw files: sizes as published. Skipped unless PIGNN_DATA says where they are."""

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

from pignn.core.errors import PignnWarning
from pignn.graphs import compute_graph_statistics, is_available, list_datasets, load

pytestmark = pytest.mark.skipif(not os.environ.get("PIGNN_DATA"), reason="PIGNN_DATA is not set")

# nodes, directed edges, features, classes; training, validation and test nodes of the default split
SIZES = {
    "cora": ((2708, 10556, 1433, 7), (140, 500, 1000)),
    "citeseer": ((3327, 9104, 3703, 6), (120, 500, 1000)),
    "pubmed": ((19717, 88648, 500, 3), (60, 500, 1000)),
    "actor": ((7600, 30019, 932, 5), (100, 150, 7350)),
    "chameleon": ((2277, 62742, 2325, 5), (100, 150, 2027)),
    "photo": ((7650, 238162, 745, 8), (160, 240, 7250)),
    "dblp": ((17716, 105734, 1639, 4), (80, 120, 17516)),
    "computers": ((13752, 491722, 767, 10), (200, 300, 13252)),
    "blogcatalog": ((5196, 343486, 8189, 6), (120, 180, 4896)),
    "squirrel": ((2223, 93996, 2089, 5), (100, 150, 1973)),
    "minesweeper": ((10000, 78804, 7, 2), (40, 60, 9900)),
    "tolokers": ((11758, 1038000, 10, 2), (40, 60, 11658)),
    "polblogs": ((1490, 19090, 1490, 2), (40, 60, 1390)),
    "ogbn-arxiv": ((169343, 1166243, 128, 40), (90941, 29799, 48603)),
}


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIGNN_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def read(name, **options):
    if not is_available(name):
        pytest.skip(f"{name} is not in PIGNN_DATA")
    if name != "ogbn-arxiv":
        return load(name, **options)
    with pytest.warns(PignnWarning, match="STAND-IN"):
        return load(name, features="stand-in", **options)


@pytest.mark.parametrize("name", SIZES)
def test_sizes_as_published(name):
    sizes, split = SIZES[name]
    for _ in range(2):  # from the raw files, then from the cache
        data = read(name)
        assert (data.num_nodes, data.num_edges, data.num_features, len(data.class_names)) == sizes
        assert tuple(int(m.sum()) for m in (data.train_mask, data.val_mask, data.test_mask)) == split
        assert (data.x.dtype, data.edge_index.dtype, data.y.dtype) == (
            torch.float32,
            torch.int64,
            torch.int64,
        )
        assert torch.bincount(data.y).numel() == sizes[3]
        assert bool(torch.isfinite(data.x).all())
        assert not bool((data.train_mask & data.test_mask).any())


def test_the_list_of_datasets_has_the_published_sizes():
    for info in list_datasets():
        if info.name in SIZES:
            assert (info.num_nodes, info.num_edges, info.num_features, info.num_classes) == SIZES[info.name][0]


@pytest.mark.parametrize(("name", "splits"), [("actor", 10), ("chameleon", 10), ("squirrel", 10)])
def test_splits_of_the_dataset_s_own_have_their_published_sizes(name, splits):
    data = read(name, split="own")
    assert data.train_mask.shape == (data.num_nodes, splits)
    parts = data.train_mask.int() + data.val_mask.int() + data.test_mask.int()
    assert int(parts.max()) == 1
    assert data.train_mask.float().mean() == pytest.approx(0.48, abs=0.02)
    one = read(name, split="own", split_index=4)
    assert torch.equal(one.val_mask, data.val_mask[:, 4])


def test_filtered_chameleon_has_the_published_size():
    data = read("chameleon", variant="filtered")
    assert (data.num_nodes, data.num_edges, data.num_features) == (890, 17708, 2325)


@pytest.mark.parametrize(("name", "positive"), [("minesweeper", 0.2), ("tolokers", 0.218)])
def test_graphs_of_two_classes_have_ten_splits_of_their_own(name, positive):
    data = read(name, split="own")
    assert data.train_mask.shape == (data.num_nodes, 10)
    assert data.train_mask.float().mean() == pytest.approx(0.5, abs=0.001)
    assert data.y.float().mean() == pytest.approx(positive, abs=0.001)


def test_polblogs_names_its_blogs_and_their_labelers():
    data = read("polblogs")
    assert data.node_id[:2] == ["100monkeystyping.com", "12thharmonic.com/wordpress"]
    assert data.source_names[int(data.label_source[2])] == "Blogarama,BlogCatalog"
    labelers = {name for names in data.source_names for name in names.split(",")}
    assert len(labelers) == 7
    assert "LabeledManually" in labelers


def test_cora_names_fit_the_recorded_labels():
    path = Path(os.environ["PIGNN_DATA"], "Cora", "llm_labels.npz")
    if not path.is_file():
        pytest.skip("no recorded labels")
    recorded = np.load(path, allow_pickle=False)
    data = read("cora")
    assert data.class_names == recorded["class_names"].tolist()
    assert np.array_equal(data.y.numpy(), recorded["clean_label"])


def test_same_graph_as_the_plain_loader(tmp_path):
    """Planetoid read by PyG without our staging and vetting gives the same tensors."""
    from torch_geometric.datasets import Planetoid

    data = read("cora")
    raw = tmp_path / "Cora" / "raw"
    raw.mkdir(parents=True)
    for path in Path(os.environ["PIGNN_DATA"], "Cora", "raw").iterdir():
        (raw / path.name).symlink_to(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = Planetoid(str(tmp_path), "Cora")[0]
    for key in ("x", "edge_index", "y", "train_mask", "val_mask", "test_mask"):
        assert torch.equal(data[key], plain[key])


def test_describe_graph_on_cora():
    found = compute_graph_statistics(read("cora"))
    assert (found["edges"], found["isolated"], found["components"]) == (5278, 0, 78)
    assert found["homophily"] == pytest.approx(0.81, abs=0.001)
