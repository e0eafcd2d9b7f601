"""The pictures of docs/page.md: python tests/browser/screenshots.py audit.html docs"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

from driver import browser
from PIL import Image

# Dark or not, width and height, and the part of the page that is at the top.
VIEWS = {
    "light": (False, (1440, 1500), "title"),
    "dark": (True, (1440, 1300), "suspects"),
    "narrow": (False, (420, 2100), "suspects"),
}
KEYS = "rkur"


def main(page: str, out: str) -> None:
    for name, (dark, size, top) in VIEWS.items():
        with tempfile.TemporaryDirectory() as folder, browser(Path(folder), dark=dark, size=size) as driver:
            driver.get(Path(page).resolve().as_uri())
            body = driver.find_element("tag name", "body")
            for key in KEYS:
                body.send_keys(key)
            driver.execute_script("document.getElementById(arguments[0]).scrollIntoView()", top)
            picture = Image.open(io.BytesIO(driver.get_screenshot_as_png())).convert("RGB")
        # A page has few colours: 128 of them keep a picture small.
        picture.quantize(128, dither=Image.Dither.NONE).save(Path(out) / f"page-{name}.png", optimize=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
