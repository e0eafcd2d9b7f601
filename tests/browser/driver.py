"""A real browser without a window: Chromium by chromedriver, with nothing but the disk to read from."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def missing() -> str:
    """What is missing to drive a browser; empty if nothing is."""
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "no browser tests: selenium is not installed (pip install selenium)"
    if not any(map(shutil.which, BROWSERS)):
        return "no browser tests: there is no Chromium (Debian: apt-get install chromium chromium-driver)"
    if not shutil.which("chromedriver"):
        return "no browser tests: there is no chromedriver (Debian: apt-get install chromium-driver)"
    return ""


def left_out() -> bool:
    """Where the tests must not be left out, PIGNN_BROWSER=required makes them fail without a browser."""
    return bool(missing()) and os.environ.get("PIGNN_BROWSER") != "required"


@contextmanager
def browser(downloads: Path, *, dark: bool = False, size: tuple[int, int] = (1440, 1000)) -> Iterator[Any]:
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = next(filter(None, map(shutil.which, BROWSERS)))
    for argument in ("headless=new", "disable-gpu", "disable-dev-shm-usage", "hide-scrollbars", "disable-extensions"):
        options.add_argument(f"--{argument}")
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")  # Chromium refuses to be run by root with it
    options.add_argument(f"--window-size={size[0]},{size[1]}")
    if dark:
        options.add_argument("--force-dark-mode")
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False},
        )
        yield driver
    finally:
        driver.quit()


def requests(driver: Any) -> list[str]:
    """Addresses that were asked for since the last call, those on disk and within a page included."""
    messages = (json.loads(entry["message"])["message"] for entry in driver.get_log("performance"))
    return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]


def flaws(driver: Any) -> list[tuple[str, str, str]]:
    """What axe-core (the file that PIGNN_AXE names) finds wrong with the page as it is now, serious or not."""
    driver.execute_script(Path(os.environ["PIGNN_AXE"]).read_text(encoding="utf-8"))
    driver.set_script_timeout(60)
    found = driver.execute_async_script("axe.run().then(arguments[0])")
    assert found["passes"]
    return [(one["impact"], one["id"], one["nodes"][0]["html"][:200]) for one in found["violations"]]
