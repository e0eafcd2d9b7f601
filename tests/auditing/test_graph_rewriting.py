"""Decisions applied to GraphML and GML: the label changes, all other bytes stay, and NetworkX reads it."""

from __future__ import annotations

import networkx
import pytest

from pignn.auditing import write_corrected_labels
from pignn.core.errors import PignnError


@pytest.fixture
def graph():
    graph = networkx.Graph()
    for i, (kind, note) in enumerate([("cat", "a <b> & 'c'"), ("dog", 'say "hi" > now'), ("cat & co", "Ärger")]):
        graph.add_node(f"n{i}", kind=kind, note=note, age=i)
    graph.add_edges_from([("n0", "n1"), ("n1", "n2")], kind="edge")
    return graph


@pytest.mark.parametrize("suffix", ["graphml", "gml"])
def test_only_the_label_changes(tmp_path, graph, suffix):
    path, out = tmp_path / f"g.{suffix}", tmp_path / f"out.{suffix}"
    getattr(networkx, f"write_{suffix}")(graph, path)
    ids = ["n0", "n2"] if suffix == "graphml" else ["0", "2"]
    labels = {ids[0]: "cat & co", ids[1]: "dog"}
    changed = write_corrected_labels(path, out, labels, label_column="kind", id_column="id", reviewed={ids[0]: "cat"})
    assert changed == 2
    again = getattr(networkx, f"read_{suffix}")(out)
    assert [again.nodes[f"n{i}"]["kind"] for i in range(3)] == ["cat & co", "dog", "dog"]
    for i in range(3):
        assert {**again.nodes[f"n{i}"], "kind": 0} == {**graph.nodes[f"n{i}"], "kind": 0}
    assert networkx.get_edge_attributes(again, "kind") == networkx.get_edge_attributes(graph, "kind")
    back = {ids[0]: "cat", ids[1]: "cat & co"}
    write_corrected_labels(out, tmp_path / f"back.{suffix}", back, label_column="kind", id_column="id")
    assert (tmp_path / f"back.{suffix}").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("suffix", ["graphml", "gml"])
def test_mistakes_are_told(tmp_path, graph, suffix):
    path, out = tmp_path / f"g.{suffix}", tmp_path / f"out.{suffix}"
    getattr(networkx, f"write_{suffix}")(graph, path)
    node = "n0" if suffix == "graphml" else "0"
    with pytest.raises(PignnError, match="did you mean 'kind'"):
        write_corrected_labels(path, out, {node: "dog"}, label_column="kid", id_column="id")
    with pytest.raises(PignnError, match="no row for 1 of 1 decided nodes"):
        write_corrected_labels(path, out, {"n9": "dog"}, label_column="kind", id_column="id")
    with pytest.raises(PignnError, match="same kind"):
        write_corrected_labels(path, tmp_path / "out.csv", {node: "dog"}, label_column="kind", id_column="id")
    assert not out.exists()


def test_damaged_and_hostile_graphml_is_refused(tmp_path):
    for text in ("<graphml><node id='a'>", '<!DOCTYPE x [<!ENTITY a "b">]><graphml/>'):
        (tmp_path / "g.graphml").write_text(text)
        with pytest.raises(PignnError, match=r"g\.graphml"):
            write_corrected_labels(
                tmp_path / "g.graphml", tmp_path / "o.graphml", {"a": "b"}, label_column="kind", id_column="id"
            )
