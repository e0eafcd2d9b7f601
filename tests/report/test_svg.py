"""Drawings: places that follow from the numbers, and names that stay text."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import numpy as np
import pytest

from pignn.report import svg

from .reading import HOSTILE


def tree(markup: str) -> ElementTree.Element:
    return ElementTree.fromstring(f"<div>{markup}</div>")


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 400), (-3.2, 0.001), (0.34, 0.36), (1e-9, 2e-9), (0, 7e6)])
def test_ticks_are_few_even_and_inside(low: float, high: float) -> None:
    found = svg.list_round_ticks(low, high)
    assert 2 <= len(found) <= 6
    assert low - 1e-12 <= found[0] < found[-1] <= high * (1 + 1e-9) + 1e-12
    steps = [b - a for a, b in pairwise(found)]
    np.testing.assert_allclose(steps, steps[0], rtol=1e-6)


def test_a_line_goes_through_its_values() -> None:
    drawn = tree(
        svg.draw_lines(
            "t", "d", [svg.Line("one", [0, 5, 10], [0.0, 0.5, 1.0])], x_label="x", y_label="y", y_range=(0, 1)
        )
    )
    points = drawn.find(".//polyline").get("points").split()
    (x0, y0), (x1, y1), (x2, y2) = (map(float, point.split(",")) for point in points)
    assert x0 < x1 < x2
    assert x1 == pytest.approx((x0 + x2) / 2)
    assert y0 > y1 > y2  # up is more
    assert y1 == pytest.approx((y0 + y2) / 2)
    ticks = {text.text: float(text.get("y")) for text in drawn.iter("text") if "at-end" in text.get("class")}
    assert ticks["0"] - ticks["1"] == pytest.approx(y0 - y2)


def test_a_scatter_plot_draws_every_point_once_and_names_its_groups() -> None:
    rng = np.random.default_rng(0)
    groups = [(f"group {i}", rng.random((i * 10, 2))) for i in range(12)]
    drawn = tree(svg.draw_scatter("t", "d", groups, [str(i + 1) for i in range(12)]))
    paths = [path for path in drawn.find(".//svg").iter("path") if "dot" in path.get("class")]
    # Outlines start once a point, but crosses and pluses are two strokes each.
    strokes = [2 if i % svg.NUM_SHAPES > 4 else 1 for i in range(12)]
    counts = [len(re.findall("M", path.get("d"))) // strokes[i] for i, path in enumerate(paths, start=1)]
    assert counts == [i * 10 for i in range(1, 12)]
    assert len({(path.get("class"), i % svg.NUM_SHAPES) for i, path in enumerate(paths, start=1)}) == 11
    assert ["".join(item.itertext()) for item in drawn.iter("li")] == [f"{i + 1} group {i}" for i in range(1, 12)]


def test_one_point_and_equal_values_can_be_drawn() -> None:
    for drawn in (
        svg.draw_lines("t", "d", [svg.Line("one", [3], [0.5], dots=True)], x_label="x", y_label="y"),
        svg.draw_lines("t", "d", [svg.Line("one", [1, 2], [0.0, 0.0])], x_label="x", y_label="y"),
        svg.draw_scatter("t", "d", [("a", np.zeros((3, 2)))], ["a"]),
    ):
        assert not re.search("nan|inf", drawn)
    assert svg.draw_scatter("t", "d", [("a", np.zeros((0, 2)))], ["a"]) == ""


@pytest.mark.parametrize("evil", [text for text in HOSTILE if "\x00" not in text])
def test_names_stay_text(evil: str) -> None:
    line = svg.Line(evil, [0, 1], [0, 1], dots=True)
    for made in (
        lambda name: svg.draw_lines(
            name, name, [line, line], x_label=name, y_label=name, vertical_mark=(0.5, name), diagonal=True
        ),
        lambda name: svg.draw_scatter(name, name, [(name, np.eye(2)), (evil, np.eye(2))], [name, name]),
    ):
        hostile, plain = tree(made(evil)), tree(made("plain"))
        assert [one.tag for one in hostile.iter()] == [one.tag for one in plain.iter()]
        assert hostile.find(".//svg/title").text.startswith(evil[:50])
