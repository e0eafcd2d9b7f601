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

from .conftest import CLASSES, HOSTILE, flags
from .driver import browser, flaws, left_out, missing, requests

pytestmark = pytest.mark.skipif(left_out(), reason=missing() or "a browser is there")


@pytest.fixture(scope="module")
def audited(own_files: Path) -> Path:
    """The folder with hostile files and the audit of them."""
    arguments = ["audit", *flags(own_files), "--source", "who", "--review", 40, "--out", own_files / "audit"]
    assert pignn.cli.run([str(argument) for argument in arguments]) == 0
    return own_files


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
    assert "0 of 40 labels of the review decided" in told(driver, "progress-text")
    driver.find_element("id", "reviewer").send_keys("Ä. Reviewer, <b>")

    # Sort by node, twice; then by p wrong, the highest first.
    heads = driver.find_elements("css selector", "#headings button")
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
    progress = told(driver, "progress-text")
    assert "5 of 40 labels of the review decided (3 relabel, 1 keep, 1 unsure; 0 outside the review)" in progress
    driver.refresh()
    assert "5 of 40 labels of the review decided (3 relabel" in told(driver, "progress-text")
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
        for name in ("given", "suggested", "part", "stratum", "review_size"):
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
    assert CLASSES[0] in told(driver, "transition")
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


def test_the_policy_blocks_what_is_injected(opened: Any) -> None:
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


def test_a_bad_decision_file_is_explained_in_one_line(opened: Any, tmp_path: Path) -> None:
    for text, words in (
        ("node,label\nn5,x\n", "no column 'decision'"),
        ("node,decision,label\nn5,perhaps,\n", "row 2 has the decision 'perhaps'"),
        ("node,decision,label\nn5,relabel,nobody\n", "which is not a class of this audit"),
        ("node,decision,label\n\nn5,,nobody\n", "row 3 has the decision '', but the label 'nobody'"),
        ("node,decision,label\nn5,keep,nobody\n", "row 2 has the decision 'keep', but the label 'nobody'"),
        ('node,decision,label\n"n5,keep,\n', "a quote is not closed"),
        ("node,decision,label\nnobody,keep,\n", "1 rows name nodes that are not on this page"),
    ):
        path = tmp_path / "bad.csv"
        path.write_text(text)
        opened.find_element("id", "load").send_keys(str(path))
        time.sleep(0.3)
        assert words in told(opened, "status")
        assert "0 of 40" in told(opened, "progress-text")


def test_decisions_of_a_second_reviewer_are_merged_and_overrule_nobody(opened: Any, tmp_path: Path) -> None:
    driver = opened
    driver.find_element("css selector", "#h-suspects").click()
    nodes = []
    for key in "ku":
        nodes.append(unguarded(node(driver)))
        press(driver, key)
    third = unguarded(node(driver))
    path = tmp_path / "second.csv"
    rows = [f"{nodes[0]},unsure,,B", f"{nodes[1]},unsure,,B", f"{third},keep,,B"]
    path.write_text("\n".join(["node,decision,label,reviewer", *rows]) + "\n")
    driver.find_element("id", "load").send_keys(str(path))
    time.sleep(0.3)
    status = told(driver, "status")
    assert "1 decisions loaded; 1 are here already; 1 contradict decisions that are here, which stay" in status
    assert f"{nodes[0]} (here ✓ keep, in the file ? unsure by B)" in status
    taken = {unguarded(row["node"]): row["decision"] for row in downloaded(driver, tmp_path) if row["decision"]}
    assert taken == {nodes[0]: "keep", nodes[1]: "unsure", third: "keep"}


def test_escape_empties_the_search(opened: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    before = column(opened, 0)
    search = opened.find_element("id", "search")
    search.send_keys("nothing has this")
    time.sleep(0.4)
    assert column(opened, 0) == []
    search.send_keys(Keys.ESCAPE)
    time.sleep(0.3)
    assert search.get_attribute("value") == ""
    assert column(opened, 0) == before


def stops(driver: Any) -> list[tuple[str, float, float]]:
    """(id of the part, left, top) of what the Tab key reaches in the suspects, in its order."""
    script = """
    const parts = ['list-part', 'detail'], found = [];
    for (const element of document.querySelectorAll('#split button, #split select, #split [tabindex="0"]')) {
      if (element.disabled || element.tabIndex < 0 || !element.checkVisibility()) continue;
      const box = element.getBoundingClientRect();
      found.push([parts.find((id) => document.getElementById(id).contains(element)), box.left, box.top]);
    }
    return found;
    """
    return [tuple(found) for found in driver.execute_script(script)]


@pytest.mark.parametrize("width", [390, 1440])
def test_the_tab_key_follows_the_reading_order(audited: Path, tmp_path: Path, width: int) -> None:
    with browser(tmp_path, size=(width, 1000)) as driver:
        driver.get((audited / "audit" / "audit.html").as_uri())
        found = stops(driver)
        parts = [part for part, _, _ in found]
        boxes = {part: [(left, top) for name, left, top in found if name == part] for part in parts}
        if width == 1440:  # the list on the left, the suspect on the right
            assert list(boxes) == ["list-part", "detail"]
            assert max(left for left, _ in boxes["list-part"]) < min(left for left, _ in boxes["detail"])
        else:  # the suspect above the list
            assert list(boxes) == ["detail", "list-part"]
            assert max(top for _, top in boxes["detail"]) < min(top for _, top in boxes["list-part"])
        # The rows of the list are one stop: headers, the list itself, one row, and the buttons of its pages.
        assert len(boxes["list-part"]) < 15


def test_the_focus_stays_where_the_keyboard_left_it(opened: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    focused = "return document.activeElement.textContent + '|' + document.activeElement.closest('[id]').id"
    driver = opened
    driver.execute_script("document.querySelectorAll('#detail .choices button')[2].focus()")
    first = node(driver)
    for _ in range(2):
        driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert "2 unsure" in told(driver, "progress-text")
    assert node(driver) != first
    assert driver.execute_script(focused).startswith("Unsure")
    # Arrows move in the list with the shortcuts off as well, and the focus with them.
    driver.find_element("id", "keys").click()
    driver.execute_script("document.querySelector('#rows tr.now button').focus()")
    before = node(driver)
    driver.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    assert node(driver) != before
    assert driver.execute_script(
        "return document.activeElement.closest('tr') === document.querySelector('#rows tr.now')"
    )
    driver.switch_to.active_element.send_keys("k")
    assert "0 keep" in told(driver, "progress-text")
    # A button that is switched off hands the focus on.
    for _ in range(2):
        driver.find_element("id", "undo").click()
    assert driver.execute_script("return document.activeElement.id") == "download"


@pytest.mark.skipif("PIGNN_AXE" not in os.environ, reason="no accessibility check: PIGNN_AXE must name axe.min.js")
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1440])
def test_axe_finds_nothing(audited: Path, tmp_path: Path, dark: bool, width: int) -> None:
    with browser(tmp_path, dark=dark, size=(width, 1000)) as driver:
        driver.get((audited / "audit" / "audit.html").as_uri())
        press(driver, "rku")
        assert flaws(driver) == []
        assert driver.execute_script("return document.documentElement.scrollWidth <= innerWidth")
