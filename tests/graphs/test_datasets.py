"""`load` on small raw files in the formats of the published ones."""

import gzip
import os
import subprocess
import sys
import types
import zipfile
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
import torch

from pignn.core.errors import ConfigError, DataError, PignnError, PignnWarning
from pignn.graphs import find_dataset_location_or_empty, is_available, list_datasets, load

# The files of these tests are smaller than the published ones, which `load` says.
small = pytest.mark.filterwarnings("ignore:.*the published ones:pignn.core.errors.PignnWarning")


def sizes(data):
    return [int(m.sum()) for m in (data.train_mask, data.val_mask, data.test_mask)]


def one_line(call, message, kind=DataError):
    with pytest.raises(kind, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return str(caught.value)


def files_below(folder):
    return sorted(str(p.relative_to(folder)) for p in Path(folder).rglob("*") if p.is_file())


@pytest.fixture
def root(tmp_path) -> Path:
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


@pytest.fixture
def offline(monkeypatch):
    """Every way to the network fails as it does without one."""
    from torch_geometric.datasets import actor, amazon, citation_full, wikics
    from torch_geometric.io import fs

    def fail(*args, **kwargs):
        raise URLError("Name or service\nnot known")

    monkeypatch.setattr(fs, "cp", fail)
    monkeypatch.setattr("torch_geometric.data.download_url", fail)
    for module in (actor, amazon, citation_full, wikics):
        monkeypatch.setattr(module, "download_url", fail)
    monkeypatch.setitem(sys.modules, "ogb.utils.url", None)


# ---- every format ------------------------------------------------------------------------------------------


@small
@pytest.mark.parametrize(("name", "classes"), [("Cora", 7), ("CiteSeer", 6), ("PubMed", 3)])
def test_planetoid_graphs_have_their_public_split(write, root, name, classes):
    write.planetoid(root, name, classes=classes)
    data = load(name, root=root)
    nodes = 20 * classes + 510
    assert data.x.shape == (nodes, 12)
    assert data.x.dtype == torch.float32
    assert torch.equal(data.y, torch.arange(nodes) % classes)
    assert data.num_edges == 2 * nodes
    assert sizes(data) == [20 * classes, 500, 10]
    assert data.name == name.lower()
    assert len(data.class_names) == classes
    assert "y_true" not in data


@small
def test_sparse_npz_graphs_take_class_names_from_their_file(write, root):
    names = np.array([f"kind {c}" for c in range(8)])
    write.sparse_npz(root / "Photo/raw/amazon_electronics_photo.npz", class_names=names)
    write.sparse_npz(root / "DBLP/raw/dblp.npz", nodes=300)
    write.sparse_npz(root / "Computers/raw/amazon_electronics_computers.npz", nodes=200, classes=10)
    photo, dblp = load("photo", root=root), load("dblp", root=root)
    assert load("computers", root=root).x.shape == (200, 9)
    assert photo.class_names == names.tolist()
    assert photo.num_edges == 120  # made undirected
    assert dblp.class_names == ["0", "1", "2", "3"]
    assert dblp.x.shape == (300, 9)
    assert sizes(dblp) == [80, 120, 100]
    assert load("photo", root=root).class_names == names.tolist()  # from the cache too


@small
def test_actor_comes_with_ten_splits(write, root):
    write.actor(root)
    data = load("actor", root=root)
    assert data.x.shape == (40, 9)
    assert torch.equal(data.y, torch.arange(40) % 5)
    assert data.num_edges == 40  # as published, one way
    assert data.train_mask.dim() == 1
    own = load("actor", root=root, split="own")
    assert own.train_mask.shape == own.val_mask.shape == own.test_mask.shape == (40, 10)
    third = load("actor", root=root, split="own", split_index=3)
    assert torch.equal(third.train_mask, own.train_mask[:, 3])
    assert torch.equal(third.train_mask, torch.arange(40) % 3 == 0)
    one_line(lambda: load("actor", root=root, split="own", split_index=10), "out of range", ConfigError)
    one_line(lambda: load("actor", root=root, split_index=3), "need split='own'", ConfigError)


@small
def test_wikics_trains_on_the_first_nodes_of_every_class(write, root):
    write.wikics(root)
    data = load("WikiCS", root=root)
    assert data.x.shape == (500, 11)
    assert data.num_edges == 1000
    assert sizes(data) == [200, 200, 100]
    assert data.train_mask[:200].all()  # first 20 of each class: classes alternate here
    assert data.val_mask[200:400].all()
    own = load("wikics", root=root, split="own")
    assert own.train_mask.shape == own.test_mask.shape == (500, 20)
    assert load("wikics", root=root, split="own", split_index=19).test_mask.sum() == 100
    assert sizes(load("wikics", root=root, split="random")) != sizes(data)


@small
def test_chameleon_comes_with_ten_splits_and_a_filtered_variant(write, root):
    write.chameleon(root)
    write.chameleon(root, nodes=30, name="chameleon_filtered")
    data = load("chameleon", root=root)
    assert data.num_nodes == 40
    assert data.num_edges == 80
    assert sorted(data.edge_index.t().tolist())[:2] == [[0, 1], [0, 39]]
    assert load("chameleon", root=root, variant="filtered").num_nodes == 30
    assert load("chameleon", root=root, split="own", split_index=2).train_mask[1]
    one_line(lambda: load("chameleon", root=root, variant="directed"), "unknown variant", ConfigError)


@small
@pytest.mark.parametrize(("name", "classes"), [("squirrel", 5), ("minesweeper", 2), ("tolokers", 2)])
def test_heterophilous_graphs_come_with_ten_splits(write, root, name, classes):
    write.heterophilous(root, name, classes=classes, file="squirrel_filtered" if name == "squirrel" else "")
    data = load(name, root=root, split="own")
    assert data.train_mask.shape == (40, 10)
    assert torch.equal(data.y, torch.arange(40) % classes)
    assert data.num_edges == 80
    assert len(data.class_names) == classes
    one_line(
        lambda: load(name, root=root, variant="full"), f"unknown option 'variant' for dataset '{name}'", ConfigError
    )


@small
def test_blogcatalog_keeps_counts(write, root):
    path = write.sparse_npz(root / "blogcatalog/blogcatalog.npz", classes=6)
    with np.load(path) as file:
        arrays = dict(file)
    np.savez(path, **{**arrays, "attr_data": np.full(60, 3.0, np.float32)})
    data = load("blogcatalog", root=root)
    assert data.x.shape == (60, 9)
    assert data.x.sum(dim=1).tolist() == [3.0] * 60
    assert data.num_edges == 120  # made undirected
    assert torch.equal(data.y, torch.arange(60) % 6)
    np.savez(path, **{**arrays, "attr_indices": arrays["attr_indices"] + 100})
    one_line(lambda: load("blogcatalog", root=root), "blogcatalog.npz is damaged")


@small
def test_polblogs_says_who_labeled_each_blog(write, root):
    write.polblogs(root, name="]{} node [ id 1 ]")
    data = load("polblogs", root=root)
    assert data.node_id[2] == "]2 node [ id 1 ]"
    assert torch.equal(data.x, torch.eye(12))
    assert data.num_edges == 13  # directed, and one of them twice, as published
    assert data.edge_index[:, 0].tolist() == [0, 1]
    assert data.class_names == ["liberal", "conservative"]
    assert [data.source_names[i] for i in data.label_source[:4]] == [
        *("Blogarama,LabeledManually", "Blogarama"),
        *("Blogarama", "Blogarama,LabeledManually"),
    ]


@small
@pytest.mark.parametrize("change", [("value 1", "value left"), ("target 3", "target 77"), ("    label", "    lable")])
def test_a_damaged_polblogs_file_is_one_line(write, root, change):
    path = write.polblogs(root)
    path.write_text(path.read_text().replace(*change))
    one_line(lambda: load("polblogs", root=root), "polblogs.gml is damaged")


@small
def test_polblogs_is_unpacked_from_its_archive(write, root, cache, monkeypatch):
    import torch_geometric

    source = write.polblogs(root)

    def download_url(url, folder, **_):
        with zipfile.ZipFile(Path(folder) / "polblogs.zip", "w") as archive:
            archive.write(source, "polblogs.gml")
        return str(Path(folder) / "polblogs.zip")

    monkeypatch.setattr(torch_geometric.data, "download_url", download_url)
    assert load("polblogs").num_nodes == load("polblogs").num_nodes == 12
    assert files_below(cache) == ["polblogs/polblogs.gml"]


@small
@pytest.mark.parametrize(("name", "edges"), [("ogbn-arxiv", 80), ("ogbn-products", 160)])
def test_ogb_graphs_have_their_official_split(write, root, name, edges):
    write.ogb(root, name)
    for _ in range(2):  # from the raw files, then from the cache
        data = load(name, root=root)
        assert data.x.dtype == torch.float32
        assert data.x[0].tolist() == [0.75, *[-0.25] * 5]
        assert torch.equal(data.y, torch.arange(80) % 8)
        assert data.num_edges == edges
        assert data.edge_index[:, 0].tolist() == [0, 1]
        assert sizes(data) == [27, 27, 26]
        assert data.train_mask[:4].tolist() == [True, False, False, True]
    assert len(data.class_names) == {"ogbn-arxiv": 40, "ogbn-products": 47}[name]


@small
def test_arxiv_without_features_is_refused_unless_stand_ins_are_asked_for(write, root):
    path = write.arxiv_structure(root)
    message = one_line(lambda: load("ogbn-arxiv", root=root), "has no features")
    assert str(path) in message
    assert "stand-in" in message
    with pytest.warns(PignnWarning, match="STAND-IN FEATURES.*do not compare"):
        data = load("ogbn-arxiv", root=root, features="stand-in")
    assert data.x.shape == (80, 128)
    assert sizes(data) == [27, 27, 26]
    # Neighbors look alike, strangers do not.
    cosine = torch.nn.functional.normalize(data.x) @ torch.nn.functional.normalize(data.x).t()
    near = cosine[data.edge_index[0], data.edge_index[1]].mean()
    assert near > 0.5
    assert abs(cosine[:20, 40:60].mean()) < 0.1


@pytest.mark.filterwarnings("ignore::pignn.core.errors.PignnWarning")
def test_stand_in_features_know_no_labels(write, root):
    path = write.arxiv_structure(root)
    before = load("ogbn-arxiv", root=root, features="stand-in").x
    arrays = dict(np.load(path))
    np.savez(path, **{**arrays, "y": arrays["y"][::-1].copy()})
    assert torch.equal(load("ogbn-arxiv", root=root, features="stand-in").x, before)


def test_a_graph_of_unexpected_size_is_a_warning(write, root):
    write.chameleon(root)
    with pytest.warns(PignnWarning, match="chameleon: the raw files have 40 nodes, the published ones 2,277"):
        load("chameleon", root=root)


# ---- names, options, places --------------------------------------------------------------------------------


def test_list_needs_no_torch_and_is_complete():
    code = (
        "import sys; from pignn.graphs import list_datasets, is_available;"
        "[is_available(i.name) for i in list_datasets()];"
        "assert 'torch' not in sys.modules and 'torch_geometric' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    expected = (
        "digits csbm cora citeseer pubmed wikics ogbn-arxiv ogbn-products actor chameleon dblp photo computers "
        "squirrel minesweeper tolokers blogcatalog polblogs"
    )
    assert {info.name for info in list_datasets()} == set(expected.split())


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("coral", {}, "unknown dataset 'coral'; did you mean 'cora'?"),
        ("digits", {"k": 3}, "unknown option 'k' for dataset 'digits'; known: num_neighbors"),
        ("cora", {"variant": "full"}, "unknown option 'variant' for dataset 'cora'; it has none"),
        ("digits", {"features": "stand-in"}, "unknown option 'features' for dataset 'digits'"),
        ("digits", {"split": "publik"}, "unknown split 'publik'"),
        ("digits", {"split": "own"}, "digits comes with no split of its own"),
        ("digits", {"split_seed": "a"}, "split_seed must be an integer"),
        ("digits", {"split_index": 1}, "split_index 1 is out of range"),
    ],
)
def test_unknown_names_options_and_splits_are_one_line_errors(name, options, message):
    with pytest.raises(ConfigError) as caught:
        load(name, **options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@small
def test_raw_files_are_taken_from_root_then_environment_then_cache(write, tmp_path, cache, monkeypatch):
    for place, nodes in ((cache, 60), (tmp_path / "env", 61), (tmp_path / "root", 62)):
        write.chameleon(place, nodes=nodes)
    assert load("chameleon").num_nodes == 60
    monkeypatch.setenv("PIGNN_DATA", str(tmp_path / "env"))
    assert load("chameleon").num_nodes == 61
    assert load("chameleon", root=tmp_path / "root").num_nodes == 62
    assert load("chameleon", root=tmp_path / "root" / "chameleon").num_nodes == 62  # the folder itself will do
    one_line(lambda: load("chameleon", root=tmp_path / "nowhere"), "nowhere' is not a folder")


def test_dataset_paths_tell_where_raw_files_are(write, root):
    assert find_dataset_location_or_empty("digits") == "built in"
    assert is_available("csbm")
    assert not is_available("cora", root)
    write.planetoid(root)
    assert find_dataset_location_or_empty("Cora", root) == str(root / "Cora")
    (root / "Cora/raw/ind.cora.tx").unlink()
    assert not is_available("cora", root)
    write.arxiv_structure(root)
    assert find_dataset_location_or_empty("ogbn-arxiv", root).endswith("(no features)")
    with pytest.raises(PignnError, match="unknown dataset"):
        is_available("nothing")


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize(
    ("name", "files", "place"),
    [
        ("cora", "ind.cora.x, ind.cora.tx", "<root>/Cora/raw"),
        ("photo", "amazon_electronics_photo.npz", "<root>/Photo/raw"),
        ("dblp", "dblp.npz", "<root>/dblp/raw"),
        ("actor", "out1_graph_edges.txt", "<root>/Actor/raw"),
        ("wikics", "data.json", "<root>/WikiCS/raw"),
        ("chameleon", "chameleon.npz", "<root>/chameleon"),
        ("squirrel", "squirrel_filtered.npz", "<root>/squirrel"),
        ("minesweeper", "minesweeper.npz", "<root>/minesweeper"),
        ("computers", "amazon_electronics_computers.npz", "<root>/Computers/raw"),
        ("blogcatalog", "blogcatalog.npz", "<root>/blogcatalog"),
        ("polblogs", "polblogs.gml", "<root>/polblogs"),
        ("ogbn-arxiv", "raw/edge.csv.gz", "<root>/ogbn_arxiv"),
        ("ogbn-products", "split/sales_ranking/train.csv.gz", "<root>/ogbn_products"),
    ],
)
def test_offline_and_absent_is_one_line_that_says_which_files_go_where(name, files, place, cache):
    message = one_line(lambda: load(name), f"{name}: raw files not found and the download failed")
    assert files in message
    assert f"into {place} and" in message
    assert "PIGNN_DATA" in message
    assert ("pip install 'pignn[ogb]'" if name.startswith("ogbn") else "Name or service not known") in message
    assert files_below(cache) == []


@pytest.mark.usefixtures("offline")
def test_incomplete_raw_files_name_what_is_missing(write, root):
    (write.planetoid(root) / "ind.cora.tx").unlink()
    one_line(lambda: load("cora", root=root), r"Cora lacks raw/ind\.cora\.tx")


# ---- downloads ---------------------------------------------------------------------------------------------


@small
def test_downloaded_files_stay_in_the_cache(write, root, cache, monkeypatch):
    import torch_geometric

    write.chameleon(root)
    served = []

    def download_url(url, folder, **_):
        served.append(url)
        (Path(folder) / url.rpartition("/")[2]).write_bytes((root / "chameleon/chameleon.npz").read_bytes())

    monkeypatch.setattr(torch_geometric.data, "download_url", download_url)
    assert load("chameleon").num_nodes == load("chameleon").num_nodes == 40
    assert len(served) == 1
    assert files_below(cache) == ["chameleon/chameleon.npz"]


@small
def test_planetoid_is_downloaded_by_its_loader(write, root, cache, monkeypatch):
    from torch_geometric.io import fs

    source = write.planetoid(root)

    def cp(url, folder, **_):
        name = url.rpartition("/")[2]
        (Path(folder) / name).write_bytes((source / name).read_bytes())

    monkeypatch.setattr(fs, "cp", cp)
    assert sizes(load("cora")) == [140, 500, 10]
    monkeypatch.setattr(fs, "cp", None)  # a second download would fail
    assert sizes(load("cora")) == [140, 500, 10]
    assert find_dataset_location_or_empty("cora") == str(cache / "Cora")


@small
def test_a_download_that_is_not_the_file_is_refused_and_not_kept(cache, monkeypatch):
    from torch_geometric.io import fs

    def cp(url, folder, **_):
        (Path(folder) / url.rpartition("/")[2]).write_text("<html>please log in</html>")

    monkeypatch.setattr(fs, "cp", cp)
    one_line(lambda: load("cora"), r"the downloaded Cora/raw/ind\.cora\.x is damaged")
    assert files_below(cache) == []


@small
def test_ogb_archive_is_fetched_by_the_ogb_package(write, root, cache, tmp_path, monkeypatch):
    write.ogb(root)
    archive = tmp_path / "arxiv.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in files_below(root / "ogbn_arxiv"):
            file.write(root / "ogbn_arxiv" / path, f"arxiv/{path}")
    # A package of the same shape as ogb: a table of archives and two helpers.
    package = tmp_path / "site" / "ogb"
    (package / "nodeproppred").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "nodeproppred" / "master.csv").write_text(
        ",ogbn-products,ogbn-arxiv\nurl,http://x/p.zip,http://x/arxiv.zip\ndownload_name,products,arxiv\n"
    )
    url = types.ModuleType("ogb.utils.url")
    url.download_url = lambda address, folder: str(archive) if address.endswith("arxiv.zip") else None
    url.extract_zip = lambda path, folder: zipfile.ZipFile(path).extractall(folder)
    monkeypatch.syspath_prepend(package.parent)
    monkeypatch.setitem(sys.modules, "ogb.utils", types.ModuleType("ogb.utils"))
    monkeypatch.setitem(sys.modules, "ogb.utils.url", url)
    assert load("ogbn-arxiv").num_nodes == 80
    assert find_dataset_location_or_empty("ogbn-arxiv") == str(cache / "ogbn_arxiv")
    url.download_url = None  # a second download would fail
    assert load("ogbn-arxiv").num_nodes == 80
    sys.modules.pop("ogb", None)


# ---- damaged and malicious files ---------------------------------------------------------------------------


class Malicious:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("protocol", [0, 2, 4])
@pytest.mark.parametrize("part", ["x", "graph"])
def test_a_pickle_with_code_is_refused_and_does_not_run(write, root, tmp_path, cache, part, protocol):
    import pickle

    folder = write.planetoid(root)
    (folder / f"ind.cora.{part}").write_bytes(pickle.dumps([Malicious(tmp_path / "ran")], protocol=protocol))
    message = one_line(lambda: load("cora", root=root), rf"ind\.cora\.{part} contains code, refused")
    assert str(folder) in message
    assert not (tmp_path / "ran").exists()
    assert files_below(cache) == []


def test_object_arrays_in_npz_are_refused(write, root, tmp_path):
    path = write.chameleon(root)
    arrays = dict(np.load(path))
    np.savez(path, **{**arrays, "node_labels": np.array([Malicious(tmp_path / "ran")], dtype=object)})
    one_line(
        lambda: load("chameleon", root=root), r"chameleon\.npz: 'node_labels' holds pickled Python objects, which are"
    )
    assert not (tmp_path / "ran").exists()


def truncate(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    return path


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("cora", "Cora/raw/ind.cora.allx"),
        ("cora", "Cora/raw/ind.cora.graph"),
        ("photo", "Photo/raw/amazon_electronics_photo.npz"),
        ("actor", "Actor/raw/out1_node_feature_label.txt"),
        ("actor", "Actor/raw/out1_graph_edges.txt"),
        ("actor", "Actor/raw/film_split_0.6_0.2_4.npz"),
        ("wikics", "WikiCS/raw/data.json"),
        ("chameleon", "chameleon/chameleon.npz"),
        ("ogbn-products", "ogbn_products/raw/edge.csv.gz"),
        ("ogbn-products", "ogbn_products/raw/node-feat.csv.gz"),
        ("ogbn-arxiv", "ogbn-arxiv/arxiv_structure_labels_split.npz"),
    ],
)
def test_truncated_files_are_named(write, root, cache, name, file):
    write.planetoid(root)
    write.sparse_npz(root / "Photo/raw/amazon_electronics_photo.npz")
    write.actor(root)
    write.wikics(root)
    write.chameleon(root)
    write.ogb(root, "ogbn-products")
    write.arxiv_structure(root)
    path = truncate(root / file)
    features = "stand-in" if name == "ogbn-arxiv" else None
    assert str(path) in one_line(lambda: load(name, root=root, features=features), "damaged|cannot be read")
    assert files_below(cache) == []


def test_an_empty_or_garbled_text_file_is_named(write, root):
    folder = write.planetoid(root)
    (folder / "ind.cora.test.index").write_text("640\nmany\n")
    one_line(lambda: load("cora", root=root), r"ind\.cora\.test\.index is damaged")


@pytest.mark.parametrize("share", [0, 0.5])
def test_test_nodes_that_were_cut_off_are_missed(write, root, share):
    path = write.planetoid(root) / "ind.cora.test.index"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[: int(share * len(lines))]))
    one_line(
        lambda: load("cora", root=root), r"ind\.cora\.test\.index is damaged: \d+ test nodes, but \d+ in ind\.cora\.tx"
    )


def test_fewer_rows_than_announced_are_found(write, root):
    folder = write.ogb(root)
    write.csv_gz(folder / "raw/node-label.csv.gz", np.zeros((79, 1)))
    one_line(lambda: load("ogbn-arxiv", root=root), r"node-label\.csv\.gz is damaged: it has 79 rows, not 80")


def test_text_where_numbers_belong_is_named(write, root):
    folder = write.ogb(root)
    with gzip.open(folder / "raw/node-feat.csv.gz", "wt") as file:
        file.write("a,b\n" * 80)
    one_line(lambda: load("ogbn-arxiv", root=root), r"node-feat\.csv\.gz is damaged")


def test_parts_of_a_graph_that_do_not_fit_together_are_refused(write, root):
    path = write.chameleon(root)
    arrays = dict(np.load(path))
    np.savez(path, **{**arrays, "edges": arrays["edges"] + 1})
    one_line(lambda: load("chameleon", root=root), "do not fit")
    np.savez(path, **{**arrays, "node_labels": arrays["node_labels"] + 1})
    one_line(lambda: load("chameleon", root=root), "labels in .* are not all in 0 to 4")
    np.savez(path, **{k: v for k, v in arrays.items() if k != "edges"})
    one_line(lambda: load("chameleon", root=root), "it has no edges")


def test_a_sparse_matrix_with_wild_indices_is_refused(write, root):
    path = write.sparse_npz(root / "dblp/raw/dblp.npz")
    arrays = dict(np.load(path))
    arrays["attr_indices"][5] = 2**30
    np.savez(path, **arrays)
    one_line(lambda: load("dblp", root=root), r"dblp\.npz is damaged")


# ---- the cache ---------------------------------------------------------------------------------------------


@small
def test_raw_roots_are_only_read(write, root):
    write.planetoid(root)
    before = files_below(root)
    for folder, _, files in os.walk(root):
        for file in files:
            os.chmod(os.path.join(folder, file), 0o444)
        os.chmod(folder, 0o555)
    load("cora", root=root)
    load("cora", root=root)
    assert files_below(root) == before


@small
def test_other_raw_files_are_never_answered_from_the_cache(write, root, cache):
    write.planetoid(root)
    first = load("cora", root=root)
    write.planetoid(root, shift=1)
    second = load("cora", root=root)
    assert torch.equal(second.y, (first.y + 1) % 7)
    assert len(files_below(cache)) == 2
    write.planetoid(root)
    assert torch.equal(load("cora", root=root).y, first.y)


@small
def test_second_load_reads_the_processed_copy(write, root, monkeypatch):
    from pignn.graphs.datasets import pyg_reader

    write.actor(root)
    first = load("actor", root=root, split="own")
    monkeypatch.setattr(pyg_reader, "load_or_download_with_pyg", None)
    second = load("actor", root=root, split="own")
    assert first.class_names == second.class_names
    for key in ("x", "edge_index", "y", "train_mask", "val_mask", "test_mask"):
        assert torch.equal(first[key], second[key])
        assert first[key].dtype == second[key].dtype


@small
def test_a_damaged_processed_copy_is_made_again(write, root, cache):
    write.planetoid(root)
    first = load("cora", root=root)
    del first  # it maps the file that is about to shrink
    (kept,) = (cache / "processed").iterdir()
    truncate(kept)
    assert sizes(load("cora", root=root)) == [140, 500, 10]
    assert sizes(load("cora", root=root)) == [140, 500, 10]


@small
@pytest.mark.parametrize("moment", ["torch_geometric.datasets.planetoid.read_planetoid_data", "os.replace"])
def test_a_killed_load_leaves_nothing_that_looks_whole(write, root, cache, monkeypatch, moment):
    write.planetoid(root)

    def killed(*args, **kwargs):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(moment, killed)
        with pytest.raises(KeyboardInterrupt):
            load("cora", root=root)
    assert files_below(cache) == []
    assert sizes(load("cora", root=root)) == [140, 500, 10]


@small
def test_old_workspaces_of_killed_processes_are_removed(write, root, cache):
    old, young = cache / ".work-old", cache / ".work-young"
    old.mkdir(parents=True)
    young.mkdir()
    os.utime(old, (0, 0))
    write.planetoid(root)
    load("cora", root=root)
    assert not old.exists()
    assert young.exists()


@small
def test_a_cache_that_cannot_be_written_is_warned_about_once(write, root, tmp_path, monkeypatch):
    write.planetoid(root)
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the folder should be")
    monkeypatch.setenv("PIGNN_CACHE", str(blocked))
    with pytest.warns(PignnWarning, match="cannot be written"):
        assert sizes(load("cora", root=root)) == [140, 500, 10]
    assert sizes(load("cora", root=root)) == [140, 500, 10]  # a second warning would be an error


def test_two_processes_can_load_at_once(write, root, cache):
    write.planetoid(root)
    code = f"""if True:
        import warnings; warnings.simplefilter("ignore")
        from pignn.graphs import load
        for _ in range(3):
            d = load("cora", root={str(root)!r})
            assert d.num_nodes == 650 and int(d.train_mask.sum()) == 140, d
    """
    runs = [subprocess.Popen([sys.executable, "-c", code], env=os.environ) for _ in range(2)]
    assert [run.wait(timeout=120) for run in runs] == [0, 0]
    assert len(files_below(cache)) == 1


def test_loading_prints_nothing(write, root, monkeypatch):
    write.wikics(root)
    code = f"""if True:
        import warnings; warnings.simplefilter("ignore")
        from pignn.graphs import load
        load("wikics", root={str(root)!r})
    """
    env = {key: value for key, value in os.environ.items() if key != "PYTEST_CURRENT_TEST"}
    run = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert run.stdout == ""
    assert run.stderr == ""
