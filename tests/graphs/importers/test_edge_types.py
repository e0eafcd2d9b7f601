"""Types of edges become weights, or one graph of some of them, and the notes say which."""

from __future__ import annotations

import pandas as pd
import pytest

import pignn
from pignn.core.errors import PignnError

NODES = pd.DataFrame({"id": list("abcd"), "x": [1.0, 2.0, 3.5, 4.0], "y": ["p", "q", "p", "q"]})
EDGES = pd.DataFrame(
    {"source": list("aabc"), "target": list("bcdd"), "relation": ["cites", "mentions", "cites", " mentions "]}
)


def weights(edges=EDGES, **options):
    data = pignn.read_graph(NODES, edges, label="y", **options)
    given = [1.0] * data.edge_index.shape[1] if data.get("edge_weight") is None else data.edge_weight.tolist()
    names = data.node_id
    pairs = zip(data.edge_index.t().tolist(), given, strict=True)
    return {names[a] + names[b]: weight for (a, b), weight in pairs if a < b}, " ".join(data.origin.notes)


def test_types_that_nobody_asked_for_count_alike_and_are_listed():
    found, notes = weights()
    assert found == {"ab": 1, "ac": 1, "bd": 1, "cd": 1}
    assert "2 types (cites 2, mentions 2), which all count alike" in notes
    assert "--edge-types 'relation:cites=1,mentions=0.5'" in notes


def test_types_have_weights():
    found, notes = weights(edge_types="relation:cites=2,mentions=0.5")
    assert found == {"ab": 2, "ac": 0.5, "bd": 2, "cd": 0.5}
    assert "cites × 2, mentions × 0.5" in notes


def test_a_graph_of_one_type_leaves_out_the_others_and_says_so():
    found, notes = weights(edge_types="relation:mentions")
    assert found == {"ac": 1, "cd": 1}
    assert "left out: cites 2" in notes


def test_types_multiply_weights_and_edges_of_two_types_add_up():
    edges = EDGES.assign(weight=[1, 2, 3, 4])
    assert weights(edges, edge_types="relation:cites=2,mentions=1")[0] == {"ab": 2, "ac": 2, "bd": 6, "cd": 4}
    double = pd.concat([EDGES, EDGES.head(1).assign(relation="mentions")])
    assert weights(double, edge_types="relation:cites=1,mentions=0.25")[0]["ab"] == 1.25


def test_an_empty_type_and_a_column_of_another_name():
    edges = EDGES.assign(how=["x", None, "y", "x"]).drop(columns="relation")
    found, notes = weights(edges, edge_types="how:x=1,y=3")
    assert found == {"ab": 1, "bd": 3, "cd": 1}
    assert "left out: empty 1" in notes


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("relation:cites=much", "'cites=much' has no weight above 0"),
        ("relation:cites=0", "has no weight above 0"),
        ("relation:cites=-1", "has no weight above 0"),
        ("relation:cites=nan", "has no weight above 0"),
        ("relation:", "names no type"),
        ("relation:quotes", "no edge has the type 'quotes'; types in 'relation': cites 2, mentions 2"),
        ("relatoin", "relation"),
    ],
)
def test_mistakes_are_told_with_what_to_do(text, words):
    with pytest.raises(PignnError) as caught:
        weights(edge_types=text)
    assert words in str(caught.value)
