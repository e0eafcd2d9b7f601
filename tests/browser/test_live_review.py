"""The live review in a real browser: the loop by keyboard, through reloads, killed servers and a crashed browser."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pignn.reviewing.decision_store import DecisionStore
from pignn.reviewing.project_creation import audit_and_create_project

from .conftest import HOSTILE
from .driver import browser, flaws, left_out, missing, requests

pytestmark = pytest.mark.skipif(left_out(), reason=missing() or "a browser is there")

VIEWS = ("review", "map", "history", "team", "files")


class Server:
    """`pignn review` on a port of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/"
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "pignn", "review", str(self.folder), "--no-browser", "--port", str(self.port)]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        assert "listening on" in (line := self.process.stderr.readline()), line

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()


@pytest.fixture(scope="module")
def server(own_files: Path) -> Iterator[Server]:
    options = {"nodes": own_files / "nodes.csv", "edges": own_files / "edges.csv", "label": "label", "source": "who"}
    audit = {"warn": False, "intervals": False}
    audit_and_create_project(own_files / "project", {"graph": None, "features": "a,b,c", **options}, audit=audit)
    server = Server(own_files / "project")
    yield server
    server.process.terminate()
    server.process.wait(timeout=60)


def press(driver: Any, key: str) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    ActionChains(driver).send_keys(key).perform()


def wait_for(what: Callable[[], Any], seconds: float = 60) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := what():
            return value
        time.sleep(0.02)
    raise AssertionError("it did not happen")


def told(driver: Any, name: str) -> str:
    return driver.execute_script("return document.getElementById(arguments[0]).textContent", name)


def shown(driver: Any) -> str:
    return driver.execute_script("return document.querySelector('#detail .id')?.textContent || ''")


def open_page(driver: Any, server: Server) -> None:
    driver.get(server.url)
    wait_for(lambda: shown(driver))


def decide(driver: Any, key: str) -> None:
    """Press a key that decides, once, and wait until the page moved on."""
    before = shown(driver)
    press(driver, key)
    wait_for(lambda: shown(driver) != before)


def count(server: Server) -> int:
    store = DecisionStore(server.folder / "decisions.sqlite")
    try:
        return len(store.list_current_verdicts())
    finally:
        store.close()


def test_the_whole_loop_by_keyboard_through_reloads_kills_and_a_crash(server: Server, tmp_path: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    keys = [" ", "g", "1", "2", "u", "3", " "]
    done = 0
    with browser(tmp_path) as driver:
        open_page(driver, server)
        for _ in range(20):  # to the field of the name, by the keyboard
            press(driver, Keys.TAB)
            if driver.switch_to.active_element.get_attribute("id") == "reviewer":
                break
        press(driver, "Ä. <b>Reviewer</b>")
        press(driver, Keys.ESCAPE)  # leaves the field
        press(driver, "?")
        assert driver.find_element("id", "help").is_displayed()
        press(driver, Keys.ESCAPE)
        while done < 120:
            if done % 20 == 10:  # moving decides nothing
                before = shown(driver)
                press(driver, "j")
                wait_for(lambda before=before: shown(driver) != before)  # type: ignore[misc]
                press(driver, "k")
                wait_for(lambda before=before: shown(driver) == before)  # type: ignore[misc]
            if done == 50:
                driver.refresh()
                wait_for(lambda: shown(driver))
                assert driver.execute_script("return document.getElementById('reviewer').value") == "Ä. <b>Reviewer</b>"
            if done in (70, 90):
                server.kill()
                server.start()
            decide(driver, keys[done % len(keys)])
            done += 1
            if done in (60, 100):
                assert count(server) == done
        wait_for(lambda: "fitted" in told(driver, "models"))
        assert "interval" in told(driver, "panel")
        assert all(url.startswith((server.url, "data:", "blob:")) for url in requests(driver)), "nothing else is asked"
        service, crashed = driver.service.process.pid, driver
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(service)], capture_output=True, text=True)
        for pid in children.stdout.split():
            os.kill(int(pid), signal.SIGKILL)  # the browser crashes
        del crashed
    assert count(server) == 120
    with browser(tmp_path) as driver:
        open_page(driver, server)
        driver.execute_script("document.getElementById('reviewer').value = 'Ä. <b>Reviewer</b>'")
        while done < 200:
            decide(driver, keys[done % len(keys)])
            done += 1
        assert count(server) == 200
        for key in "zzy":  # pressed faster than they are answered
            press(driver, key)
        wait_for(lambda: count(server) == 199)
        assert driver.execute_script("return window.hurt") is None
        logged = [entry["message"] for entry in driver.get_log("browser")]
        assert [text for text in logged if "favicon" not in text] == []


def test_no_key_is_lost_while_the_server_is_slow(server: Server, tmp_path: Path) -> None:
    slow = (
        "const send = fetch; window.fetch = (...all) => new Promise(go => setTimeout(go, 400)).then(() => send(...all))"
    )
    with browser(tmp_path) as driver:
        open_page(driver, server)
        driver.execute_script(slow)
        before = count(server)
        press(driver, "gu1g")  # faster than they are answered: each for the label that is shown by then
        wait_for(lambda: count(server) == before + 4)
        press(driver, "zzzz")
        wait_for(lambda: count(server) == before)
        wait_for(lambda: told(driver, "status").startswith("Undo"))
        time.sleep(3)  # the undone label is shown
        node = shown(driver)
        script = "const state = document.getElementById('state'); state.value = arguments[0];"
        driver.execute_script(f"{script} state.dispatchEvent(new Event('change'))", "all")
        press(driver, "g")  # while the list is fetched anew: for the label on the screen
        wait_for(lambda: count(server) == before + 1)
        store = DecisionStore(server.folder / "decisions.sqlite")
        decided = store.list_actions_newest_first(limit=1)[0].changes[0].node
        assert HOSTILE.get(decided, f"n{decided}") == node
        store.close()
        press(driver, "z")
        wait_for(lambda: count(server) == before)
        for _ in range(12):  # a key that is held down
            driver.execute_script("document.dispatchEvent(new KeyboardEvent('keydown', {key: 'g', repeat: true}))")
        time.sleep(2)
        assert count(server) == before


def test_a_note_is_kept_without_a_decision(server: Server, tmp_path: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    with browser(tmp_path) as driver:
        open_page(driver, server)
        before, node = count(server), shown(driver)
        for keys in ("n", "seen twice", Keys.ESCAPE):
            press(driver, keys)
        wait_for(lambda: count(server) == before + 1)
        assert shown(driver) == node
        assert "seen twice" in told(driver, "detail")
        decide(driver, "g")
        assert count(server) == before + 1
        for left in (before + 1, before):
            press(driver, "z")
            wait_for(lambda left=left: count(server) == left)  # type: ignore[misc]


def test_search_filters_bulk_and_undo(server: Server, tmp_path: Path) -> None:
    from selenium.webdriver.support.ui import Select

    with browser(tmp_path) as driver:
        open_page(driver, server)
        before = count(server)
        Select(driver.find_element("id", "state")).select_by_visible_text("all")
        driver.execute_script("document.getElementById('filters').open = true")
        Select(driver.find_element("id", "given")).select_by_visible_text("=1+1")
        time.sleep(1)
        texts = driver.execute_script(
            "return [...document.querySelectorAll('#rows tr td:nth-child(2)')].map(e => e.textContent)"
        )
        assert texts
        assert all(text.startswith("=1+1") for text in texts)
        driver.find_element("id", "clear-filters").click()
        driver.find_element("id", "search").send_keys("REMARK 17<")
        wait_for(lambda: told(driver, "queue-text").startswith("1 label "))
        assert "remark 17" in told(driver, "detail")
        driver.find_element("id", "search").clear()
        Select(driver.find_element("id", "state")).select_by_visible_text("undecided")
        driver.find_element("id", "order").click()
        time.sleep(1)
        driver.execute_script("document.activeElement.blur()")
        press(driver, "b")
        wait_for(lambda: driver.find_element("id", "bulk-dialog").is_displayed())
        matching = driver.execute_script("return document.querySelector('#bulk-do').textContent").split()[2]
        driver.find_element("id", "bulk-do").click()
        wait_for(lambda: count(server) == before + int(matching))
        time.sleep(0.5)
        press(driver, "z")
        wait_for(lambda: count(server) == before)


def test_a_lasso_on_the_map_chooses_labels_for_the_queue(server: Server, tmp_path: Path) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    with browser(tmp_path) as driver:
        open_page(driver, server)
        press(driver, "m")
        wait_for(lambda: driver.execute_script("return document.querySelectorAll('#map-legend li').length"))
        driver.find_element("id", "lasso").click()
        actions = ActionChains(driver).move_to_element_with_offset(driver.find_element("id", "canvas"), -350, -300)
        actions.click_and_hold()
        for x, y in ((700, 0), (0, 600), (-700, 0), (0, -600)):
            actions.move_by_offset(x, y)
        actions.release().perform()
        wait_for(lambda: told(driver, "map-text").startswith("Chosen: "))
        driver.find_element("id", "map-queue").click()
        wait_for(lambda: "chosen on the map" in told(driver, "filter-text"))
        assert shown(driver)


def test_two_tabs_see_the_same(server: Server, tmp_path: Path) -> None:
    with browser(tmp_path) as driver:
        open_page(driver, server)
        first = driver.current_window_handle
        driver.switch_to.new_window("tab")
        open_page(driver, server)
        node, before = shown(driver), count(server)
        decide(driver, "g")
        driver.switch_to.window(first)
        assert shown(driver) == node, "it still shows what is decided by now"
        decide(driver, "u")
        assert count(server) == before + 1, "the same label, by the same reviewer: the last decision counts"
        press(driver, "h")
        wait_for(lambda: "unsure" in told(driver, "history-table"))
        press(driver, "z")
        press(driver, "z")
        wait_for(lambda: count(server) == before)


def test_a_settled_label_is_settled_anew_by_whoever_decides(server: Server, tmp_path: Path) -> None:
    def become(name: str) -> None:
        script = "const field = document.getElementById('reviewer'); field.value = arguments[0];"
        driver.execute_script(f"{script} field.dispatchEvent(new Event('change'))", name)

    def show(node: str) -> None:
        driver.execute_script("document.getElementById('state').value = 'all'")
        field = driver.find_element("id", "search")
        field.clear()
        field.send_keys(node)
        wait_for(lambda: shown(driver) == node)
        driver.execute_script("document.activeElement.blur()")

    def opinions() -> list[str]:
        return driver.execute_script("return [...document.querySelectorAll('.opinions li')].map(e => e.textContent)")

    with browser(tmp_path) as driver:
        open_page(driver, server)
        for name, key in (("ann", "g"), ("bob", "u")):
            become(name)
            show("n101")
            press(driver, key)
            wait_for(lambda name=name: any(text.startswith(name) for text in opinions()))  # type: ignore[misc]
        driver.execute_script("document.querySelector('[data-view=team]').click()")
        wait_for(lambda: told(driver, "dispute-text") == "1 label")
        driver.find_element("id", "settle").click()
        wait_for(lambda: told(driver, "queue-text").startswith("1 label "))
        press(driver, "g")
        wait_for(lambda: any(text.startswith("bob settled: ✓ keep") for text in opinions()))
        become("eve")
        show("n101")
        press(driver, "u")
        wait_for(lambda: any(text.startswith("eve settled: ? unsure") for text in opinions()))
        press(driver, "x")
        wait_for(lambda: not any(text.startswith("eve") for text in opinions()))


@pytest.mark.skipif("PIGNN_AXE" not in os.environ, reason="PIGNN_AXE does not name axe-core")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_axe_finds_nothing_on_any_view(server: Server, tmp_path: Path, dark: bool, width: int) -> None:
    with browser(tmp_path, dark=dark, size=(width, 900)) as driver:
        open_page(driver, server)
        for name in VIEWS:
            driver.execute_script("document.querySelector(`[data-view=${arguments[0]}]`).click()", name)
            time.sleep(0.7)
            assert flaws(driver) == [], name
            assert driver.execute_script("return document.documentElement.scrollWidth") <= width
        driver.execute_script("document.querySelector('[data-view=review]').click()")
        for button in ("help-button", "bulk"):
            driver.execute_script("document.getElementById(arguments[0]).click()", button)
            time.sleep(0.5)
            assert flaws(driver) == [], button
            driver.execute_script("document.querySelector('dialog[open]').close()")
