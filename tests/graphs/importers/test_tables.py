"""Tables of every kind give the same graph, and what is guessed is said."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pandas as pd
import pytest
import torch

from pignn.core.errors import ConfigError, DataError, PignnWarning
from pignn.graphs import from_pandas, read_graph, summarize_import
from pignn.graphs.tables import file_tables

NODES = pd.DataFrame(
    {
        "paper": ["p3", "p1", "p2", "007", "p5", "p 6"],
        "age": [1.5, 2.5, None, 4.0, 5.0, 9.0],
        "kind": ["a", "b", "a", "b", "a", None],
        "topic": ["cat", "dog", None, "cat", "dog", "dog"],
        "checked": [1, 0, 0, 1, 0, 0],
        "by": ["rule", "ann", None, "ann", "rule", "rule"],
    }
)
EDGES = pd.DataFrame({"from": ["p3", "p1", "007", "p 6"], "to": ["p1", "p2", "p5", "p3"]})
PAIRS = {(0, 1), (1, 2), (3, 4), (0, 5)}
ROLES = {"label": "topic", "id": "paper", "trusted": "checked", "source": "by"}


def pairs(data):
    return {tuple(sorted(pair)) for pair in data.edge_index.t().tolist()}


def as_expected(data):
    assert pairs(data) == PAIRS
    assert data.y.tolist() == [0, 1, -1, 0, 1, 1]
    assert data.class_names == ["cat", "dog"]
    assert data.node_id.tolist() == NODES["paper"].tolist()
    assert data.trusted_mask.tolist() == [True, False, False, True, False, False]
    assert data.source_names == ["ann", "rule"]
    assert data.label_source.tolist() == [1, 0, -1, 0, 1, 1]
    assert data.train_mask.tolist() == [True, True, False, True, True, True]
    assert not data.val_mask.any()
    assert not data.test_mask.any()
    # age scaled, whether it is missing, and one feature for each kind
    age = NODES["age"].fillna(4.0)
    known = NODES["age"].dropna().to_numpy()
    scaled = (age - known.mean()) / known.std()
    assert data.x[:, 0].tolist() == pytest.approx(scaled.tolist())
    assert data.x[:, 1:].tolist() == [[0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 0, 1], [0, 1, 0], [0, 0, 0]]


def write(frame, path):
    if ".jsonl" in path.name:
        rows = [{k: v for k, v in row.items() if v == v and v is not None} for row in frame.to_dict("records")]
        text = "".join(json.dumps(row) + "\n" for row in rows)
    else:
        text = frame.to_csv(index=False, sep={".csv": ",", ".tsv": "\t"}.get(path.suffix, ";"))
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "jsonl.gz"])
def test_every_table_format_gives_the_same_graph(tmp_path, suffix):
    write(NODES, tmp_path / f"n.{suffix}")
    write(EDGES, tmp_path / f"e.{suffix}")
    data = read_graph(tmp_path / f"n.{suffix}", tmp_path / f"e.{suffix}", **ROLES)
    as_expected(data)
    assert data.name == "n"


def test_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    NODES.astype({"kind": "category"}).to_parquet(tmp_path / "n.parquet")
    EDGES.to_parquet(tmp_path / "e.parquet")
    as_expected(read_graph(tmp_path / "n.parquet", tmp_path / "e.parquet", **ROLES))


def test_data_frames_give_the_same_graph():
    as_expected(from_pandas(NODES, EDGES, **ROLES))


def test_a_detected_delimiter_is_reported(tmp_path):
    write(NODES, tmp_path / "n.txt")
    write(EDGES, tmp_path / "e.csv")
    with pytest.warns(PignnWarning, match=r"n\.txt: read as columns separated by semicolons, with a header"):
        data = read_graph(tmp_path / "n.txt", tmp_path / "e.csv", **ROLES)
    as_expected(data)
    assert any(note.endswith(": columns separated by semicolons, with a header") for note in data.origin.notes)
    text = str(summarize_import(data))
    for word in ("6 nodes", "4 edges", "2 components", "cat 2", "dog 3", "1 nodes without a label", "homophily 0.00"):
        assert word in text
    assert "one more feature says where it is missing; 1 missing" in text
    assert data.origin.to_dict()["label"] == "topic"


def test_origin_records_files_columns_and_checksum(tmp_path):
    import hashlib

    write(NODES, tmp_path / "n.csv")
    write(EDGES, tmp_path / "e.csv")
    origin = read_graph(tmp_path / "n.csv", tmp_path / "e.csv", **ROLES).origin
    assert (origin.nodes, origin.id, origin.label) == (str(tmp_path / "n.csv"), "paper", "topic")
    assert (origin.trusted, origin.source, origin.delimiter, origin.has_header) == ("checked", "by", ",", True)
    assert origin.sha256 == hashlib.sha256((tmp_path / "n.csv").read_bytes()).hexdigest()
    assert origin.missing == {"age": 1, "kind": 1}


def test_edges_of_names_without_a_header(tmp_path):
    """The first row is two known nodes, so it is an edge."""
    write(NODES, tmp_path / "n.csv")
    (tmp_path / "e.csv").write_text("p3,p1\np1,p2\n007,p5\np 6,p3\n")
    as_expected(read_graph(tmp_path / "n.csv", tmp_path / "e.csv", **ROLES))


def test_ids_keep_their_zeros(tmp_path):
    (tmp_path / "n.csv").write_text("id,label\n007,a\n7,b\n08,a\n9,b\n")
    (tmp_path / "e.csv").write_text("source,target\n007,7\n08,9\n")
    data = read_graph(tmp_path / "n.csv", tmp_path / "e.csv", label="label")
    assert data.node_id.tolist() == ["007", "7", "08", "9"]
    assert pairs(data) == {(0, 1), (2, 3)}


@pytest.mark.parametrize("ids", [[0, 1, 2, 3], [5, -3, 2**59, 2**59 + 1]])
def test_ids_that_are_numbers(tmp_path, ids):
    (tmp_path / "n.csv").write_text("id,label\n" + "".join(f"{i},{c}\n" for i, c in zip(ids, "abab", strict=True)))
    (tmp_path / "e.csv").write_text(f"source,target\n{ids[3]},{ids[0]}\n{ids[2]},{ids[1]}\n")
    data = read_graph(tmp_path / "n.csv", tmp_path / "e.csv", label="label")
    assert data.node_id.dtype == np.int64
    assert data.node_id.tolist() == ids
    assert pairs(data) == {(0, 3), (1, 2)}


def test_without_ids_nodes_are_rows(tmp_path):
    (tmp_path / "n.csv").write_text("x,label\n1,a\n2,b\n5,a\n")
    np.save(tmp_path / "e.npy", np.array([[0, 2], [2, 1]]))
    data = read_graph(tmp_path / "n.csv", tmp_path / "e.npy", label="label")
    assert pairs(data) == {(0, 2), (1, 2)}
    assert any("numbered by their rows" in line for line in data.origin.notes)


def test_ids_of_another_type_in_the_edges():
    nodes = pd.DataFrame({"id": ["1", "2", "3"], "label": ["a", "b", "a"]})
    for edges in ([[1, 2], [3, 1]], [["1", "2"], ["3", "1"]], [[1.0, 2.0], [3.0, 1.0]]):
        frame = pd.DataFrame(edges, columns=["source", "target"])
        assert pairs(from_pandas(nodes, frame, label="label")) == {(0, 1), (0, 2)}


def test_weights_and_named_columns(tmp_path):
    nodes = pd.DataFrame({"id": list("abc"), "label": ["x", "y", "x"]})
    edges = pd.DataFrame({"when": [1, 2], "u": ["a", "b"], "v": ["b", "c"], "w": [0.5, 2.0]})
    data = from_pandas(nodes, edges, label="label", edge_columns=["u", "v", "w"])
    assert pairs(data) == {(0, 1), (1, 2)}
    assert sorted(data.edge_weight.tolist()) == [0.5, 0.5, 2.0, 2.0]
    assert "edge_weight" not in from_pandas(nodes, edges, label="label", edge_columns=["u", "v"])
    named = from_pandas(nodes, edges, label="label", edge_columns="u, v,w")
    assert named.edge_weight.tolist() == data.edge_weight.tolist()
    with pytest.warns(PignnWarning, match="all weights of edges are 0, so no neighbor counts"):
        from_pandas(nodes, edges.assign(w=0), label="label", edge_columns="u,v,w")


def test_columns_with_late_words_are_text_throughout(tmp_path, monkeypatch):
    """Numbers in the first chunk, words in the second: all are text, as they are written."""
    monkeypatch.setattr(file_tables, "SAMPLE_ROWS", 3)
    (tmp_path / "n.csv").write_text("id,code,label\n1,01,a\n2,02,b\n3,01,a\n4,x,b\n5,01,a\n6,02,b\n")
    (tmp_path / "e.csv").write_text("source,target\n1,2\n")
    data = read_graph(tmp_path / "n.csv", tmp_path / "e.csv", label="label")
    assert data.encoder.feature_names == ["code = 01", "code = 02", "code = x"]


def test_directed_keeps_the_direction_of_edges(tmp_path):
    nodes = pd.DataFrame({"id": list("abc"), "label": ["x", "y", "x"]})
    edges = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"]})
    assert from_pandas(nodes, edges, label="label").edge_index.shape == (2, 4)
    directed = from_pandas(nodes, edges, label="label", directed=True)
    assert directed.edge_index.tolist() == [[0, 1], [1, 2]]


def test_val_holds_out_labels_of_every_class():
    nodes = pd.DataFrame({"id": range(100), "label": ["a"] * 60 + ["b"] * 30 + [None] * 9 + ["c"]})
    edges = pd.DataFrame({"source": range(99), "target": range(1, 100)})
    data = from_pandas(nodes, edges, label="label", val=0.2, seed=3)
    assert torch.bincount(data.y[data.val_mask]).tolist() == [12, 6]  # the only c stays to be learnt from
    assert not (data.val_mask & data.train_mask).any()
    assert ((data.val_mask | data.train_mask) == (data.y >= 0)).all()
    again, other = (from_pandas(nodes, edges, label="label", val=0.2, seed=seed) for seed in (3, 4))
    assert torch.equal(again.val_mask, data.val_mask)
    assert not torch.equal(other.val_mask, data.val_mask)


@pytest.mark.parametrize(
    ("values", "names", "y"),
    [
        (["10", "9", "", "-1"], ["9", "10"], [1, 0, -1, -1]),
        ([3, 1, None, 3], ["1", "3"], [1, 0, -1, 1]),
        ([True, False, None, True], ["False", "True"], [1, 0, -1, 1]),
        (["b", " a ", "a", "b "], ["a", "b"], [1, 0, 0, 1]),
    ],
)
def test_labels_of_any_type(values, names, y):
    nodes = pd.DataFrame({"id": range(4), "label": values})
    edges = pd.DataFrame({"source": [0, 1], "target": [2, 3]})
    data = from_pandas(nodes, edges, label="label")
    assert (data.class_names, data.y.tolist()) == (names, y)


def test_a_word_for_missing_as_a_class_is_warned_about():
    nodes = pd.DataFrame({"id": range(4), "label": ["a", "b", "nan", "a"]})
    edges = pd.DataFrame({"source": [0, 1], "target": [2, 3]})
    with pytest.warns(PignnWarning, match="'nan' taken for a class; leave the cell empty"):
        from_pandas(nodes, edges, label="label")


def test_class_names_that_differ_in_case_are_warned_about():
    nodes = pd.DataFrame({"id": range(5), "label": ["Sport", "sport ", "art", "pop art", "Popart"]})
    edges = pd.DataFrame({"source": [0, 1], "target": [2, 3]})
    with pytest.warns(PignnWarning, match="the classes 'Popart', 'pop art', 'Sport', 'sport' differ in case or blanks"):
        from_pandas(nodes, edges, label="label")


def test_rows_that_end_in_empty_cells_are_whole(tmp_path):
    (tmp_path / "n.csv").write_text('id,note,label\na,"x, y",u\n\nb,"two\nlines",\n   \nc,,\nd,"5"" disk",v\n')
    (tmp_path / "e.txt").write_text("# weights\na b 1\n  b\tc   2 \nc d 3\n")
    with pytest.warns(PignnWarning, match="spaces, without a header"):
        data = read_graph(tmp_path / "n.csv", tmp_path / "e.txt", label="label")
    assert data.y.tolist() == [0, -1, -1, 1]
    assert data.edge_weight.tolist() == [1.0, 1.0, 2.0, 2.0, 3.0, 3.0]
    long = "word " * 40_000  # a field longer than the csv module takes by itself
    (tmp_path / "n.csv.gz").write_bytes(gzip.compress(f"id,note,label\na,{long},\nb,,u\nc,,v\nd,x\n".encode()))
    with pytest.raises(DataError, match=r"n\.csv\.gz, row 5: 2 columns, but 3 in the header"):
        read_graph(tmp_path / "n.csv.gz", tmp_path / "e.txt", label="label", delimiter=",")


def test_records_are_counted_where_there_is_no_header(tmp_path):
    days, ok = ["2024-01-01", "2024-01-02", "then", "2024-01-04"], [1, 1, "?", 1]
    rows = [{"id": i, "label": "ab"[i % 2], "day": days[i], "ok": ok[i]} for i in range(4)]
    (tmp_path / "n.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pd.DataFrame(rows).to_csv(tmp_path / "n.csv", index=False)
    (tmp_path / "e.csv").write_text("0,1\n1,2\n")
    for name, row in (("n.jsonl", 3), ("n.csv", 4)):
        with pytest.raises(DataError, match=f"column 'ok', row {row}: 1 or 0, yes or no expected"):
            read_graph(tmp_path / name, tmp_path / "e.csv", label="label", trusted="ok")
        for column, said in (("day:date", f"row {row}: 'then' is not a date"), ("label:number", f"row {row - 2}: 'a'")):
            with pytest.raises(DataError, match=said):
                read_graph(tmp_path / name, tmp_path / "e.csv", features=column)


def test_very_many_classes_are_warned_about():
    frame = pd.DataFrame({"id": range(90), "x": np.arange(90) % 7 / 7, "label": [f"c{i // 3}" for i in range(90)]})
    edges = pd.DataFrame({"source": range(89), "target": range(1, 90)})
    with pytest.warns(PignnWarning, match="30 classes on 90 labeled nodes, fewer than 5 labels each"):
        from_pandas(frame, edges, label="label")
    with pytest.raises(DataError, match="90 different values on 90 labeled nodes; is it the label"):
        from_pandas(frame.assign(label=[f"n{i}" for i in range(90)]), edges, label="label")


def test_the_label_under_another_name_is_noticed():
    nodes = pd.DataFrame(
        {"id": range(40), "label": ["a", "b"] * 20, "label_id": ["A", "B"] * 20, "x": np.arange(40) % 7}
    )
    edges = pd.DataFrame({"source": [0, 1], "target": [2, 3]})
    with pytest.warns(PignnWarning, match="column 'label_id' is the label under another name"):
        from_pandas(nodes, edges, label="label")
    gaps = nodes.assign(label=[None, "b", *nodes["label"][2:]], label_id=[None, 2.0, *[1.0, 2.0] * 18, 1.0, None])
    with pytest.warns(PignnWarning, match="column 'label_id' is the label under another name"):
        from_pandas(gaps, edges, label="label")
    with pytest.warns(PignnWarning, match="column 'label_id' is the label under another name"):
        from_pandas(gaps.fillna({"label": "-1"}), edges, label="label")
    for code in ([3.0, 2.0, 4.0, *gaps["label_id"][3:]], [1.0, 2.0, *[None] * 38], [2.0, 2.0, *gaps["label_id"][2:]]):
        from_pandas(nodes.assign(label_id=code), edges, label="label")  # another value, too few, other classes


# ---- what is wrong is one line ----

N = "id,x,label\na,1,u\nb,2,v\nc,4,u\n"
E = "source,target\na,b\n"
WRONG = {
    "empty nodes": ("", E, "n.csv is empty"),
    "header only": ("id,x,label\n", E, "has a header and no rows"),
    "empty edges": (N, "", "e.csv is empty"),
    "NUL": (N.replace("4", "\0"), E, "line 4: a NUL byte"),
    "mixed encodings": ("é\n".encode() + b"\xe9\n", E, "line 2: the byte 0xe9 is not UTF-8"),
    "cut in a character": (N.encode() + b"d,1,\xc3", E, "ends within a character"),
    "UTF-16 without a mark": (N.encode("utf-16-le"), E, "line 1: "),
    "no encoding": (N.encode() + b"d,\x81,u\n", E, "line 5: the byte 0x81 is not UTF-8"),
    "ragged": (N + "d,1,u,v,w\n", E, "every row needs the same columns"),
    "short": (N + "d,1\n", E, "n.csv, row 5: 2 columns, but 3 in the header; every row needs the same columns"),
    "short edge": (N, E + "a\n", "e.csv, row 3: 1 column, but 2 in the header"),
    "short first": ("id,x,label\na,1\nb,2\n", E, "n.csv, row 2: 2 columns, but 3 in the header"),
    "short after quotes": (N + 'd,"1,\n5",\n\n  \ne,"x"\n', E, "n.csv, row 6: 2 columns"),
    "twice the same id": (N + "a,1,u\nb,1,u\na,1,v\n", E, "2 ids given to several nodes: 'a' (3), 'b' (2)"),
    "no id": (N + ",1,u\n", E, "1 row without an id, first row 5"),
    "two columns of a name": ("id,x,x\na,1,2\n", E, "two columns named 'x'"),
    "unknown nodes": (N, E + "a,z\nz,q\n", "2 of 3 edges name 2 nodes that"),
    "unknown nodes, counted": (N, E + "a,z\nz,q\n", "'z' (2), 'q' (1)"),
    "edge to nobody": (N, E + "a,\n", "empty (1)"),
    "one column of edges": (N, "source\na\n", "edges need two"),
    "negative weight": (N, "source,target,weight\na,b,-1\n", "row 2: a weight must be finite"),
    "words for weights": (N, "source,target,weight\na,b,much\n", "not 'much'"),
    "no labels": ("id,x,label\na,1,\nb,2,\n", E, "has no label at all"),
    "a label for each": ("id,label\n" + "".join(f"n{i},c{i}\n" for i in range(50)), "a,b\nn0,n1\n", "is it the label?"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_tables_are_refused_in_one_line(tmp_path, name):
    nodes, edges, said = WRONG[name]
    for file, content in (("n.csv", nodes), ("e.csv", edges)):
        (tmp_path / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError) as caught:
        read_graph(tmp_path / "n.csv", tmp_path / "e.csv", label="label")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_long_lines_are_not_held_in_memory(tmp_path):
    import resource

    with open(tmp_path / "n.csv", "wb") as file:
        file.write(b"id,label\n")
        for _ in range(64):
            file.write(b"x" * (1 << 20))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DataError, match="line 2 is longer than 16 MiB"):
        read_graph(tmp_path / "n.csv", tmp_path / "n.csv", label="label")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 40_000  # KB


def test_unknown_nodes_can_be_left_out(tmp_path):
    (tmp_path / "n.csv").write_text(N)
    (tmp_path / "e.csv").write_text(E + "a,z\nc,b\n")
    data = read_graph(tmp_path / "n.csv", tmp_path / "e.csv", label="label", drop_unknown=True)
    assert pairs(data) == {(0, 1), (1, 2)}
    assert any("left out 1 edge to unknown nodes" in line and "'z' (1)" in line for line in data.origin.notes)


def test_the_column_with_the_ids_is_named(tmp_path):
    write(NODES, tmp_path / "n.csv")
    write(EDGES, tmp_path / "e.csv")
    with pytest.raises(DataError, match=r"column 'paper' has them: give it as --id"):
        read_graph(tmp_path / "n.csv", tmp_path / "e.csv", label="topic")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"label": "labl"}, "unknown label column of nodes 'labl'; did you mean 'label'?"),
        ({"label": "label", "id": "label"}, "cannot be two things"),
        ({"trusted": "x"}, "trusted and source are about labels"),
        ({"label": "label", "trusted": "x"}, "row 2: 1 or 0, yes or no expected, not '2'"),
        ({"label": "label", "features": "label"}, "is the label, not a feature"),
        ({"label": "label", "features": "y"}, "unknown features column 'y'"),
        ({"label": "label", "features": "x:color"}, "unknown kind of column 'color'"),
        ({"label": "label", "val": 1.0}, "val must be"),
        ({"label": "label", "delimiter": "ab"}, "one character"),
        ({"label": "label", "edge_columns": ["a"]}, "edge columns are two"),
        (
            {"label": "label", "edge_columns": "source, target, w, v"},
            "three with a weight, not 4",
        ),
        ({"label": "label", "edge_columns": ["a", "b"]}, "unknown column of edges 'a'"),
    ],
)
def test_wrong_options_are_refused(options, said):
    nodes = pd.DataFrame({"id": list("abc"), "x": [1, 2, 4], "label": ["u", "v", "u"]})
    edges = pd.DataFrame({"source": ["a"], "target": ["b"]})
    with pytest.raises((ConfigError, DataError)) as caught:
        from_pandas(nodes, edges, **options)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"id": 1}\n{"id": \n', "line 2: not JSON"),
        ('{"id": 1}\n[1]\n', "line 2: not an object"),
        ("[" * 100_000 + "\n", "line 1: not JSON"),
        ('{"id": 1, "label": [1]}\n{"id": 2, "label": [2]}\n', "holds lists"),
        ("\n\n", "is empty"),
    ],
)
def test_malformed_json_lines_are_refused_with_their_line(tmp_path, text, said):
    (tmp_path / "n.jsonl").write_text(text)
    (tmp_path / "e.csv").write_text("source,target\n1,2\n")
    with pytest.raises(DataError) as caught:
        read_graph(tmp_path / "n.jsonl", tmp_path / "e.csv", label="label" if "label" in text else None)
    assert said in str(caught.value)
