"""Blocks of columns give what smoothing in memory gives; what is finished is not computed again."""

from __future__ import annotations

import json
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
import torch

import pignn
from pignn import graphs, runs
from pignn.core.errors import ConfigError, DataError, OutputError, PignnError
from pignn.propagation import BlockWork, block_work_and_cleanup_context, blocks, smooth

N = 600


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def make_store(name="store", weighted=False):
    data = graphs.csbm(num_nodes=N, num_classes=3, num_features=20, seed=2)
    y = pignn.corrupt(data, "symmetric", 0.2, splits=("all",), seed=0).y.numpy().copy()
    y[::4] = -1
    edges = pd.DataFrame(data.edge_index.T.numpy(), columns=["source", "target"])
    if weighted:
        edges["weight"] = np.random.default_rng(0).random(len(edges)).round(3)
    edges.to_parquet("edges.parquet")
    graphs.convert(name, edges="edges.parquet", features=data.x.numpy(), labels=y, force=True)
    return graphs.open_graph_store(name)


@pytest.mark.parametrize("weighted", [False, True])
def test_blocks_are_the_columns_of_the_smoothed_features(folder, monkeypatch, weighted):
    monkeypatch.setattr(blocks, "CHUNK_ENTRIES", 97)
    monkeypatch.setattr(blocks, "CHUNK_VALUES", 500)
    data = make_store(weighted=weighted)
    nodes = np.arange(0, N, 7)
    whole = smooth(data, data.x / data.x.abs().sum(1, keepdim=True), alpha=0.1)[nodes]
    memory = 2 * (24 * N + 12 * N * 6)  # six columns
    with block_work_and_cleanup_context(
        BlockWork(folder / "store", folder / "blocks", memory), reuse_saved_blocks=False
    ) as work:
        found = work.smooth_rows_and_save_blocks(nodes, 0.1)
        assert len(list((folder / "blocks").iterdir())) == work.computed == 4
    assert not (folder / "blocks").exists()
    assert np.allclose(found, whole, rtol=1e-4, atol=1e-6)


def test_an_audit_within_memory_finds_the_same(folder):
    make_store()
    whole = runs.audit("store", warn=False)
    bounded = runs.audit("store", warn=False, memory=200_000)
    left, right = (run.issues.sort_values("node")["p_wrong"].to_numpy() for run in (whole, bounded))
    difference = np.abs(left - right)  # single precision, which fits to few labels amplify for some of them
    assert difference.max() < 1e-3
    assert difference.mean() < 2e-5


def test_finished_blocks_are_not_computed_again(folder, monkeypatch):
    make_store()
    compute, count = blocks.SmoothedBlock.compute, [0]

    def compute_two(task, nodes):
        count[0] += 1
        if count[0] == 3:
            raise KeyboardInterrupt
        return compute(task, nodes)

    memory = 2 * (24 * N + 12 * N * 6)
    monkeypatch.setattr(blocks.SmoothedBlock, "compute", compute_two)
    with pytest.raises(KeyboardInterrupt):
        runs.audit("store", warn=False, memory=memory, out="audit")
    assert len(list((folder / "audit.blocks").iterdir())) == 2
    resumed = runs.audit("store", warn=False, memory=memory, out="audit", resume=True)
    assert count[0] == 5
    assert not (folder / "audit.blocks").exists()
    assert (folder / "audit" / "audit.json").exists()
    pd.testing.assert_frame_equal(resumed.issues, runs.audit("store", warn=False, memory=memory).issues)


def test_mistakes_are_one_line(folder):
    make_store()
    with pytest.raises(ConfigError, match=r"one column of 600 nodes needs .* GB of memory, and --memory"):
        runs.audit("store", warn=False, memory=1000)
    with pytest.raises(ConfigError, match="are for graph stores"):
        runs.audit("csbm", noise="symmetric", rate=0.2, memory=10**9)
    with pytest.raises(ConfigError, match="--resume goes on with"):
        runs.audit("store", resume=True)
    with pytest.raises(ConfigError, match="are for the method 'smoothed', not 'pi-gnn'"):
        runs.audit("store", "pi-gnn", memory=10**9)


def change_header(store):
    """Write another checksum into the header of a store; returns what was there."""
    before = (store / "store.json").read_text()
    header = json.loads(before)
    header["files"]["x.f32"]["crc32"] += 1
    (store / "store.json").write_text(json.dumps(header))
    return before


def test_a_store_that_changes_underneath_is_noticed(folder, monkeypatch):
    """Before a block, in the middle of one, and where a file is gone; blocks that were done serve again."""
    make_store()
    store = folder / "store"
    work = BlockWork(store, folder / "blocks", 2 * (24 * N + 12 * N * 6))
    before = change_header(store)
    with pytest.raises(DataError, match=r"store .* was changed while it was read; start again|damaged"):
        work.smooth_rows_and_save_blocks(np.arange(5), 0.1)
    (store / "store.json").write_text(before)
    start, count = blocks.SmoothedBlock.read_start, [0]

    def change_store_before_third_block(task, graph):
        count[0] += 1
        if count[0] == 3:
            change_header(store)
        return start(task, graph)

    monkeypatch.setattr(blocks.SmoothedBlock, "read_start", change_store_before_third_block)
    with pytest.raises(DataError, match=r"store .* was changed while it was read; start again"):
        work.smooth_rows_and_save_blocks(np.arange(5), 0.1)
    monkeypatch.undo()
    (store / "store.json").write_text(before)
    assert work.computed == 2
    moved = (store / "col.i32").rename(folder / "col.i32")
    with pytest.raises(DataError, match=r"col\.i32 is missing"):
        work.smooth_rows_and_save_blocks(np.arange(5), 0.1)
    moved.rename(store / "col.i32")
    work.smooth_rows_and_save_blocks(np.arange(5), 0.1)
    assert (work.computed, work.reused) == (4, 4)


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory")])
def test_a_lack_of_memory_is_one_line_and_finished_blocks_stay(folder, monkeypatch, error):
    make_store()
    work = BlockWork(folder / "store", folder / "blocks", 2 * (24 * N + 12 * N * 6))
    start, count = blocks.SmoothedBlock.read_start, [0]

    def fail_at_third_block(task, graph):
        count[0] += 1
        if count[0] == 3:
            raise error
        return start(task, graph)

    monkeypatch.setattr(blocks.SmoothedBlock, "read_start", fail_at_third_block)
    with pytest.raises(PignnError, match=r"^out of memory; give each task less with --memory .*, then --resume goes"):
        work.smooth_rows_and_save_blocks(np.arange(5), 0.1)
    work.smooth_rows_and_save_blocks(np.arange(5), 0.1)
    assert (work.computed, work.reused) == (4, 2)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 64 kB, and a function that makes room on it."""
    disk = tmp_path / "disk"
    disk.mkdir()

    def mount(*options):
        command = ["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", str(disk)]
        if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
            pytest.skip("only root may mount a file system")

    mount("size=64k")
    yield disk, lambda: mount("remount", "size=8m")
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_full_disk_is_one_line_and_nothing_is_lost(folder, small_disk):
    make_store()
    disk, make_room = small_disk
    options = {"warn": False, "memory": 2 * (24 * N + 12 * N * 2)}  # ten blocks of two columns
    with pytest.raises(OutputError, match=r"^cannot write .*: No space left on device; make room and try again$"):
        runs.audit("store", out=disk / "audit", **options)
    kept = len(list((disk / "audit.blocks").glob("*.npy")))
    assert kept >= 5
    assert not list((disk / "audit.blocks").glob("*.part"))
    make_room()
    compute, count = blocks.SmoothedBlock.compute, [0]

    def compute_and_count(task, nodes):
        count[0] += 1
        return compute(task, nodes)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks.SmoothedBlock, "compute", compute_and_count)
        resumed = runs.audit("store", out=disk / "audit", resume=True, **options)
    assert count[0] == 10 - kept
    pd.testing.assert_frame_equal(resumed.issues, runs.audit("store", **options).issues)


def test_features_of_some_nodes_are_read(folder, monkeypatch):
    monkeypatch.setattr(blocks, "CHUNK_VALUES", 100)
    data = make_store()
    nodes = np.array([0, 4, 5, 300, N - 1])
    assert torch.equal(torch.from_numpy(blocks.StoredGraph("store").read_features(nodes)), data.x[nodes])


def test_blocks_leave_room_for_what_is_in_memory_already():
    memory = 2 * (24 * N + 12 * N * 16)

    def count_blocks(resident):
        return len(blocks.plan_column_blocks(N, 20, memory, resident))

    assert count_blocks(0) == 2  # sixteen columns, a cache line, and the rest
    assert count_blocks(memory * 3 // 4) > 2
    assert count_blocks(2 * memory) == 2  # nothing is left whatever the blocks are
    with pytest.raises(ConfigError, match="one column"):
        count_blocks(memory - 1)
