"""pignn audit and pignn apply, from files to a corrected file."""

from __future__ import annotations

import csv
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from pignn import graphs
from pignn.noise import corrupt


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A graph as CSV files with one wrong label in five; classes that a spreadsheet would take for formulas."""
    data = corrupt(
        graphs.csbm(300, 2, homophily=0.9, degree=8, signal=3.0, num_features=4), "symmetric", 0.2, splits="all"
    )
    names = ["=1+1", "@b"]
    with (tmp_path / "nodes.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "a", "b", "c", "d", "label", "truth", "who"])
        for i in range(300):
            x = [f"{v:.4f}" for v in data.x[i].tolist()]
            rows.writerow([f"n{i}", *x, names[data.y[i]], names[data.y_true[i]], f"p{i % 4}"])
    with (tmp_path / "edges.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["source", "target"])
        rows.writerows([f"n{a}", f"n{b}"] for a, b in data.edge_index.t().tolist() if a < b)
    return tmp_path


def arguments(files: Path, *more: object) -> tuple[object, ...]:
    own = ("--nodes", files / "nodes.csv", "--edges", files / "edges.csv", "--label", "label", "--features", "a,b,c,d")
    return ("audit", *own, *more)


def test_from_files_to_a_corrected_file(files: Path, command: Any) -> None:
    out = files / "audit"
    done = command(*arguments(files, "--review", 60, "--source", "who", "--out", out))
    assert done.code == 0, done.err
    assert "estimated wrong" in done.out
    assert "by source" in done.out
    nodes = files / "nodes.csv"
    rest = f"--nodes {nodes} --id id --label label --out {files / 'nodes.corrected.csv'}"
    assert f"then: pignn apply {out / 'review.csv'} {rest}\n" in done.err
    assert f'"apply_command":"pignn apply decisions.csv {rest}"' in (out / "audit.html").read_text()
    facts = json.loads((out / "audit.json").read_text())
    assert abs(facts["noise"]["rate"] - 0.2) < 0.08
    suspects = (out / "suspects.csv").read_text().splitlines()
    assert len(suspects) == 301
    assert "'=1+1" in suspects[1]
    assert ",=1+1" not in suspects[1]
    assert "agreement, not accuracy" in (out / "card.md").read_text()

    with (files / "nodes.csv").open(newline="") as file:
        truth = {row["id"]: row["truth"] for row in csv.DictReader(file)}
    with (out / "review.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 60
    for row in rows:
        right = truth[row["node"]]
        row["decision"] = "keep" if row["given"].removeprefix("'") == right else "relabel"
        row["label"] = "" if row["decision"] == "keep" else right
    with (files / "decisions.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)

    fixed = files / "fixed.csv"
    to = ("apply", files / "decisions.csv", "--nodes", files / "nodes.csv", "--label", "label", "--out", fixed)
    done = command(*to, "--json")
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert told["rate_interval"][0] <= 0.2 <= told["rate_interval"][1]
    assert told["top_precision"] > 0.8
    before, after = ((files / name).read_bytes().splitlines() for name in ("nodes.csv", "fixed.csv"))
    differ = sum(a != b for a, b in zip(before, after, strict=True))
    assert differ == told["changed"] == sum(row["decision"] == "relabel" for row in rows)
    assert "'=1+1" in (files / "fixed.trusted.csv").read_text()
    command(*to).fails("exists already")
    command(*to[:-1], files / "nodes.csv").fails("is an input, which stays as it is")

    again = command(*arguments(files, "--decisions", files / "decisions.csv", "--json"))
    assert again.code == 0, again.err
    assert json.loads(again.out)["expected_wrong"] < facts["expected_wrong"]


def test_a_named_dataset(command: Any) -> None:
    done = command(
        "audit", "--dataset", "csbm", "--data", "num_nodes=200", "--noise", "pair", "--rate", "0.2", "--json"
    )
    assert done.code == 0, done.err
    assert json.loads(done.out)["labels"] == 200


def test_what_to_do_after_a_review_of_a_named_dataset(tmp_path: Path, command: Any) -> None:
    done = command("audit", "--dataset", "csbm", "--data", "num_nodes=120", "--review", 9, "--out", tmp_path / "a")
    assert f"fill in 'decision', then audit again, with --decisions {tmp_path / 'a' / 'review.csv'}" in done.err


def test_a_method_with_settings(command: Any) -> None:
    named = (
        "audit",
        "--dataset",
        "csbm",
        "--data",
        "num_nodes=120",
        "--noise",
        "pair",
        "--rate",
        "0.2",
        "--folds",
        2,
        "--json",
    )
    done = command(*named, "--method", "pi-gnn", "--set", "epochs=3", "--set", "warmup=1")
    assert done.code == 0, done.err
    assert json.loads(done.out)["method"] == "pi-gnn (epochs=3, warmup=1)"


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        (("--review", 5), "--review needs --out"),
        (("--noise", "pair", "--rate", 0.2), "for --dataset"),
        (("--method", "gess"), "unknown method"),
        (("--set", "epochs=5"), "'smoothed' has no settings"),
        (("--method", "pi-gnn", "--set", "epoch=5"), "did you mean 'epochs'?"),
        (("--method", "pi-gnn", "--set", "seed=5"), "use --seed"),
        (("--nodes", "missing.csv", "--method", "pi-gnn", "--set", "epochs=0"), "epochs"),
        (("--decisions", "missing.csv"), "no such file of decisions"),
        (("--folds", 1), "folds"),
    ],
)
def test_mistakes_are_one_line(files: Path, command: Any, extra: tuple[object, ...], words: str) -> None:
    done = command(*arguments(files, *extra))
    assert done.code == 2
    assert words in done.err
    assert "Traceback" not in done.err


def test_an_audit_is_not_replaced_by_accident(files: Path, command: Any) -> None:
    out = files / "audit"
    assert command(*arguments(files, "--out", out)).code == 0
    command(*arguments(files, "--out", out)).fails("holds an audit")
    assert command(*arguments(files, "--out", out, "--force")).code == 0


@pytest.fixture
def reviewed(tmp_path: Path) -> Path:
    """Papers with ids in a column 'paper', and a review of two of them beside the audit.json of their audit."""
    (tmp_path / "papers.csv").write_text("paper,topic\na,sport\nb,politics\nc,sport\n")
    (tmp_path / "audit.json").write_text(json.dumps({"origin": {"id": "paper"}}))
    return tmp_path


def apply(folder: Path, rows: str, *more: object) -> tuple[object, ...]:
    (folder / "review.csv").write_text(f"node,given,suggested,part,stratum,inclusion,decision,label\n{rows}")
    own = ("--nodes", folder / "papers.csv", "--label", "topic", "--out", folder / "fixed.csv")
    return ("apply", folder / "review.csv", *own, *more)


def test_a_misspelt_class_is_refused(reviewed: Path, command: Any) -> None:
    to = apply(reviewed, "a,sport,politics,top,0,1,relabel,politcs\n")
    command(*to).fails("unknown class 'politcs'", "did you mean 'politics'?", "'a'", "--new-class")
    assert not list(reviewed.glob("fixed*"))
    assert command(*to, "--new-class").code == 0
    assert "a,politcs\n" in (reviewed / "fixed.csv").read_text()


def test_a_file_that_changed_since_the_review(reviewed: Path, command: Any) -> None:
    to = apply(reviewed, "a,sport,politics,top,0,1,relabel,politics\nb,sport,politics,rest,0,0.5,keep,\n")
    command(*to).fails("'b' has 'politics', reviewed was 'sport'")
    assert not list(reviewed.glob("fixed*"))


@pytest.mark.parametrize("decision", ["", "unsure"])
def test_a_review_with_nothing_decided(reviewed: Path, command: Any, decision: str) -> None:
    rows = f"a,sport,politics,top,0,1,{decision},\nb,politics,sport,rest,0,0.5,{decision},\n"
    command(*apply(reviewed, rows)).fails("nothing is decided yet")
    assert not list(reviewed.glob("fixed*"))


def test_a_review_that_lost_its_last_rows(reviewed: Path, command: Any) -> None:
    to = apply(reviewed, "")
    rows = "a,sport,politics,top,0,1,3,keep,\nb,politics,sport,rest,0,0.5,3,keep,\n"
    (reviewed / "review.csv").write_text(
        f"node,given,suggested,part,stratum,inclusion,review_size,decision,label\n{rows}"
    )
    command(*to).fails("review.csv: 1 of the 3 rows of the review are missing", "with an empty 'decision'")
    assert not list(reviewed.glob("fixed*"))


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("a,sport,politics,top,0,1,,politics\n", "write relabel in 'decision'"),
        ("nobody,sport,politics,top,0,1,keep,\n", "no row for 1 of 1 decided nodes, first 'nobody'"),
    ],
)
def test_decisions_that_cannot_be_meant(reviewed: Path, command: Any, rows: str, words: str) -> None:
    command(*apply(reviewed, rows)).fails(words)
    assert not list(reviewed.glob("fixed*"))


def test_without_the_given_label_a_kept_one_must_be_there(reviewed: Path, command: Any) -> None:
    to = apply(reviewed, "")
    (reviewed / "review.csv").write_text("node,decision,label\na,keep,sport\nb,keep,sport\n")
    command(*to).fails("'b' has 'politics', reviewed was 'sport'")


def test_an_audit_of_a_corrected_file_says_so(files: Path, command: Any) -> None:
    (files / "nodes.trusted.csv").write_text("node,label\n")
    done = command(*arguments(files))
    assert "nodes.trusted.csv is beside nodes.csv, so `pignn apply` has corrected it" in done.err
    assert "by Dawid–Skene" in done.out
    assert "suspects" in done.out


def test_ids_as_the_audit_knew_them(reviewed: Path, command: Any) -> None:
    rows = "a,sport,politics,top,0,1,relabel,\nb,politics,sport,rest,0,0.5,keep,\n"
    done = command(*apply(reviewed, rows))
    assert done.code == 0, done.err
    assert (reviewed / "fixed.csv").read_text() == "paper,topic\na,politics\nb,politics\nc,sport\n"
    assert "ids are column 'paper'" in done.err
    assert "ORIGINAL" in done.err
    assert f"--nodes {reviewed / 'papers.csv'} --decisions {reviewed / 'review.csv'}" in done.err
    told = command(*apply(reviewed, rows, "--force", "--id", "paper"))
    assert told.code == 0
    assert "ids are column" not in told.err
    for text in ("{", "[]", '{"origin": {}}'):
        (reviewed / "audit.json").write_text(text)
        command(*apply(reviewed, rows, "--force")).fails("no column 'id'", "--id")
    (reviewed / "audit.json").write_text('{"origin": {"id": null}}')  # a table without ids
    by_row = "0,sport,politics,top,0,1,relabel,\n1,politics,sport,rest,0,0.5,keep,\n"
    numbered = command(*apply(reviewed, by_row, "--force"))
    assert "ids are row numbers" in numbered.err
    assert (reviewed / "fixed.csv").read_text() == "paper,topic\na,politics\nb,politics\nc,sport\n"


def test_decisions_that_lie_elsewhere(files: Path, command: Any) -> None:
    """Browsers put them into a folder of their own; the command of the page works from there, without ids too."""
    out, nodes = files / "an audit", files / "nodes.csv"
    lines = [line.split(",", 1)[1] for line in nodes.read_text().splitlines()]
    nodes.write_text("".join(f"{line}\n" for line in lines))
    edges = files / "edges.csv"
    edges.write_text(edges.read_text().replace("n", ""))
    assert command(*arguments(files, "--review", 9, "--out", out)).code == 0
    shown = re.search(r'"apply_command":"(.*?)"', (out / "audit.html").read_text())
    assert shown is not None
    words = shlex.split(shown[1])
    assert words[:3] == ["pignn", "apply", "decisions.csv"]
    assert "--id" not in words
    elsewhere = files / "downloads" / "decisions.csv"
    elsewhere.parent.mkdir()
    text = (out / "review.csv").read_text().replace(",,,,\n", ",keep,,,\n")
    elsewhere.write_text(text)
    done = command("apply", elsewhere, *words[3:])
    assert done.code == 0, done.err
    assert "ids are row numbers from 0" in done.err
    assert (files / "nodes.corrected.csv").read_bytes() == nodes.read_bytes()
    without = [word for word in words[3:] if word not in ("--audit", str(out))]
    command("apply", elsewhere, *without, "--force").fails("no column 'id'")
    (out / "audit.json").write_text("{}")
    command("apply", elsewhere, *words[3:], "--force").fails("audit.json", "--id")
