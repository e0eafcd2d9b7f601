"""A page holds everything it shows and nothing that could run."""

from __future__ import annotations

import pytest
from markupsafe import Markup

from pignn.report import Section, Table, Tile, build_page
from pignn.report.page import number_names_unless_short, render_class_matrix, render_code, render_facts, render_table
from pignn.report.panels import Panel, Series
from pignn.report.plots import draw_panels

from .reading import HOSTILE, Elements, admitted


@pytest.mark.parametrize("evil", [*HOSTILE, "</pre></title><script>x</script>", "half \ud800 pair"])
def test_blocks_are_shown_as_text(evil: str) -> None:
    def made(text: str) -> str:
        table = Table(["a", text], [[text, text]], title=text, notes=[text])
        blocks = [render_code(text), render_facts({text: text}), table, render_table(table)]
        blocks += [render_class_matrix((text, text), [text, text], [[1, 2], [3, 4]])]
        return build_page(text, [Section(text, blocks)], intro=[text], tiles=[Tile(text, text, text)])

    whole = made(evil)
    whole.encode()
    told = [(tag, sorted(attrs)) for tag, attrs in Elements(whole).elements]
    assert told == [(tag, sorted(attrs)) for tag, attrs in Elements(made("a longer name")).elements]
    assert admitted(whole) == 1


def test_only_our_own_markup_is_markup() -> None:
    assert "&lt;b&gt;" in build_page("t", [Section("s", [render_code("<b>")])])
    assert "&lt;b&gt;" in build_page("t", [Section("s", ["<b>"])])  # type: ignore[list-item]
    assert "<b>" in build_page("t", [Section("s", [Markup("<b>")])])


def test_a_picture_of_a_study_takes_the_colors_of_the_page() -> None:
    evil = "<script>x</script>"
    lines = Panel(evil, [Series(evil, ["a", evil], [0.5, 0.25], [0.1, 0.0], [None, 0.3])], x_label=evil, y_label=evil)
    bars = Panel("bars", [Series("one", ["a", "b"], [0.5, None]), Series(evil, ["a", "b"], [-0.5, 0.3])], bars=True)
    drawn = draw_panels([lines, bars], form="page", note=evil)
    assert drawn == draw_panels([lines, bars], form="page", note=evil)
    text = build_page("t", [Section("p", [Markup(drawn.decode())])])
    elements = Elements(text).elements
    tags = [tag for tag, _ in elements]
    assert "script" not in tags
    assert tags.count("figure") == 2
    assert (
        sum((attrs.get("class") or "").startswith("hollow") for _, attrs in elements) == 2
    )  # one value of the paper, and the legend
    assert sum((attrs.get("class") or "").startswith("column") for _, attrs in elements) == 3
    assert not [attrs for _, attrs in elements if {"style", "src", "fill", "stroke"} & set(attrs)]
    assert admitted(text) == 1
    assert "http" not in text.replace("http-equiv", "")


def test_a_class_matrix_names_short_classes_and_numbers_long_ones() -> None:
    assert number_names_unless_short(["0", "yes"]) == ["0", "yes"]
    assert number_names_unless_short(["0", "perhaps"]) == ["1", "2"]
    assert number_names_unless_short(["", "a"]) == ["1", "2"]
    shown = render_class_matrix(("given", "predicted"), ["a", "b"], [[5, 0], [3, 1]])
    assert '<td class="own">5</td><td class="shade-0">0</td>' in shown
    assert '<td class="shade-8">3</td><td class="own">1</td>' in shown
    assert "given <bdi>b</bdi>, predicted <bdi>a</bdi>: 3" in shown


def test_for_many_classes_the_largest_disagreements_are_listed() -> None:
    counts = [[0] * 50 for _ in range(50)]
    counts[3][4], counts[7][1], counts[2][2] = 9, 11, 100
    shown = render_class_matrix(("given", "predicted"), [f"class {i}" for i in range(50)], counts)
    assert shown.index("class 7") < shown.index("class 3")
    assert "class 2" not in shown
