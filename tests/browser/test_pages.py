"""The report of a training and the page of a study in a real browser: whole, quiet, readable, and no name runs."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pignn.cli
from pignn.studies import DatasetSpec, NoiseSpec, Protocol, Study, StudyRow, collect_results, open_results
from pignn.studies.page import build_html_page
from pignn.studies.planning import plan_runs
from pignn.studies.run_spec import RunResult

from .conftest import CLASSES, flags
from .driver import browser, flaws, left_out, missing, requests

pytestmark = pytest.mark.skipif(left_out(), reason=missing() or "a browser is there")
EVIL = "</svg><script>window.hurt=6</script>"


def report(files: Path) -> Path:
    """That of a graph with hostile names."""
    to = ["train", *flags(files), "--val", 0.2, "--epochs", 6, "--warmup", 1, "--out", files / "run", "--report"]
    assert pignn.cli.run([str(argument) for argument in to]) == 0
    return files / "run" / "report.html"


def study(files: Path) -> Path:
    """That of made-up numbers, with hostile names."""
    made = Study(
        name="made",
        title=EVIL,
        datasets=(DatasetSpec("csbm", {"num_nodes": 120, "num_classes": 3}),),
        noises=(NoiseSpec("symmetric", 0.2), NoiseSpec("symmetric", 0.4), NoiseSpec("flip", 0.4)),
        rows=(StudyRow(EVIL, "vanilla"), StudyRow("x" * 300, "pi-gnn", {"warmup": 1})),
        seeds=(0, 1, 2),
        settings={"epochs": 3},
        protocol=Protocol.from_preset("paper"),
    )
    with open_results(files / "store") as store:
        runs = plan_runs(made, store)
        store.save_runs((run.key, run.spec, RunResult(metrics={"accuracy": 0.5 + run.seed / 10})) for run in runs)
        page = build_html_page(collect_results(made, store))
    path = files / "study.html"
    path.write_text(page, encoding="utf-8")
    return path


@pytest.fixture(scope="module", params=[report, study], ids=["report", "study"])
def page(request: pytest.FixtureRequest, own_files: Path) -> Path:
    make: Callable[[Path], Path] = request.param
    return make(own_files)


def test_names_are_text_and_nothing_is_fetched(page: Path, tmp_path: Path) -> None:
    with browser(tmp_path) as driver:
        driver.get(page.as_uri())
        told = driver.execute_script("return document.body.textContent")
        for name in CLASSES if page.name == "report.html" else [EVIL]:
            assert name in told
        assert driver.execute_script("return window.hurt === undefined")
        assert driver.execute_script("return document.querySelectorAll('script, img, iframe, [style]').length") == 0
        assert set(requests(driver)) == {driver.current_url}
        assert [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"] == []
        # The style was admitted: a card has the color that it gives.
        assert driver.execute_script("return getComputedStyle(document.querySelector('.card')).borderRadius") != "0px"


def test_the_policy_blocks_what_is_injected(page: Path, tmp_path: Path) -> None:
    script = """
    const done = arguments[0], told = [];
    addEventListener('securitypolicyviolation', (event) => told.push(event.effectiveDirective));
    const add = (tag, settings) => document.body.append(Object.assign(document.createElement(tag), settings));
    add('img', {src: 'data:image/png;base64,AA=='});
    add('script', {textContent: 'window.hurt = 5'});
    add('style', {textContent: 'body { display: none }'});
    fetch('https://pignn.invalid/').catch(() => 0);
    setTimeout(() => done(told), 500);
    """
    with browser(tmp_path) as driver:
        driver.get(page.as_uri())
        driver.set_script_timeout(10)
        stopped = driver.execute_async_script(script)
        assert {"img-src", "script-src-elem", "style-src-elem", "connect-src"} <= set(stopped)
        assert driver.execute_script("return window.hurt === undefined")


def outside(driver: Any) -> list[str]:
    """Texts of drawings that stand outside them."""
    script = """
    return [...document.querySelectorAll('svg.chart text')].filter((text) => {
      const own = text.getBoundingClientRect(), box = text.ownerSVGElement.getBoundingClientRect();
      const across = own.left < box.left - 1 || own.right > box.right + 1;
      return across || own.top < box.top - 1 || own.bottom > box.bottom + 1;
    }).map((text) => text.textContent);
    """
    return driver.execute_script(script)


@pytest.mark.parametrize("width", [390, 1440])
def test_a_page_fits_the_screen(page: Path, tmp_path: Path, width: int) -> None:
    with browser(tmp_path, size=(width, 1000)) as driver:
        driver.get(page.as_uri())
        assert driver.execute_script("return document.documentElement.scrollWidth <= innerWidth")
        assert driver.execute_script("return document.querySelectorAll('svg.chart').length") >= 2
        assert outside(driver) == []


@pytest.mark.skipif("PIGNN_AXE" not in os.environ, reason="no accessibility check: PIGNN_AXE must name axe.min.js")
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1440])
def test_axe_finds_nothing(page: Path, tmp_path: Path, dark: bool, width: int) -> None:
    with browser(tmp_path, dark=dark, size=(width, 1000)) as driver:
        driver.get(page.as_uri())
        assert flaws(driver) == []
