"""File formats: one registry, open to other packages; every table is read alike, compressed or not."""

from __future__ import annotations

import gzip
import subprocess
import sys

import pandas as pd
import pytest

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

from pignn.core.registry import Entry
from pignn.graphs import read_graph
from pignn.graphs.tables import (
    FORMATS,
    FileFormat,
    find_format_name_or_none,
    get_format_suffix,
    has_graph_suffix,
    list_suffixes,
    open_table,
)

NODES = pd.DataFrame({"id": list("abcd"), "x": [1.5, 2.0, None, 4.0], "flag": [True, False, True, True]})
PACK = {"": bytes, ".gz": gzip.compress, ".zst": zstd.compress}


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl"])
def test_text_is_read_compressed_or_not(tmp_path, kind, suffix):
    lines = kind == "jsonl"
    text = NODES.to_json(orient="records", lines=True) if lines else NODES.to_csv(index=False, sep=",\t"[kind == "tsv"])
    path = tmp_path / f"nodes.{kind}{suffix}"
    path.write_bytes(PACK[suffix](text.encode()))
    pd.testing.assert_frame_equal(open_table(path).read_dataframe(), NODES)


def test_a_damaged_zst_file_is_one_line(tmp_path):
    path = tmp_path / "nodes.csv.zst"
    path.write_bytes(zstd.compress(b"id,x\na,1\n" * 1000)[:-20])
    with pytest.raises(ValueError, match="cannot read"):
        open_table(path).read_dataframe()


def test_names_with_wildcards_name_one_file(tmp_path):
    for name, value in (("a*.csv", 1), ("ab.csv", 2), ("a[b].csv", 3), ("k=v.csv", 4)):
        (tmp_path / name).write_text(f"id,x\nu,{value}\n")
    for name, value in (("a*.csv", 1), ("a[b].csv", 3), ("k=v.csv", 4)):
        assert open_table(tmp_path / name).read_dataframe()["x"].tolist() == [value]


def test_columns_may_differ_in_case_only(tmp_path):
    (tmp_path / "n.csv").write_text("x,X\n1,a\n")
    (tmp_path / "n.jsonl").write_text('{"x": 1, "X": "a"}\n')
    for name in ("n.csv", "n.jsonl"):
        assert open_table(tmp_path / name).read_dataframe().to_dict("records") == [{"x": 1, "X": "a"}]


def test_formats_are_found_by_suffix():
    names = ("a.CSV", "a.csv.gz", "a.jsonl.zst", "a.pq", "a.pt", "a.xyz")
    found = [find_format_name_or_none(name) for name in names]
    assert found == ["text", "text", "jsonl", "parquet", "torch", None]
    assert get_format_suffix("a.csv.zst") == ".csv"
    assert has_graph_suffix("g.graphml")
    assert not has_graph_suffix("n.csv")
    assert {".csv", ".parquet"} <= set(list_suffixes("table"))
    assert ".npz" not in list_suffixes("table")
    assert {".npz", ".gml", ".csv"} <= set(list_suffixes())


def test_another_package_adds_a_table_format(tmp_path, monkeypatch):
    monkeypatch.setitem(FORMATS._entries, "fixed", Entry("fixed", "tests", "columns of fixed width"))
    monkeypatch.setitem(FORMATS._objects, "fixed", FileFormat((".fwf",), "table", "pandas:read_fwf"))
    (tmp_path / "n.fwf").write_text("id  age  label\na     1  u\nb     5  v\nc     2  u\n")
    (tmp_path / "e.csv").write_text("source,target\na,b\n")
    data = read_graph(tmp_path / "n.fwf", tmp_path / "e.csv", label="label")
    assert data.node_id.tolist() == ["a", "b", "c"]
    assert data.class_names == ["u", "v"]


def test_another_package_adds_a_graph_format(tmp_path, monkeypatch):
    def read_pairs(path):
        import networkx

        return networkx.read_edgelist(path)

    monkeypatch.setitem(FORMATS._entries, "pairs", Entry("pairs", "tests"))
    monkeypatch.setitem(FORMATS._objects, "pairs", FileFormat((".pairs",), "graph", read_pairs))
    (tmp_path / "g.pairs").write_text("a b\nb c\n")
    assert read_graph(tmp_path / "g.pairs").num_nodes == 3


def test_duckdb_is_imported_on_first_use():
    code = "import sys, pignn, pignn.graphs.importers, pignn.graphs.store; assert 'duckdb' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
