"""Reading the labels of several annotators: from columns, from a table of votes, from both."""

from __future__ import annotations

import pandas as pd
import pytest

from pignn.core.errors import ConfigError, DataError, PignnWarning
from pignn.graphs import read_graph, summarize_import

pytestmark = pytest.mark.filterwarnings("ignore:column .x. is the label under another name")  # of so few nodes

NODES = pd.DataFrame(
    {
        "id": ["a", "b", "c", "d"],
        "x": [0.3, 0.1, 2.0, 3.5],
        "ann": ["art", "bio", "art", None],
        "bob": ["art", "art", "bio", ""],
        "verified": [1, 0, 0, 0],
    }
)
EDGES = pd.DataFrame({"from": ["a", "b", "c"], "to": ["b", "c", "d"]})


def votes(*rows: tuple[object, ...], columns: tuple[str, ...] = ("node", "annotator", "label")) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(columns))


@pytest.mark.parametrize("label", ["ann,bob", ["ann", "bob"]])
def test_several_label_columns_are_annotators(label: object) -> None:
    data = read_graph(NODES.drop(columns="verified"), EDGES, label=label)  # type: ignore[arg-type]
    assert data.votes.tolist() == [[0, 0, 0], [1, 0, 1], [2, 0, 0], [0, 1, 0], [1, 1, 0], [2, 1, 1]]
    assert data.annotators == ["ann", "bob"]
    assert data.class_names == ["art", "bio"]
    assert data.y.tolist() == [0, 1, 0, -1]  # ties go to the first column
    assert data.train_mask.tolist() == [True, True, True, False]
    assert data.encoder.input_columns == ["x"]  # no vote is a feature
    text = str(summarize_import(data))
    assert "votes: 6 of 2 annotators on 3 nodes" in text
    assert "at 2 ties" in text
    assert "2 without a label" in text


def test_a_column_with_a_comma_in_its_name_stays_one() -> None:
    nodes = NODES.rename(columns={"ann": "ann,bob"}).drop(columns="bob")
    assert read_graph(nodes, EDGES, label="ann,bob").get("votes") is None


def test_votes_come_from_a_file(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "votes.csv"
    votes(
        ("a", "eve", "bio", 0.5), ("c", "kim", "art", None), columns=("node", "annotator", "label", "confidence")
    ).to_csv(path, index=False)
    data = read_graph(NODES[["id", "x"]], EDGES, votes=path)
    assert data.votes.tolist() == [[0, 0, 1], [2, 1, 0]]
    assert data.annotators == ["eve", "kim"]
    assert data.vote_confidence.tolist() == [0.5, 1.0]
    assert data.y.tolist() == [1, -1, 0, -1]


def test_the_label_column_is_one_more_annotator() -> None:
    table = votes(("a", "eve", "chem"), ("d", "eve", "art"))
    data = read_graph(NODES[["id", "x", "ann"]], EDGES, label="ann", votes=table)
    assert data.annotators == ["ann", "eve"]
    assert data.class_names == ["art", "bio", "chem"]
    assert [0, 1, 2] in data.votes.tolist()
    assert len(data.votes) == 5


def test_a_verified_label_is_known_and_no_vote() -> None:
    nodes = NODES[["id", "x", "bob", "verified"]]
    data = read_graph(
        nodes, EDGES, label="bob", trusted="verified", votes=votes(("a", "eve", "chem"), ("b", "eve", "bio"))
    )
    assert data.trusted_mask.tolist() == [True, False, False, False]
    assert data.class_names[int(data.y[0])] == "art"
    assert [0, data.annotators.index("bob")] not in data.votes[:, :2].tolist()


def test_repeated_votes_are_said_and_the_last_counts() -> None:
    table = votes(
        ("a", "eve", "bio"), ("b", "eve", "art"), ("a", "eve", "art"), ("b", "eve", "art"), ("c", "eve", "bio")
    )
    with pytest.warns(
        PignnWarning, match=r"2 votes repeated, first by 'eve'; the last one counts \(1 had another label\)"
    ):
        data = read_graph(NODES[["id", "x"]], EDGES, votes=table)
    assert data.votes.tolist() == [[0, 0, 0], [1, 0, 0], [2, 0, 1]]


def test_unknown_nodes_are_refused_or_left_out() -> None:
    table = votes(("a", "eve", "bio"), ("zz", "eve", "art"), ("b", "eve", "art"))
    with pytest.raises(DataError, match="1 of 3 votes on nodes that are not there, first 'zz'"):
        read_graph(NODES[["id", "x"]], EDGES, votes=table)
    with pytest.warns(PignnWarning, match="'zz'; left out"):
        assert len(read_graph(NODES[["id", "x"]], EDGES, votes=table, drop_unknown=True).votes) == 2


def test_classes_of_a_trained_model_stay() -> None:
    table = votes(("a", "eve", "bio"), ("c", "eve", "new"), ("b", "eve", "art"))
    with pytest.warns(PignnWarning, match="the model has no class 'new'"):
        data = read_graph(NODES[["id", "x"]], EDGES, votes=table, class_names=["bio", "art"])
    assert data.votes.tolist() == [[0, 0, 0], [1, 0, 1]]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (votes(("a", "x", "y"), columns=("node", "who", "label")), "unknown column of votes 'annotator'"),
        (votes(("a", "x", "y"), columns=("paper", "annotator", "label")), "unknown column of votes 'node'"),
        (votes(("a", "", "y"), ("b", "x", "z")), "1 vote without an annotator, first row 1"),
        (votes(("a", "x", ""), ("b", "x", None)), "no label at all"),
        (votes(("a", "x", "y"), ("b", "x", "y")), "all votes are for one class"),
        (
            votes(("a", "x", "y", "often"), columns=("node", "annotator", "label", "confidence")),
            "row 1: a confidence is above 0 and at most 1, not 'often'",
        ),
        (votes(("a", "x", "y", 0.0), columns=("node", "annotator", "label", "confidence")), "not '0.0'"),
    ],
)
def test_bad_tables_are_refused_in_one_line(table: pd.DataFrame, message: str) -> None:
    with pytest.raises((DataError, ConfigError), match=message) as error:
        read_graph(NODES[["id", "x"]], EDGES, votes=table)
    assert "\n" not in str(error.value)


def test_options_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ConfigError, match="unknown label column of nodes 'zoe'"):
        read_graph(NODES, EDGES, label="ann,zoe")
    with pytest.raises(ConfigError, match="names a column twice"):
        read_graph(NODES, EDGES, label="ann,ann")
    with pytest.raises(ConfigError, match="leave source out"):
        read_graph(NODES, EDGES, label="ann,bob", source="x")
    with pytest.raises(ConfigError, match="trusted is about one label column"):
        read_graph(NODES, EDGES, label="ann,bob", trusted="verified")
