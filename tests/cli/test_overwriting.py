"""Nobody's file is lost: inputs never, and what is no output of ours only with --force."""

from __future__ import annotations

import shutil

import pytest

NODES = "id,a,b,label\n" + "".join(f"{i},{i % 5},{i % 3},{'xyz'[i % 3]}\n" for i in range(60))
EDGES = "source,target\n" + "".join(f"{i},{(i + 3) % 60}\n" for i in range(60))
OWN = ("--nodes", "nodes.csv", "--edges", "edges.csv", "--label", "label")
TRAIN = ("train", *OWN, "--method", "prototypes", "--out")
AUDIT = ("audit", *OWN, "--review", 5, "--out")


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nodes.csv").write_text(NODES)
    (tmp_path / "edges.csv").write_text(EDGES)
    (tmp_path / "out").mkdir()
    return tmp_path


@pytest.mark.parametrize("name", ["predictions.csv", "report.html", "model/model.json"])
def test_a_run_spares_files_that_are_of_no_run(command, files, name):
    mine = files / "out" / name
    mine.parent.mkdir(exist_ok=True)
    mine.write_text("mine")
    command(*TRAIN, "out", "--report").fails(name, "exists already; --force")
    assert mine.read_text() == "mine"
    assert command(*TRAIN, "out", "--report", "--force").code == 0
    assert mine.read_text() != "mine"
    assert command(*TRAIN, "out", "--force").code == 0


@pytest.mark.parametrize("name", ["suspects.csv", "review.csv", "card.md"])
def test_an_audit_spares_files_that_are_of_no_audit(command, files, name):
    (files / "out" / name).write_text("mine")
    command(*AUDIT, "out").fails(name, "exists already; --force")
    assert (files / "out" / name).read_text() == "mine"
    assert command(*AUDIT, "out", "--force").code == 0


@pytest.mark.parametrize(("first", "name"), [(TRAIN, "predictions.csv"), (AUDIT, "suspects.csv")])
def test_an_input_is_never_replaced(command, files, first, name):
    shutil.move("nodes.csv", f"out/{name}")
    (files / "nodes.csv").symlink_to(f"out/{name}")
    command(*first, "out", "--force").fails(f"{name} is an input, which stays as it is")
    assert (files / "out" / name).read_text() == NODES


def test_what_predict_reads_stays(command, files):
    assert command(*TRAIN, "out").code == 0
    model = (files / "out" / "model" / "model.json").read_bytes()
    for name in ("nodes.csv", "edges.csv", "out/model/model.json"):
        command("predict", "out", *OWN[:4], "--out", name, "--force").fails("is an input")
    assert (files / "nodes.csv").read_text() == NODES
    assert (files / "edges.csv").read_text() == EDGES
    assert (files / "out" / "model" / "model.json").read_bytes() == model


def test_decisions_stay(command, files):
    assert command(*AUDIT, "out").code == 0
    review = files / "out" / "review.csv"
    decided = review.read_text().replace(",,", ",keep,", 1)
    review.write_text(decided)
    to = ("apply", "out/review.csv", "--nodes", "nodes.csv", "--label", "label", "--force", "--out")
    command(*to, "out/review.csv").fails("review.csv is an input")
    shutil.copy(review, "a.trusted.csv")
    command("apply", "a.trusted.csv", *to[2:], "a.csv").fails("a.trusted.csv is an input")
    command(*AUDIT, "out", "--decisions", "out/review.csv", "--force").fails("review.csv is an input")
    assert review.read_text() == decided
