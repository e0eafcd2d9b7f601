"""Pictures, pages and exports of a study."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import pandas as pd
import pytest

from pignn.core.errors import ConfigError
from pignn.studies import NoiseSpec, StudyRow, collect_results, open_results
from pignn.studies.export import build_dataframe_of_runs, encode_results_by_suffix
from pignn.studies.figure import draw_study
from pignn.studies.page import build_html_page, build_markdown_page, format_command
from pignn.studies.study import expand_rows

from .conftest import make


@pytest.fixture
def results(tiny, swept):
    with open_results(swept) as store:
        return collect_results(tiny, store)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {
            "noises": (
                NoiseSpec("none"),
                NoiseSpec("symmetric", 0.2),
                NoiseSpec("symmetric", 0.4),
                NoiseSpec("pair", 0.2),
            )
        },
        {"rows": tuple(expand_rows("pi-gnn", {}, {"beta": [0.1, "auto"]})), "x": "beta"},
    ],
    ids=["bars", "rates", "setting"],
)
def test_figures_are_drawn_as_png_and_svg(numbers, changes):
    results = numbers(make(**changes), lambda dataset, noise, label, seed: len(label) / 30 + seed / 20)
    png, svg = draw_study(results, "png"), draw_study(results, "svg")
    assert png.startswith(b"\x89PNG")
    text = "".join(ElementTree.fromstring(svg).itertext())
    for word in ("csbm", "auto" if "x" in changes else "GCN"):
        assert word in text
    assert draw_study(results, "svg") == svg
    with pytest.raises(ConfigError, match="unknown picture format 'gif'"):
        draw_study(results, "gif")


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


def test_the_page_is_whole_and_loads_nothing(results):
    text = build_html_page(results)
    tags = Page(text).tags
    assert {"table", "svg", "pre", "dl"} <= {tag for tag, _ in tags}
    assert not {"img", "script", "link"} & {tag for tag, _ in tags}
    sources = [value for _, attrs in tags for name, value in attrs.items() if name in ("src", "href")]
    assert all(source and source.startswith("#") for source in sources)
    for word in ("protocol paper", "PI-GNN", "torch", "pignn study run tiny", "rows = [", "Significance"):
        assert word in text


def test_hostile_names_stay_text(numbers):
    evil = "<script>alert(1)</script>|**x**"
    study = make(rows=(StudyRow(evil, "vanilla"), StudyRow("GCN", "vanilla", {"num_layers": 1})), title=evil)
    results = numbers(study, lambda *_: 0.5)
    assert "script" not in {tag for tag, _ in Page(build_html_page(results)).tags}
    assert "<script>" not in build_markdown_page(results)
    assert r"\|\*\*x\*\*" in build_markdown_page(results)


def test_runs_are_exported_as_csv_and_parquet(results, tmp_path, tiny):
    whole = build_dataframe_of_runs(results)
    assert len(whole) == len(tiny)
    assert {"dataset", "noise", "rate", "row", "seed", "accuracy", "settings", "versions", "key"} <= set(whole.columns)
    (tmp_path / "runs.csv").write_bytes(encode_results_by_suffix(results, tmp_path / "runs.csv"))
    read = pd.read_csv(tmp_path / "runs.csv")
    assert read["accuracy"].tolist() == pytest.approx(whole["accuracy"].tolist())
    pytest.importorskip("pyarrow")
    (tmp_path / "runs.parquet").write_bytes(encode_results_by_suffix(results, tmp_path / "runs.parquet"))
    assert pd.read_parquet(tmp_path / "runs.parquet")["key"].tolist() == whole["key"].tolist()


def test_tables_and_pages_are_exported_by_suffix(results, tmp_path):
    assert encode_results_by_suffix(results, tmp_path / "a.tex").decode().count("\\toprule") == 1
    assert encode_results_by_suffix(results, tmp_path / "a.md").startswith(b"# tiny")
    with pytest.raises(ConfigError, match=r"\.csv, \.parquet, \.html"):
        encode_results_by_suffix(results, tmp_path / "a.docx")


def test_the_command_on_the_page_runs_the_study(tiny):
    said = format_command(tiny)
    assert said.startswith("pignn study run tiny --datasets csbm --noises symmetric:0.2,flip:0.4 --seeds 0-1")
    assert "--set epochs=3" in said
