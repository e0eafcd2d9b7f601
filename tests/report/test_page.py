"""A page holds everything it shows and nothing that could run."""

from __future__ import annotations

from pignn.report import Code, Facts, Picture, Section, Table, Text
from pignn.report.figure import Panel, Series, draw
from pignn.report.page import page


def test_blocks_are_shown_as_text():
    evil = "</pre><script>x</script>"
    text = page(
        evil,
        [Section(evil, [Text(evil), Code(evil), Facts({evil: evil}), Table(["a"], [[evil]], title=evil)])],
        intro=[evil],
    )
    assert "<script>" not in text
    assert text.count("&lt;script&gt;x&lt;/script&gt;") == 10
    assert "default-src 'none'" in text


def test_pictures_are_inside():
    panel = Panel("t", [Series("s", ["a", "b"], [0.5, None], [0.1, 0.0], [None, 0.3])])
    svg, png = draw([panel], form="svg"), draw([panel], form="png")
    text = page("t", [Section("p", [Picture(svg, '"quoted"'), Picture(png, "b")])])
    assert 'src="data:image/svg+xml;base64,' in text
    assert 'src="data:image/png;base64,' in text
    assert 'alt="&#34;quoted&#34;"' in text
    assert "http" not in text.replace("http-equiv", "")
