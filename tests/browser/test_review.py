"""A person's way through the page in a real browser: look, sort, filter, decide, reload, undo, download, apply."""

from __future__ import annotations

import csv
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pignn.cli
from pignn import graphs
from pignn.noise import corrupt

from .driver import browser, missing, requests

# Where the tests must not be left out, PIGNN_BROWSER=required makes them fail without a browser.
left_out = bool(missing()) and os.environ.get("PIGNN_BROWSER") != "required"
pytestmark = pytest.mark.skipif(left_out, reason=missing() or "a browser is there")

CLASSES = ['<img src=x onerror="window.hurt=1">', "=1+1", 'Größe, "groß" \u202eabc\u202c']
HOSTILE = {0: "</script><script>window.hurt=2</script>", 1: "y" * 10_000, 2: "<svg onload=window.hurt=3>", 3: "-3,x"}


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of a graph with hostile names in every column, and the audit of them."""
    folder = tmp_path_factory.mktemp("audited")
    clean = graphs.csbm(240, 3, homophily=0.9, degree=8, signal=3.0, features=3)
    data = corrupt(clean, "symmetric", 0.2, splits="all")
    ids = [HOSTILE.get(i, f"n{i}") for i in range(240)]
    with (folder / "nodes.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "a", "b", "c", "label", "remark", "who"])
        for i in range(240):
            remark = f"<b onclick=window.hurt=4>remark {i}</b>"
            rows.writerow([ids[i], *data.x[i].tolist(), CLASSES[data.y[i]], remark, f"<i>p{i % 4}</i>"])
    with (folder / "edges.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["source", "target"])
        rows.writerows([ids[a], ids[b]] for a, b in data.edge_index.t().tolist() if a < b)
    files = ["--nodes", folder / "nodes.csv", "--edges", folder / "edges.csv", "--label", "label", "--source", "who"]
    arguments = ["audit", *files, "--features", "a,b,c", "--review", 40, "--out", folder / "audit"]
    assert pignn.cli.run([str(argument) for argument in arguments]) == 0
    return folder


@pytest.fixture
def opened(audited: Path, tmp_path: Path) -> Iterator[Any]:
    with browser(tmp_path) as driver:
        driver.get((audited / "audit" / "audit.html").as_uri())
        driver.execute_script("localStorage.clear()")
        driver.refresh()
        yield driver


def press(driver: Any, keys: str) -> None:
    for key in keys:
        driver.find_element("tag name", "body").send_keys(key)


def choose(driver: Any, name: str, text: str) -> None:
    from selenium.webdriver.support.ui import Select

    Select(driver.find_element("id", name)).select_by_visible_text(text)


def told(driver: Any, name: str) -> str:
    return driver.execute_script("return document.getElementById(arguments[0]).textContent", name)


def column(driver: Any, number: int) -> list[str]:
    script = "return [...document.querySelectorAll('#rows tr')].map(tr => tr.children[arguments[0]].textContent)"
    return driver.execute_script(script, number)


def node(driver: Any) -> str:
    return driver.execute_script("return document.querySelector('#detail .id').textContent")


def downloaded(driver: Any, folder: Path) -> list[dict[str, str]]:
    driver.find_element("id", "download").click()
    path = folder / "decisions.csv"
    for _ in range(100):
        if path.exists():
            break
        time.sleep(0.1)
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def unguarded(text: str) -> str:
    return text[1:] if text.startswith("'") else text


def test_from_the_page_to_a_corrected_file(opened: Any, audited: Path, tmp_path: Path) -> None:
    driver = opened
    assert "0 of 40 of the review decided" in told(driver, "progress-text")
    driver.find_element("id", "reviewer").send_keys("Ä. Reviewer, <b>")

    # Sort by node, twice; then by p wrong, the highest first.
    heads = driver.find_elements("css selector", "#heads button")
    heads[0].click()
    up = column(driver, 0)
    heads[0].click()
    assert column(driver, 0) == up[::-1]
    assert up != up[::-1]
    heads[2].click()
    scores = [float(text.replace("<", "")) for text in column(driver, 2)]
    assert scores == sorted(scores, reverse=True)

    # Filter by source, by class and by score.
    choose(driver, "show", "all suspects")
    assert "of 240" in told(driver, "page")
    choose(driver, "source", "<i>p1</i>")
    assert "of 60" in told(driver, "page")
    choose(driver, "given", "=1+1")
    shown = column(driver, 1)
    assert shown
    assert all(text.startswith("=1+1") for text in shown)
    choose(driver, "source", "all sources")
    choose(driver, "given", "all classes")
    search = driver.find_element("id", "search")
    search.send_keys("REMARK 17<")
    time.sleep(0.4)
    assert column(driver, 0) == ["n17"]
    search.clear()
    choose(driver, "show", "the review")
    time.sleep(0.3)

    # Decide by keyboard, reload, go on, undo.
    driver.find_element("css selector", "#h-suspects").click()
    chosen = []
    for key in "rkur1":
        chosen.append(node(driver))
        press(driver, key)
    assert len(set(chosen)) == 5
    assert "5 of 40 of the review decided (3 relabel, 1 keep, 1 unsure; 0 besides)" in told(driver, "progress-text")
    driver.refresh()
    assert "5 of 40 of the review decided (3 relabel" in told(driver, "progress-text")
    assert driver.find_element("id", "reviewer").get_attribute("value") == "Ä. Reviewer, <b>"
    press(driver, "z")
    assert node(driver) == chosen[4]
    assert "4 of 40" in told(driver, "progress-text")
    # By mouse, another class from the list: neither the given nor the suggested one.
    driver.execute_script("document.querySelectorAll('#rows tr')[6].click()")
    other = node(driver)
    row = driver.execute_script("return document.querySelector('#rows tr.now td:nth-child(2)').textContent")
    third = next(name for name in CLASSES if not row.startswith(name) and not row.endswith("→ " + name))
    choose(driver, "other", third)
    assert "5 of 40" in told(driver, "progress-text")

    rows = downloaded(driver, tmp_path)
    assert len(rows) == 40  # those not decided as well: intervals need them
    decided = {unguarded(row["node"]): row for row in rows if row["decision"]}
    assert {name: decided[name]["decision"] for name in chosen[:4]} == dict(
        zip(chosen[:4], ["relabel", "keep", "unsure", "relabel"], strict=True)
    )
    assert set(decided) == {*chosen[:4], other}
    assert unguarded(decided[other]["label"]) == third
    assert all(row["reviewer"] == "Ä. Reviewer, <b>" and row["time"].endswith("Z") for row in decided.values())
    with (audited / "audit" / "review.csv").open(newline="", encoding="utf-8") as file:
        review = {row["node"]: row for row in csv.DictReader(file)}
    for row in rows:
        for name in ("given", "suggested", "part", "stratum"):
            assert row[name] == review[row["node"]][name]
        assert float(row["inclusion"]) == pytest.approx(float(review[row["node"]]["inclusion"]), rel=1e-14)

    # A half-done file goes on in an empty browser.
    driver.execute_script("localStorage.clear()")
    driver.refresh()
    assert "0 of 40" in told(driver, "progress-text")
    driver.find_element("id", "load").send_keys(str(tmp_path / "decisions.csv"))
    time.sleep(0.3)
    assert "5 of 40" in told(driver, "progress-text")
    (tmp_path / "decisions.csv").rename(tmp_path / "first.csv")
    assert downloaded(driver, tmp_path) == rows

    # Exactly these labels change.
    to = ["apply", tmp_path / "decisions.csv", "--nodes", audited / "nodes.csv", "--label", "label"]
    assert pignn.cli.run([str(argument) for argument in [*to, "--out", tmp_path / "fixed.csv"]]) == 0
    before, after = ((path).read_bytes().splitlines() for path in (audited / "nodes.csv", tmp_path / "fixed.csv"))
    with (audited / "nodes.csv").open(newline="", encoding="utf-8") as file:
        was = list(csv.DictReader(file))
    with (tmp_path / "fixed.csv").open(newline="", encoding="utf-8") as file:
        now = list(csv.DictReader(file))
    wanted = {name: unguarded(row["label"]) for name, row in decided.items() if row["decision"] == "relabel"}
    assert {b["id"]: b["label"] for a, b in zip(was, now, strict=True) if a != b} == wanted
    assert sum(a != b for a, b in zip(before, after, strict=True)) == len(wanted) == 3


def test_hostile_text_is_shown_as_text_and_nothing_is_fetched(opened: Any) -> None:
    driver = opened
    choose(driver, "show", "all suspects")
    for name in HOSTILE.values():
        search = driver.find_element("id", "search")
        search.clear()
        search.send_keys(name[:60])
        time.sleep(0.4)
        driver.execute_script("document.querySelector('#rows tr').click()")
        assert node(driver) == name
        assert "<b onclick" in told(driver, "detail")
    assert CLASSES[0] in told(driver, "heat")
    assert CLASSES[0] in told(driver, "by-class")
    assert driver.execute_script("return window.hurt === undefined")
    assert (
        driver.execute_script("return document.querySelectorAll('img, iframe, #detail b[onclick], script').length") == 2
    )
    assert driver.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    asked = requests(driver)
    assert driver.current_url in asked
    assert set(asked) == {driver.current_url}
    assert [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_the_policy_stops_what_is_added(opened: Any) -> None:
    script = """
    const done = arguments[0], told = [];
    addEventListener('securitypolicyviolation', (event) => told.push(event.effectiveDirective));
    const add = (tag, settings) => document.body.append(Object.assign(document.createElement(tag), settings));
    add('img', {src: 'https://pignn.invalid/x.png'});
    add('script', {textContent: 'window.hurt = 5'});
    add('iframe', {src: 'https://pignn.invalid/'});
    fetch('https://pignn.invalid/').catch(() => 0);
    setTimeout(() => done(told), 500);
    """
    opened.set_script_timeout(10)
    stopped = opened.execute_async_script(script)
    assert {"img-src", "script-src-elem", "frame-src", "connect-src"} <= set(stopped)
    assert opened.execute_script("return window.hurt === undefined")


def test_a_bad_file_is_told_in_a_line(opened: Any, tmp_path: Path) -> None:
    for text, words in (
        ("node,label\nn5,x\n", "no column 'decision'"),
        ("node,decision,label\nn5,perhaps,\n", "row 2 has the decision 'perhaps'"),
        ("node,decision,label\nn5,relabel,nobody\n", "which is not one of this audit"),
        ('node,decision,label\n"n5,keep,\n', "a quote is not closed"),
        ("node,decision,label\nnobody,keep,\n", "1 rows are of nodes that are not on this page"),
    ):
        path = tmp_path / "bad.csv"
        path.write_text(text)
        opened.find_element("id", "load").send_keys(str(path))
        time.sleep(0.3)
        assert words in told(opened, "status")
        assert "0 of 40" in told(opened, "progress-text")


@pytest.mark.skipif("PIGNN_AXE" not in os.environ, reason="no accessibility check: PIGNN_AXE must name axe.min.js")
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1440])
def test_nothing_serious_by_axe(audited: Path, tmp_path: Path, dark: bool, width: int) -> None:
    with browser(tmp_path, dark=dark, size=(width, 1000)) as driver:
        driver.get((audited / "audit" / "audit.html").as_uri())
        press(driver, "rku")
        driver.execute_script(Path(os.environ["PIGNN_AXE"]).read_text(encoding="utf-8"))
        driver.set_script_timeout(60)
        found = driver.execute_async_script("axe.run().then(arguments[0])")
        assert found["passes"]
        told = [(one["impact"], one["id"], one["nodes"][0]["html"][:200]) for one in found["violations"]]
        assert [one for one in told if one[0] in ("serious", "critical")] == []
        assert driver.execute_script("return document.documentElement.scrollWidth <= innerWidth")
