"""Whom to review, intervals that hold, decisions files, and corrected files byte for byte."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from torch_geometric.data import Data

from pignn.auditing import (
    apply_decisions_to_graph,
    estimate_from_review,
    read_decisions,
    sample_for_review,
    tables,
    write_corrected_labels,
)
from pignn.auditing.review import compute_binomial_interval
from pignn.core.errors import ConfigError, DataError, OutputError


def issues(nodes: int = 500, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    p = np.sort(rng.beta(0.5, 2, nodes))[::-1]
    return pd.DataFrame(
        {
            "node": rng.permutation(nodes),
            "given": 0,
            "suggested": 1,
            "p_wrong": p,
            "flagged": p > 0.4,
            "neighbor_agreement": 0.5,
            "trusted": False,
        }
    )


def test_inclusion_probabilities_add_up_to_all_labels() -> None:
    table = issues()
    chosen = sample_for_review(table, 60)
    assert len(chosen) == 60
    assert chosen["node"].is_unique
    assert (chosen["part"] == "top").sum() == 30
    assert set(chosen.loc[chosen["part"] == "top", "node"]) == set(table["node"][:30])
    assert abs((1 / chosen["inclusion"]).sum() - 500) < 1e-6
    assert not chosen.equals(sample_for_review(table, 60, seed=1))


@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 1.0])
@pytest.mark.parametrize("budget", [1, 2, 50, 10_000])
def test_a_review_of_any_size_can_be_sampled(share: float, budget: int) -> None:
    chosen = sample_for_review(issues(), budget, random_share=share)
    assert len(chosen) == min(budget, 500)
    if share == 1.0:
        assert abs((1 / chosen["inclusion"]).sum() - 500) < 1e-6


def test_draws_have_their_inclusion_probability() -> None:
    table = issues(50)
    times = np.zeros(50)
    share = np.zeros(50)
    for seed in range(3000):
        chosen = sample_for_review(table, 20, seed=seed)
        times[chosen["node"]] += 1
        share[chosen["node"]] = chosen["inclusion"]
    np.testing.assert_allclose(times / 3000, share, atol=0.05)


@pytest.mark.parametrize("noise", ["as the audit says", "the other way round", "rare", "none", "all"])
def test_intervals_hold_whatever_the_noise(noise: str) -> None:
    table = issues()
    rng = np.random.default_rng(1)
    p = table["p_wrong"].to_numpy()
    chance = {
        "as the audit says": p,
        "the other way round": 1 - p,
        "rare": np.full(500, 0.02),
        "none": np.zeros(500),
        "all": np.ones(500),
    }[noise]
    wrong = rng.random(500) < chance
    held = precise = 0
    listed = wrong[(p > 0.4) | (np.arange(500) < 40)]
    for seed in range(300):
        chosen = sample_for_review(table, 80, seed=seed)
        node_wrong = dict(zip(table["node"], wrong, strict=True))
        chosen["decision"] = ["relabel" if node_wrong[n] else "keep" for n in chosen["node"]]
        found = estimate_from_review(chosen)
        assert found.rate_interval is not None
        assert found.precision_interval is not None
        held += found.rate_interval[0] - 1e-9 <= wrong.mean() <= found.rate_interval[1] + 1e-9
        precise += found.precision_interval[0] - 1e-9 <= listed.mean() <= found.precision_interval[1] + 1e-9
        if noise == "none":
            assert found.rate == 0
    assert held >= 0.95 * 300
    assert precise >= 0.95 * 300


def test_undecided_labels_widen_the_interval() -> None:
    chosen = sample_for_review(issues(), 60).assign(decision="keep")
    full = estimate_from_review(chosen)
    chosen.loc[::2, "decision"] = "unsure"
    half = estimate_from_review(chosen)
    chosen.loc[::2, "decision"] = ""
    assert estimate_from_review(chosen) == half
    assert half.unsure == 30
    assert full.rate_interval is not None
    assert half.rate_interval is not None
    assert half.rate_interval[0] <= full.rate_interval[0]
    assert half.rate_interval[1] > full.rate_interval[1]


def test_the_estimate_treats_undecided_labels_like_decided_ones() -> None:
    """Open rows of the top part count neither as right nor as wrong in the estimate."""
    chosen = sample_for_review(issues(), 60)
    top = chosen["part"] == "top"
    chosen["decision"] = np.where(top, "relabel", "keep")
    full = estimate_from_review(chosen)
    chosen.loc[chosen.index[top][::2], "decision"] = ""
    half = estimate_from_review(chosen)
    assert half.top_precision == full.top_precision == 1.0
    assert half.rate == pytest.approx(full.rate)
    assert half.precision == pytest.approx(full.precision)
    assert half.rate_interval is not None
    assert full.rate_interval is not None
    assert half.rate_interval[0] < full.rate_interval[0]
    chosen.loc[top, "decision"] = "unsure"
    none = estimate_from_review(chosen)  # of a part that nobody decided nothing is known; the interval still holds
    assert none.rate is None
    assert none.top_precision is None
    assert none.rate_interval is not None


def test_the_binomial_interval_equals_that_of_scipy_or_is_wider() -> None:
    for of in (1, 5, 40):
        for count in range(of + 1):
            low, high = compute_binomial_interval(count, of, 0.05)
            exact = binomtest(count, of).proportion_ci(0.95)
            assert low <= exact.low + 1e-9
            assert high >= exact.high - 1e-9
            assert (low, high) == (pytest.approx(exact.low), pytest.approx(exact.high)) or of - count < 2 or count < 2


def test_a_review_refuses_wrong_settings() -> None:
    with pytest.raises(ConfigError):
        sample_for_review(issues(), 0)
    with pytest.raises(ConfigError):
        sample_for_review(issues(), 10, random_share=2)
    with pytest.raises(DataError, match="every label is trusted"):
        sample_for_review(issues().assign(trusted=True), 10)


# --- files --------------------------------------------------------------------------------------------------


def test_formulas_are_escaped_in_files_and_read_back(tmp_path: Path) -> None:
    evil = ["=1+1", "+1", "-1", "@x", "\tx", "'=1", "plain", "a,b", 'q"q']
    table = pd.DataFrame({"node": evil, "decision": "relabel", "label": evil, "reviewer": "=cmd()"})
    tables.write_spreadsheet_safe_csv(tmp_path / "d.csv", table)
    for line in (tmp_path / "d.csv").read_text().splitlines()[1:]:
        assert not line.lstrip('"').startswith(("=", "+", "-", "@", "\t"))
    back = read_decisions(tmp_path / "d.csv")
    assert back["node"].tolist() == evil
    assert back["label"].str.strip().tolist() == [cell.strip() for cell in evil]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "empty"),
        (b"a,b\n1,2\n", "no column 'node'"),
        (b"node,decision,label\n1,maybe,x\n", "maybe"),
        (b"node,decision,label\n1,keep,\n1,keep,\n", "twice"),
        (b"node,decision,label\n1,relabel,\n", "'label' is empty, in row 2"),
        (b"node,decision,label\n1,keep\n", "cells"),
        (b"node,decision,label\n1,ke\0ep,\n", "NUL"),
        (b"node,decision,label\n1,keep,\xff\n", "UTF-8"),
        (b'node,decision,label\n1,keep,"x\n', "CSV"),
        (b"node,decision,label,part\n1,keep,,middle\n", "part"),
        (b"node,decision,label\n1,keep," + b"x" * 2_000_000 + b"\n", "CSV"),
    ],
)
def test_bad_decision_files_are_refused_in_one_line(tmp_path: Path, text: bytes, words: str) -> None:
    (tmp_path / "d.csv").write_bytes(text)
    with pytest.raises(DataError, match=words) as error:
        read_decisions(tmp_path / "d.csv")
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 400


@pytest.mark.parametrize("bom", ["", "\ufeff"])
@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_decisions_are_read_with_any_delimiter_and_decimal_comma(tmp_path: Path, mark: str, bom: str) -> None:
    """Where decimals have a comma, cells are separated by something else."""
    half = "0.5" if mark == "," else "0,5"
    rows = [
        ['"a;b,c"', "node", "decision", "label", "part", "inclusion"],
        ["x", "n1", "relabel", "new" if mark == "," else "a, b", "rest", half],
        ["x", "n2", "keep", "", "top", "1"],
    ]
    (tmp_path / "d.csv").write_bytes((bom + "".join(mark.join(row) + "\r\n" for row in rows)).encode())
    table = read_decisions(tmp_path / "d.csv")
    assert table.columns.tolist()[1:] == ["node", "decision", "label", "part", "inclusion"]
    assert table["label"].tolist() == [rows[1][3], ""]
    assert estimate_from_review(table).rate == pytest.approx(2 / 3)


def test_edited_inclusion_is_refused(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("node,decision,label,part,inclusion\n1,keep,,rest,zero\n")
    with pytest.raises(DataError, match="inclusion"):
        estimate_from_review(read_decisions(tmp_path / "d.csv"))


def test_only_decided_cells_change(tmp_path: Path) -> None:
    before = b'\xef\xbb\xbfid,text,label\r\na,"x, ""y""\n z",cat\r\n\r\n b ,caf\xe9,"cat"\nc,=1+1,dog\nd,,cat'
    (tmp_path / "n.csv").write_bytes(before)
    out = tmp_path / "out.csv"
    assert (
        write_corrected_labels(
            tmp_path / "n.csv", out, {"b": "dog", "d": "a,b", "c": "dog"}, label_column="label", id_column="id"
        )
        == 2
    )
    after = before.replace(b'\xe9,"cat"', b'\xe9,"dog"').replace(b"d,,cat", b'd,,"a,b"')
    assert out.read_bytes() == after
    assert (tmp_path / "n.csv").read_bytes() == before


def test_a_decided_class_that_no_row_has_is_refused_unless_allowed(tmp_path: Path) -> None:
    file, out = tmp_path / "n.csv", tmp_path / "o.csv"
    file.write_text('id,label\na,"sport"\nb, politics\nc,\nd,-1\ne,3.0\n')
    for wrong in ("sprot", "", "-1"):
        with pytest.raises(ConfigError, match=f"unknown class '{wrong}'") as error:
            write_corrected_labels(
                file, out, {"a": "politics", "b": wrong}, label_column="label", id_column="id", new_class=False
            )
        assert not out.exists()
        assert "node 'b'" in str(error.value)
        assert ("did you mean 'sport'" in str(error.value)) == (wrong == "sprot")
    known = {"b": "sport", "c": "politics", "d": "3"}
    assert write_corrected_labels(file, out, known, label_column="label", id_column="id", new_class=False) == 3
    assert write_corrected_labels(file, out, {"b": "sprot"}, label_column="label", id_column="id", new_class=True) == 1


def test_the_original_is_never_written(tmp_path: Path) -> None:
    file = tmp_path / "n.csv"
    file.write_text("id,label\na,x\n")
    (tmp_path / "link.csv").symlink_to(file)
    for out in (file, tmp_path / "link.csv"):
        with pytest.raises(OutputError, match="original"):
            write_corrected_labels(file, out, {"a": "y"}, label_column="label", id_column="id")
    assert file.read_text() == "id,label\na,x\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("id,lab\na,x\n", "no column 'label'"),
        ("id,label\nb,x\n", "no row"),
        ("id,label\na,x\na,y\n", "twice"),
    ],
)
def test_label_files_without_the_decided_nodes_are_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "n.csv").write_text(text)
    with pytest.raises(DataError, match=words):
        write_corrected_labels(tmp_path / "n.csv", tmp_path / "o.csv", {"a": "y"}, label_column="label", id_column="id")
    assert not (tmp_path / "o.csv").exists()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.text(max_size=6), st.text(max_size=6)), min_size=1, max_size=6), st.data())
def test_labels_are_corrected_in_any_csv_that_python_writes(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], data: st.DataObject
) -> None:
    import csv
    import io

    clean = [(a.replace("\0", "").strip(), b.replace("\0", "").strip()) for a, b in rows]
    clean = [(a.encode("utf-8", "ignore").decode(), b.encode("utf-8", "ignore").decode()) for a, b in clean]
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=data.draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])))
    writer.writerow(["id", "note", "label"])
    writer.writerows([f"n{i}", a, b] for i, (a, b) in enumerate(clean))
    folder = tmp_path_factory.mktemp("csv")
    (folder / "n.csv").write_bytes(text.getvalue().encode())
    at = data.draw(st.integers(0, len(clean) - 1))
    write_corrected_labels(
        folder / "n.csv", folder / "o.csv", {f"n{at}": 'new, "label"'}, label_column="label", id_column="id"
    )
    found = list(csv.reader(io.StringIO((folder / "o.csv").read_bytes().decode(), newline="")))
    expected = [[f"n{i}", a, 'new, "label"' if i == at else b] for i, (a, b) in enumerate(clean)]
    assert found[1:] == expected


def test_only_decided_values_of_json_lines_change(tmp_path: Path) -> None:
    lines = [
        b'\xef\xbb\xbf{"id": "a",  "label":"cat" , "more": {"label": "no", "x": [1, "}"]}}\r\n',
        b"\n",
        '{ "label" : "cat", "text": "caf\u00e9 \\u00e9 \\"q\\"", "id": "b" }\n'.encode(),
        b'{"id": 3, "label": "dog"}\n',
        b'{"id": "d", "label": "old", "label": "cat"}\n',
        b'{"id": "e", "label": null}',
    ]
    file, out = tmp_path / "n.jsonl", tmp_path / "o.jsonl"
    file.write_bytes(b"".join(lines))
    decided = {"b": "d\u00f6g", "a": 'q"q', "3": "dog", "d": "dog", "e": "dog"}
    assert write_corrected_labels(file, out, decided, label_column="label", id_column="id") == 4
    lines[0] = lines[0].replace(b':"cat" ', b':"q\\"q" ')
    lines[2] = lines[2].replace(b'"cat"', '"d\u00f6g"'.encode())
    lines[4] = lines[4].replace(b'"cat"', b'"dog"')
    lines[5] = lines[5].replace(b"null", b'"dog"')
    assert out.read_bytes() == b"".join(lines)
    file.write_bytes(b'{"id": 1, "y": 3}\n{"id": 2, "y": 4.0}\n')
    assert (
        write_corrected_labels(file, out, {"1": "4", "2": "4"}, label_column="y", id_column="id", new_class=False) == 1
    )
    assert out.read_bytes() == b'{"id": 1, "y": 4}\n{"id": 2, "y": 4.0}\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b'{"id": 1, "label": "x"}\n[1]\n', "line 2: not one JSON object"),
        (b'{"id": 1, "label": "x"\n', "line 1: not one JSON object"),
        (b'{"id": 1, "label": "\xff"}\n', "line 1: not one JSON object"),
        (b"[" * 100_000, "line 1: not one JSON object"),
        (b'{"key": 1, "label": "x"}\n', "no line with 'id'"),
        (b'{"id": 1}\n', "no 'label' to correct"),
        (b"", "no line"),
    ],
)
def test_bad_json_lines_are_refused(tmp_path: Path, text: bytes, words: str) -> None:
    file, out = tmp_path / "n.jsonl", tmp_path / "o.jsonl"
    file.write_bytes(text)
    with pytest.raises(DataError, match=words):
        write_corrected_labels(file, out, {"1": "y"}, label_column="label", id_column="id")
    assert not out.exists()


def test_parquet_is_written_anew_with_the_same_types(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    file, out = tmp_path / "n.parquet", tmp_path / "o.parquet"
    table = pa.table(
        {
            "id": pa.array([1, 2, 3], pa.int32()),
            "topic": pa.array(["a", "b", None]).dictionary_encode(),
            "y": pa.array([0, 1, 1], pa.int8()),
            "list": [[1.0], [2.0], None],
        }
    ).replace_schema_metadata({"note": "mine"})
    pq.write_table(table, file)
    table = pq.read_table(file)
    assert write_corrected_labels(file, out, {"1": "b", "2": "b", "3": "a"}, label_column="topic", id_column="id") == 2
    found = pq.read_table(out)
    assert found.schema.equals(table.schema, check_metadata=True)
    assert found["topic"].to_pylist() == ["b", "b", "a"]
    assert found.drop(["topic"]).equals(table.drop(["topic"]))
    assert write_corrected_labels(file, out, {"2": "0"}, label_column="y", id_column="id") == 1
    assert pq.read_table(out)["y"].to_pylist() == [0, 0, 1]
    with pytest.raises(DataError, match="int8, which a decided label is not"):
        write_corrected_labels(file, out, {"2": "zero"}, label_column="y", id_column="id")
    with pytest.raises(DataError, match="no column 'q'"):
        write_corrected_labels(file, out, {"2": "0"}, label_column="q", id_column="id")
    with pytest.raises(DataError, match="same kind"):
        write_corrected_labels(file, tmp_path / "o.csv", {"2": "0"}, label_column="y", id_column="id")
    (tmp_path / "no.parquet").write_bytes(b"PAR1 is not all that it takes")
    with pytest.raises(DataError, match="cannot read"):
        write_corrected_labels(tmp_path / "no.parquet", out, {"2": "0"}, label_column="y", id_column="id")


def test_other_file_formats_are_refused_in_one_line(tmp_path: Path) -> None:
    for name, words in (("n.csv.gz", "unpack it first"), ("n.graphml", "save the nodes as one of these")):
        (tmp_path / name).write_bytes(b"x")
        with pytest.raises(DataError, match=words):
            write_corrected_labels(
                tmp_path / name, tmp_path / "o.csv", {"1": "y"}, label_column="label", id_column="id"
            )


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_decisions_are_read_from_json_lines_and_parquet(tmp_path: Path, suffix: str) -> None:
    table = pd.DataFrame(
        {"node": ["7", "8"], "decision": ["relabel", None], "label": ["x", None], "part": ["rest", "top"]}
    ).assign(inclusion=[0.25, 1.0])
    file = tmp_path / f"d{suffix}"
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
        table.to_parquet(file)
    else:
        table.to_json(file, orient="records", lines=True)
    found = read_decisions(file)
    assert found["node"].tolist() == ["7", "8"]
    assert found["decision"].tolist() == ["relabel", ""]
    assert found["inclusion"].tolist() == ["0.25", "1.0"]


def test_a_class_called_wrong_has_a_column_of_its_own() -> None:
    table = issues(3).assign(p_0=0.2, p_1=0.8)
    assert [c for c in tables.replace_class_numbers_by_names(table, ["wrong", "sport"]) if c.startswith("p_")] == [
        "p_wrong",
        "p_wrong (class)",
        "p_sport",
    ]


def test_decisions_become_trusted_labels() -> None:
    data = Data(x=torch.ones(4, 1), y=torch.tensor([0, 1, 0, 1]), class_names=["a", "b"], node_id=["w", "x", "y", "z"])
    table = pd.DataFrame(
        {"node": ["w", "x", "y"], "decision": ["relabel", "keep", "unsure"], "label": ["b", "", ""]}, dtype=object
    )
    found = apply_decisions_to_graph(data, table)
    assert found.y.tolist() == [1, 1, 0, 1]
    assert found.trusted_mask.tolist() == [True, True, False, False]
    assert found.y_before.tolist() == [0, 1, -1, -1]
    assert data.y.tolist() == [0, 1, 0, 1]
    for node, label, words in (("q", "b", "no node"), ("w", "c", "no class")):
        bad = pd.DataFrame({"node": [node], "decision": ["relabel"], "label": [label]}, dtype=object)
        with pytest.raises(DataError, match=words):
            apply_decisions_to_graph(data, bad)


def test_labels_that_changed_since_the_review_are_refused(tmp_path: Path) -> None:
    data = Data(x=torch.ones(3, 1), y=torch.tensor([0, 1, 0]), class_names=["a", "b"])
    table = pd.DataFrame(
        {"node": ["0", "1"], "given": ["a", "b"], "decision": ["relabel", "keep"], "label": ["b", ""]}, dtype=object
    )
    assert apply_decisions_to_graph(data, table).y.tolist() == [1, 1, 0]
    data.y = torch.tensor([1, 1, 0])  # what was decided is there already
    assert apply_decisions_to_graph(data, table).y.tolist() == [1, 1, 0]
    data.y = torch.tensor([0, 0, 0])
    with pytest.raises(DataError, match="at 1 of 2 decided nodes: '1' has 'a', reviewed was 'b'"):
        apply_decisions_to_graph(data, table)
    kept = pd.DataFrame({"node": ["1"], "decision": ["keep"], "label": ["b"]}, dtype=object)  # as in *.trusted.csv
    with pytest.raises(DataError, match="'1' has 'a', reviewed was 'b'"):
        apply_decisions_to_graph(data, kept)

    file, out = tmp_path / "n.csv", tmp_path / "o.csv"
    file.write_text("label\n3.0\n2\n1\n")
    same = {"0": "3", "1": "2"}
    assert write_corrected_labels(file, out, {"0": "1"}, label_column="label", id_column=None, reviewed=same) == 1
    with pytest.raises(DataError, match="at 1 of 2 decided nodes: '1' has '2', reviewed was '1'"):
        write_corrected_labels(file, out, {"0": "1"}, label_column="label", id_column=None, reviewed=same | {"1": "1"})


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("n.csv", b"x,label\n1,cat\n\n2,dog\n3,\n", b"x,label\n1,cat\n\n2,cat\n3,dog\n"),
        (
            "n.jsonl",
            b'{"label": "cat"}\n\n{"label": "dog", "x": 2}\n{"label": null}\n',
            b'{"label": "cat"}\n\n{"label": "cat", "x": 2}\n{"label": "dog"}\n',
        ),
    ],
)
def test_without_ids_nodes_are_rows(tmp_path: Path, name: str, content: bytes, expected: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    out = tmp_path / f"o.{name}"
    assert (
        write_corrected_labels(
            tmp_path / name, out, {"0": "cat", "1": "cat", "2": "dog"}, label_column="label", id_column=None
        )
        == 2
    )
    assert out.read_bytes() == expected


def test_precision_needs_flagged_labels_and_has_no_width_where_all_were_checked() -> None:
    rows = {"stratum": range(5), "inclusion": 1.0, "decision": ["relabel"] * 4 + ["keep"]}
    top = pd.DataFrame({"part": "top", **rows})
    found = estimate_from_review(top)
    assert (found.top_precision, found.precision, found.precision_interval) == (0.8, None, None)
    found = estimate_from_review(pd.concat([top, top.assign(part="flagged")], ignore_index=True))
    assert found.precision_interval == (0.8, 0.8)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_labels_are_corrected_in_the_encoding_of_the_file(tmp_path: Path, encoding: str) -> None:
    text = "N° client;Ville;métier\r\né1;Nîmes;boulangère\r\né2;Orléans;épicier\r\n"
    path, out = tmp_path / "clients.csv", tmp_path / "corrected.csv"
    path.write_bytes(text.encode(encoding))
    options = {"label_column": "métier", "id_column": "N° client"}
    assert write_corrected_labels(path, out, {"é2": "boulangère"}, **options) == 1
    assert out.read_bytes() == text.replace("épicier", "boulangère").encode(encoding)
    if encoding == "cp1252":
        with pytest.raises(DataError, match="cp1252, which has no 'ł'"):
            write_corrected_labels(path, out, {"é2": "łódź"}, **options)
