"""Files of decisions that lost rows or contradict themselves are refused in one line that names the rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pignn.auditing import estimate_from_review, read_decisions, sample_for_review, tables, write_corrected_labels
from pignn.core.errors import DataError


def drawn(budget: int = 60) -> pd.DataFrame:
    """A review with all three parts, everything decided."""
    p = np.linspace(1, 0, 500)
    columns = {"node": np.arange(500), "given": 0, "suggested": 1, "p_wrong": p, "neighbor_agreement": 0.5}
    issues = pd.DataFrame(columns | {"flagged": p > 0.4, "trusted": False})
    return sample_for_review(issues, budget).assign(decision="keep")


@pytest.mark.parametrize("lost", [[0], [58, 59], range(30, 60), range(30)])
def test_missing_rows_of_a_review_are_noticed(tmp_path: Path, lost: list[int]) -> None:
    """From the start, from the end, and whole parts."""
    chosen = drawn()
    assert set(chosen["part"]) == {"top", "flagged", "rest"}
    with pytest.raises(DataError, match=f"{len(lost)} of the 60 rows of the review are missing; put them back"):
        estimate_from_review(chosen.drop(index=lost))
    table = tables.build_review_table(chosen, ["a", "b"]).assign(decision="keep")
    tables.write_spreadsheet_safe_csv(tmp_path / "review.csv", table.drop(index=lost))
    with pytest.raises(DataError, match=r"review.csv: .* of the 60 rows of the review are missing"):
        estimate_from_review(read_decisions(tmp_path / "review.csv"))


def test_a_whole_review_is_read_from_its_file(tmp_path: Path) -> None:
    chosen = drawn()
    tables.write_spreadsheet_safe_csv(
        tmp_path / "review.csv", tables.build_review_table(chosen, ["a", "b"]).assign(decision="keep")
    )
    found = estimate_from_review(read_decisions(tmp_path / "review.csv"))
    assert found.reviewed == 60
    assert found.rate_interval == pytest.approx(estimate_from_review(chosen).rate_interval)


def test_without_review_size_missing_rows_are_noticed_by_their_strata() -> None:
    chosen = drawn().drop(columns="review_size")
    assert estimate_from_review(chosen).reviewed == 60
    assert estimate_from_review(chosen.assign(review_size="")).reviewed == 60
    for part in ("top", "rest"):
        first = chosen.index[chosen["part"] == part][0]
        with pytest.raises(DataError, match=f"1 rows of part '{part}' are missing"):
            estimate_from_review(chosen.drop(index=first))


def test_rows_of_several_reviews_are_refused() -> None:
    chosen = drawn()
    added = pd.DataFrame({"part": [""], "review_size": [""], "decision": ["keep"]})
    assert estimate_from_review(pd.concat([chosen, added])).reviewed == 61  # rows of the reviewer's own are not counted
    for mixed in (pd.concat([chosen, drawn(40)]), pd.concat([chosen, chosen]), chosen.assign(review_size="many")):
        with pytest.raises(DataError, match="'review_size' must be one number"):
            estimate_from_review(mixed)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("1,a,b,,b\n2,a,b,keep,\n3,a,b,,c\n", "'decision' is empty, in rows 2, 4; write relabel in 'decision'"),
        ("1,a,b,keep,b\n", "'decision' is keep, but 'label' is not the given one, in row 2"),
        ("1,a,b,relabel, a\n", "'decision' is relabel, but 'label' is the given one, in row 2; write keep"),
        ("1,3.0,b,relabel,3\n", "'label' is the given one"),
        ("".join(f"{n},a,b,,b\n" for n in range(9)), "in rows 2, 3, 4, 5, 6 and 4 more"),
    ],
)
def test_a_label_that_contradicts_its_decision_is_refused(tmp_path: Path, rows: str, words: str) -> None:
    (tmp_path / "d.csv").write_text(f"node,given,suggested,decision,label\n{rows}")
    with pytest.raises(DataError, match=words) as error:
        read_decisions(tmp_path / "d.csv")
    assert "\n" not in str(error.value)


def test_labels_that_fit_their_decision_are_accepted(tmp_path: Path) -> None:
    rows = (
        "1,a,b,,\n2,a,b,,a\n3,a,b,keep,a\n4,a,b,keep,\n5,a,b,unsure,b\n6,a,b,relabel,\n7,a,b,relabel,c\n8,,b,keep,b\n"
    )
    (tmp_path / "d.csv").write_text(f"node,given,suggested,decision,label\n{rows}")
    assert read_decisions(tmp_path / "d.csv")["label"].tolist() == ["", "a", "a", "", "b", "b", "c", "b"]


def test_without_a_given_label_every_label_needs_a_decision(tmp_path: Path) -> None:
    file = tmp_path / "d.csv"
    file.write_text("node,decision,label\n1,keep,a\n2,relabel,b\n")
    assert len(read_decisions(file)) == 2
    file.write_text("node,decision,label\n1,,a\n")
    with pytest.raises(DataError, match="'decision' is empty, in row 2"):
        read_decisions(file)


@pytest.mark.parametrize(
    ("name", "text", "row"),
    [
        ("d.csv", "node,decision,label\n1,keep,\n2,maybe,\n", 3),
        (
            "d.csv",
            '\nnode,decision,label\n\n"1\n",keep,\n,,\n2,maybe,\n',
            6,
        ),  # blank rows count, lines in a cell do not
        ("d.jsonl", '{"node": 1, "decision": "keep", "label": ""}\n{"node": 2, "decision": "maybe", "label": ""}\n', 2),
    ],
)
def test_rows_are_counted_as_a_spreadsheet_does(tmp_path: Path, name: str, text: str, row: int) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=f"row {row} has the decision 'maybe'"):
        read_decisions(tmp_path / name)


def test_a_kept_node_must_be_in_the_file(tmp_path: Path) -> None:
    file, out = tmp_path / "n.csv", tmp_path / "o.csv"
    file.write_text("id,label\na,x\nb,y\n")
    assert (
        write_corrected_labels(
            file, out, {"a": "y"}, label_column="label", id_column="id", reviewed={"a": "x", "b": ""}
        )
        == 1
    )
    with pytest.raises(DataError, match="no row for 1 of 2 decided nodes, first 'c'"):
        write_corrected_labels(
            file, out, {"a": "y"}, label_column="label", id_column="id", reviewed={"a": "x", "c": "x"}
        )
