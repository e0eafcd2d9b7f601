"""Tables in four forms; text from outside stays text in each."""

from __future__ import annotations

from pignn.report import Cell, Table

TABLE = Table(
    columns=["", "0.2", "0.4"],
    rows=[["GCN", Cell("0.5"), Cell("0.6", bold=True)], [r"a_b & <b> | $x$ \ #1 {y} 50%", "1", "2"]],
    title="Title",
    groups=[("", 1), ("symmetric", 2)],
    notes=["a note"],
)


def test_text_aligns_columns_and_keeps_title_and_notes():
    lines = TABLE.to_text().splitlines()
    assert lines[0] == "Title"
    assert lines[1].split() == ["symmetric", "0.2", "symmetric", "0.4"]
    assert lines[3].split() == ["GCN", "0.5", "0.6*"]
    assert lines[-1] == "a note"


def test_markdown_escapes_cells():
    text = TABLE.to_markdown()
    assert "|  | symmetric 0.2 | symmetric 0.4 |\n| --- | --- | --- |\n| GCN | 0.5 | **0.6** |\n" in text
    assert r"a\_b &amp; &lt;b&gt; \| $x$ \\ \#1 {y} 50%" in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {line.replace(r"\|", "").count("|") for line in rows} == {4}


def test_latex_escapes_cells_and_groups_columns():
    text = TABLE.to_latex()
    assert r"\multicolumn{2}{c}{symmetric}" in text
    assert r"\cmidrule(lr){2-3}" in text
    assert r"GCN & 0.5 & \textbf{0.6} \\" in text
    assert r"a\_b \& <b> | \$x\$ \textbackslash{} \#1 \{y\} 50\%" in text
    assert text.count("{") - text.count(r"\{") == text.count("}") - text.count(r"\}")


def test_html_escapes_cells_and_groups_columns():
    text = TABLE.to_html()
    assert '<th scope="colgroup" colspan="2">symmetric</th>' in text
    assert "<td><strong>0.6</strong></td>" in text
    assert "a_b &amp; &lt;b&gt; | $x$ " in text
    assert "<b>" not in text


def test_lines_in_a_cell_do_not_break_the_table():
    table = Table(["a"], [["one\ntwo"]])
    assert "| one two |" in table.to_markdown()
    assert "one two" in table.to_latex()
