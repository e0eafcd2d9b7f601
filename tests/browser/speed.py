"""How quick a page is, in milliseconds: python tests/browser/speed.py audit.html"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from driver import browser

STEPS = """
const told = {};
const timed = (name, act) => {
  const start = performance.now();
  act();
  document.body.offsetHeight;  // the layout belongs to it
  told[name] = Math.round(performance.now() - start);
};
const change = (id, value) => {
  document.getElementById(id).value = value;
  document.getElementById("given").dispatchEvent(new Event("change"));
};
const head = (number) => document.querySelectorAll("#headings button")[number].click();
timed("show all", () => change("show", "all"));
timed("sort by node", () => head(0));
timed("sort by p wrong", () => head(2));
timed("decide by key", () => document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "r", bubbles: true })));
timed("next page", () => document.getElementById("next").click());
timed("search", () => change("search", "77"));
return told;
"""


def main(page: str) -> None:
    with tempfile.TemporaryDirectory() as folder, browser(Path(folder)) as driver:
        driver.get(Path(page).resolve().as_uri())
        time.sleep(1)
        paint = driver.execute_script("return performance.getEntriesByName('first-contentful-paint')[0].startTime")
        ready = driver.execute_script("return performance.getEntriesByType('navigation')[0].loadEventEnd")
        facts = {"MB": Path(page).stat().st_size / 1e6, "first paint": paint, "ready": ready}
        for name, value in (facts | driver.execute_script(STEPS)).items():
            print(f"{name:16}{value:8.1f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
