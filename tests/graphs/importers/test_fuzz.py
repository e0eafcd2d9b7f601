"""Whatever is in a file, only errors that say what to do come out."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import tempfile
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pignn.core.errors import PignnError
from pignn.graphs import read_graph, summarize_import

CELLS = ["a", "b", "c", "", "1", "2", "-1", "0.5", "1e999", "nan", "NA", "é", '"', '"a,b"', "'", "2024-01-01", "true"]
ODD_CELLS = ["9" * 30, "=1+1", "[1,2]", "{}", "\t", "\ufeff", "x y z w v", "\u202e", "\r", "#", "%"]
CELL = st.sampled_from([*CELLS, *ODD_CELLS])
OBJECTS = [b'{"id": 1, "label": "a"}', b'{"id": 2, "x": [1, 2], "label": "b"}', b'{"source": 1, "target": 2}']
ODD_OBJECTS = [
    b'{"id": {}, "label": null}',
    b"[]",
    b"{",
    b"",
    b'{"id": NaN, "label": true}',
    b'{"": ""}',
    b'{"id":1e400}',
]
LINE = st.lists(CELL, min_size=0, max_size=5)
MARK = st.sampled_from([",", ";", "\t", " ", "|"])


def tables() -> st.SearchStrategy[bytes]:
    text = st.builds(
        lambda header, lines, mark: "\n".join(mark.join(line) for line in [header, *lines]).encode(),
        st.sampled_from([["id", "x", "label"], ["source", "target"], ["a", "b", "c"], []]),
        st.lists(LINE, max_size=8),
        MARK,
    )
    json = st.lists(st.sampled_from([*OBJECTS, *ODD_OBJECTS]), max_size=6).map(b"\n".join)
    return st.one_of(text, json, st.binary(max_size=60))


def reads(folder: Path, *arguments: object, **options: object) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            data = read_graph(*arguments, **options)  # type: ignore[arg-type]
        except PignnError as error:
            assert "\n" not in str(error)  # noqa: PT017
            return
    assert torch.isfinite(data.x).all() or "(given)" in data.encoder.column_notes
    assert data.x.shape[0] == len(data.node_id) == len(data.y)
    assert str(summarize_import(data))


@settings(max_examples=250)
@given(
    nodes=tables(),
    edges=tables(),
    suffixes=st.tuples(*[st.sampled_from(["csv", "tsv", "txt", "jsonl", "csv.gz"])] * 2),
    label=st.sampled_from(["label", "x", None]),
    features=st.sampled_from([None, "x", "structure", "x:text", "x:category", "x:vector", "x:date", "*"]),
)
def test_random_tables_raise_only_our_errors(nodes, edges, suffixes, label, features):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = [folder / f"{part}.{suffix}" for part, suffix in zip("ne", suffixes, strict=True)]
        for path, content in zip(paths, (nodes, edges), strict=True):
            path.write_bytes(content)
        reads(folder, *paths, label=label, features=features, drop_unknown=True)


@settings(max_examples=150)
@given(lines=st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=8), mark=st.sampled_from([",", "\t"]))
def test_nearly_right_tables_raise_only_our_errors(lines, mark):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [mark.join([f"n{i}", *line]) for i, line in enumerate(lines)]
        (folder / "n.csv").write_text("\n".join([mark.join(["id", "x", "y", "label"]), *rows]), encoding="utf-8")
        (folder / "e.csv").write_text("source,target\nn0,n1\nn1,n0\n")
        reads(folder, folder / "n.csv", folder / "e.csv", label="label", drop_unknown=True)


def wholes() -> dict[str, bytes]:
    ends, x, y = np.array([[0, 1, 2], [1, 2, 3]]), np.arange(8.0).reshape(4, 2), np.array([0, 1, 0, 1])
    npz, pt = io.BytesIO(), io.BytesIO()
    np.savez(npz, x=x, y=y, edge_index=ends, class_names=np.array(["u", "v"]))
    torch.save({"x": torch.from_numpy(x), "y": torch.from_numpy(y), "edge_index": torch.from_numpy(ends)}, pt)
    graphml = b"""<?xml version="1.0" encoding="utf-8"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d0" for="node" attr.name="y" attr.type="string"/><graph edgedefault="undirected">
<node id="a"><data key="d0">u</data></node><node id="b"><data key="d0">v</data></node>
<edge source="a" target="b"/></graph></graphml>"""
    gml = b'graph [ node [ id 0 label "a" y "u" ] node [ id 1 label "b" y "v" ] edge [ source 0 target 1 weight 1.5 ] ]'
    return {"npz": npz.getvalue(), "pt": pt.getvalue(), "graphml": graphml, "gml": gml}


WHOLES = wholes()


@pytest.mark.parametrize("kind", WHOLES)
def test_graph_files_are_read(tmp_path, kind):
    (tmp_path / f"g.{kind}").write_bytes(WHOLES[kind])
    data = read_graph(tmp_path / f"g.{kind}", label="y")
    assert len(data.class_names) == 2


@pytest.mark.parametrize("kind", WHOLES)
@settings(max_examples=120)
@given(data=st.data())
def test_damaged_graph_files_raise_only_our_errors(kind, data):
    """Bytes changed, cut out and put in at random."""
    content = bytearray(WHOLES[kind])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, max(len(content) - 1, 0)))
        with contextlib.suppress(IndexError):
            match data.draw(st.sampled_from(["change", "cut", "put", "end"])):
                case "change":
                    content[at] = data.draw(st.integers(0, 255))
                case "cut":
                    del content[at : at + data.draw(st.integers(1, 20))]
                case "put":
                    content[at:at] = data.draw(st.binary(max_size=8))
                case _:
                    del content[at:]
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / f"g.{kind}"
        path.write_bytes(bytes(content))
        reads(Path(name), path)


# ---- numbers in any style ----

SCALES = [0.01, 1.0, 50.0, 1e4, 1e8]
GAPS = ["", "NA", ".", "-", "n/a", "#N/A", "null", None]
UNITS = ["{}", "{}", "{}", "${}", "{} €", "{} kg", "{}%", "€ {}", "{} km/h", "{}k"]
JUNK = ["x", "12o", "see note", "1,2,3", "<5", "--1", "1/2"]


LOCALES = [(".", ""), (",", ""), (".", ","), (",", "."), (",", " "), (".", "'"), (",", "\u00a0")]
DELIMITERS = [",", ";", "\t", "|"]
ROWS, COLUMNS_PER_TABLE = 40, 100
NUM_COLUMNS = int(os.environ.get("PIGNN_FUZZ_COLUMNS", "1000"))  # docs/howto/own_tables.md has the command for 100,000


class Column(NamedTuple):
    """The cells of a column, and the numbers they stand for: NaN for gaps and what is no number."""

    cells: list[str | None]
    values: np.ndarray
    is_junk: np.ndarray


def write_numbers(rng: np.random.Generator, decimal: str, group: str) -> Column:
    """Numbers in one style, with gaps and a little that is no number."""
    digits, unit, scale = rng.integers(5), UNITS[rng.integers(len(UNITS))], rng.choice(SCALES)
    is_grouped = group and rng.random() < 0.7

    def write(value: float) -> str:
        text = f"{value:,.{digits}f}" if is_grouped else f"{value:.{digits}f}"
        return unit.format(text.replace(",", "\0").replace(".", decimal).replace("\0", group))

    values = np.round(rng.normal(0, scale, ROWS), digits)
    cells: list[str | None] = [write(value) for value in values]
    is_gap = rng.random(ROWS) < rng.choice([0, 0.1, 0.5])
    is_junk = rng.random(ROWS) < rng.choice([0.0, 0.0, 0.02, 0.2, 0.6])
    gap = GAPS[rng.integers(len(GAPS))]
    for i in np.flatnonzero(is_gap):
        cells[i] = gap
    for i in np.flatnonzero(is_junk):
        cells[i] = JUNK[rng.integers(len(JUNK))]
    values[is_gap | is_junk] = np.nan
    return Column(cells, values, is_junk)


def write_table(path: Path, rng: np.random.Generator) -> dict[str, Column]:
    """A table of columns by one hand, who has one decimal mark."""
    locale = LOCALES[rng.integers(len(LOCALES))]
    columns = {f"c{i}": write_numbers(rng, *locale) for i in range(COLUMNS_PER_TABLE)}
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=DELIMITERS[rng.integers(len(DELIMITERS))])
        writer.writerows([columns, *zip(*(column.cells for column in columns.values()), strict=True)])
    return columns


@pytest.mark.parametrize("seed", range(-(-NUM_COLUMNS // COLUMNS_PER_TABLE)))
def test_no_column_of_numbers_is_lost_or_misread_silently(tmp_path, seed):
    """It becomes these numbers, or a warning or the notes name it with the reason."""
    columns = write_table(tmp_path / "n.csv", np.random.default_rng(seed))
    (tmp_path / "e.csv").write_text("source,target\n0,1\n1,2\n")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        data = read_graph(tmp_path / "n.csv", tmp_path / "e.csv")
    assert torch.isfinite(data.x).all()
    messages = " ".join(str(one.message) for one in told)
    x = dict(zip(data.encoder.feature_names, data.x.numpy().T, strict=True))
    for name, column in columns.items():
        kind, note = data.encoder.column_kinds[name], data.encoder.column_notes[name]
        context = (name, note, column.cells)
        if kind == "number":
            is_known = ~np.isnan(column.values)
            order = np.argsort(column.values[is_known])
            assert (np.diff(x[name][is_known][order]) >= -1e-4).all() or f"column '{name}'" in messages, context
            continue
        share_of_junk = column.is_junk.sum() / max((column.is_junk | ~np.isnan(column.values)).sum(), 1)
        texts = [cell for cell in column.cells if cell not in GAPS]
        is_known = note in ("left out: empty", "left out: the same value everywhere", "left out: counts the rows")
        is_category = share_of_junk > 0.05 and len(set(texts)) <= min(20, len(texts) / 2)
        assert is_known or is_category or share_of_junk >= 0.5 or f"column '{name}'" in messages, context
