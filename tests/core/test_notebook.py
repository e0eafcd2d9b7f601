"""How results show themselves: cards that need no style sheet, bars, and warnings of one line at the user's line."""

from __future__ import annotations

import sys
import types
import warnings
from types import SimpleNamespace

import pytest

import pignn
from pignn.core.errors import PignnWarning, warn_user
from pignn.core.notebook import CardTable, register_notebook_display, render_card_html
from pignn.core.progress import make_progress_bar, progress_context, track


@pytest.fixture
def notebook(monkeypatch):
    """A notebook that keeps what it was told to display, and how it formats types."""
    shown: list[str] = []
    formatters = {kind: SimpleNamespace(types={}) for kind in ("text/html", "image/png")}
    for each in formatters.values():
        each.for_type_by_name = lambda module, name, function, each=each: each.types.update(
            {f"{module}.{name}": function}
        )
    shell = SimpleNamespace(kernel=object(), display_formatter=SimpleNamespace(formatters=formatters))
    display = types.ModuleType("IPython.display")
    display.HTML = str
    display.display = lambda markup, display_id: SimpleNamespace(update=shown.append)
    module = types.ModuleType("IPython")
    module.get_ipython = lambda: shell
    module.version_info = (9, 0)  # matplotlib asks for it
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return SimpleNamespace(shown=shown, formatters=formatters)


def test_a_card_keeps_hostile_text_as_text_and_numbers_to_the_right() -> None:
    rows = [{"class": "<script>", "labels": 1234, "share": 0.51239}]
    html = render_card_html("<b>", {"rate": "<i>", "none": None}, [CardTable("t", rows)], ["a & b"])
    assert "<b>" not in html
    assert "<i>" not in html
    assert "<script" not in html
    assert "none" not in html.replace("background:none", "")
    assert ">1,234</td>" in html
    assert ">0.512</td>" in html
    assert "a &amp; b" in html


def test_stages_and_epochs_are_shown_in_a_notebook(notebook) -> None:
    with progress_context():
        assert list(track(range(3), "<stage>")) == [0, 1, 2]
    assert "&lt;stage&gt;" in notebook.shown[0]
    assert notebook.shown[-1] == "", "the bar of stages goes"
    pignn.PIGNN(epochs=3).fit(pignn.load("csbm", num_nodes=60))
    assert "pi-gnn" in notebook.shown[-1]
    assert "3/3 epochs" in notebook.shown[-1]


def test_a_bar_says_how_long_it_takes_still(notebook, monkeypatch) -> None:
    clock = iter([0.0, 10.0, 10.0, 10.0])
    monkeypatch.setattr("pignn.core.progress.time", SimpleNamespace(monotonic=lambda: next(clock)))
    bar = make_progress_bar()
    bar.advance(bar.add_task("work", total=8))
    assert "1/8 · left 1:10" in notebook.shown[-1]


def test_graphs_of_ours_are_shown_as_cards_and_others_as_they_are(notebook) -> None:
    from torch_geometric.data import Data

    from pignn.graphs.importers.summary import render_graph_html_or_none

    register_notebook_display(render_graph_html_or_none)
    show = notebook.formatters["text/html"].types["torch_geometric.data.data.Data"]
    graph = pignn.load("csbm", num_nodes=60)
    assert "homophily" in show(graph)
    assert show(Data(x=graph.x, edge_index=graph.edge_index)) is None
    broken = graph.clone()
    broken.y = broken.y[:3]
    assert show(broken) is None
    png = notebook.formatters["image/png"].types["matplotlib.figure.Figure"]
    assert png(pignn.report.plot_transition([[1.0]], ["a"])).startswith(b"\x89PNG")


def test_a_warning_points_to_the_line_of_the_caller_however_deep() -> None:
    data = pignn.load("csbm", num_nodes=60)
    data.edge_index = data.edge_index[:, data.edge_index[0] < data.edge_index[1]]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pignn.train(data, "label-propagation", assess=False)
        pignn.audit(data)
    ours = [each for each in caught if issubclass(each.category, PignnWarning)]
    assert len(ours) >= 2
    assert {each.filename for each in ours} == {__file__}


def test_a_warning_of_ours_is_one_line_and_others_stay_as_they_are() -> None:
    text = warnings.formatwarning(PignnWarning("two\nlines"), PignnWarning, "mine.py", 3, "code()")
    assert text == "mine.py:3: note: two lines\n"
    cell = warnings.formatwarning(PignnWarning("so"), PignnWarning, "/tmp/ipykernel_1/2.py", 3, "code()")
    assert cell == "line 3 of this cell: note: so\n"
    other = warnings.formatwarning(UserWarning("x"), UserWarning, "mine.py", 3, "code()")
    assert other == "mine.py:3: UserWarning: x\n  code()\n"


def test_warnings_can_be_given_by_code_outside() -> None:
    with pytest.warns(PignnWarning, match="hello") as caught:
        warn_user("hello")
    assert caught[0].filename == __file__
