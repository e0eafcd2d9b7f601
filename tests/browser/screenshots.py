"""The pictures in docs/images: python tests/browser/screenshots.py PAGE FOLDER

PAGE is an audit.html, a report.html or the page of a study; what it is follows from its name.
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from driver import browser
from PIL import Image


class View(NamedTuple):
    dark: bool
    size: tuple[int, int]
    top: str  # what part of the page is at the top
    keys: str = ""  # pressed before


VIEWS = {
    "audit": {
        "page-light": View(False, (1440, 1500), "title", "rkur"),
        "page-dark": View(True, (1440, 1300), "suspects", "rkur"),
        "page-narrow": View(False, (420, 2100), "suspects", "rkur"),
    },
    "report": {
        "report-light": View(False, (1240, 1330), "title"),
        "report-dark": View(True, (1240, 1230), "part-4"),
        "report-narrow": View(False, (420, 1900), "title"),
    },
    "study": {"study-light": View(False, (1240, 1000), "title")},
}


def main(page: str, out: str) -> None:
    for name, view in VIEWS.get(Path(page).stem, VIEWS["study"]).items():
        with tempfile.TemporaryDirectory() as folder, browser(Path(folder), dark=view.dark, size=view.size) as driver:
            driver.get(Path(page).resolve().as_uri())
            body = driver.find_element("tag name", "body")
            for key in view.keys:
                body.send_keys(key)
            driver.execute_script("document.getElementById(arguments[0]).scrollIntoView()", view.top)
            picture = Image.open(io.BytesIO(driver.get_screenshot_as_png())).convert("RGB")
        # A page has few colors: 128 of them keep a picture small.
        picture.quantize(128, dither=Image.Dither.NONE).save(Path(out) / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
