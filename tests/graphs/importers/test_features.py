"""Columns become features: the right kind, the right numbers, and the same for new nodes after a trip to disk."""

from __future__ import annotations

import json

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch

from pignn.core.errors import DataError, ModelFileError, PignnWarning
from pignn.graphs import from_pandas, load_feature_encoder
from pignn.graphs.importers import structure
from pignn.graphs.importers.column_kinds import guess_column_kind, parse_number_or_date_column

RNG = np.random.default_rng(0)
WORDS = [" ".join(RNG.choice(["red", "green", "blue", "fast", "slow", "café"], 6)) for _ in range(40)]
FRAME = pd.DataFrame(
    {
        "id": range(40),
        "share": RNG.random(40),
        "size": np.exp(RNG.normal(0, 3, 40)),
        "height": [*RNG.normal(170, 10, 39), None],
        "word": RNG.choice(["x", "y", "z"], 40),
        "note": WORDS,
        "day": pd.date_range("2024-01-01", periods=40).astype(str),
        "key": [f"k{i}" for i in range(40)],
        "constant": 3,
        "row": range(1, 41),
        "label": ["a", "b"] * 20,
    }
)
EDGES = pd.DataFrame({"source": range(39), "target": range(1, 40)})


def read(frame=FRAME, edges=EDGES, **options):
    return from_pandas(frame, edges, **{"label": "label", **options})


def test_kinds_are_guessed():
    kinds = {name: guess_column_kind(FRAME[name]).kind for name in FRAME}
    wanted = dict.fromkeys(("share", "size", "height"), "number") | {"word": "category", "note": "text", "day": "date"}
    wanted |= dict.fromkeys(("key", "constant", "row"), "none")
    assert {name: kinds[name] for name in wanted} == wanted


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "2.5", "NA", "", "-3"], "number"),
        (["yes", "no", "yes", "no", "no"], "category"),
        ([[1, 2], [3, 4], None, [5, 6], [7, 8]], "vector"),
        ([None] * 5, "none"),
        (["", "NA", "?", "-", "null"], "none"),
        ([True, False, True, True, False], "number"),
        ([f"a sentence about the number {i}" for i in range(5)], "text"),
        (["2024-01-01", "2023-05-06 12:00", None, "2020-02-29T01:02:03Z", "1999-12-31"], "date"),
        ([float("inf"), 1.0, 2.0, 3.0, 5.0], "number"),
    ],
)
def test_kinds_of_small_columns(values, kind):
    assert guess_column_kind(pd.Series(values)).kind == kind


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["2024-01-01 12:00:00", "2024-01-02", " 2024-01-03 ", "n/a", None], [0.5, 1, 2, np.nan, np.nan]),
        ([pd.Timestamp("2024-01-01"), "2024-01-02 06:00", "2024-01-03T00:00:00Z"], [0, 1.25, 2]),
        (["31/01/2024", "01/02/2024"], [30, 31]),
    ],
)
def test_dates_with_and_without_a_time(values, expected):
    first = (pd.Timestamp("2024-01-01") - pd.Timestamp(0)).days
    np.testing.assert_allclose(
        parse_number_or_date_column(pd.Series(values, dtype=object), "date").values - first, expected
    )


def column(data, name):
    return data.x[:, data.encoder.feature_names.index(name)].double().numpy()


def test_numbers_are_standardized_and_imputed_by_the_median():
    data = read()
    assert column(data, "share") == pytest.approx(FRAME["share"].to_numpy(), abs=1e-6)
    for values, name in ((FRAME["height"].to_numpy(), "height"), (np.log1p(FRAME["size"].to_numpy()), "size")):
        known = values[~np.isnan(values)]
        assert column(data, name)[: len(known)] == pytest.approx((known - known.mean()) / known.std(), abs=1e-5)
    height = FRAME["height"].dropna()
    assert column(data, "height")[39] == pytest.approx((height.median() - height.mean()) / height.std(ddof=0), abs=1e-5)
    assert column(data, "height is missing").tolist() == [0] * 39 + [1]
    days = np.arange(40)
    assert column(data, "day") == pytest.approx((days - days.mean()) / days.std(), abs=1e-5)


def test_text_is_tf_idf():
    from sklearn.feature_extraction.text import TfidfVectorizer

    data = read(features="note")
    vectorizer = TfidfVectorizer(sublinear_tf=True, strip_accents="unicode", min_df=2, max_df=0.9)
    wanted = vectorizer.fit_transform(WORDS).toarray()
    assert data.encoder.feature_names == [f"note: {term}" for term in vectorizer.get_feature_names_out()]
    assert data.x.numpy() == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize(("levels", "rows"), [(150, 1000), (2000, 3000), (2000, 20_000)])
def test_rare_categories_are_hashed(levels, rows):
    """No value is dropped, and hardly any two of the rare ones look alike."""
    values = [f"c{i % levels}" for i in range(rows)]
    frame = pd.DataFrame({"id": range(rows), "c": values, "label": ["a", "b"] * (rows // 2)})
    data = read(frame, EDGES)
    assert data.x.shape[1] == 100 + min(max(levels - 100, 16), 256)
    assert data.x.sum(dim=1).eq(1).all()
    assert data.encoder.feature_names[-1].startswith("c is another (")
    assert len(np.unique(data.x[:levels].numpy(), axis=0)) > 0.95 * levels
    assert torch.equal(data.x[0], data.x[levels])


def test_every_column_is_accounted_for():
    encoder = read().encoder
    assert set(encoder.column_notes) == set(FRAME) - {"id", "label"}
    assert encoder.column_notes["key"].startswith("left out: nearly every node")
    assert encoder.column_notes["constant"] == "left out: the same value everywhere"
    assert encoder.column_notes["row"] == "left out: counts the rows"
    assert encoder.width == len(encoder.feature_names) == read().x.shape[1]


def test_kinds_and_patterns_can_be_given():
    assert read(features="share,height:category").encoder.feature_names[0] == "share"
    assert read(features=["s*"]).encoder.feature_names == ["share", "size"]
    assert "key = k0" in read(features="*,key:category").encoder.feature_names
    assert "note = " + WORDS[0] in read(features="note:category").encoder.feature_names
    assert read(features="size,structure").encoder.feature_names[:2] == ["size", "(structure) degree"]
    with pytest.raises(DataError, match=r"column 'word', row 1: '.' is not a number"):
        read(features="word:number")


def test_one_bad_cell_does_not_make_categories():
    """A column of numbers stays one; what is none is missing, and said with its row."""
    frame = FRAME.assign(pages=[str(v) for v in range(100, 140)])
    frame.loc[6, "pages"] = "12o"
    with pytest.warns(PignnWarning, match=r"column 'pages': 1 of 40 values is not a number \(row 7: '12o'\); taken"):
        data = read(frame, features="pages")
    assert data.encoder.feature_names == ["pages", "pages is missing"]
    assert data.x[:, 1].nonzero().flatten().tolist() == [6]
    clean = pd.to_numeric(frame["pages"], errors="coerce")
    scaled = ((clean.fillna(clean.median()) - clean.mean()) / clean.std(ddof=0)).to_numpy()
    np.testing.assert_allclose(data.x[:, 0], scaled, atol=1e-5)
    frame.loc[[7, 9], "pages"] = "?"  # gaps are none of them
    frame.loc[8, "pages"] = "n 3"
    with pytest.raises(DataError, match=r"column 'pages', row 7: '12o' is not a number"):
        read(frame, features="pages:number")  # 2 of 38 are more than one in twenty
    assert guess_column_kind(frame["pages"]).kind != "number"


def test_the_same_features_for_other_nodes(tmp_path):
    """Learnt on all 40 nodes, saved, and applied to 10 of them in another order: the same rows."""
    data = read()
    data.encoder.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["features.json"]
    encoder = load_feature_encoder(tmp_path)
    some = [7, 3, 39, 0, 11, 12, 30, 22, 1, 2]
    new = from_pandas(FRAME.iloc[some], EDGES.iloc[:0], encoder=encoder, class_names=data.class_names)
    assert torch.equal(new.x, data.x[some])
    assert torch.equal(new.y, data.y[some])  # the column of labels is known, too
    assert (encoder.feature_names, encoder.column_notes) == (data.encoder.feature_names, data.encoder.column_notes)


def test_new_values_are_bounded():
    encoder = read().encoder
    frame = FRAME.iloc[:2].assign(word=["new", None], height=[1e300, float("-inf")], note=["unseen words", None])
    frame = frame.assign(label=["c", "a"])
    with pytest.warns(PignnWarning) as said:
        data = from_pandas(frame, EDGES.iloc[:0], encoder=encoder, class_names=["a", "b"])
    assert [str(one.message) for one in said] == [
        "nodes, column 'label': the model has no class 'c'; taken for no label",
        "nodes: 'new' is new in 'word'; 1 of 1 nodes have no known word in 'note'; the model has not learned from such",
    ]
    assert data.y.tolist() == [-1, 0]
    assert torch.isfinite(data.x).all()
    assert data.x.abs().max() <= 10
    words = [name for name in encoder.feature_names if name.startswith("word =")]
    assert not sum(column(data, name).sum() for name in words)
    missing = FRAME.drop(columns="word")
    with pytest.raises(DataError, match="lacks the column 'word', which the model was trained on"):
        from_pandas(missing, EDGES, encoder=encoder)


def test_many_unseen_values_are_warned_about():
    """Where it is much: a text of other words, or a rare value, is nothing special."""
    values = [f"c{i % 150}" for i in range(1000)]
    frame = pd.DataFrame({"id": range(1000), "c": values, "note": WORDS * 25, "label": ["a", "b"] * 500})
    encoder = read(frame, EDGES, features="c:category,note:text").encoder
    few = frame.assign(c=frame["c"].where(frame.index > 99, "new"))
    few.loc[:89, "note"] = "other words here"
    assert read(few, EDGES, encoder=encoder).x.shape == (1000, encoder.width)
    with pytest.warns(PignnWarning) as said:
        read(frame.assign(note="other words here", c="new"), EDGES, encoder=encoder)
    assert [str(one.message) for one in said] == [
        "nodes: 1,000 of 1,000 values in 'c' are rare or new; 1,000 of 1,000 nodes have no known word in 'note'; "
        "the model has not learned from such"
    ]


def test_features_in_a_table_of_their_own(tmp_path):
    FRAME[["id", "share"]].iloc[::-1].to_csv(tmp_path / "x.csv", index=False)
    data = read(features=tmp_path / "x.csv")
    assert column(data, "share") == pytest.approx(FRAME["share"].to_numpy(), abs=1e-6)
    FRAME[["id", "share"]].iloc[:30].to_csv(tmp_path / "x.csv", index=False)
    with pytest.raises(DataError, match="10 nodes not there, first '30'"):
        read(features=tmp_path / "x.csv")


def spoil_json(**changes):
    return lambda folder: (folder / "features.json").write_text(
        json.dumps(json.loads((folder / "features.json").read_text()) | changes)
    )


NUMERIC = {"kind": "numeric", "name": "age", "column_kind": "number", "has_missing_flag": False}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: (folder / "features.json").write_text("{"),
        lambda folder: (folder / "features.json").write_text("[]"),
        lambda folder: (folder / "features.json").write_bytes((folder / "features.json").read_bytes()[:-100]),
        lambda folder: (folder / "features.json").write_bytes(b"\xff"),
        spoil_json(format=2),
        spoil_json(encoders=[{"kind": "magic"}]),
        spoil_json(encoders=[{"kind": "numeric", "columns": []}]),
        spoil_json(encoders=[NUMERIC | {"scales": [[1.0, False, 0.0]]}]),
        spoil_json(encoders=[NUMERIC | {"scales": [[1.0, False, 0.0, None]]}]),
        spoil_json(encoders=[{"kind": "tfidf", "name": "note", "terms": ["a"]}]),
        spoil_json(encoders=[{"kind": "structure", "means": [0.0], "deviations": [1.0]}]),
        spoil_json(encoders=3),
    ],
)
def test_a_damaged_encoder_file_is_refused(tmp_path, spoil):
    read().encoder.save(tmp_path)
    spoil(tmp_path)
    with pytest.raises(ModelFileError):
        load_feature_encoder(tmp_path)


# ---- structure ----


def rows(graph):
    matrix = nx.to_scipy_sparse_array(graph, format="csr", weight=None)
    matrix.sort_indices()
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)


@pytest.mark.parametrize("wedges", [1 << 24, 50])
@pytest.mark.parametrize(
    "graph",
    [
        nx.gnp_random_graph(60, 0.15, seed=1),
        nx.star_graph(30),
        nx.complete_graph(8),
        nx.empty_graph(4),
        nx.wheel_graph(9),
    ],
)
def test_structural_features(graph, wedges, monkeypatch):
    monkeypatch.setattr(structure, "MAX_WEDGES", wedges)
    x = structure.compute_structural_features(*rows(graph))
    matrix = nx.to_numpy_array(graph, weight=None)
    degree = matrix.sum(1)
    walk = matrix / np.maximum(degree, 1)[:, None]
    wanted = {
        "degree": np.log1p(degree),
        "neighbors_degree": np.log1p(walk @ degree),
        "largest_neighbor": np.log1p((matrix * degree).max(1)),
        "two_steps": np.log1p((matrix @ matrix).sum(1)),
        "clustering": np.array(list(nx.clustering(graph).values())),
        "triangles": np.log1p(np.array(list(nx.triangles(graph).values()))),
        "return_2": np.diag(walk @ walk),
        "return_3": np.diag(walk @ walk @ walk),
        "spread": np.array([np.log1p(degree[row > 0]).std() if row.any() else 0 for row in matrix]),
    }
    for name, values in wanted.items():
        assert x[:, structure.STRUCTURE_NAMES.index(name)] == pytest.approx(values, abs=1e-5), name


def test_a_graph_without_features_has_those_of_its_structure():
    bare = FRAME[["id", "label"]]
    data = read(bare)
    assert data.encoder.feature_names == [f"(structure) {name}" for name in structure.STRUCTURE_NAMES]
    assert "there are no other features" in data.encoder.column_notes["(structure)"]
    same = from_pandas(bare, EDGES, encoder=data.encoder)
    assert torch.equal(same.x, data.x)
    ring = pd.concat([EDGES, pd.DataFrame({"source": [39], "target": [0]})])
    assert from_pandas(bare, ring, encoder=data.encoder).x.std(dim=0).max() < 1e-6  # all nodes of a ring are alike
